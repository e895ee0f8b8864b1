"""Statistics of a trace: response times and outcomes per task, utilisation per processor, and the worst cycle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rt_sched.trace.records import Bools, Int64s, JobStatus, Trace

#: Largest part of the interval before an arrival that `worst_cycle` shows, in relative deadlines of that job.
_DEADLINES_BEFORE = 3


@dataclass(frozen=True, slots=True)
class Spread:
    """Order statistics of times in ns: values that occurred, never interpolated. None when `count` is 0."""

    count: int
    min_ns: int | None
    p50_ns: int | None
    p99_ns: int | None
    max_ns: int | None


@dataclass(frozen=True, slots=True)
class TaskStatistics:
    """Jobs of one task by outcome, and their responses (finish minus arrival).

    `jobs`: all that arrived; of these `completed`, `unfinished` at the horizon, `skipped`, `aborted`, `lost` with
    their processor, and `suppressed`: not admitted at their arrival. `misses`: not finished by a deadline at or before
    the horizon. `drops`: messages that left an edge into this task unread. `response`: over completed jobs and, as
    horizon minus arrival, unfinished ones: `censored` of its values are therefore lower bounds (semantics of the end of
    a run).
    `largest_is_censored`: whether `response.max_ns` is one of them.
    """

    name: str
    jobs: int
    completed: int
    unfinished: int
    skipped: int
    aborted: int
    lost: int
    suppressed: int
    misses: int
    overruns: int
    drops: int
    response: Spread
    censored: int
    largest_is_censored: bool


@dataclass(frozen=True, slots=True)
class Utilisation:
    """Busy time of a processor, or of all `processors` of a processing element, inside [0, horizon)."""

    name: str
    processors: int
    busy_ns: int
    utilisation: float


@dataclass(frozen=True, slots=True)
class Cycle:
    """The interval [start_ns, end_ns) around `job`, the row of the job with the largest response / deadline."""

    job: int
    task: str
    response_ns: int
    deadline_ns: int
    start_ns: int
    end_ns: int


def spread_of(values_ns: Int64s) -> Spread:
    """Minimum, median, 99th percentile, maximum. Percentile p is the smallest value that at least p % do not exceed."""
    count = len(values_ns)
    if count == 0:
        return Spread(0, None, None, None, None)
    at_50, at_99 = (count * 50 + 99) // 100 - 1, (count * 99 + 99) // 100 - 1
    ordered = np.partition(values_ns, sorted({0, at_50, at_99, count - 1}))
    return Spread(count, int(ordered[0]), int(ordered[at_50]), int(ordered[at_99]), int(ordered[-1]))


def response_ns(trace: Trace) -> tuple[Int64s, Bools]:
    """Response of every job, int64[n_jobs], and which of them are censored, bool[n_jobs].

    Completed: finish minus arrival. Unfinished: horizon minus arrival, censored. Others have no response: -1.
    """
    jobs = trace.jobs
    completed = np.equal(jobs.status, JobStatus.COMPLETED)
    censored = np.equal(jobs.status, JobStatus.UNFINISHED)
    end_ns = np.where(completed, jobs.finish_ns, trace.horizon_ns)
    return np.where(completed | censored, end_ns - jobs.arrival_ns, -1), censored


def measure_tasks(trace: Trace) -> tuple[TaskStatistics, ...]:
    """Statistics of every task, in the order of `trace.task_names`."""
    jobs, tasks = trace.jobs, len(trace.task_names)
    outcomes = np.zeros((tasks, len(JobStatus)), dtype=np.int64)
    np.add.at(outcomes, (jobs.task, jobs.status), 1)
    misses = np.bincount(jobs.task[jobs.missed], minlength=tasks)
    overruns = np.bincount(jobs.task[jobs.overrun], minlength=tasks)
    target_of_edge = np.array([trace.task_names.index(edge.target) for edge in trace.edges], dtype=np.int64)
    drops = np.bincount(target_of_edge[trace.drops.edge], minlength=tasks)
    responses, censored = response_ns(trace)
    by_task = np.argsort(jobs.task, kind="stable")
    bounds = np.searchsorted(jobs.task[by_task], np.arange(tasks + 1))
    statistics = []
    for index, name in enumerate(trace.task_names):
        rows = by_task[bounds[index] : bounds[index + 1]]
        rows = rows[responses[rows] >= 0]
        values, lower_bounds = responses[rows], censored[rows]
        response = spread_of(values)
        counts = outcomes[index]
        statistics.append(
            TaskStatistics(
                name=name,
                jobs=int(counts.sum()),
                completed=int(counts[JobStatus.COMPLETED]),
                unfinished=int(counts[JobStatus.UNFINISHED]),
                skipped=int(counts[JobStatus.SKIPPED]),
                aborted=int(counts[JobStatus.ABORTED]),
                lost=int(counts[JobStatus.LOST]),
                suppressed=int(counts[JobStatus.SUPPRESSED]),
                misses=int(misses[index]),
                overruns=int(overruns[index]),
                drops=int(drops[index]),
                response=response,
                censored=int(np.count_nonzero(lower_bounds)),
                largest_is_censored=bool(np.any(values[lower_bounds] == response.max_ns)),
            )
        )
    return tuple(statistics)


def measure_processors(trace: Trace) -> tuple[Utilisation, ...]:
    """Utilisation of every processor, in the order of `trace.processor_names`."""
    return tuple(
        Utilisation(name, 1, busy_ns, busy_ns / trace.horizon_ns if trace.horizon_ns else 0.0)
        for name, busy_ns in zip(trace.processor_names, _busy_ns(trace).tolist(), strict=True)
    )


def measure_processing_elements(trace: Trace) -> tuple[Utilisation, ...]:
    """Utilisation of every processing element: the mean over its processors, named device.pe.core, in their order."""
    members: dict[str, list[int]] = {}
    for name, busy_ns in zip(trace.processor_names, _busy_ns(trace).tolist(), strict=True):
        members.setdefault(name.rpartition(".")[0], []).append(busy_ns)
    return tuple(
        Utilisation(name, len(busy), sum(busy), sum(busy) / (len(busy) * trace.horizon_ns) if trace.horizon_ns else 0.0)
        for name, busy in members.items()
    )


def worst_cycle(trace: Trace) -> Cycle | None:
    """The interval in which the job with the largest response / relative deadline ran; None when no job responded.

    It begins when that job's data was captured (at most three relative deadlines before the arrival) and ends with the
    later of finish and deadline; a tenth of this is added on both sides, inside [0, horizon). The first of equals.
    """
    responses, _ = response_ns(trace)
    if not len(responses) or responses.max() < 0:
        return None
    jobs = trace.jobs
    relative_ns = jobs.deadline_ns - jobs.arrival_ns
    ratio = np.where(responses >= 0, responses / np.maximum(relative_ns, 1), -1.0)
    job = int(np.argmax(ratio))
    arrival_ns, deadline_ns, capture_ns = (
        int(column[job]) for column in (jobs.arrival_ns, jobs.deadline_ns, jobs.capture_ns)
    )
    earliest_ns = arrival_ns - _DEADLINES_BEFORE * (deadline_ns - arrival_ns)
    start_ns = max(min(capture_ns, arrival_ns), earliest_ns) if capture_ns >= 0 else arrival_ns
    end_ns = max(arrival_ns + int(responses[job]), deadline_ns)
    margin_ns = (end_ns - start_ns) // 10
    return Cycle(
        job=job,
        task=trace.task_names[jobs.task[job]],
        response_ns=int(responses[job]),
        deadline_ns=deadline_ns - arrival_ns,
        start_ns=max(0, start_ns - margin_ns),
        end_ns=min(trace.horizon_ns, end_ns + margin_ns),
    )


def _busy_ns(trace: Trace) -> Int64s:
    """Executed time inside [0, horizon) per processor, exact: sums stay in int64."""
    slices = trace.slices
    length_ns = np.minimum(slices.end_ns, trace.horizon_ns) - np.maximum(slices.start_ns, 0)
    busy_ns = np.zeros(len(trace.processor_names), dtype=np.int64)
    np.add.at(busy_ns, slices.processor, np.maximum(length_ns, 0))
    return busy_ns
