"""Shared resources (semantics 14): exclusion, programs, grants, and the keys that owners have meanwhile."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from rt_sched.trace.checker.findings import Findings, Rule
from rt_sched.trace.checker.history import NEVER_NS, History
from rt_sched.trace.checker.keys import KeySteps, add_step, key_at
from rt_sched.trace.checker.programs import Act, check_programs, check_waiting
from rt_sched.trace.records import EventKind, Int64s, JobStatus
from rt_sched.trace.setup import Policy, Protocol

_LOST = -1
_CEILING, _INHERITANCE, _MSRP = Protocol.PRIORITY_CEILING, Protocol.PRIORITY_INHERITANCE, Protocol.MSRP
_BY_LEVEL = Policy.FIXED_PRIORITY
_NOBODY: frozenset[int] = frozenset()
#: Worse than every key.
NO_KEY = 2**62


@dataclass(slots=True)
class LockHistory:
    """What the lock events tell.

    `keys`: how the effective key of a job develops. `ceilings`: per EDF processor, least relative deadline of the users
    of its locked ceiling resources, as (instant, value, the job whose locking changed it). `waits`: job, begin, end,
    whether it spins meanwhile. `holding`: per job the spans [lock, unlock) of its outermost sections. `fixed`: per job
    the spans from an msrp request to the unlock.

    A job that gets a core in phase 6 may lock, wait or unlock there at once, after which others are dispatched in
    another round. `in_rounds`: job and instant, with the keys that the job had in the rounds before the last one;
    NO_KEY when it was not even ready then. `unlocked_at_once`: jobs that unlocked as soon as they got a core, and when.
    `from_dead`: jobs that were granted a lock of a lost processor's job, before the mode changes of that instant, and
    when. `locked_late`: jobs whose outermost section, or spin before it, began after phase 4, and when. `freed_late`:
    jobs that held a lock or spun in phase 4 and had released everything at some time after it, and when.
    """

    keys: dict[int, KeySteps] = field(default_factory=dict)
    ceilings: dict[int, list[tuple[int, int, int]]] = field(default_factory=lambda: defaultdict(list))
    waits: list[tuple[int, int, int, bool]] = field(default_factory=list)
    holding: dict[int, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    fixed: dict[int, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    in_rounds: dict[tuple[int, int], list[int]] = field(default_factory=lambda: defaultdict(list))
    unlocked_at_once: set[tuple[int, int]] = field(default_factory=set)
    from_dead: set[tuple[int, int]] = field(default_factory=set)
    locked_late: set[tuple[int, int]] = field(default_factory=set)
    freed_late: set[tuple[int, int]] = field(default_factory=set)

    def held_at(self, job: int, time_ns: int) -> bool:
        """Whether a job holds a lock from an instant on."""
        return any(begin_ns <= time_ns < end_ns for begin_ns, end_ns in self.holding.get(job, ()))

    def fixed_at(self, job: int, time_ns: int) -> bool:
        """Whether an msrp section or its spin keeps a job on its core from an instant on."""
        return any(begin_ns <= time_ns < end_ns for begin_ns, end_ns in self.fixed.get(job, ()))


def check_locks(history: History, own: Int64s, server_keys: dict[int, KeySteps], found: Findings) -> LockHistory:
    """Replay the lock events against the declared sections and protocols.

    `server_keys`: keys of jobs under a bandwidth server, which replace their own.
    """
    if not history.setup.resources:
        return LockHistory(keys=dict(server_keys))
    sweep = _Sweep(history, own, server_keys, found)
    sweep.run()
    check_programs(history, sweep.acted, found)
    check_waiting(history, sweep.result.waits, found)
    return sweep.result


class _Sweep:
    """Owners and waiters of every resource, event by event."""

    def __init__(self, history: History, own: Int64s, server_keys: dict[int, KeySteps], found: Findings) -> None:
        self._history, self._found = history, found
        self._own: list[int] = own.tolist()
        self._server_keys = server_keys
        resources = len(history.setup.resources)
        self._protocol = [resource.protocol for resource in history.setup.resources]
        policies = [processor.policy for processor in history.setup.processors]
        self._policy_of = [policies[row] for row in history.row.tolist()]
        self._end_ns: list[int] = history.end_ns.tolist()
        self._owner = [-1] * resources
        self._waiters: list[list[int]] = [[] for _ in range(resources)]
        self._granting: dict[int, int] = {}
        self._held: dict[int, list[int]] = defaultdict(list)
        self._since: dict[tuple[int, int], int] = {}
        self._waiting_since: dict[int, int] = {}
        self._outer_ns: dict[int, int] = {}
        #: Instant at which dispatched jobs have begun to act, and when each job was granted what it acts on after that:
        #: a lock it waited for off its core, or spun for until a dispatched job released it.
        self._dispatched_ns = -1
        self._granted_ns: dict[int, int] = {}
        #: Jobs whose request came from phase 6, and when.
        self._requested_late: set[tuple[int, int]] = set()
        #: Per resource when its owner died.
        self._died_ns: dict[int, int] = {}
        self._owner_keys: dict[int, list[tuple[int, int | None]]] = defaultdict(list)
        users = [
            [task for task in history.setup.tasks if any(section.resource == r for section in task.sections)]
            for r in range(resources)
        ]
        self._ceiling_level = [min((task.level for task in tasks), default=0) for tasks in users]
        self._ceiling_deadline = [min((task.deadline_ns for task in tasks), default=0) for tasks in users]
        self.result = LockHistory(keys=dict(server_keys))
        self.acted: dict[int, list[Act]] = defaultdict(list)

    def run(self) -> None:
        history = self._history
        events: list[tuple[int, int, int, int, int]] = []
        for kind in (EventKind.REQUEST, EventKind.LOCK, EventKind.UNLOCK, EventKind.OWNER_DEAD, EventKind.ABORT):
            for time_ns, job, value, position in history.events(kind):
                events.append((time_ns, position, int(kind), job, value))
        for time_ns, job, value, position in history.events(EventKind.REPLENISH):
            if job in self._server_keys:
                events.append((time_ns, position, int(EventKind.REPLENISH), job, value))
        if any(len(outages.begin_ns) for outages in history.row_outages):
            for _, job, _, _ in history.events(EventKind.REQUEST):
                if history.trace.jobs.status[job] == JobStatus.LOST:
                    events.append((int(history.end_ns[job]), len(history.trace.events), _LOST, job, 0))
        for time_ns, _, what, job, value in sorted(events):
            self._one(time_ns, what, job, value)
        self._overdue(NEVER_NS)
        self._merge_keys()
        horizon_ns = history.trace.horizon_ns
        for job, held in self._held.items():
            if held and history.end_ns[job] <= horizon_ns:
                where = history.job_name(job)
                names = ", ".join(history.setup.resources[r].name for r in held)
                self._say(int(history.end_ns[job]), where, f"{names} is released when the job ends")
            if held:
                self.result.holding[job].append((self._outer_ns[job], NEVER_NS))
        for (job, resource), since_ns in self._since.items():
            if self._protocol[resource] is _MSRP:
                self.result.fixed[job].append((since_ns, NEVER_NS))
        for job, since_ns in self._waiting_since.items():
            self._end_wait(job, since_ns, min(int(history.end_ns[job]), horizon_ns))

    def _say(self, time_ns: int, where: str, expected: str) -> None:
        self._found.add(Rule.RESOURCES, time_ns, where, expected)

    def _name(self, resource: int) -> str:
        return self._history.setup.resources[resource].name

    def _one(self, time_ns: int, kind: int, job: int, value: int) -> None:
        self._overdue(time_ns)
        acts = kind in (EventKind.REQUEST, EventKind.UNLOCK) or (
            kind == EventKind.LOCK and job not in self._waiters[value]
        )
        if acts and self._got_core_at(job, time_ns):
            self._dispatched_ns = time_ns
            if kind == EventKind.UNLOCK:
                self.result.unlocked_at_once.add((job, time_ns))
        if kind == EventKind.REQUEST:
            self._request(time_ns, job, value)
        elif kind == EventKind.LOCK:
            self._lock(time_ns, job, value)
        elif kind in (EventKind.UNLOCK, EventKind.OWNER_DEAD):
            self._release(time_ns, kind, job, value)
        elif kind in (EventKind.ABORT, _LOST):
            self._leave(time_ns, job)
        self._update_keys(time_ns)

    def _got_core_at(self, job: int, time_ns: int) -> bool:
        """Whether a job acts in phase 6 of that instant: it got its core, or the lock it spun for, only then."""
        return self._granted_ns.get(job) == time_ns or not self._history.had_core_until(job, time_ns)

    def _overdue(self, time_ns: int) -> None:
        """A free resource with waiters goes to one of them at the instant at which it became free."""
        if not self._granting:
            return
        for resource, since_ns in list(self._granting.items()):
            if time_ns > since_ns:
                del self._granting[resource]
                if self._owner[resource] == -1 and self._alive_waiters(resource, since_ns):
                    self._say(since_ns, self._name(resource), "a waiting job gets the lock as soon as it is free")

    def _alive_waiters(self, resource: int, time_ns: int) -> list[int]:
        return [job for job in self._waiters[resource] if self._end_ns[job] > time_ns]

    def _request(self, time_ns: int, job: int, resource: int) -> None:
        if self._owner[resource] == -1 and resource not in self._granting:
            self._say(time_ns, self._name(resource), f"{self._history.job_name(job)} need not wait: the lock is free")
        if job in self._waiting_since:
            self._say(time_ns, self._history.job_name(job), "a waiting job requests nothing more")
        self._waiters[resource].append(job)
        self._waiting_since[job] = time_ns
        if self._dispatched_ns == time_ns:
            self._requested_late.add((job, time_ns))
        if self._protocol[resource] is _MSRP:
            self._since[job, resource] = time_ns
        self.acted[job].append(("request", time_ns, resource))

    def _lock(self, time_ns: int, job: int, resource: int) -> None:
        owner, spins = self._owner[resource], self._protocol[resource] is _MSRP
        if owner != -1:
            who, other = self._history.job_name(job), self._history.job_name(owner)
            self._say(time_ns, self._name(resource), f"{who} waits until {other} has unlocked it")
        waiters = self._alive_waiters(resource, time_ns)
        late = self._dispatched_ns == time_ns
        if job in self._waiters[resource]:
            first = self._first_waiter(resource, waiters, time_ns)
            if first not in (-1, job) and self._end_ns[job] > time_ns:
                rule = "first in the order of requests" if spins else "the best key"
                one, two = self._history.job_name(first), self._history.job_name(job)
                self._say(time_ns, self._name(resource), f"{one} has {rule} and gets the lock before {two}")
            self._waiters[resource].remove(job)
            self._end_wait(job, self._waiting_since.pop(job, time_ns), time_ns, self._protocol[resource])
            if late or not spins:
                self._granted_ns[job] = time_ns
            if late and not spins:
                self.result.in_rounds[job, time_ns].append(NO_KEY)
            late = late and (not spins or (job, time_ns) in self._requested_late)
            if self._died_ns.get(resource) == time_ns:
                self.result.from_dead.add((job, time_ns))
        elif waiters:
            who, other = self._history.job_name(job), self._history.job_name(waiters[0])
            self._say(time_ns, self._name(resource), f"{who} waits behind {other}")
        self._granting.pop(resource, None)
        self._owner[resource] = job
        if not self._held[job]:
            self._outer_ns[job] = time_ns
            if late:
                self.result.locked_late.add((job, time_ns))
        self._held[job].append(resource)
        self._since.setdefault((job, resource), time_ns)
        self.acted[job].append(("lock", time_ns, resource))
        self._update_ceiling(time_ns, job, resource)

    def _first_waiter(self, resource: int, waiters: list[int], time_ns: int) -> int:
        if not waiters:
            return -1
        if self._protocol[resource] is _MSRP:
            return waiters[0]
        return min(waiters, key=lambda job: self._effective(job, time_ns, _NOBODY))

    def _release(self, time_ns: int, kind: int, job: int, resource: int) -> None:
        owner, name = self._owner[resource], self._name(resource)
        if kind == EventKind.OWNER_DEAD:
            if owner == -1:
                self._say(time_ns, name, "no owner could die: the lock is free")
                return
            job = owner
            self._died_ns[resource] = time_ns
            if self._history.end_ns[job] != time_ns:
                self._say(time_ns, name, f"{self._history.job_name(job)} keeps the lock: it has not ended")
        elif owner != job:
            self._say(time_ns, name, f"{self._history.job_name(job)} unlocks only what it has locked")
            return
        elif self._held[job][-1] != resource:
            inner = self._name(self._held[job][-1])
            self._say(time_ns, self._history.job_name(job), f"sections nest: {inner} is unlocked before {name}")
        self._owner[resource] = -1
        self._held[job].remove(resource)
        since_ns = self._since.pop((job, resource), time_ns)
        if self._protocol[resource] is _MSRP:
            self.result.fixed[job].append((since_ns, time_ns))
        if not self._held[job]:
            self.result.holding[job].append((self._outer_ns[job], time_ns))
            began_late = self._outer_ns[job] == time_ns and (job, time_ns) in self.result.locked_late
            if (job, time_ns) in self.result.unlocked_at_once and not began_late:
                self.result.freed_late.add((job, time_ns))
        self.acted[job].append(("unlock" if kind == EventKind.UNLOCK else "dead", time_ns, resource))
        if self._waiters[resource]:
            self._granting[resource] = time_ns
        self._update_ceiling(time_ns, job, resource)

    def _leave(self, time_ns: int, job: int) -> None:
        """A job that ends waits no longer."""
        for resource, waiters in enumerate(self._waiters):
            if job in waiters:
                waiters.remove(job)
                since_ns = self._since.pop((job, resource), time_ns)
                if self._protocol[resource] is _MSRP:
                    self.result.fixed[job].append((since_ns, time_ns))
                self._end_wait(job, self._waiting_since.pop(job, time_ns), time_ns, self._protocol[resource])

    def _end_wait(self, job: int, since_ns: int, until_ns: int, protocol: Protocol | None = None) -> None:
        if protocol is None:
            resource = next(r for r, waiters in enumerate(self._waiters) if job in waiters)
            protocol = self._protocol[resource]
        self.result.waits.append((job, since_ns, until_ns, protocol is _MSRP))

    def _update_ceiling(self, time_ns: int, job: int, resource: int) -> None:
        if self._protocol[resource] is not _CEILING or self._policy_of[job] is not Policy.EDF:
            return
        row = int(self._history.row[job])
        locked = (
            self._ceiling_deadline[r]
            for r, owner in enumerate(self._owner)
            if owner != -1 and self._protocol[r] is _CEILING and self._history.row[owner] == row
        )
        self.result.ceilings[row].append((time_ns, min(locked, default=NEVER_NS), job))

    def _effective(self, job: int, time_ns: int, seen: frozenset[int]) -> int:
        """Best of the job's own key, its ceilings and the keys of those it blocks, through any chain."""
        key = self._own[job]
        if job in self._server_keys:
            key = key_at(self._server_keys[job], key, time_ns)
        if job in seen:
            return key
        policy = self._policy_of[job]
        for resource in self._held.get(job, ()):
            protocol = self._protocol[resource]
            if protocol is _CEILING and policy is _BY_LEVEL:
                key = min(key, self._ceiling_level[resource])
            elif protocol is _INHERITANCE and self._waiters[resource]:
                seen = seen | {job}
                for waiter in self._waiters[resource]:
                    if self._policy_of[waiter] is policy:
                        key = min(key, self._effective(waiter, time_ns, seen))
        return key

    def _update_keys(self, time_ns: int) -> None:
        """Note the keys of all owners; those of others are what they were declared to be."""
        for job, held in list(self._held.items()):
            steps = self._owner_keys[job]
            key = self._effective(job, time_ns, _NOBODY) if held else None
            before = steps[-1][1] if steps else None
            if before != key:
                if self._dispatched_ns == time_ns:
                    declared = key_at(self._server_keys.get(job), self._own[job], time_ns)
                    self.result.in_rounds[job, time_ns].append(declared if before is None else before)
                steps.append((time_ns, key))
            if not held:
                del self._held[job]

    def _merge_keys(self) -> None:
        """Keys of owners while they own, their own ones otherwise."""
        for job, owned in self._owner_keys.items():
            own, served = self._own[job], self._server_keys.get(job)
            if served is None and all(key is None or key == own for _, key in owned):
                continue
            steps: KeySteps = []
            instants = sorted({time_ns for time_ns, _ in owned} | {time_ns for time_ns, _ in served or ()})
            place, present = 0, None
            for time_ns in instants:
                while place < len(owned) and owned[place][0] <= time_ns:
                    present = owned[place][1]
                    place += 1
                add_step(steps, time_ns, key_at(served, own, time_ns) if present is None else present)
            if steps:
                self.result.keys[job] = steps
