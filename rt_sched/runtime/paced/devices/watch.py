"""The watch over devices: which of them has ended, or gives no sign of life."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum

from rt_sched.runtime.paced.clock import PacedClock
from rt_sched.runtime.paced.devices.heartbeat import Heartbeats


class Sign(IntEnum):
    """How a loss was noticed: signs of life stayed away, or the kernel told that the supervisor has ended."""

    HEARTBEAT = 0
    PROCESS_END = 1


class Watch:
    """What the supervisor of the arbiter's device does beside its work. `lost` is called once for every device.

    It looks in every `look_ns` of the host's clock. Without a beat for `timeout_ns` a device is lost. `slack_ns`: if
    the watch itself looks later than it meant to by more than this, it cannot tell whether others were late, and gives
    them one more timeout.
    """

    def __init__(
        self,
        heartbeats: Heartbeats,
        devices: Sequence[str],
        clock: PacedClock,
        *,
        look_ns: int,
        timeout_ns: int,
        slack_ns: int,
        lost: Callable[[str, Sign], None],
    ) -> None:
        self._heartbeats, self._clock, self._lost = heartbeats, clock, lost
        self._look_ns, self._timeout_ns, self._slack_ns = look_ns, timeout_ns, slack_ns
        self._devices = list(devices)
        self._since_ns = 0
        self.next_ns = 0

    def descriptors(self) -> Sequence[int]:
        """Nothing but time makes it look."""
        return ()

    def do(self, now_ns: int) -> None:
        """Looks at every device, from the begin of the run until its end."""
        if now_ns < self.next_ns:
            return
        if self._clock.begun and not self._clock.ended:
            if not self._since_ns or now_ns > self.next_ns + self._slack_ns:
                self._since_ns = now_ns
            for device in [*self._devices]:
                sign = self._sign(device, now_ns)
                if sign is not None and not self._clock.ended:
                    self._devices.remove(device)
                    self._lost(device, sign)
        due_ns = [self._due_ns(device) for device in self._devices if self._since_ns]
        self.next_ns = max(now_ns + 1, min([now_ns + self._look_ns, *due_ns]))

    def _sign(self, device: str, now_ns: int) -> Sign | None:
        """Why the device counts as lost; None as long as it does not."""
        if self._heartbeats.has_died(device):
            return Sign.PROCESS_END
        return Sign.HEARTBEAT if now_ns >= self._due_ns(device) else None

    def _due_ns(self, device: str) -> int:
        """When a device is lost unless it beats before."""
        return max(self._heartbeats.stamp_ns(device), self._since_ns) + self._timeout_ns
