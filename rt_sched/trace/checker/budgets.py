"""Budgets (semantics 8): overruns and their actions."""

from __future__ import annotations

import numpy as np

from rt_sched.trace.checker.enforcing import enforced_budget, free_from
from rt_sched.trace.checker.findings import Findings, Rule
from rt_sched.trace.checker.history import NEVER_NS, Declared, EventRow, History
from rt_sched.trace.checker.locks import LockHistory
from rt_sched.trace.checker.servers import check_server, is_served
from rt_sched.trace.checker.windows import TableWindows
from rt_sched.trace.records import EventKind, JobStatus
from rt_sched.trace.setup import OverrunAction, Policy


def check_budgets(history: History, locks: LockHistory, found: Findings) -> None:
    """Overruns are told when they happen, actions follow as declared, servers pay as they should."""
    for stay in history.stays:
        if history.setup.processors[stay.row.processor].policy is Policy.TABLE:
            _table_overruns(history, stay, locks, found)
        else:
            _overruns(history, stay, found)
            if not is_served(stay.row):
                _actions(history, stay, locks, found)
        if is_served(stay.row):
            check_server(history, locks, stay, found)


def _work_left(history: History, job: int, executed_ns: int) -> tuple[int, bool, bool]:
    """Instant at which a job had executed so long, whether it then had work left, and whether that is beyond doubt.

    Completion and what happens in the first phases of an instant come before budgets.
    """
    at_ns = history.reached_ns(job, executed_ns)
    if at_ns == NEVER_NS:
        return at_ns, False, True
    if at_ns == history.end_ns[job]:
        aborted = history.trace.jobs.status[job] == JobStatus.ABORTED
        return at_ns, aborted, not aborted
    return at_ns, True, True


def _overruns(history: History, stay: Declared, found: Findings) -> None:
    task = stay.row
    told = history.events_of_task(EventKind.OVERRUN, stay.task)
    jobs = history.trace.jobs
    for job in _concerned(history, stay, task.budget_ns, told):
        due_ns, left, certain = NEVER_NS, False, True
        if task.budget_ns is not None and history.executed_ns[job] >= task.budget_ns:
            due_ns, left, certain = _work_left(history, job, task.budget_ns)
        says = [time_ns for time_ns, _, _, _ in told.get(job, ())]
        if says != ([due_ns] if left else []) and not (not certain and says == []):
            text = f"an overrun at {due_ns} ns" if left else "no overrun: its budget is not used up with work left"
            found.add(Rule.BUDGETS, says[0] if says else due_ns, history.job_name(job), text)
        if bool(jobs.overrun[job]) != bool(says):
            text = "marked as overrun exactly when an overrun is told"
            found.add(Rule.BUDGETS, says[0] if says else int(jobs.arrival_ns[job]), history.job_name(job), text)


def _concerned(history: History, stay: Declared, budget_ns: int | None, told: dict[int, list[EventRow]]) -> list[int]:
    """Jobs of a task that have used up a budget, or of which something is said."""
    mine = stay.jobs
    spoken = history.trace.jobs.overrun[mine] | np.isin(mine, list(told))
    if budget_ns is not None:
        spoken |= history.executed_ns[mine] >= budget_ns
    return [int(job) for job in mine[spoken]]


def _actions(history: History, stay: Declared, locks: LockHistory, found: Findings) -> None:
    task = stay.row
    told = history.events_of_task(EventKind.ENFORCE, stay.task)
    acts = task.budget_ns is not None and task.overrun_action is not OverrunAction.LOG
    budget_ns = enforced_budget(task)
    for job in _concerned(history, stay, budget_ns if acts else None, told):
        due_ns, left, certain = NEVER_NS, False, True
        if acts and history.executed_ns[job] >= budget_ns:
            due_ns, left, certain = _work_left(history, job, budget_ns)
            if left:
                free_ns = free_from(locks, job, due_ns)
                if free_ns != due_ns:
                    due_ns, certain = free_ns, certain and history.end_ns[job] > free_ns
                    left = free_ns < history.end_ns[job] or (
                        free_ns == history.end_ns[job] and history.trace.jobs.status[job] == JobStatus.ABORTED
                    )
                left = left and due_ns <= history.trace.horizon_ns
        says = [(time_ns, value) for time_ns, _, value, _ in told.get(job, ())]
        if says != ([(due_ns, int(task.overrun_action))] if left else []) and not (not certain and says == []):
            action = task.overrun_action.name.lower()
            text = f"the overrun action {action} at {due_ns} ns" if left else "no overrun action"
            found.add(Rule.BUDGETS, says[0][0] if says else due_ns, history.job_name(job), text)


def _table_overruns(history: History, stay: Declared, locks: LockHistory, found: Findings) -> None:
    """On a table processor the end of an entry acts as the budget, too."""
    index, task = stay.task, stay.row
    windows = TableWindows(history, task.processor, locks)
    ends: dict[int, list[int]] = {}
    cut = set(history.row_outages[task.processor].begin_ns.tolist())
    for owner, end_ns in zip(windows.owner.tolist(), windows.spans.end_ns.tolist(), strict=True):
        if owner >= 0 and end_ns not in cut:
            ends.setdefault(owner, []).append(end_ns)
    overruns = history.events_of_task(EventKind.OVERRUN, index)
    actions = history.events_of_task(EventKind.ENFORCE, index)
    jobs = history.trace.jobs
    last_ns = history.trace.horizon_ns
    for job in stay.jobs.tolist():
        ended_ns = int(history.end_ns[job])
        entry_ns = [end_ns for end_ns in ends.get(job, ()) if end_ns <= last_ns and end_ns <= ended_ns]
        entry_ns = [end_ns for end_ns in entry_ns if end_ns < ended_ns or jobs.status[job] == JobStatus.ABORTED]
        used_ns, left, _ = NEVER_NS, False, True
        if task.budget_ns is not None and history.executed_ns[job] >= task.budget_ns:
            used_ns, left, _ = _work_left(history, job, task.budget_ns)
        due_ns = min([*entry_ns[:1], used_ns if left else NEVER_NS])
        says = [time_ns for time_ns, _, _, _ in overruns.get(job, ())]
        if says != ([due_ns] if due_ns < NEVER_NS else []) and not (due_ns == ended_ns and says == []):
            text = f"an overrun at {due_ns} ns" if due_ns < NEVER_NS else "no overrun"
            found.add(Rule.BUDGETS, says[0] if says else due_ns, history.job_name(job), text)
        if bool(jobs.overrun[job]) != bool(says):
            text = "marked as overrun exactly when an overrun is told"
            found.add(Rule.BUDGETS, says[0] if says else int(jobs.arrival_ns[job]), history.job_name(job), text)
        acted = [(time_ns, value) for time_ns, _, value, _ in actions.get(job, ())]
        if task.overrun_action is OverrunAction.THROTTLE:
            continue
        wanted = task.overrun_action is not OverrunAction.LOG
        for time_ns, value in acted:
            if not says or time_ns < says[0] or value != task.overrun_action or not wanted:
                text = f"the overrun action {task.overrun_action.name.lower()} after an overrun, and no other"
                found.add(Rule.BUDGETS, time_ns, history.job_name(job), text)
        if wanted and entry_ns and not acted and entry_ns[0] < ended_ns:
            text = f"the overrun action {task.overrun_action.name.lower()} at the end of its entry"
            found.add(Rule.BUDGETS, entry_ns[0], history.job_name(job), text)
