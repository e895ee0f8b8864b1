"""Why jobs ended (semantics 8, 9, 16): expired deadlines, and aborts with everything that asks for them."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np

from rt_sched.trace.checker.demands import next_arrivals
from rt_sched.trace.checker.findings import Findings, Rule
from rt_sched.trace.checker.history import History
from rt_sched.trace.checker.locks import LockHistory
from rt_sched.trace.records import EventKind, Int64s, JobStatus
from rt_sched.trace.setup import DeadlineAction, OverrunAction

#: How a cause acts: whatever locks are held; in phase 1, before completions and unlocks; or in phase 4, after them.
_AT_ONCE, _FIRST, _FOURTH = 0, 1, 4
#: An abort that was asked for: instant, how, rule that asks.
Cause = tuple[int, int, Rule]

_ABORTING = (OverrunAction.ABORT, OverrunAction.FAIL_OVER)


def expired_jobs(history: History, locks: LockHistory) -> Int64s:
    """Jobs that were in the backlog when their deadline expired, in phase 4 after budgets and C_LO."""
    jobs, end_ns = history.trace.jobs, history.end_ns
    status = jobs.status
    in_run = (jobs.deadline_ns <= history.trace.horizon_ns) & (status != JobStatus.SUPPRESSED)
    alive = in_run & (end_ns > jobs.deadline_ns)
    alive |= in_run & (status == JobStatus.SKIPPED) & (end_ns == jobs.deadline_ns)
    for job in np.flatnonzero(in_run & (status == JobStatus.ABORTED) & (end_ns == jobs.deadline_ns)).tolist():
        deadline_ns = int(jobs.deadline_ns[job])
        earlier = [cause for cause in abort_causes(history, job, deadlines=False) if cause[0] <= deadline_ns]
        # The owner of a lock was there until it was dispatched and released it.
        alive[job] = not earlier or (job, deadline_ns) in locks.freed_late
    return np.flatnonzero(alive).astype(np.int64)


def abort_causes(history: History, job: int, deadlines: bool = True) -> list[Cause]:
    """Everything declared or recorded that asks for the abort of a job while it is there."""
    jobs, task = history.trace.jobs, history.task_row(job)
    arrival_ns, end_ns = int(jobs.arrival_ns[job]), int(history.end_ns[job])
    causes: list[Cause] = []
    for time_ns, _, action, _ in history.enforcements.get(job, ()):
        if action in _ABORTING:
            causes.append((time_ns, _FOURTH, Rule.BUDGETS))
    causes += [
        (time_ns, _FIRST, Rule.MODES)
        for time_ns in _between(history.removals[int(history.task[job])], arrival_ns, end_ns)
    ]
    causes += [
        (time_ns, _AT_ONCE, Rule.TAKEOVERS)
        for time_ns in _between(history.moves[int(history.task[job])], arrival_ns, end_ns)
    ]
    if not task.high_criticality:
        switches = _between(history.high_ns(int(history.row[job])), arrival_ns, end_ns)
        causes += [(at_ns, _FOURTH, Rule.CRITICALITY) for at_ns in switches]
    if deadlines and task.deadline_action is DeadlineAction.ABORT and jobs.deadline_ns[job] <= end_ns:
        causes.append((int(jobs.deadline_ns[job]), _FOURTH, Rule.ENDS))
    return [cause for cause in causes if cause[0] <= history.trace.horizon_ns]


def _between(instants: list[int], after_ns: int, last_ns: int) -> list[int]:
    """Those of ascending instants in (after, last]."""
    return instants[bisect_right(instants, after_ns) : bisect_right(instants, last_ns)]


def check_aborts(history: History, locks: LockHistory, found: Findings) -> None:
    """Jobs are aborted when something asks for it, at once or at their last unlock, and never otherwise."""
    jobs, end_ns = history.trace.jobs, history.end_ns
    for job in np.flatnonzero(_endangered(history)).tolist():
        status, ended_ns = JobStatus(int(jobs.status[job])), int(end_ns[job])
        due = [(_due_ns(locks, job, at_ns, phase), rule) for at_ns, phase, rule in abort_causes(history, job)]
        if status is JobStatus.SUPPRESSED or history.lost_on_arrival[job]:
            continue
        for due_ns, rule in due:
            if due_ns < ended_ns and due_ns <= history.trace.horizon_ns:
                found.add(rule, due_ns, history.job_name(job), "it is aborted here")
                break
        else:
            if status is JobStatus.ABORTED and ended_ns not in {due_ns for due_ns, _ in due}:
                text = "no abort without a deadline, a budget, a change of mode or place, or a criticality switch"
                found.add(Rule.ENDS, ended_ns, history.job_name(job), text)


def _endangered(history: History) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Jobs that were aborted or might have had to be."""
    jobs = history.trace.jobs
    some = history.per_job(lambda task: task.deadline_action is DeadlineAction.ABORT) == 1
    some &= jobs.deadline_ns <= history.trace.horizon_ns
    some &= history.end_ns >= jobs.deadline_ns
    some |= jobs.status == JobStatus.ABORTED
    ends = np.array([bool(instants) for instants in history.forgets], np.bool_)
    some |= ends[history.task] if len(ends) else False
    switched = np.array([bool(history.high_ns(row)) for row in range(len(history.cores))], np.bool_)
    some |= switched[history.row] & (history.per_job(lambda task: task.high_criticality) == 0)
    enforced = [job for job, rows in history.enforcements.items() if any(row[2] in _ABORTING for row in rows)]
    some[enforced] = True
    return np.asarray(some)


