"""Starts every process of a paced run, lets it run, ends it, and gathers what happened."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from rt_sched.errors import DeploymentError, RtSchedError
from rt_sched.runtime.host.huge_pages import collapse_memory
from rt_sched.runtime.host.observed import observe
from rt_sched.runtime.paced.faults.strike import Striker
from rt_sched.runtime.paced.jobs.journal import Journal
from rt_sched.runtime.paced.order import LinkCourse, PacedOrder, PacedOutcome, PacedWorker
from rt_sched.runtime.paced.parts import Parts
from rt_sched.runtime.paced.processes import Processes
from rt_sched.runtime.paced.refusal import refuse
from rt_sched.runtime.paced.roster import State
from rt_sched.runtime.paced.standing import Standing, standings


class StageDefect(RtSchedError):
    """Stage code failed in a worker."""

    is_defect = True


#: How long stages may take to start, before the run is given up.
_START_LIMIT_S = 180.0
#: When, in run time, the kernel is asked about the workers.
_OBSERVED_AT_NS = 100_000_000
_LOOK_S = 0.05


class PacedRun:
    """One run. Make it and call `run`, in a process with no other thread: all others are forked from it."""

    def __init__(self, order: PacedOrder) -> None:
        refuse(order.setup, tier=order.tier, commands_of=None if order.actuator is None else order.actuator.task)
        self._order, self._parts = order, Parts(order)
        self.clock = self._parts.clock
        strikes = () if order.strikes is None else order.strikes(self)
        self._striker = Striker(strikes, self.clock, real_time=self._parts.real_time) if strikes else None
        self._processes = Processes(order, self._parts, self._striker)

    def run(self, progress: Callable[[int], None]) -> PacedOutcome:
        """Everything from the first fork to the last exit. Raises what a stage could not do at its start."""
        with self._parts.cores.taken():
            if self._parts.guard is not None:  # no beat may be missed for the time that a fork takes
                collapse_memory()
            with self._processes.forked():
                self._wait_for(State.READY)
                self.clock.prepare()
                self._wait_for(State.SEATED)
                self.clock.begin(time.monotonic_ns() + self._parts.lead_ns)
                workers = self._let_run(progress)
                self._processes.end()
        return self._outcome(workers)

    def processes_of(self, device: str) -> Sequence[int]:
        """All processes of a device, as kill(2) takes them; none where nobody watches devices."""
        return self._parts.processes_of(device)

    def restart(self, device: str, due_ns: int) -> None:
        """The next time that a watched device has ended it is started anew, at `due_ns` (run time) at the earliest."""
        self._parts.restarts.order(device, due_ns)

    def journals_of(self, device: str) -> tuple[Journal, ...]:
        """The journals of the tasks that are on a device nominally."""
        return self._parts.posts.journals_of(device)

    @property
    def order(self) -> PacedOrder:
        """What runs."""
        return self._order

    def standings(self, now_ns: int) -> tuple[Standing, ...]:
        """How every task stands at this run time; while the run goes on."""
        return standings([task.name for task in self._order.system.tasks], self._parts.posts.journals, now_ns)

    def _wait_for(self, wanted: State) -> None:
        """Waits until every worker is that far, and enough of the recording lies decoded."""
        until = time.monotonic() + _START_LIMIT_S
        states, standby_states = self._parts.roster.places["state"], self._parts.roster.standbys["state"]
        while not ((states == wanted).all() and (standby_states == wanted).all() and self._parts.ready):
            self._raise_failures()
            if time.monotonic() > until:
                tasks = self._order.system.tasks
                served = [*tasks, *(tasks[one.task] for one in self._parts.posts.standbys)]
                found = zip(served, [*states, *standby_states], strict=True)
                late = [task.name for task, state in found if state != wanted]
                raise DeploymentError(f"not ready within {_START_LIMIT_S:g} s: {', '.join(late) or 'the recording'}")
            time.sleep(_LOOK_S)

    def _let_run(self, progress: Callable[[int], None]) -> tuple[PacedWorker, ...]:
        workers: tuple[PacedWorker, ...] = ()
        while (now_ns := self.clock.now_ns()) < self._order.horizon_ns:
            self._raise_failures()
            self._processes.start_anew(now_ns)
            if not workers and now_ns >= min(_OBSERVED_AT_NS, self._order.horizon_ns // 2):
                workers = self._observed()
            progress(max(now_ns, 0))
            time.sleep(_LOOK_S)
        return workers or self._observed()

    def _observed(self) -> tuple[PacedWorker, ...]:
        found, posts = [], self._parts.posts
        for index, task in enumerate(self._order.system.tasks):
            pid = int(self._parts.roster.places["pid"][index])
            try:
                seen = observe(pid)
            except ProcessLookupError:
                seen = None
            found.append(PacedWorker(task.name, posts.seats[index], posts.core_of(index), pid, seen))
        return tuple(found)

    def _raise_failures(self) -> None:
        """Raises what a worker could not do, and where a process that has to last has ended."""
        places = self._parts.roster.places
        for index, task in enumerate(self._order.system.tasks):
            if places["state"][index] == State.FAILED:
                text = f"task {task.name}: {self._parts.roster.reason(index)}"
                raise StageDefect(text) if places["is_defect"][index] else DeploymentError(text)
        self._processes.check()

    def _outcome(self, workers: tuple[PacedWorker, ...]) -> PacedOutcome:
        parts, losses = self._parts, tuple(self._parts.roster.losses())
        return PacedOutcome(
            [journal.read() for journal in parts.posts.journals],
            parts.posts.spools,
            parts.published_ns.copy(),
            workers,
            losses,
            self.clock.pauses,
            parts.alerts.read(),
            () if parts.injector is None else parts.injector.landed(),
            parts.actuator,
            notices=() if parts.guard is None else parts.guard.notices(),
            epochs=tuple(parts.ownership.epochs()),
            struck=() if self._striker is None else tuple(self._striker.struck()),
            sections=parts.posts.locks.record({one.pid for one in losses}),
            health=None if parts.health is None else parts.health.record(),
            links=tuple(LinkCourse(one.name, one.kind, one.transfers()) for one in parts.links.carriers),
            link_notices=parts.links.notices(),
        )
