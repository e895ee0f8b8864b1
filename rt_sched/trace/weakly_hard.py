"""Weakly hard deadlines: at least m of any k consecutive jobs of a task meet theirs.

Source: Hamdaoui, Ramanathan, A dynamic priority assignment technique for streams with (m, k)-firm deadlines, IEEE
Transactions on Computers 44(12), 1995.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rt_sched.trace.records import Bools, EventKind, Int64s, JobStatus, Trace

#: Jobs that ended so say nothing about scheduling: there was nothing to read yet, or the processor is gone.
_NOT_JUDGED = (JobStatus.SKIPPED, JobStatus.LOST)


@dataclass(frozen=True, slots=True)
class WeaklyHardResult:
    """How a task kept its (m, k). `least_met`: fewest deadlines met in any k consecutive jobs, None for fewer jobs.

    `most_missed`: most deadlines not met in any k consecutive jobs, or in all jobs where these are fewer.
    `violations`: rows of the jobs with which more than k - m of the last k jobs, or of the first few, have not met
    theirs: whatever else follows, fewer than m of k do.
    """

    task: str
    m: int
    k: int
    least_met: int | None
    most_missed: int
    violations: tuple[int, ...]

    @property
    def kept(self) -> bool:
        """Whether no window violates it."""
        return not self.violations


def measure_weakly_hard(trace: Trace) -> tuple[WeaklyHardResult, ...]:
    """Every task of the trace's setup that has an (m, k), in order; none when the trace has no setup.

    A job counts as met when it has completed by its deadline; late, aborted and suppressed ones have not met theirs.
    Left out are jobs of which that is not known, unfinished with their deadline behind the horizon, and those that no
    scheduling could have helped: skipped as an input had never had a message, lost with their processor, aborted before
    their deadline as their task was removed or moved, or left out by a variant that does only some of them.
    """
    if trace.setup is None:
        return ()
    return tuple(
        _measured(trace, task.name, index, *task.weakly_hard)
        for index, task in enumerate(trace.setup.tasks)
        if task.weakly_hard is not None
    )


def _measured(trace: Trace, name: str, index: int, m: int, k: int) -> WeaklyHardResult:
    rows = _judged_rows(trace, index)
    unmet = (trace.jobs.status[rows] != JobStatus.COMPLETED) | trace.jobs.missed[rows]
    total = np.concatenate(([0], np.cumsum(unmet)))
    missed = total[1:] - total[np.maximum(np.arange(1, len(rows) + 1) - k, 0)]
    return WeaklyHardResult(
        task=name,
        m=m,
        k=k,
        least_met=k - int(missed[k - 1 :].max()) if len(rows) >= k else None,
        most_missed=int(missed.max(initial=0)),
        violations=tuple(rows[missed > k - m].tolist()),
    )


def _judged_rows(trace: Trace, index: int) -> Int64s:
    """Jobs of a task of which it is known whether they met their deadline, in order."""
    jobs = trace.jobs
    open_end = (jobs.status == JobStatus.UNFINISHED) & ~jobs.missed
    rows = np.flatnonzero((jobs.task == index) & ~open_end & ~np.isin(jobs.status, _NOT_JUDGED))
    events = trace.events
    left_out = events.job[(events.kind == EventKind.SUPPRESS) & (events.task == index) & (events.value != -1)]
    return rows[~_removed(trace, index, rows) & ~np.isin(rows, left_out)].astype(np.int64)


def _removed(trace: Trace, index: int, rows: Int64s) -> Bools:
    """Which of a task's jobs were aborted, not late yet, as it was removed, or moved, while they were there."""
    events, jobs = trace.events, trace.jobs
    goes = np.isin(events.kind, (int(EventKind.TASK_REMOVED), int(EventKind.TASK_MOVED)))
    removals_ns = events.time_ns[goes & (events.task == index)]
    removed = np.zeros(len(rows), np.bool_)
    if not len(removals_ns):
        return removed
    aborted = (events.kind == EventKind.ABORT) & (events.task == index)
    ended_ns = dict(zip(events.job[aborted].tolist(), events.time_ns[aborted].tolist(), strict=True))
    for place, row in enumerate(rows.tolist()):
        if row in ended_ns and not jobs.missed[row]:
            removed[place] = bool(((removals_ns >= jobs.arrival_ns[row]) & (removals_ns <= ended_ns[row])).any())
    return removed