def _due_ns(locks: LockHistory, job: int, at_ns: int, phase: int) -> int:
    """When a job that is to be aborted goes: at once, or when it has released the locks that it holds."""
    if phase == _AT_ONCE:
        return at_ns
    for begin_ns, end_ns in locks.holding.get(job, ()):
        if phase == _FIRST:
            held = begin_ns < at_ns <= end_ns or (begin_ns == at_ns and (job, at_ns) in locks.from_dead)
        else:
            held = begin_ns <= at_ns < end_ns
        if held:
            return end_ns
    return at_ns


def check_suppressed(history: History, locks: LockHistory, found: Findings) -> None:
    """Jobs are suppressed when a job before them said so, `every` leaves them out, or they are LO and meet HI mode."""
    jobs = history.trace.jobs
    left_out = _left_out(history)
    expected = set(left_out)
    expired = expired_jobs(history, locks)
    for index, task in enumerate(history.setup.tasks):
        instants: list[int] = []
        if task.deadline_action is DeadlineAction.SKIP_NEXT:
            instants += jobs.deadline_ns[expired[history.task[expired] == index]].tolist()
        if task.overrun_action is OverrunAction.SKIP_NEXT:
            instants += [
                time_ns
                for job in history.jobs_of_task[index].tolist()
                for time_ns, _, action, _ in history.enforcements.get(job, ())
                if action == OverrunAction.SKIP_NEXT
            ]
        expected.update(next_arrivals(history, index, instants))
    for stay in history.stays:
        if not stay.row.high_criticality:
            mine = stay.jobs
            for begin_ns, end_ns in history.high_spans(stay.row.processor):
                first = np.searchsorted(jobs.arrival_ns[mine], begin_ns, side="left")
                last = np.searchsorted(jobs.arrival_ns[mine], end_ns, side="right")
                expected.update(mine[first:last].tolist())
    lost = history.lost_on_arrival
    suppressed = set(np.flatnonzero(jobs.status == JobStatus.SUPPRESSED).tolist())
    for job in sorted(suppressed ^ {job for job in expected if not lost[job]}):
        text = "it is suppressed at its arrival" if job in expected else "nothing says that it is suppressed"
        rule = Rule.CRITICALITY if history.high_spans(int(history.row[job])) else Rule.ENDS
        found.add(rule, int(jobs.arrival_ns[job]), history.job_name(job), text)
    told = {job: value for _, job, value, _ in history.events(EventKind.SUPPRESS)}
    for job in sorted(told.keys() ^ suppressed):
        text = "a suppressed job and the event that tells of it"
        found.add(Rule.ENDS, int(jobs.arrival_ns[job]), history.job_name(job), text)
    for job, value in told.items():
        if value != left_out.get(job, -1):
            text = f"it is suppressed because one of {left_out.get(job, -1)} arrivals makes a job, not of {value}"
            found.add(Rule.TAKEOVERS, int(jobs.arrival_ns[job]), history.job_name(job), text)


def _left_out(history: History) -> dict[int, int]:
    """Jobs that their task leaves out, with its `every`: all but each so-many-th since the task was declared so."""
    return {
        job: one.row.every
        for one in history.declared
        if one.row.every > 1
        for place, job in enumerate(one.jobs.tolist())
        if place % one.row.every
    }
