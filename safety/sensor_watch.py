"""All monitors of one sensor while a run goes on, and whether the sensor may be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rt_sched.messages.health import SensorTrust, TrustState
from safety.monitors.delivery import Delivery, Monitor
from safety.monitors.silence import Silence
from safety.monitors.telling import Telling


@dataclass(frozen=True, slots=True)
class Told:
    """A monitor begins to find something wrong; `worst_case_ns`: as it declares."""

    monitor: str
    worst_case_ns: int
    reason: str


class SensorWatch:
    """Trust is gone with whatever any monitor finds, and comes with `good_samples` in a row in which none does.

    So it returns later than a fault ends, by at least that many messages, and never flickers with single ones.
    """

    def __init__(self, sensor: str, monitors: Sequence[Monitor], silence: Silence, good_samples: int) -> None:
        self.sensor, self._good_samples = sensor, good_samples
        self._telling = [Telling(monitor) for monitor in monitors]
        self._silence, self._is_silent = silence, False
        self._good = 0
        self._state, self._by = TrustState.STARTING, ""

    @property
    def trust(self) -> SensorTrust:
        """How it stands now."""
        return SensorTrust(self.sensor, self._state, self._by if self._state is TrustState.DISTRUSTED else None)

    def see(self, delivery: Delivery) -> list[Told]:
        """What its monitors begin to find in a message; messages are seen in order of arrival."""
        self._silence.came(delivery.arrival_ns)
        self._is_silent = False
        begun = []
        for one in self._telling:
            reason = one.see(delivery)
            if reason is not None:
                begun.append(Told(one.monitor.name, one.monitor.worst_case_ns, reason))
        finding = [one.monitor.name for one in self._telling if one.finds]
        if finding:
            self._distrust(begun[0].monitor if begun else finding[0])
        else:
            self._good = min(self._good + 1, self._good_samples)
            if self._good == self._good_samples:
                self._state = TrustState.TRUSTED
        return begun

    def look(self, now_ns: int) -> list[Told]:
        """Whether it has fallen silent; everything that had arrived by then has been seen."""
        reason = self._silence.look(now_ns)
        if reason is None or self._is_silent:
            return []
        self._is_silent = True
        self._distrust(self._silence.name)
        return [Told(self._silence.name, self._silence.worst_case_ns, reason)]

    def _distrust(self, monitor: str) -> None:
        """The monitor that took the trust away is named until it is back."""
        self._good = 0
        if self._state is not TrustState.DISTRUSTED:
            self._state, self._by = TrustState.DISTRUSTED, monitor
