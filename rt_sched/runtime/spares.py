"""Which tasks keep a spare in a paced run: another process, started and warm."""

from __future__ import annotations

from rt_sched.model import OverrunAction, Task


def keeps_spare(task: Task) -> bool:
    """Whether no job of the task may go on beyond its budget: then its process is stopped, and the spare goes on."""
    return task.budget_ns is not None and task.budget.action in (OverrunAction.ABORT, OverrunAction.FAIL_OVER)
