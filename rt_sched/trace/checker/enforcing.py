"""When a budget that is used up is enforced (semantics 8)."""

from __future__ import annotations

from rt_sched.trace.checker.locks import LockHistory
from rt_sched.trace.setup import TaskRow


def enforced_budget(task: TaskRow) -> int:
    """The budget, rounded up to its granularity."""
    return -(-(task.budget_ns or 0) // task.budget_granularity_ns) * task.budget_granularity_ns


def free_from(locks: LockHistory, job: int, at_ns: int) -> int:
    """First instant from `at_ns` on in whose phase 4 the job neither holds a lock nor spins.

    What it still held or spun for in phase 4, and has released after it, is looked at in the next nanosecond.
    """
    spans = [*locks.holding.get(job, ()), *locks.fixed.get(job, ())]
    while True:
        freed_late = (job, at_ns) in locks.freed_late
        locked_late = (job, at_ns) in locks.locked_late and not freed_late
        ends = [end for begin, end in spans if begin <= at_ns < end and not (begin == at_ns and locked_late)]
        if ends:
            at_ns = max(ends)
        elif freed_late:
            at_ns += 1
        else:
            return at_ns
