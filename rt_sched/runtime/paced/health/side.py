"""Everything that a paced run has to watch its sensors: its process, reports, notes, and who watches over it."""

from __future__ import annotations

from functools import partial

from rt_sched.ports import Port, Stage
from rt_sched.runtime.fed_stage import FedStage
from rt_sched.runtime.health_order import HealthOrder, HealthRecord
from rt_sched.runtime.host.scheduling import Scheduling
from rt_sched.runtime.host.tiers import Tier
from rt_sched.runtime.paced.clock import PacedClock
from rt_sched.runtime.paced.health.feed import HealthFeed
from rt_sched.runtime.paced.health.guard import HealthGuard
from rt_sched.runtime.paced.health.notes import HealthNotes
from rt_sched.runtime.paced.health.watcher import HEALTH_PRIORITY, HealthSeat, HealthWatcher, watched_channel
from rt_sched.transport import Channel

#: Of ordinary processes, as nice(1) counts.
_MOST_URGENT = -20


class HealthSide:
    """Made before forks."""

    def __init__(self, order: HealthOrder, clock: PacedClock) -> None:
        self.order, self._clock = order, clock
        self._feed, self._notes = HealthFeed(len(order.sensors)), HealthNotes(order)
        self._names = frozenset(one.name for one in order.sensors)

    def channel(self, channel: Channel) -> Channel:
        """With one more reader, where it is that of a sensor that is watched."""
        return watched_channel(channel) if channel.name in self._names else channel

    def fed(self, task: str, stage: Stage) -> Stage:
        """The stage of a task, which gets the reports where they are for this one."""
        return FedStage(stage, self._feed.newest) if task == self.order.reader else stage  # type: ignore[return-value]

    def open_post(self, task: str) -> None:
        """In a worker that begins to serve a task."""
        if task == self.order.reader:
            self._feed.open_to_read()

    def guard(self, port: Port, seat: HealthSeat) -> HealthGuard:
        """For the supervisor that starts the process and watches over it. `port`: of the channels of sensors."""
        watcher = HealthWatcher(self.order, port, self._feed, self._notes, self._clock)
        still_ns = self._clock.host_span_ns(self.order.age_limit_ns)
        return HealthGuard(partial(watcher.run, seat), self._notes, self._clock, still_ns)

    @property
    def ready(self) -> bool:
        """Whether the process waits for the begin."""
        return bool(self._notes.life["ready"])

    @property
    def pid(self) -> int:
        """Of the process, 0 before the first has started."""
        return int(self._notes.life["pid"])

    def record(self) -> HealthRecord:
        """What became of it."""
        return self._notes.read()


def seat_of(order: HealthOrder, tier: Tier, free_core: int | None, core: int) -> HealthSeat:
    """Where the process runs, and how. `free_core`: on which no task runs; `core`: that it shares with tasks otherwise.

    There it stands below all of these. Where it is ordinary, and under reservations, it is the most urgent of ordinary
    processes, which the kernel lets have what tasks leave.
    """
    if tier is Tier.USER:
        return HealthSeat((), Scheduling.other())
    if free_core is not None:
        return HealthSeat((free_core,), Scheduling.fifo(HEALTH_PRIORITY))
    if tier is Tier.DEADLINE or order.is_ordinary:
        return HealthSeat((), Scheduling.other(_MOST_URGENT))
    return HealthSeat((core,), Scheduling.fifo(HEALTH_PRIORITY))
