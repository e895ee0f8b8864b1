"""Servers that throttle a task: constant bandwidth under edf, else pay by arrivals (semantics 8)."""

from __future__ import annotations

from oracle.state import Job, State
from rt_sched.lowering.machine_input import OverrunAction, Policy


def enforced_budget(s: State, job: Job) -> int:
    """Q rounded up to a multiple of the granularity."""
    row = s.row(job)
    assert row.budget_ns is not None
    grain = row.budget_granularity_ns
    return -(-row.budget_ns // grain) * grain


def has_server(s: State, job: Job) -> bool:
    row = s.row(job)
    return row.overrun_action == OverrunAction.THROTTLE and row.budget_ns is not None


def becomes_oldest(s: State, job: Job) -> None:
    if not has_server(s, job):
        return
    server, row = s.servers[job.task], s.row(job)
    if s.policy(job) == Policy.EDF:
        assert row.separation_ns is not None
        if server.deadline is None or job.deadline >= server.deadline + row.separation_ns:
            server.deadline = job.deadline
            server.left = enforced_budget(s, job)
        else:
            s.met["CBS goes on"] += 1
    elif server.paid < job.number:
        server.paid = job.number
        server.left = enforced_budget(s, job)
    else:
        s.met["pay of before goes on"] += 1
    replenish(s, job)


def replenish(s: State, job: Job) -> None:
    """When the budget is used up with work left and no lock held: postpone, or let the next arrival pay, or wait."""
    server, row = s.servers[job.task], s.row(job)
    if server.left > 0:
        return
    if s.locks(job) and not job.throttled:
        s.met["throttling waits for unlock"] += 1
        return
    while server.left <= 0:
        if s.policy(job) == Policy.EDF:
            assert server.deadline is not None and row.separation_ns is not None
            server.deadline += row.separation_ns
            s.met["CBS postponed"] += 1
        elif server.paid + 1 < s.arrived[job.task]:
            server.paid += 1
            s.met["a later arrival pays"] += 1
        else:
            if not job.throttled:
                job.throttled = True
                s.leave_core(job)
                s.tell("THROTTLE", job)
            return
        server.left += enforced_budget(s, job)
    job.throttled = False
    s.tell("REPLENISH", job, server.paid if server.deadline is None else server.deadline)
