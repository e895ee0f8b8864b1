"""What the vehicle itself did: its turning and its change of speed between two instants."""

from __future__ import annotations

import bisect

from pipelines.tracking import EgoRates
from rt_sched.messages import EgoMotion
from rt_sched.units import NS_PER_MS, NS_PER_S

#: Motion older than this says nothing about now.
MAX_EGO_AGE_NS = 200 * NS_PER_MS

#: So far back motion is remembered: no measurement that is fused is older.
_MEMORY_NS = 2 * NS_PER_S


class EgoHistory:
    """The vehicle's motion of the last seconds, from as many samples as were read.

    Between two samples heading and speed follow their integrals linearly; after the last and before the first they
    follow the rates of that sample. Stamps that step back start the history anew.
    """

    def __init__(self) -> None:
        self._samples: list[EgoMotion] = []
        self._stamps_ns: list[int] = []

    def add(self, ego: EgoMotion) -> None:
        """One more sample; one that is read again adds nothing."""
        if self._stamps_ns and ego.capture_time_ns <= self._stamps_ns[-1]:
            if ego.capture_time_ns == self._stamps_ns[-1]:
                return
            self._samples, self._stamps_ns = [], []
        self._samples.append(ego)
        self._stamps_ns.append(ego.capture_time_ns)
        old = bisect.bisect_left(self._stamps_ns, ego.capture_time_ns - _MEMORY_NS)
        del self._samples[:old], self._stamps_ns[:old]

    def latest(self, now_ns: int) -> EgoMotion | None:
        """The last sample; None when it is too old, or too far ahead, to say anything about `now_ns`."""
        if not self._samples or abs(now_ns - self._stamps_ns[-1]) > MAX_EGO_AGE_NS:
            return None
        return self._samples[-1]

    def turned_rad(self, from_ns: int, to_ns: int) -> float:
        """How far the vehicle turned left; 0 where its motion is not known."""
        return self._heading_rad(to_ns) - self._heading_rad(from_ns) if self._samples else 0.0

    def rates(self, from_ns: int, to_ns: int, speed_m_s: float | None) -> EgoRates:
        """Mean rates over a step; sideways the vehicle is pushed by turning at `speed_m_s`, where that is known."""
        if to_ns <= from_ns or self.latest(to_ns) is None:
            return EgoRates()
        dt_s = (to_ns - from_ns) / NS_PER_S
        yaw_rate = self.turned_rad(from_ns, to_ns) / dt_s
        forward = (self._speed_change_m_s(to_ns) - self._speed_change_m_s(from_ns)) / dt_s
        return EgoRates(yaw_rate, forward, 0.0 if speed_m_s is None else speed_m_s * yaw_rate)

    def _heading_rad(self, at_ns: int) -> float:
        return self._integral(at_ns, "heading_rad", "yaw_rate_rad_s")

    def _speed_change_m_s(self, at_ns: int) -> float:
        return self._integral(at_ns, "speed_change_m_s", "forward_acceleration_m_s2")

    def _integral(self, at_ns: int, integral: str, rate: str) -> float:
        after = bisect.bisect_left(self._stamps_ns, at_ns)
        if 0 < after < len(self._samples):
            first, last = self._samples[after - 1], self._samples[after]
            share = (at_ns - first.capture_time_ns) / (last.capture_time_ns - first.capture_time_ns)
            return float(getattr(first, integral) * (1.0 - share) + getattr(last, integral) * share)
        end = self._samples[0] if after == 0 else self._samples[-1]
        return float(getattr(end, integral) + getattr(end, rate) * (at_ns - end.capture_time_ns) / NS_PER_S)
