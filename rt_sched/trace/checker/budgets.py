"""Budgets (semantics 8): overruns, their actions, and the servers that throttle."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rt_sched.trace.checker.ends import abort_causes
from rt_sched.trace.checker.findings import Findings, Rule
from rt_sched.trace.checker.history import NEVER_NS, EventRow, History
from rt_sched.trace.checker.keys import KeySteps, add_step
from rt_sched.trace.checker.locks import LockHistory
from rt_sched.trace.checker.windows import TableWindows
from rt_sched.trace.records import EventKind, JobStatus
from rt_sched.trace.setup import OverrunAction, Policy, TaskRow

_LONG_AGO_NS = -(2**62)


def enforced_budget(task: TaskRow) -> int:
    """The budget, rounded up to its granularity."""
    return -(-(task.budget_ns or 0) // task.budget_granularity_ns) * task.budget_granularity_ns


def served_tasks(history: History) -> Iterator[tuple[int, TaskRow]]:
    """Tasks that a server throttles."""
    for index, task in enumerate(history.setup.tasks):
        if task.overrun_action is OverrunAction.THROTTLE and task.budget_ns is not None:
            yield index, task


def turns(history: History, task: int) -> Iterator[tuple[int, int]]:
    """Jobs of a task with the instant at which each became its oldest; without those that never entered the backlog."""
    jobs, ended_ns = history.trace.jobs, -1
    for job in history.jobs_of_task[task].tolist():
        arrival_ns = int(jobs.arrival_ns[job])
        on_arrival = jobs.status[job] == JobStatus.LOST and history.lost_row_ns[history.row[job]] <= arrival_ns
        if jobs.status[job] == JobStatus.SUPPRESSED or on_arrival:
            continue
        oldest_ns = max(arrival_ns, ended_ns)
        if history.end_ns[job] >= oldest_ns and not _goes_with_others(history, job, oldest_ns):
            yield job, oldest_ns
        ended_ns = max(ended_ns, int(history.end_ns[job]))


def _goes_with_others(history: History, job: int, oldest_ns: int) -> bool:
    """Whether a job is aborted together with the one before it, so that it never is the oldest."""
    if history.end_ns[job] != oldest_ns or history.trace.jobs.status[job] != JobStatus.ABORTED:
        return False
    if history.trace.jobs.arrival_ns[job] == oldest_ns:
        return False
    # In phase 4 one that completed has gone before.
    completed = history.trace.jobs.status[history.before[job]] == JobStatus.COMPLETED
    together = (Rule.MODES,) if completed else (Rule.MODES, Rule.CRITICALITY)
    return any(
        rule in together and at_ns == oldest_ns for at_ns, _, rule in abort_causes(history, job, deadlines=False)
    )


def server_keys(history: History) -> dict[int, KeySteps]:
    """Keys of the jobs of throttled tasks under EDF: the deadlines of their servers, as recorded."""
    keys: dict[int, KeySteps] = {}
    postponed = history.events_of_jobs(EventKind.REPLENISH)
    jobs = history.trace.jobs
    for index, task in served_tasks(history):
        if history.setup.processors[task.processor].policy is not Policy.EDF:
            continue
        server_ns = _LONG_AGO_NS
        for job, oldest_ns in turns(history, index):
            server_ns = _joined(server_ns, int(jobs.deadline_ns[job]), task)[0]
            steps: KeySteps = []
            add_step(steps, oldest_ns, server_ns)
            for time_ns, _, value, _ in postponed.get(job, ()):
                server_ns = value
                add_step(steps, time_ns, value)
            keys[job] = steps
    return keys


def _joined(server_ns: int, deadline_ns: int, task: TaskRow) -> tuple[int, bool]:
    """Server deadline when a job becomes the oldest, and whether its budget is filled anew."""
    if deadline_ns >= server_ns + (task.separation_ns or 0):
        return deadline_ns, True
    return server_ns, False


def check_budgets(history: History, locks: LockHistory, found: Findings) -> None:
    """Overruns are told when they happen, actions follow as declared, servers pay as they should."""
    served = {index for index, _ in served_tasks(history)}
    for index, task in enumerate(history.setup.tasks):
        if history.setup.processors[task.processor].policy is Policy.TABLE:
            _table_overruns(history, index, task, locks, found)
            if index in served:
                _check_server(history, locks, index, task, found)
        elif index in served:
            _overruns(history, index, task, found)
            _check_server(history, locks, index, task, found)
        else:
            _overruns(history, index, task, found)
            _actions(history, index, task, locks, found)


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


def _overruns(history: History, index: int, task: TaskRow, found: Findings) -> None:
    told = history.events_of_task(EventKind.OVERRUN, index)
    jobs = history.trace.jobs
    for job in _concerned(history, index, task.budget_ns, told):
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


def _concerned(history: History, index: int, budget_ns: int | None, told: dict[int, list[EventRow]]) -> list[int]:
    """Jobs of a task that have used up a budget, or of which something is said."""
    mine = history.jobs_of_task[index]
    spoken = history.trace.jobs.overrun[mine] | np.isin(mine, list(told))
    if budget_ns is not None:
        spoken |= history.executed_ns[mine] >= budget_ns
    return [int(job) for job in mine[spoken]]


def _free_from(locks: LockHistory, job: int, at_ns: int) -> int:
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


def _actions(history: History, index: int, task: TaskRow, locks: LockHistory, found: Findings) -> None:
    told = history.events_of_task(EventKind.ENFORCE, index)
    acts = task.budget_ns is not None and task.overrun_action is not OverrunAction.LOG
    budget_ns = enforced_budget(task)
    for job in _concerned(history, index, budget_ns if acts else None, told):
        due_ns, left, certain = NEVER_NS, False, True
        if acts and history.executed_ns[job] >= budget_ns:
            due_ns, left, certain = _work_left(history, job, budget_ns)
            if left:
                free_ns = _free_from(locks, job, due_ns)
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


def _table_overruns(history: History, index: int, task: TaskRow, locks: LockHistory, found: Findings) -> None:
    """On a table processor the end of an entry acts as the budget, too."""
    windows = TableWindows(history, task.processor, locks)
    ends: dict[int, list[int]] = {}
    for owner, end_ns in zip(windows.owner.tolist(), windows.spans.end_ns.tolist(), strict=True):
        if owner >= 0:
            ends.setdefault(owner, []).append(end_ns)
    overruns = history.events_of_task(EventKind.OVERRUN, index)
    actions = history.events_of_task(EventKind.ENFORCE, index)
    jobs = history.trace.jobs
    last_ns = min(history.trace.horizon_ns, int(history.lost_row_ns[task.processor]) - 1)
    for job in history.jobs_of_task[index].tolist():
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


def _check_server(history: History, locks: LockHistory, index: int, task: TaskRow, found: Findings) -> None:
    """Repeat the accounts of a server job by job and compare what it paid and when."""
    edf = history.setup.processors[task.processor].policy is Policy.EDF
    arrivals = history.trace.jobs.arrival_ns[history.jobs_of_task[index]].tolist()
    events = sorted(
        (position, int(kind), time_ns, job, value)
        for kind in (EventKind.THROTTLE, EventKind.REPLENISH)
        for rows in history.events_of_task(kind, index).values()
        for time_ns, job, value, position in rows
    )
    told: dict[int, list[tuple[int, int, int]]] = {}
    for _, kind, time_ns, job, value in events:
        told.setdefault(job, []).append((kind, time_ns, value if kind == EventKind.REPLENISH else 0))
    account = _Account(history, locks, task, arrivals, edf)
    for job, oldest_ns in turns(history, index):
        says = told.pop(job, [])
        expected, doubtful_ns = account.serve(job, oldest_ns, says)
        if doubtful_ns < NEVER_NS and says != expected:
            says = [one for one in says if one[1] < doubtful_ns]
            expected = [one for one in expected if one[1] < doubtful_ns]
        if says != expected:
            differ = (place for place, pair in enumerate(zip(says, expected, strict=False)) if pair[0] != pair[1])
            first = next(differ, min(len(says), len(expected)))
            wanted = expected[first] if first < len(expected) else None
            actual = says[first] if first < len(says) else None
            at_ns = (wanted or actual or (0, oldest_ns, 0))[1]
            found.add(Rule.BUDGETS, at_ns, history.job_name(job), f"{_words(wanted)}, not {_words(actual)}")
            account.follow(says)
    paid = {(event[3], event[2]) for event in events}
    for job, rows in history.events_of_task(EventKind.ENFORCE, index).items():
        for time_ns, _, value, _ in rows:
            if value != OverrunAction.THROTTLE or (job, time_ns) not in paid:
                text = "an overrun action is told only when its server has nothing left"
                found.add(Rule.BUDGETS, time_ns, history.job_name(job), text)
    for job, says in told.items():
        found.add(Rule.BUDGETS, says[0][1], history.job_name(job), "no throttling of a job that had no turn")


def _words(event: tuple[int, int, int] | None) -> str:
    if event is None:
        return "nothing more"
    kind, time_ns, value = event
    return f"{EventKind(kind).name.lower()} at {time_ns} ns" + (f" ({value})" if kind == EventKind.REPLENISH else "")


class _Account:
    """Budget of a throttled task: a constant bandwidth server under EDF, else paid by arrivals."""

    def __init__(self, history: History, locks: LockHistory, task: TaskRow, arrivals_ns: list[int], edf: bool) -> None:
        self._history, self._locks, self._task, self._edf = history, locks, task, edf
        self._arrivals_ns = arrivals_ns
        self._budget_ns = enforced_budget(task)
        self._credit_ns = 0
        #: Server deadline, or number of the arrival that pays.
        self._server = _LONG_AGO_NS if edf else -1

    def serve(
        self, job: int, oldest_ns: int, says: list[tuple[int, int, int]]
    ) -> tuple[list[tuple[int, int, int]], int]:
        """Expected events while a job is the oldest, and the instant from which on they are in doubt.

        When it is aborted at an instant at which a payment is due, what the trace `says` tells which came first.
        """
        history, jobs = self._history, self._history.trace.jobs
        ended_ns, horizon_ns = int(history.end_ns[job]), history.trace.horizon_ns
        self._join(job)
        expected: list[tuple[int, int, int]] = []
        executed_ns, now_ns, doubtful_ns = 0, oldest_ns, NEVER_NS
        while True:
            if self._credit_ns > 0:
                used_ns = executed_ns + self._credit_ns
                at_ns = history.reached_ns(job, used_ns) if history.executed_ns[job] >= used_ns else NEVER_NS
                if at_ns == NEVER_NS:
                    break
                at_ns = _free_from(self._locks, job, max(at_ns, now_ns))
            else:
                at_ns = now_ns
            if at_ns > horizon_ns or at_ns > ended_ns:
                break
            if at_ns == ended_ns:
                doubtful_ns = at_ns
                if jobs.status[job] not in (JobStatus.ABORTED, JobStatus.SKIPPED):
                    break
            reached_ns = history.executed_at(job, at_ns)
            self._credit_ns -= reached_ns - executed_ns
            executed_ns, now_ns = reached_ns, at_ns
            if at_ns == ended_ns and not any(one[1] == at_ns for one in says):
                break
            if self._credit_ns <= 0:
                # A job is skipped in phase 6, so an arrival at that instant has paid before; an abort comes earlier.
                skipped = jobs.status[job] == JobStatus.SKIPPED
                now_ns = self._pay(now_ns, min(ended_ns + int(skipped), horizon_ns), expected)
            if now_ns in (NEVER_NS, ended_ns):
                break
        self._credit_ns -= int(history.executed_ns[job]) - executed_ns
        return expected, doubtful_ns

    def _join(self, job: int) -> None:
        jobs = self._history.trace.jobs
        if self._edf:
            self._server, full = _joined(self._server, int(jobs.deadline_ns[job]), self._task)
        else:
            number = int(jobs.number[job])
            full = self._server < number
            self._server = max(self._server, number)
        if full:
            self._credit_ns = self._budget_ns

    def _pay(self, now_ns: int, before_ns: int, expected: list[tuple[int, int, int]]) -> int:
        """Postponements or paying arrivals until there is credit; returns when, NEVER_NS when too few come in time."""
        throttled = False
        while self._credit_ns <= 0:
            if self._edf:
                self._server += self._task.separation_ns or 0
            else:
                following, arrivals_ns = self._server + 1, self._arrivals_ns
                comes_ns = arrivals_ns[following] if following < len(arrivals_ns) else NEVER_NS
                if comes_ns >= now_ns and not throttled:
                    expected.append((int(EventKind.THROTTLE), now_ns, 0))
                    throttled = True
                if comes_ns >= before_ns:
                    return NEVER_NS
                now_ns, self._server = max(now_ns, comes_ns), following
            self._credit_ns += self._budget_ns
        expected.append((int(EventKind.REPLENISH), now_ns, self._server))
        return now_ns

    def follow(self, says: list[tuple[int, int, int]]) -> None:
        """After a difference go on from what the trace says, so that one mistake is told once."""
        paid = [value for kind, _, value in says if kind == EventKind.REPLENISH]
        if paid:
            self._server = paid[-1]
