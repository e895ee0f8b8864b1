"""What a trace shows beside what the analysis allows: every response and chain time against its bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rt_sched.analysis.measured.fresh import fresh_jobs
from rt_sched.analysis.measured.spans import Span, changes_ns, jobs_in
from rt_sched.analysis.result import ChainResult, DisparityResult, ModeResult, Quantity
from rt_sched.trace.chains import ChainMeasurement
from rt_sched.trace.disparity import measure_disparity
from rt_sched.trace.records import Bools, JobStatus, Trace


@dataclass(frozen=True, slots=True)
class Exceeded:
    """`who` (a task or chain) took `value_ns`, more than its bound. `quantity`: response, or that of a chain.

    `number`: of the job, or of the sample behind the chain's output; `time_ns`: its arrival or the output.
    """

    who: str
    quantity: str
    number: int
    time_ns: int
    value_ns: int
    bound_ns: int


def bounds_end_ns(trace: Trace) -> int:
    """Until when a run is as it began: the first change of tasks or frequencies, the first takeover, or its end."""
    return min(changes_ns(trace), default=trace.horizon_ns + 1)


def exceeded_responses(trace: Trace, mode: ModeResult) -> list[Exceeded]:
    """Jobs whose response exceeds their task's bound; one that was not finished counts with what it had waited.

    Jobs that were lost, aborted or skipped have no response. Jobs that arrive, or are still there, after the first
    change of mode or frequency are left out.
    """
    bounds = {task.task: task.bound.value_ns for task in mode.tasks if task.bound is not None}
    return exceeded_in(trace, Span(0, bounds_end_ns(trace), mode.name), bounds)


def exceeded_in(trace: Trace, span: Span, bounds_ns: Mapping[str, int]) -> list[Exceeded]:
    """Jobs of a part of a run whose response exceeds their task's bound there; `bounds_ns`: by name, of some tasks.

    Jobs that were not finished count with what they had waited, as in `exceeded_responses`.
    """
    jobs = trace.jobs
    bounds = np.full(len(trace.task_names), np.iinfo(np.int64).max)
    for name, bound_ns in bounds_ns.items():
        bounds[trace.task_names.index(name)] = bound_ns
    finished = np.equal(jobs.status, JobStatus.COMPLETED)
    end_ns = np.where(finished, jobs.finish_ns, min(trace.horizon_ns, span.end_ns))
    response_ns = end_ns - jobs.arrival_ns
    over = np.flatnonzero(jobs_in(trace, span) & (response_ns > bounds[jobs.task]))
    return [
        Exceeded(
            trace.task_names[jobs.task[row]],
            "response",
            int(jobs.number[row]),
            int(jobs.arrival_ns[row]),
            int(response_ns[row]),
            int(bounds[jobs.task[row]]),
        )
        for row in over
    ]


def exceeded_chains(
    results: Sequence[ChainResult], measured: Mapping[str, ChainMeasurement], until_ns: int
) -> list[Exceeded]:
    """Outputs that come later than their chain's bounds allow, before `until_ns`."""
    found = []
    for result in results:
        one = measured.get(result.chain)
        if one is None:
            continue
        seen_ns = np.searchsorted(np.maximum.accumulate(one.sample_number), one.latency_sample_number)
        reflected_ns = one.output_ns[np.minimum(seen_ns, len(one.output_ns) - 1)] if len(one.output_ns) else seen_ns
        rows = (
            (Quantity.REACTION, result.reaction, one.reaction_ns, one.latency_sample_number, reflected_ns),
            (Quantity.LATENCY, result.latency, one.latency_ns, one.latency_sample_number, reflected_ns),
            (Quantity.DATA_AGE, result.data_age, one.data_age_ns, one.sample_number, one.output_ns),
        )
        for quantity, bound, values, numbers, times in rows:
            if bound is None:
                continue
            found += [
                Exceeded(result.chain, quantity.value, int(numbers[i]), int(times[i]), int(values[i]), bound.value_ns)
                for i in np.flatnonzero((values > bound.value_ns) & (times < until_ns))
            ]
    return found


def exceeded_disparities(trace: Trace, mode: ModeResult) -> list[Exceeded]:
    """Jobs that read inputs further apart than their task's bound allows, before the first fault or change."""
    faults = () if trace.setup is None else trace.setup.faults
    until_ns = min([bounds_end_ns(trace), *(fault.time_ns for fault in faults)])
    return disparities_over(trace, mode.disparities, 0, until_ns)


def disparities_over(
    trace: Trace, disparities: Sequence[DisparityResult], begin_ns: int, end_ns: int
) -> list[Exceeded]:
    """Jobs that read within [begin, end) inputs further apart than their task's bound allows, all of them from then on.

    What an input still holds from before the begin, or was made from that, would not be there in a run that began then.
    """
    found = []
    fresh: Bools | None = None
    for one in disparities:
        if one.bound is None:
            continue
        seen, bound_ns = measure_disparity(trace, one.task), one.bound.value_ns
        mine = (seen.disparity_ns > bound_ns) & (seen.read_ns >= begin_ns) & (seen.read_ns < end_ns)
        if begin_ns > 0 and mine.any():
            fresh = fresh_jobs(trace, begin_ns) if fresh is None else fresh
            mine &= fresh[seen.job]
        for place in np.flatnonzero(mine):
            row, read_ns = int(seen.job[place]), int(seen.read_ns[place])
            value_ns = int(seen.disparity_ns[place])
            found.append(Exceeded(one.task, "disparity", int(trace.jobs.number[row]), read_ns, value_ns, bound_ns))
    return found
