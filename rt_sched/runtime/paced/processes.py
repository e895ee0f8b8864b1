"""The processes of a paced run: supervisors, which start the workers of their devices, and those beside them."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from rt_sched.ports import Writer
from rt_sched.runtime.host.child import name_process
from rt_sched.runtime.paced.children import Children
from rt_sched.runtime.paced.faults.oversight import Oversight, Watched
from rt_sched.runtime.paced.faults.strike import Striker
from rt_sched.runtime.paced.feed.publishing import publish
from rt_sched.runtime.paced.health.side import seat_of
from rt_sched.runtime.paced.order import PacedOrder
from rt_sched.runtime.paced.parts import Parts
from rt_sched.runtime.paced.supervisor import Charge, Duty, Supervisor

#: How long processes may take to end once the run is over.
_END_LIMIT_S = 5.0


class Processes:
    """`striker`: None where nothing strikes devices."""

    def __init__(self, order: PacedOrder, parts: Parts, striker: Striker | None) -> None:
        self._order, self._parts, self._striker = order, parts, striker
        self._children = Children()
        self._supervisors: dict[str, Supervisor] = {}

    @contextmanager
    def forked(self) -> Iterator[None]:
        """All of them, forked from this process; whatever happens, none of them is left."""
        try:
            self._start_supervisors()
            self._start_others()
            yield
        finally:
            self._parts.clock.end()
            self._children.kill()

    def check(self) -> None:
        """Raises DeploymentError where one has ended that has to last. Supervisors of devices that are watched may end
        once the run has begun.
        """
        guard = self._parts.guard
        watched = () if guard is None or not self._parts.clock.begun else guard.watched
        self._children.check({_supervisor(device) for device in watched})

    def start_anew(self, now_ns: int) -> None:
        """Starts devices that have ended, where that is ordered: first their supervisors, which do the rest."""
        guard = self._parts.guard
        for device in () if guard is None else guard.watched:
            name = _supervisor(device)
            if not self._children.has(name) and self._parts.restarts.take(device, now_ns):
                self._children.start(name, self._supervisors[device].run)

    def end(self) -> None:
        """The run is over: waits until all have ended by themselves, but not for long."""
        self._parts.clock.end()
        self._parts.posts.ring_all()
        self._children.wait(_END_LIMIT_S)

    def _start_supervisors(self) -> None:
        parts, guard = self._parts, self._parts.guard
        devices = () if guard is None else guard.heartbeats.devices
        for device, charges in parts.posts.charges(parts.ownership, parts.actuator, devices).items():
            self._supervisors[device] = supervisor = Supervisor(
                device,
                charges,
                parts.cores.beside_reservations({charge.employment.core for charge in charges}),
                self._oversight(charges),
                parts.roster,
                parts.clock,
                real_time=parts.real_time,
                duties=self._duties(device),
                join=None if guard is None else partial(guard.heartbeats.join, device),
            )
            self._children.start(_supervisor(device), supervisor.run)

    def _start_others(self) -> None:
        parts, start = self._parts, self._children.start
        start("the process that decodes", self._decode)
        start("the process that publishes samples", self._publish)
        for carrier in parts.links.carriers:
            start(f"the process of the link {carrier.name}", carrier.run)
        if parts.actuator is not None:
            run = partial(parts.actuator.run, parts.cores.free, real_time=parts.real_time)
            start("the process of the actuators' side", run)
        if parts.injector is not None:
            start("the process that injects faults", partial(parts.injector.run, real_time=parts.real_time))
        if self._striker is not None:
            start("the process that strikes", self._striker.run)

    def _oversight(self, charges: Sequence[Charge]) -> Oversight:
        order = self._order
        watched = {
            charge.employment.index: Watched(
                charge.journal,
                None if charge.is_standby else order.alive_ns[charge.employment.index],
                order.alive_ns[charge.employment.index] or charge.employment.row.deadline_ns,
            )
            for charge in charges
        }
        over_ns = min(int(order.samples.arrival_ns.max(initial=0)), order.horizon_ns)
        return Oversight(watched, self._parts.alerts, self._parts.clock, over_ns)

    def _duties(self, device: str) -> Sequence[Duty]:
        """What the supervisor of a device does beside its work."""
        parts = self._parts
        duties: list[Duty] = [] if parts.guard is None else [*parts.guard.duties(device)]
        watch = parts.health
        if watch is not None and watch.order.device == device:
            core = parts.cores.of_processors[watch.order.processor]
            seat = seat_of(watch.order, self._order.tier, parts.cores.free, core)
            duties.append(watch.guard(parts.posts.port, seat))
        return [*duties, *parts.links.duties(device)]

    def _decode(self) -> None:
        name_process("rt-decode")
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._order.decode(self._parts.playback)

    def _publish(self) -> None:
        parts = self._parts

        def writers() -> list[Writer | None]:
            port, read = parts.posts.port, parts.posts.sensors_read
            return [port.writer(one.name) if one.name in read else None for one in self._order.system.sensors]

        core = parts.cores.of_processors[self._order.beside.publisher.processor]
        publish(parts.playback, writers, parts.publisher_class, lambda: parts.cores.go_to(core))


def _supervisor(device: str) -> str:
    return f"the supervisor of {device}"
