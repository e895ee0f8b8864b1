"""Starts every process of a paced run, lets it run, ends it, and gathers what happened."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial

import numpy as np

from rt_sched.errors import DeploymentError, RtSchedError
from rt_sched.ports import Writer
from rt_sched.runtime.host.affinity import allowed_cores, pin
from rt_sched.runtime.host.child import name_process
from rt_sched.runtime.host.cpuset import ExclusiveCpuset
from rt_sched.runtime.host.cpuset_groups import processes
from rt_sched.runtime.host.huge_pages import collapse_memory
from rt_sched.runtime.host.observed import observe
from rt_sched.runtime.host.scheduling import Scheduling
from rt_sched.runtime.host.supply import deadline_share
from rt_sched.runtime.host.tiers import Tier
from rt_sched.runtime.keys import authenticator_of
from rt_sched.runtime.paced.actuator import ActuatorSide
from rt_sched.runtime.paced.children import Children
from rt_sched.runtime.paced.clock import PacedClock
from rt_sched.runtime.paced.deployment import free_core, host_cores
from rt_sched.runtime.paced.devices.guard import DeviceGuard
from rt_sched.runtime.paced.devices.ownership import Ownership
from rt_sched.runtime.paced.devices.restart import Restarts
from rt_sched.runtime.paced.faults.alerts import Alerts
from rt_sched.runtime.paced.faults.injector import Injector
from rt_sched.runtime.paced.faults.oversight import Oversight, Watched
from rt_sched.runtime.paced.faults.strike import Striker
from rt_sched.runtime.paced.feed.feeder import Playback
from rt_sched.runtime.paced.feed.publishing import publish
from rt_sched.runtime.paced.health.side import HealthSide, seat_of
from rt_sched.runtime.paced.jobs.journal import Journal
from rt_sched.runtime.paced.links.links import Links
from rt_sched.runtime.paced.order import LinkCourse, PacedOrder, PacedOutcome, PacedWorker
from rt_sched.runtime.paced.posts import Posts
from rt_sched.runtime.paced.refusal import refuse
from rt_sched.runtime.paced.roster import State
from rt_sched.runtime.paced.seats.reservations import as_scheduling, check_room, class_beside, task_reservations
from rt_sched.runtime.paced.seats.tier import FEEDER_PRIORITY
from rt_sched.runtime.paced.shared import shared_array
from rt_sched.runtime.paced.standing import Standing, standings
from rt_sched.runtime.paced.supervisor import Charge, Duty, Supervisor


class StageDefect(RtSchedError):
    """Stage code failed in a worker."""

    is_defect = True


#: How long stages may take to start, before the run is given up.
_START_LIMIT_S = 180.0
#: From the moment at which everybody is ready to run time 0, at least.
_LEAD_NS = 200_000_000
#: How long processes may take to end once the run is over.
_END_LIMIT_S = 5.0
#: When, in run time, the kernel is asked about the workers.
_OBSERVED_AT_NS = 100_000_000
_LOOK_S = 0.05


class PacedRun:
    """One run. Make it and call `run`, in a process with no other thread: all others are forked from it."""

    def __init__(self, order: PacedOrder) -> None:
        refuse(order.setup, tier=order.tier, commands_of=None if order.actuator is None else order.actuator.task)
        self._order = order
        self._cores = host_cores(order.system, order.plan)
        self._cpusets: dict[int, ExclusiveCpuset] = {}  # one for each core: SCHED_DEADLINE has no pinning inside
        self._publisher = order.beside.publisher
        self._publisher_scheduling = class_beside(self._publisher.reservation, FEEDER_PRIORITY, order.tier, order.rate)
        self.clock = PacedClock(order.rate)
        self._reservations = self._reserved()
        self._health = None if order.health is None else HealthSide(order.health, self.clock)
        self._posts = Posts(order, self._cores, self._reservations, self.clock, self._go_to, self._health)
        self._roster = self._posts.roster
        real_time = order.tier is not Tier.USER
        self._guard, self._ownership = None, Ownership(len(order.setup.tasks))
        if order.failover is not None:
            self._guard = DeviceGuard(
                order.failover, self._roster, self._posts.journals, self.clock, real_time=real_time
            )
            self._ownership = self._guard.ownership
        self._published_ns = shared_array(np.int64, len(order.samples))
        self._published_ns[:] = -1
        self._playback = Playback(order.samples, self._posts.lines, self._published_ns, self.clock)
        self._links = Links(order, self._posts, self.clock, lambda place: self._go_to(self._cores[place]))
        self._alerts = Alerts(len(order.setup.tasks))
        self._actuator = self._make_actuator()
        self._children = Children()
        self._supervisors: dict[str, Supervisor] = {}
        watched = () if self._guard is None else self._guard.watched
        self._restarts = Restarts(watched, order.restarts)
        self._injector = self._make_injector()
        strikes = () if order.strikes is None else order.strikes(self)
        self._striker = Striker(strikes, self.clock, real_time=real_time) if strikes else None

    def run(self, progress: Callable[[int], None]) -> PacedOutcome:
        """Everything from the first fork to the last exit. Raises what a stage could not do at its start."""
        with ExitStack() as stack:
            if self._order.tier is Tier.DEADLINE:
                for core in sorted(set(self._cores)):
                    self._cpusets[core] = stack.enter_context(ExclusiveCpuset({core}, patience_ns=_LEAD_NS))
            if self._guard is not None:  # no beat may be missed for the time that a fork takes
                collapse_memory()
            stack.enter_context(self._forked())
            self._wait_for(State.READY)
            self.clock.prepare()
            self._wait_for(State.SEATED)
            self.clock.begin(time.monotonic_ns() + self._lead_ns())
            workers = self._let_run(progress)
            self._end()
        return PacedOutcome(
            [journal.read() for journal in self._posts.journals],
            self._posts.spools,
            self._published_ns.copy(),
            workers,
            tuple(self._roster.losses()),
            self.clock.pauses,
            self._alerts.read(),
            () if self._injector is None else self._injector.landed(),
            self._actuator,
            notices=() if self._guard is None else self._guard.notices(),
            epochs=tuple(self._ownership.epochs()),
            struck=() if self._striker is None else tuple(self._striker.struck()),
            sections=self._posts.locks.record({one.pid for one in self._roster.losses()}),
            health=None if self._health is None else self._health.record(),
            links=tuple(LinkCourse(one.name, one.kind, one.transfers()) for one in self._links.carriers),
            link_notices=self._links.notices(),
        )

    def processes_of(self, device: str) -> Sequence[int]:
        """All processes of a device, as kill(2) takes them; none where nobody watches devices."""
        return () if self._guard is None else self._guard.heartbeats.group(device)

    def restart(self, device: str, due_ns: int) -> None:
        """The next time that a watched device has ended it is started anew, at `due_ns` (run time) at the earliest."""
        self._restarts.order(device, due_ns)

    def journals_of(self, device: str) -> tuple[Journal, ...]:
        """The journals of the tasks that are on a device nominally."""
        return self._posts.journals_of(device)

    @property
    def order(self) -> PacedOrder:
        """What runs."""
        return self._order

    def standings(self, now_ns: int) -> tuple[Standing, ...]:
        """How every task stands at this run time; while the run goes on."""
        return standings([task.name for task in self._order.system.tasks], self._posts.journals, now_ns)

    @contextmanager
    def _forked(self) -> Iterator[None]:
        """Supervisors, feeders and the others; whatever happens, none of them is left."""
        start = self._children.start
        real_time = self._order.tier is not Tier.USER
        try:
            devices = () if self._guard is None else self._guard.heartbeats.devices
            for device, charges in self._posts.charges(self._ownership, self._actuator, devices).items():
                cores = sorted({charge.employment.core for charge in charges})
                if allowed_cores() - self._cpusets.keys():  # elsewhere than the reservations, where that is possible
                    cores = sorted(set(cores) - self._cpusets.keys())
                self._supervisors[device] = supervisor = Supervisor(
                    device,
                    charges,
                    cores,
                    self._oversight(charges),
                    self._roster,
                    self.clock,
                    real_time=real_time,
                    duties=self._duties(device),
                    join=None if self._guard is None else partial(self._guard.heartbeats.join, device),
                )
                start(_supervisor(device), supervisor.run)
            start("the process that decodes", self._decode)
            start("the process that publishes samples", self._publish)
            for carrier in self._links.carriers:
                start(f"the process of the link {carrier.name}", carrier.run)
            if self._actuator is not None:
                run = partial(self._actuator.run, free_core(self._cores), real_time=real_time)
                start("the process of the actuators' side", run)
            if self._injector is not None:
                start("the process that injects faults", partial(self._injector.run, real_time=real_time))
            if self._striker is not None:
                start("the process that strikes", self._striker.run)
            yield
        finally:
            self.clock.end()
            self._children.kill()
            self._wait_for_empty_cpusets()

    def _duties(self, device: str) -> Sequence[Duty]:
        """What the supervisor of a device does beside its work."""
        duties: list[Duty] = [] if self._guard is None else [*self._guard.duties(device)]
        watch = self._health
        if watch is not None and watch.order.device == device:
            seat = seat_of(watch.order, self._order.tier, free_core(self._cores), self._cores[watch.order.processor])
            duties.append(watch.guard(self._posts.port, seat))
        return [*duties, *self._links.duties(device)]

    def _publish(self) -> None:
        def writers() -> list[Writer | None]:
            port, read = self._posts.port, self._posts.sensors_read
            return [port.writer(one.name) if one.name in read else None for one in self._order.system.sensors]

        core = self._cores[self._publisher.processor]
        publish(self._playback, writers, self._publisher_scheduling, lambda: self._go_to(core))

    def _wait_for_empty_cpusets(self) -> None:
        """Workers die with their supervisors, but not at once."""
        until = time.monotonic() + _END_LIMIT_S
        while any(processes(one.path) for one in self._cpusets.values()) and time.monotonic() < until:
            time.sleep(0.01)

    def _decode(self) -> None:
        name_process("rt-decode")
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._order.decode(self._playback)

    def _reserved(self) -> dict[int, Scheduling]:
        """In the tier `deadline`, by the index of the task. Raises DeploymentError where a core has too little room."""
        order = self._order
        if order.tier is not Tier.DEADLINE:
            return {}
        reservations = task_reservations(order.system, order.plan)
        beside = [(name, self._cores[place], one) for name, place, one in order.beside.reserved]
        check_room(order.system, order.plan, reservations, self._cores, beside, deadline_share())
        return {index: as_scheduling(one, order.rate) for index, one in reservations.items()}

    def _lead_ns(self) -> int:
        """The begin wakes everybody: what that takes of a reservation is given back within its period."""
        given = [*self._reservations.values(), self._publisher_scheduling, *self._links.classes]
        return max([_LEAD_NS, *(one.period_ns for one in given if one is not None)])

    def _wait_for(self, wanted: State) -> None:
        """Waits until every worker is that far, and enough of the recording lies decoded."""
        until = time.monotonic() + _START_LIMIT_S
        states = self._roster.places["state"]
        standby_states = self._roster.standbys["state"]
        while not (
            (states == wanted).all()
            and (standby_states == wanted).all()
            and self._playback.filled
            and self._actuator_is_ready
            and (self._health is None or self._health.ready)
            and self._links.ready
        ):
            self._raise_failures()
            if time.monotonic() > until:
                tasks = [
                    *self._order.system.tasks,
                    *(self._order.system.tasks[one.task] for one in self._posts.standbys),
                ]
                found = zip(tasks, [*states, *standby_states], strict=True)
                late = [task.name for task, state in found if state != wanted]
                raise DeploymentError(f"not ready within {_START_LIMIT_S:g} s: {', '.join(late) or 'the recording'}")
            time.sleep(_LOOK_S)

    @property
    def _actuator_is_ready(self) -> bool:
        return self._actuator is None or self._actuator.ready

    def _let_run(self, progress: Callable[[int], None]) -> tuple[PacedWorker, ...]:
        workers: tuple[PacedWorker, ...] = ()
        while (now_ns := self.clock.now_ns()) < self._order.horizon_ns:
            self._raise_failures()
            self._start_anew(now_ns)
            if not workers and now_ns >= min(_OBSERVED_AT_NS, self._order.horizon_ns // 2):
                workers = self._observed()
            progress(max(now_ns, 0))
            time.sleep(_LOOK_S)
        return workers or self._observed()

    def _observed(self) -> tuple[PacedWorker, ...]:
        found = []
        for index, task in enumerate(self._order.system.tasks):
            pid = int(self._roster.places["pid"][index])
            try:
                seen = observe(pid)
            except ProcessLookupError:
                seen = None
            found.append(PacedWorker(task.name, self._posts.seats[index], self._posts.core_of(index), pid, seen))
        return tuple(found)

    def _raise_failures(self) -> None:
        """Raises what a worker could not do, and where a process that has to last has ended."""
        places = self._roster.places
        for index, task in enumerate(self._order.system.tasks):
            if places["state"][index] == State.FAILED:
                text = f"task {task.name}: {self._roster.reason(index)}"
                raise StageDefect(text) if places["is_defect"][index] else DeploymentError(text)
        self._children.check(self._may_end())

    def _start_anew(self, now_ns: int) -> None:
        """Starts devices that have ended, where that is ordered: first their supervisors, which do the rest."""
        for device in () if self._guard is None else self._guard.watched:
            name = _supervisor(device)
            if not self._children.has(name) and self._restarts.take(device, now_ns):
                self._children.start(name, self._supervisors[device].run)

    def _may_end(self) -> set[str]:
        """The supervisors whose end is taken care of: of devices that are watched, once the run has begun."""
        if self._guard is None or not self.clock.begun:
            return set()
        return {_supervisor(device) for device in self._guard.watched}

    def _end(self) -> None:
        self.clock.end()
        self._posts.ring_all()
        self._children.wait(_END_LIMIT_S)

    def _oversight(self, charges: Sequence[Charge]) -> Oversight:
        watched = {
            charge.employment.index: Watched(
                charge.journal,
                None if charge.is_standby else self._order.alive_ns[charge.employment.index],
                self._order.alive_ns[charge.employment.index] or charge.employment.row.deadline_ns,
            )
            for charge in charges
        }
        over_ns = min(int(self._order.samples.arrival_ns.max(initial=0)), self._order.horizon_ns)
        return Oversight(watched, self._alerts, self.clock, over_ns)

    def _make_actuator(self) -> ActuatorSide | None:
        order = self._order.actuator
        if order is None:
            return None
        seen_bytes = self._order.rehearsal.bytes_of.get((order.task, order.port), 0)
        authenticator = authenticator_of(self._order.system)
        return ActuatorSide(order, seen_bytes, self.clock, self._order.horizon_ns, authenticator)

    def _make_injector(self) -> Injector | None:
        blows = self._order.blows
        if not blows:
            return None
        return Injector(
            blows,
            self.clock,
            self._roster,
            self._posts.marks,
            self._posts.journals,
            self._published_ns,
            self.processes_of,
            self._posts.locks,
            self.restart,
            self._links.cut,
            lambda _name: 0 if self._health is None else self._health.pid,
        )

    def _go_to(self, core: int) -> None:
        """In the worker: it runs on this core alone from now on."""
        if core in self._cpusets:
            self._cpusets[core].admit(os.getpid())
        pin([core])


def _supervisor(device: str) -> str:
    return f"the supervisor of {device}"
