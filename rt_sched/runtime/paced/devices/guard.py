"""Everything that a paced run has against the loss of devices: signs of life, the watch over them, and what follows."""

from __future__ import annotations

from collections.abc import Sequence

from rt_sched.runtime.paced.clock import PacedClock
from rt_sched.runtime.paced.devices.answers import DeviceFailover
from rt_sched.runtime.paced.devices.failover import Failover, Notice, most_notices
from rt_sched.runtime.paced.devices.heartbeat import Heartbeats, Pulse
from rt_sched.runtime.paced.devices.ownership import Ownership
from rt_sched.runtime.paced.devices.supervision import LOOKS_PER_BEAT
from rt_sched.runtime.paced.devices.watch import Watch
from rt_sched.runtime.paced.jobs.journal import Journal
from rt_sched.runtime.paced.roster import Roster
from rt_sched.runtime.paced.supervisor import Duty


class DeviceGuard:
    """Made before the forks; each supervisor does its `duties`."""

    def __init__(
        self,
        plan: DeviceFailover,
        roster: Roster,
        journals: Sequence[Journal],
        clock: PacedClock,
        *,
        real_time: bool,
    ) -> None:
        self._plan, self._clock = plan, clock
        self.heartbeats = Heartbeats(plan.devices)
        self.ownership = Ownership(len(plan.device_of), plan.answers, most_notices(plan))
        self._failover = Failover(plan, self.heartbeats, self.ownership, roster, journals, clock, real_time=real_time)

    @property
    def watched(self) -> tuple[str, ...]:
        """The devices whose loss is noticed: all but the one that watches."""
        return tuple(device for device in self._plan.devices if device != self._plan.watcher)

    def duties(self, device: str) -> Sequence[Duty]:
        """What the supervisor of a device does for this."""
        plan = self._plan
        period_ns, timeout_ns, trust_ns = (
            self._clock.host_span_ns(span_ns) for span_ns in (plan.period_ns, plan.timeout_ns, plan.trust_ns)
        )
        pulse = Pulse(self.heartbeats, device, period_ns)
        if device != plan.watcher:
            return (pulse,)
        watch = Watch(
            self.heartbeats,
            self.watched,
            self._clock,
            look_ns=period_ns // LOOKS_PER_BEAT,
            timeout_ns=timeout_ns,
            slack_ns=period_ns // 2,
            trust_ns=trust_ns,
            lost=self._failover.lose,
            back=self._failover.take_back,
        )
        return (pulse, watch, self._failover)

    def notices(self) -> tuple[Notice, ...]:
        """The devices that were lost, and that came back, in order."""
        return self._failover.notices()
