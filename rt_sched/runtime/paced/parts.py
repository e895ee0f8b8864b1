"""What the processes of a paced run work with: all of it is made before the first fork, so that they share it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rt_sched.runtime.host.scheduling import Scheduling
from rt_sched.runtime.host.supply import deadline_share
from rt_sched.runtime.host.tiers import Tier
from rt_sched.runtime.keys import authenticator_of
from rt_sched.runtime.paced.actuator import ActuatorSide
from rt_sched.runtime.paced.clock import PacedClock
from rt_sched.runtime.paced.cores import RunCores
from rt_sched.runtime.paced.devices.guard import DeviceGuard
from rt_sched.runtime.paced.devices.ownership import Ownership
from rt_sched.runtime.paced.devices.restart import Restarts
from rt_sched.runtime.paced.faults.alerts import Alerts
from rt_sched.runtime.paced.faults.injector import Injector
from rt_sched.runtime.paced.feed.feeder import Playback
from rt_sched.runtime.paced.health.side import HealthSide
from rt_sched.runtime.paced.links.links import Links
from rt_sched.runtime.paced.order import PacedOrder
from rt_sched.runtime.paced.posts import Posts
from rt_sched.runtime.paced.seats.reservations import as_scheduling, check_room, class_beside, task_reservations
from rt_sched.runtime.paced.seats.tier import FEEDER_PRIORITY
from rt_sched.runtime.paced.shared import shared_array

#: From the moment at which everybody is ready to run time 0, at least.
_LEAD_NS = 200_000_000


class Parts:
    """`guard`, `health`, `actuator`, `injector`: None where a run has none. `published_ns`: by sample, -1 for never.

    Raises DeploymentError where a core is not there, or has too little room for reservations.
    """

    def __init__(self, order: PacedOrder) -> None:
        self._order = order
        self.cores = RunCores(order.system, order.plan, order.tier)
        self.real_time = order.tier is not Tier.USER
        self.publisher_class = class_beside(order.beside.publisher.reservation, FEEDER_PRIORITY, order.tier, order.rate)
        self.clock = PacedClock(order.rate)
        self._reservations = _reserved(order, self.cores.of_processors)
        self.health = None if order.health is None else HealthSide(order.health, self.clock)
        of_processors, go_to = self.cores.of_processors, self.cores.go_to
        self.posts = Posts(order, of_processors, self._reservations, self.clock, go_to, self.health)
        self.roster = self.posts.roster
        self.guard, self.ownership = None, Ownership(len(order.setup.tasks))
        if order.failover is not None:
            journals = self.posts.journals
            self.guard = DeviceGuard(order.failover, self.roster, journals, self.clock, real_time=self.real_time)
            self.ownership = self.guard.ownership
        self.published_ns = shared_array(np.int64, len(order.samples))
        self.published_ns[:] = -1
        self.playback = Playback(order.samples, self.posts.lines, self.published_ns, self.clock)
        self.links = Links(order, self.posts, self.clock, lambda place: go_to(of_processors[place]))
        self.alerts = Alerts(len(order.setup.tasks))
        self.actuator = self._make_actuator()
        self.restarts = Restarts(() if self.guard is None else self.guard.watched, order.restarts)
        self.injector = self._make_injector()

    @property
    def ready(self) -> bool:
        """Whether all but the workers may begin, and enough of the recording lies decoded."""
        return (
            self.playback.filled
            and (self.actuator is None or self.actuator.ready)
            and (self.health is None or self.health.ready)
            and self.links.ready
        )

    @property
    def lead_ns(self) -> int:
        """The begin wakes everybody: what that takes of a reservation is given back within its period."""
        given = [*self._reservations.values(), self.publisher_class, *self.links.classes]
        return max([_LEAD_NS, *(one.period_ns for one in given if one is not None)])

    def processes_of(self, device: str) -> Sequence[int]:
        """All processes of a device, as kill(2) takes them; none where nobody watches devices."""
        return () if self.guard is None else self.guard.heartbeats.group(device)

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
            self.roster,
            self.posts.marks,
            self.posts.journals,
            self.published_ns,
            self.processes_of,
            self.posts.locks,
            self.restarts.order,
            self.links.cut,
            lambda _name: 0 if self.health is None else self.health.pid,
        )


def _reserved(order: PacedOrder, of_processors: Sequence[int]) -> dict[int, Scheduling]:
    """In the tier `deadline`, by the index of the task. Raises DeploymentError where a core has too little room."""
    if order.tier is not Tier.DEADLINE:
        return {}
    reservations = task_reservations(order.system, order.plan)
    beside = [(name, of_processors[place], one) for name, place, one in order.beside.reserved]
    check_room(order.system, order.plan, reservations, of_processors, beside, deadline_share())
    return {index: as_scheduling(one, order.rate) for index, one in reservations.items()}
