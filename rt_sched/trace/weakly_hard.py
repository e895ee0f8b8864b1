"""Weakly hard deadlines: at least m of any k consecutive jobs of a task meet theirs.

Source: Hamdaoui, Ramanathan, A dynamic priority assignment technique for streams with (m, k)-firm deadlines, IEEE
Transactions on Computers 44(12), 1995.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rt_sched.trace.records import Bools, JobStatus, Trace


@dataclass(frozen=True, slots=True)
class WeaklyHardResult:
    """How a task kept its (m, k). `least_met`: fewest deadlines met in any k consecutive jobs, None for fewer jobs.

    `violations`: rows of the jobs at which a window of k jobs with fewer than m met deadlines ends.
    """

    task: str
    m: int
    k: int
    least_met: int | None
    violations: tuple[int, ...]

    @property
    def kept(self) -> bool:
        """Whether no window violates it."""
        return not self.violations


def measure_weakly_hard(trace: Trace) -> tuple[WeaklyHardResult, ...]:
    """Every task of the trace's setup that has an (m, k), in order; none when the trace has no setup.

    A job counts as met when it has completed by its deadline. Jobs that are unfinished with their deadline behind the
    horizon are not judged; skipped, aborted, lost and suppressed ones have not met theirs.
    """
    if trace.setup is None:
        return ()
    results = []
    for index, task in enumerate(trace.setup.tasks):
        if task.weakly_hard is None:
            continue
        m, k = task.weakly_hard
        rows = np.flatnonzero((trace.jobs.task == index) & _judged(trace))
        met = (trace.jobs.status[rows] == JobStatus.COMPLETED) & ~trace.jobs.missed[rows]
        total = np.concatenate(([0], np.cumsum(met)))
        in_window = total[k:] - total[:-k]
        results.append(
            WeaklyHardResult(
                task=task.name,
                m=m,
                k=k,
                least_met=int(in_window.min()) if len(in_window) else None,
                violations=tuple(rows[k - 1 :][in_window < m].tolist()),
            )
        )
    return tuple(results)


def _judged(trace: Trace) -> Bools:
    """Jobs of which it is known whether they met their deadline."""
    open_end = (trace.jobs.status == JobStatus.UNFINISHED) & ~trace.jobs.missed
    judged: Bools = ~open_end
    return judged
