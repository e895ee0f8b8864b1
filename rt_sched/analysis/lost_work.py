"""Work that a bound does not count because a budget ends it: the bound holds, but the work may be lost."""

from __future__ import annotations

from rt_sched.trace.setup import OverrunAction, TaskRow
from rt_sched.units import format_ns

_WORDS = {
    OverrunAction.ABORT: "are aborted and publish nothing",
    OverrunAction.FAIL_OVER: "are aborted and publish nothing, and the standby is called",
    OverrunAction.SKIP_NEXT: "go on, and the next job is suppressed",
    OverrunAction.DEGRADE: "go on, and the next job does less",
}


def lost_work(row: TaskRow) -> str | None:
    """What becomes of jobs that need more than their budget, None when none can; `row`: with the worst demand."""
    needed_ns = row.demand_ns if isinstance(row.demand_ns, int) else row.demand_ns[-1]
    if row.budget_ns is None or needed_ns <= row.budget_ns or row.overrun_action not in _WORDS:
        return None
    return (
        f"jobs that need more than the budget of {format_ns(row.budget_ns)}, of up to {format_ns(needed_ns)}, "
        f"{_WORDS[row.overrun_action]}"
    )
