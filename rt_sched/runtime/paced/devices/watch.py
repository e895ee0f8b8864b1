"""The watch over devices: which of them has ended, or gives no sign of life, and which can be trusted again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum

from rt_sched.runtime.paced.clock import PacedClock
from rt_sched.runtime.paced.devices.heartbeat import Heartbeats


class Sign(IntEnum):
    """How a loss was noticed: signs of life stayed away, or the kernel told that the supervisor has ended. A return is
    noticed by signs of life.
    """

    HEARTBEAT = 0
    PROCESS_END = 1


class Watch:
    """What the supervisor of the arbiter's device does beside its work. `lost` is called once for every loss.

    A device that was lost is trusted when no beat was late for `trust_ns`: from then on `back` is asked, with its name
    and its first sign of life, until it says that the device is one of them again, or a beat is late.

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
        trust_ns: int,
        lost: Callable[[str, Sign], None],
        back: Callable[[str, int], bool],
    ) -> None:
        self._heartbeats, self._clock, self._lost, self._back = heartbeats, clock, lost, back
        self._look_ns, self._timeout_ns, self._slack_ns, self._trust_ns = look_ns, timeout_ns, slack_ns, trust_ns
        self._away: dict[str, Probation] = {}
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
                    self._away[device] = Probation(self._heartbeats.stamp_ns(device), self._timeout_ns)
                    self._lost(device, sign)
            self._look_for_returns(now_ns)
        due_ns = [self._due_ns(device) for device in self._devices if self._since_ns]
        self.next_ns = max(now_ns + 1, min([now_ns + self._look_ns, *due_ns]))

    def _look_for_returns(self, now_ns: int) -> None:
        for device, probation in [*self._away.items()]:
            is_dead = self._heartbeats.has_died(device)
            since_ns = probation.good_since_ns(self._heartbeats.stamp_ns(device), now_ns, is_dead=is_dead)
            if since_ns is None or now_ns - since_ns < self._trust_ns or self._clock.ended:
                continue
            if self._back(device, since_ns):
                del self._away[device]
                self._devices.append(device)

    def _sign(self, device: str, now_ns: int) -> Sign | None:
        """Why the device counts as lost; None as long as it does not."""
        if self._heartbeats.has_died(device):
            return Sign.PROCESS_END
        return Sign.HEARTBEAT if now_ns >= self._due_ns(device) else None

    def _due_ns(self, device: str) -> int:
        """When a device is lost unless it beats before."""
        return max(self._heartbeats.stamp_ns(device), self._since_ns) + self._timeout_ns


class Probation:
    """Since when a device that was lost beats as it should. `lost_ns`: its last sign of life before."""

    def __init__(self, lost_ns: int, timeout_ns: int) -> None:
        self._last_ns, self._timeout_ns = lost_ns, timeout_ns
        self._looked_ns = 0
        self._since_ns: int | None = None

    def good_since_ns(self, stamp_ns: int, now_ns: int, *, is_dead: bool) -> int | None:
        """The first of all signs up to `stamp_ns` none of which was late; None while there is none.

        What came between two looks that lie further apart than a timeout is not known, and begins anew.
        """
        is_new = stamp_ns > self._last_ns
        late = is_dead or now_ns >= stamp_ns + self._timeout_ns
        unknown = now_ns - self._looked_ns > self._timeout_ns or stamp_ns - self._last_ns > self._timeout_ns
        if late:
            self._since_ns = None
        elif is_new and (self._since_ns is None or unknown):
            self._since_ns = stamp_ns
        elif unknown:
            self._since_ns = None
        self._last_ns, self._looked_ns = stamp_ns, now_ns
        return self._since_ns
