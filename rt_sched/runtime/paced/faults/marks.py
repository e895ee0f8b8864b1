"""Marks on the tasks of a paced run that its supervisors, workers and injected faults see alike."""

from __future__ import annotations

import time

import numpy as np

from rt_sched.runtime.host.cpu_time import CpuTimer, cpu_time_ns, process_clock
from rt_sched.runtime.paced.shared import shared_array

_MARK = np.dtype([("budget_at_ns", np.int64), ("away_until_ns", np.int64)])


class Marks:
    """By the index of a task.

    `away_until_ns`: run time before which nobody serves it again. The other is written by the worker of the task alone.
    """

    def __init__(self, tasks: int) -> None:
        self._marks = shared_array(_MARK, tasks)

    def keep_away(self, task: int, until_ns: int) -> None:
        """Whoever comes in the place of a worker that is lost waits until then."""
        self._marks["away_until_ns"][task] = until_ns

    def away_until_ns(self, task: int) -> int:
        """Run time, 0 unless the task is kept away."""
        return int(self._marks["away_until_ns"][task])

    def begin_budget(self, task: int, at_cpu_ns: int) -> None:
        """The budget of its job is used up when the CPU clock of the worker's process shows this, if not before."""
        self._marks["budget_at_ns"][task] = at_cpu_ns

    def end_budget(self, task: int) -> None:
        """No job of it is under a budget."""
        self._marks["budget_at_ns"][task] = 0

    def is_used_up(self, task: int, pid: int) -> bool:
        """Whether the worker has used up the budget of its job; False where it is gone already."""
        at_ns = int(self._marks["budget_at_ns"][task])
        try:
            return 0 < at_ns <= cpu_time_ns(process_clock(pid))
        except ProcessLookupError:
            return False


class MarkedTimer:
    """The timer of a task's budget, which leaves a mark: so its stop can be told from any other one."""

    def __init__(self, timer: CpuTimer, marks: Marks, task: int) -> None:
        self._timer, self._marks, self._task = timer, marks, task

    def arm(self, budget_ns: int) -> None:
        """Expires once, when `budget_ns` more CPU time has been used."""
        self._marks.begin_budget(self._task, time.process_time_ns() + budget_ns)
        self._timer.arm(budget_ns)

    def disarm(self) -> None:
        """Does not expire any more."""
        self._timer.disarm()
        self._marks.end_budget(self._task)
