"""Servers that throttle (semantics 8): constant bandwidth under EDF, else each arrival pays one budget."""

from __future__ import annotations

from collections.abc import Iterator

from rt_sched.trace.checker.ends import abort_causes
from rt_sched.trace.checker.enforcing import enforced_budget, free_from
from rt_sched.trace.checker.findings import Findings, Rule
from rt_sched.trace.checker.history import NEVER_NS, Declared, History
from rt_sched.trace.checker.keys import KeySteps, add_step
from rt_sched.trace.checker.locks import LockHistory
from rt_sched.trace.records import EventKind, JobStatus
from rt_sched.trace.setup import OverrunAction, Policy, TaskRow

_LONG_AGO_NS = -(2**62)


def is_served(task: TaskRow) -> bool:
    """Whether a server throttles the task."""
    return task.overrun_action is OverrunAction.THROTTLE and task.budget_ns is not None


def turns(history: History, stay: Declared) -> Iterator[tuple[int, int]]:
    """Jobs of a task with the instant at which each became its oldest; without those that never entered the backlog."""
    jobs, ended_ns = history.trace.jobs, -1
    for job in stay.jobs.tolist():
        arrival_ns = int(jobs.arrival_ns[job])
        on_arrival = jobs.status[job] == JobStatus.LOST and history.lost_on_arrival[job]
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
    together = (Rule.MODES, Rule.TAKEOVERS) if completed else (Rule.MODES, Rule.TAKEOVERS, Rule.CRITICALITY)
    return any(
        rule in together and at_ns == oldest_ns for at_ns, _, rule in abort_causes(history, job, deadlines=False)
    )


def server_keys(history: History) -> dict[int, KeySteps]:
    """Keys of the jobs of throttled tasks under EDF: the deadlines of their servers, as recorded."""
    keys: dict[int, KeySteps] = {}
    postponed = history.events_of_jobs(EventKind.REPLENISH)
    jobs = history.trace.jobs
    for stay in history.stays:
        task = stay.row
        if not is_served(task) or history.setup.processors[task.processor].policy is not Policy.EDF:
            continue
        server_ns = _LONG_AGO_NS
        for job, oldest_ns in turns(history, stay):
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


def check_server(history: History, locks: LockHistory, stay: Declared, found: Findings) -> None:
    """Repeat the accounts of a server job by job and compare what it paid and when."""
    index, task = stay.task, stay.row
    mine = set(stay.jobs.tolist())
    edf = history.setup.processors[task.processor].policy is Policy.EDF
    arrivals = history.trace.jobs.arrival_ns[history.jobs_of_task[index]].tolist()
    events = sorted(
        (position, int(kind), time_ns, job, value)
        for kind in (EventKind.THROTTLE, EventKind.REPLENISH)
        for one, rows in history.events_of_task(kind, index).items()
        if one in mine
        for time_ns, job, value, position in rows
    )
    told: dict[int, list[tuple[int, int, int]]] = {}
    for _, kind, time_ns, job, value in events:
        told.setdefault(job, []).append((kind, time_ns, value if kind == EventKind.REPLENISH else 0))
    account = _Account(history, locks, task, arrivals, edf)
    for job, oldest_ns in turns(history, stay):
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
        if job not in mine:
            continue
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
                at_ns = free_from(self._locks, job, max(at_ns, now_ns))
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
