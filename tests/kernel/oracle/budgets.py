"""Budgets, servers, deadlines, criticality: phase 4 (semantics 8 and 9)."""

from __future__ import annotations

from oracle.program import abort, abort_together
from oracle.servers import enforced_budget, has_server, replenish
from oracle.state import Job, State
from rt_sched.lowering.machine_input import DeadlineAction, OverrunAction


def expiries(s: State) -> None:
    """Ends of table entries by processor, then budgets by task, then deadlines by task."""
    for processor, entry in enumerate(s.entry):
        if entry is not None and entry[1] == s.now:
            s.entry[processor] = None
            if entry[0] is not None and entry[0].unfinished:
                end_of_entry(s, entry[0])
    for jobs in s.backlog:
        for job in list(jobs):
            if job.unfinished:
                budget(s, job)
    for jobs in s.backlog:
        for job in list(jobs):
            if job.unfinished and job.deadline == s.now:
                deadline(s, job)


def overrun(s: State, job: Job) -> None:
    if not job.overrun:
        job.overrun = True
        s.tell("OVERRUN", job)


def end_of_entry(s: State, job: Job) -> None:
    s.met["entry ends with work left"] += 1
    s.met["entry ends inside a section"] += bool(job.held)
    overrun(s, job)
    s.leave_core(job)
    act(s, job)


def budget(s: State, job: Job) -> None:
    row = s.row(job)
    if row.budget_ns is not None:
        if job.executed >= row.budget_ns:
            overrun(s, job)
        enforce(s, job)
    if job.unfinished and row.low_budget_ns is not None and job.executed >= row.low_budget_ns:
        switch_to_high(s, row.processor)


def enforce(s: State, job: Job) -> None:
    """What the task's budget asks for, unless the job holds a lock or spins for one."""
    server = s.servers[job.task]
    if has_server(s, job):
        if s.backlog[job.task][0] is job:
            if server.left <= 0 and not s.locks(job) and not job.throttled:
                s.tell("ENFORCE", job, int(OverrunAction.THROTTLE))
            replenish(s, job)
    elif job.executed >= enforced_budget(s, job):
        s.met["enforcement waits for unlock"] += s.locks(job)
        if not s.locks(job):
            act(s, job)


def act(s: State, job: Job) -> None:
    """The overrun action, once a job."""
    action = s.row(job).overrun_action
    if job.enforced or action in (OverrunAction.LOG, OverrunAction.THROTTLE):
        return
    job.enforced = True
    s.tell("ENFORCE", job, int(action))
    s.met[f"overrun {action.name}"] += 1
    if action in (OverrunAction.ABORT, OverrunAction.FAIL_OVER):
        abort(s, job)
    elif action == OverrunAction.SKIP_NEXT:
        s.suppress_next[job.task] = True
    else:
        s.degrade_next[job.task] = True


def switch_to_high(s: State, processor: int) -> None:
    if s.high[processor]:
        return
    s.high[processor] = True
    s.tell("HIGH", processor=processor)
    low = [job for job in s.live() if s.processor(job) == processor and not s.row(job).high_criticality]
    s.met["LO job aborted"] += len(low)
    abort_together(s, low)


def back_to_low(s: State) -> None:
    for processor, high in enumerate(s.high):
        if high and not any(s.processor(job) == processor for job in s.live()):
            s.high[processor] = False
            s.tell("LOW", processor=processor)


def deadline(s: State, job: Job) -> None:
    job.missed = True
    s.met["missed"] += 1
    s.met["missed before release"] += not job.released
    action = s.row(job).deadline_action
    s.met[f"deadline {action.name}"] += 1
    if action == DeadlineAction.ABORT:
        abort(s, job)
    elif action == DeadlineAction.SKIP_NEXT:
        s.suppress_next[job.task] = True
