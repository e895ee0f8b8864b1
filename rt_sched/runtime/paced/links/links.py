"""All links of a paced run: who carries their messages, when they are lost, and who notices it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from rt_sched.analysis.faults.takeover_detection import concept_of, heartbeat_timeout_ns
from rt_sched.runtime.paced.clock import PacedClock
from rt_sched.runtime.paced.jobs.edges import link_bell
from rt_sched.runtime.paced.links.carrier import Carrier
from rt_sched.runtime.paced.links.emulated import LINK_PRIORITY, EmulatedLink
from rt_sched.runtime.paced.links.seat import seat_of
from rt_sched.runtime.paced.links.server import Outages
from rt_sched.runtime.paced.links.signs import Beats, LinkNotice, LinkWatch, Signs
from rt_sched.runtime.paced.order import PacedOrder
from rt_sched.runtime.paced.posts import Posts
from rt_sched.runtime.paced.seats.reservations import class_beside
from rt_sched.runtime.signs_of_life import watching_device


class Links:
    """Made before the forks. Links that are to be lost are watched, where the system has an arbiter.

    `go_to`: confines the process that calls it to the core of a processor.
    """

    def __init__(self, order: PacedOrder, posts: Posts, clock: PacedClock, go_to: Callable[[int], None]) -> None:
        system, setup = order.system, order.setup
        seats = order.beside.links
        cut = {blow.link for blow in order.blows}
        self._outages = {row.name: Outages() for row in setup.links}
        self._watcher = watching_device(system)
        self.watched = [row.name for row in setup.links if row.name in cut] if self._watcher is not None else []
        signs = Signs(len(self.watched))
        self._watch: LinkWatch | None = None
        period_ns = concept_of(system).heartbeat.period_ns
        if self.watched:
            self._watch = LinkWatch(signs, clock, period_ns, heartbeat_timeout_ns(system))
        carriers, classes = [], []
        for row, mine in zip(setup.links, posts.link_ends(), strict=True):
            if not mine and row.name not in self.watched:
                continue
            seat, beats, outages = seat_of(seats, row.name), None, self._outages[row.name]
            if row.name in self.watched:
                beats = Beats(signs, self.watched.index(row.name), period_ns, row.latency_ns, outages)
            reserved = None if seat is None else seat.reservation
            scheduling = class_beside(reserved, LINK_PRIORITY, order.tier, order.rate)
            classes.append(scheduling)
            carriers.append(
                EmulatedLink(
                    row.name,
                    row.latency_ns,
                    mine,
                    posts.port,
                    partial(posts.bell, link_bell(row.name)) if mine else None,
                    clock,
                    order.horizon_ns,
                    outages,
                    scheduling,
                    partial(go_to, 0 if seat is None else seat.processor),
                    beats,
                )
            )
        self.carriers: tuple[Carrier, ...] = tuple(carriers)
        self.classes = tuple(one for one in classes if one is not None)

    @property
    def ready(self) -> bool:
        """Whether all of them wait for the begin."""
        return all(one.ready for one in self.carriers)

    def cut(self, link: str, begin_ns: int, until_ns: int | None) -> int:
        """The link is lost from `begin_ns` on; how many links that were."""
        self._outages[link].cut(begin_ns, until_ns)
        return 1

    def duties(self, device: str) -> tuple[LinkWatch, ...]:
        """What the supervisor of a device does for this."""
        return () if self._watch is None or device != self._watcher else (self._watch,)

    def notices(self) -> tuple[tuple[str, LinkNotice], ...]:
        """Links that were noticed as lost, in order."""
        return () if self._watch is None else tuple((self.watched[one.link], one) for one in self._watch.notices())
