"""From the journals of a paced run to a trace of the same form as every other run's.

Times are what workers and the feeder saw. Execution slices are derived: of the jobs of a processor that had begun, had
not ended and did not wait, the most urgent one is taken for the one that ran. What a message's loss tells is derived
likewise, from who read which message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from rt_sched.runtime.paced.devices.relocation import lost_with_processor, moves, processors_of
from rt_sched.runtime.paced.jobs.journal import NONE
from rt_sched.runtime.paced.jobs.waits import Wait, wait_events, waits_of
from rt_sched.runtime.paced.links.gathered import link_events, transfers_of
from rt_sched.runtime.paced.seats.tier import lane_key
from rt_sched.trace.records import (
    DropReason,
    DropTable,
    EdgeName,
    EventKind,
    EventTable,
    Int64s,
    JobStatus,
    JobTable,
    SampleStatus,
    SampleTable,
    SliceTable,
    Trace,
    TransferTable,
    message_of_sample,
)
from rt_sched.trace.setup import EdgeKind, EdgeRow, Role, Setup
from rt_sched.units import ceil_int


@dataclass(frozen=True, slots=True)
class Course:
    """What happened. `journals`: rows of each task. `published_ns`: of each sample of `samples`, -1 for never.

    `transfers`: of each link, as `TRANSFER`. `rate`: run time per host time, by which CPU times become run time.
    """

    setup: Setup
    edge_names: tuple[EdgeName, ...]
    journals: Sequence[npt.NDArray[np.void]]
    samples: SampleTable
    published_ns: Int64s
    horizon_ns: int
    rate: Fraction = Fraction(1)
    transfers: Sequence[npt.NDArray[np.void]] = ()


def trace_of(course: Course) -> Trace:
    """The trace of a paced run."""
    samples, row_of_sample = _samples(course)
    jobs = _jobs(course, row_of_sample)
    waits = waits_of(course.setup, course.journals, jobs, course.rate)
    transfers = transfers_of(course.setup, course.transfers, jobs, row_of_sample)
    return Trace(
        task_names=tuple(task.name for task in course.setup.tasks),
        processor_names=course.setup.core_names(),
        sensor_names=course.setup.sensors,
        edges=course.edge_names,
        jobs=jobs,
        slices=_slices(course.setup, jobs, waits),
        drops=_drops(course.setup, jobs, samples, transfers),
        samples=samples,
        horizon_ns=course.horizon_ns,
        seed=0,
        events=_events(course.setup, jobs, course.horizon_ns, waits),
        setup=course.setup,
        transfers=transfers,
    )


def _samples(course: Course) -> tuple[SampleTable, Int64s]:
    """In order of their real arrivals, and the row of each sample of the recording."""
    planned, published = course.samples, course.published_ns
    arrived = published >= 0
    arrival_ns = np.where(arrived, published, planned.arrival_ns)
    order = np.lexsort((np.arange(len(planned)), arrival_ns))
    row_of = np.empty(len(planned), np.int64)
    row_of[order] = np.arange(len(planned))
    delivered = arrived | (~_is_read(course)[planned.sensor] & (planned.arrival_ns < course.horizon_ns))
    status = np.where(delivered, SampleStatus.DELIVERED, SampleStatus.WAITING).astype(np.int8)
    table = SampleTable(
        planned.sensor[order], planned.number[order], arrival_ns[order], planned.capture_ns[order], status[order]
    )
    return table, row_of


def _is_read(course: Course) -> npt.NDArray[np.bool_]:
    read = np.zeros(len(course.setup.sensors), np.bool_)
    read[[edge.sensor for edge in course.setup.edges if edge.sensor is not None]] = True
    return read


def _jobs(course: Course, row_of_sample: Int64s) -> JobTable:
    """All jobs in order of arrival."""
    setup, journals = course.setup, course.journals
    task = np.repeat(np.arange(len(journals), dtype=np.int32), [len(rows) for rows in journals])
    number = np.concatenate([np.arange(len(rows), dtype=np.int64) for rows in journals])
    column = {
        name: np.concatenate([rows[name] for rows in journals])
        for name in ("arrival_ns", "release_ns", "start_ns", "finish_ns", "deadline_ns", "capture_ns", "status")
    }
    executed = np.array(
        [ceil_int(int(value) * course.rate) for rows in journals for value in rows["executed_ns"]], np.int64
    )
    order = np.lexsort((number, task, column["arrival_ns"]))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    first = np.concatenate(([0], np.cumsum([len(rows) for rows in journals])))
    row_of_job = [place[first[index] : first[index + 1]] for index in range(len(journals))]
    slots = max([sum(edge.target == index for edge in setup.edges) for index in range(len(journals))], default=0)
    inputs = np.full((len(order), max(slots, 1)), NONE, np.int64)
    for index, rows in enumerate(journals):
        mine = [edge for edge in setup.edges if edge.target == index]
        for slot, edge in enumerate(mine):
            inputs[first[index] : first[index + 1], slot] = _messages(
                rows["inputs"][:, slot], edge, row_of_sample, row_of_job
            )
    budgets = np.array([task.budget_ns or 0 for task in setup.tasks], np.int64)[task]
    completed = column["status"] == JobStatus.COMPLETED
    unfinished = np.isin(column["status"], (JobStatus.UNFINISHED, JobStatus.LOST, JobStatus.ABORTED))
    missed = (completed & (column["finish_ns"] > column["deadline_ns"])) | (
        unfinished & (column["deadline_ns"] <= course.horizon_ns)
    )
    missed &= ~lost_with_processor(setup, task.astype(np.int64), column["arrival_ns"], column["status"])
    return JobTable(
        task=task[order],
        number=number[order],
        arrival_ns=column["arrival_ns"][order],
        release_ns=column["release_ns"][order],
        start_ns=column["start_ns"][order],
        finish_ns=column["finish_ns"][order],
        deadline_ns=column["deadline_ns"][order],
        demand_ns=np.maximum(executed, 1)[order],
        executed_ns=executed[order],
        capture_ns=column["capture_ns"][order],
        status=column["status"][order].astype(np.int8),
        missed=missed[order],
        overrun=((budgets > 0) & (executed > budgets))[order],
        inputs=inputs[order],
    )


def _messages(numbers: Int64s, edge: EdgeRow, row_of_sample: Int64s, row_of_job: Sequence[Int64s]) -> Int64s:
    """Message ids for numbers of jobs, or rows of samples in the recording."""
    found = np.full(len(numbers), NONE, np.int64)
    some = numbers >= 0
    if edge.sensor is not None:
        found[some] = message_of_sample(row_of_sample[numbers[some]])
    elif edge.task is not None:
        found[some] = row_of_job[edge.task][numbers[some]]
    return found


def _slices(setup: Setup, jobs: JobTable, waits: Mapping[int, Wait]) -> SliceTable:
    """Of the jobs between start and end that do not wait, the most urgent one of each processor, as one that runs."""
    rows: list[tuple[int, int, int, int]] = []
    processor_of = processors_of(setup, jobs.task.astype(np.int64), jobs.arrival_ns)
    for processor, row in enumerate(setup.processors):
        mine = np.flatnonzero((processor_of == processor) & (jobs.start_ns >= 0) & (jobs.finish_ns > jobs.start_ns))
        keys = {
            job: (
                lane_key(
                    row.policy,
                    setup.tasks[int(jobs.task[job])].level,
                    int(jobs.deadline_ns[job]),
                    int(jobs.release_ns[job]),
                ),
                int(jobs.release_ns[job]),
                job,
            )
            for job in mine.tolist()
        }
        spans = [(job, *span) for job in keys for span in _there(jobs, job, waits.get(job))]
        instants = sorted(
            [(begin_ns, 1, job) for job, begin_ns, _ in spans] + [(end_ns, 0, job) for job, _, end_ns in spans]
        )
        present: set[int] = set()
        running, since_ns = NONE, 0
        for time_ns, is_begin, job in instants:
            if is_begin:
                present.add(job)
            else:
                present.discard(job)
            best = min(present, key=keys.__getitem__, default=NONE)
            if best != running:
                if running != NONE and time_ns > since_ns:
                    rows.append((processor, running, since_ns, time_ns))
                running, since_ns = best, time_ns
    rows.sort(key=lambda one: (one[3], one[0]))
    columns = np.array(rows, np.int64).reshape(-1, 4)
    return SliceTable(columns[:, 0].astype(np.int32), columns[:, 1], columns[:, 2], columns[:, 3])


def _there(jobs: JobTable, job: int, wait: Wait | None) -> list[tuple[int, int]]:
    """When a job had begun, had not ended and did not wait, half-open."""
    start_ns, finish_ns = int(jobs.start_ns[job]), int(jobs.finish_ns[job])
    spans = [(start_ns, finish_ns)] if wait is None else [(start_ns, wait.begin_ns), (wait.end_ns, finish_ns)]
    return [span for span in spans if span[0] < span[1]]


def _drops(setup: Setup, jobs: JobTable, samples: SampleTable, transfers: TransferTable) -> DropTable:
    """Messages of queues that nobody read although a later one was: lost to a full queue, or without a partner."""
    rows: list[tuple[int, int, int, int]] = []
    slot_of: dict[int, int] = {}
    for index, edge in enumerate(setup.edges):
        slot = slot_of[edge.target] = slot_of.get(edge.target, -1) + 1
        if edge.kind is not EdgeKind.QUEUE:
            continue
        readers = np.flatnonzero(jobs.task == edge.target)
        read = jobs.inputs[readers, slot]
        readers, read = readers[read != NONE], read[read != NONE]
        if edge.link is not None:
            arrived = np.flatnonzero((transfers.edge == index) & (transfers.delivered_ns != NONE))
            sent, sent_ns = transfers.message[arrived], transfers.delivered_ns[arrived]
        elif edge.sensor is not None:
            sent_rows = np.flatnonzero((samples.sensor == edge.sensor) & (samples.status == SampleStatus.DELIVERED))
            sent, sent_ns = message_of_sample(sent_rows), samples.arrival_ns[sent_rows]
        else:
            sent = np.flatnonzero(has_published(setup, jobs) & (jobs.task == edge.task))
            sent_ns = published_ns(setup, jobs)[sent]
        if not len(read) or not len(sent):
            continue
        was_read = np.isin(sent, read)
        last = int(np.flatnonzero(was_read)[-1]) if was_read.any() else -1
        reason = DropReason.UNMATCHED if edge.role is Role.PAIRED else DropReason.FULL_OLDEST
        rows += [
            (int(sent_ns[i]), index, int(sent[i]), int(reason)) for i in np.flatnonzero(~was_read[: last + 1]).tolist()
        ]
    rows.sort()
    columns = np.array(rows, np.int64).reshape(-1, 4)
    return DropTable(columns[:, 0], columns[:, 1].astype(np.int32), columns[:, 2], columns[:, 3].astype(np.int8))


_ENDINGS = {
    JobStatus.SKIPPED: EventKind.SKIP,
    JobStatus.ABORTED: EventKind.ABORT,
    JobStatus.SUPPRESSED: EventKind.SUPPRESS,
}


def published_ns(setup: Setup, jobs: JobTable) -> Int64s:
    """From when on the outputs of every job count, int64[n_jobs]: its finish, with LET its absolute deadline."""
    let = np.array([task.let for task in setup.tasks], np.bool_)[jobs.task]
    return np.where(let, jobs.deadline_ns, jobs.finish_ns)


def has_published(setup: Setup, jobs: JobTable) -> npt.NDArray[np.bool_]:
    """Whether a job has handed anything on, bool[n_jobs]: with LET only one that had finished at its deadline."""
    completed: npt.NDArray[np.bool_] = jobs.status == JobStatus.COMPLETED
    in_time: npt.NDArray[np.bool_] = jobs.finish_ns <= published_ns(setup, jobs)
    return completed & in_time


def _let_publications(setup: Setup, jobs: JobTable, horizon_ns: int) -> npt.NDArray[np.int64]:
    """What became of every job with LET at its deadline, int64[n, 6], as rows of events."""
    let = np.array([task.let for task in setup.tasks], np.bool_)[jobs.task]
    rows = np.flatnonzero(let & (jobs.deadline_ns < horizon_ns) & (jobs.status != JobStatus.LOST))
    kinds = np.where(has_published(setup, jobs)[rows], EventKind.LET_PUBLISH, EventKind.LET_UNFINISHED)
    tasks = jobs.task[rows].astype(np.int64)
    processors = np.array([task.processor for task in setup.tasks], np.int64)[tasks]
    return np.column_stack([jobs.deadline_ns[rows], kinds, processors, tasks, rows, np.full(len(rows), NONE)])


def _events(setup: Setup, jobs: JobTable, horizon_ns: int, waits: Mapping[int, Wait]) -> EventTable:
    """How jobs ended that did not complete, where tasks moved, and what jobs waited."""
    kinds = np.array([_ENDINGS.get(JobStatus(status), NONE) for status in jobs.status.tolist()], np.int64)
    rows = np.flatnonzero(kinds != NONE)
    times = np.maximum(jobs.arrival_ns[rows], jobs.start_ns[rows])
    processors = processors_of(setup, jobs.task[rows].astype(np.int64), jobs.arrival_ns[rows])
    ended = np.column_stack(
        [times, kinds[rows], processors, jobs.task[rows].astype(np.int64), rows, np.full(len(rows), NONE)]
    )
    moved = np.array([*moves(setup, horizon_ns), *link_events(setup, horizon_ns)], np.int64).reshape(-1, 6)
    table = np.concatenate(
        (moved, ended, _let_publications(setup, jobs, horizon_ns), wait_events(setup, jobs, waits, horizon_ns))
    )
    table = table[np.argsort(table[:, 0], kind="stable")]
    return EventTable(
        time_ns=table[:, 0],
        kind=table[:, 1].astype(np.int8),
        processor=table[:, 2].astype(np.int32),
        task=table[:, 3].astype(np.int32),
        job=table[:, 4],
        value=table[:, 5],
    )
