"""The processes beside the tasks that stand above them: where each runs, and what it may take."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from rt_sched.analysis.methods.reservations import Reservation
from rt_sched.model import Plan, System
from rt_sched.runtime.host.supply import deadline_share, supply_loss
from rt_sched.runtime.host.tiers import Tier
from rt_sched.runtime.paced.devices.supervision import Supervision
from rt_sched.runtime.paced.feed.publisher import Publisher, publisher_of
from rt_sched.runtime.paced.links.seat import LinkSeat, link_seats
from rt_sched.runtime.paced.seats.fitting import Room
from rt_sched.trace.setup import Setup


@dataclass(frozen=True, slots=True)
class Beside:
    """The process that publishes samples, those of links that messages go over, and supervisors that stand above tasks
    and watch over devices or links.
    """

    publisher: Publisher
    links: tuple[LinkSeat, ...]
    supervisors: tuple[Supervision, ...] = ()

    @property
    def reserved(self) -> tuple[tuple[str, int, Reservation], ...]:
        """What each is for, its processor and its reservation; none but in the tier `deadline`."""
        found = [("the samples", self.publisher.processor, self.publisher.reservation)]
        found += [(f"the link {one.name}", one.processor, one.reservation) for one in self.links]
        return tuple((name, place, one) for name, place, one in found if one is not None)


def beside_tasks(
    system: System,
    plan: Plan,
    setup: Setup,
    bytes_of: Mapping[tuple[str, str | None], int],
    tier: Tier,
    watched: Collection[str] = (),
) -> Beside:
    """Of a run. `bytes_of`: the largest message of each source. `watched`: links that carry signs of life."""
    room = Room.beside(system, plan, deadline_share(), supply_loss()) if tier is Tier.DEADLINE else None
    publisher = publisher_of(system, plan, bytes_of, room)
    return Beside(publisher, link_seats(system, plan, setup, bytes_of, publisher, room, watched))
