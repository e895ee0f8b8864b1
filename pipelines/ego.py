"""What the vehicle itself did: its turning and its change of speed between two instants."""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass

from pipelines import imu_health as health
from pipelines.tracking import EgoRates
from rt_sched.messages import EgoMotion
from rt_sched.units import NS_PER_MS, NS_PER_S

#: Motion older than this says nothing about now.
MAX_EGO_AGE_NS = 200 * NS_PER_MS

#: So far back motion is remembered: no measurement that is fused is older.
_MEMORY_NS = 2 * NS_PER_S

#: No road vehicle changes its speed or its heading faster, on any road. What says so is a fault of the sensor.
_FASTEST_M_S2 = 15.0
_FASTEST_RAD_S = 4.0

#: What the vehicle may have done while its IMU did not see it.
_UNSEEN_M_S2 = 10.0

#: Flags of samples that do not tell the vehicle's turning, and of those that do not tell its change of speed.
_TURNING_LOST = frozenset({health.GYRO_SATURATED, health.AT_END_FOR_LONG, health.STUCK, health.GAP})
_SPEED_LOST = _TURNING_LOST | {health.FORCE_SATURATED}


def tells_turning(ego: EgoMotion) -> bool:
    """Whether the yaw rate was measured by samples without a fault."""
    return math.isfinite(ego.yaw_rate_rad_s) and not _TURNING_LOST.intersection(ego.flags)


def tells_speed_change(ego: EgoMotion) -> bool:
    """Whether the change of speed was measured by samples without a fault."""
    return math.isfinite(ego.speed_change_m_s) and not _SPEED_LOST.intersection(ego.flags)


@dataclass(frozen=True, slots=True)
class _Motion:
    """One sample, its integrals carried on over the faults of earlier ones."""

    capture_time_ns: int
    heading_rad: float
    speed_change_m_s: float
    yaw_rate_rad_s: float
    forward_acceleration_m_s2: float


class EgoHistory:
    """The vehicle's motion of the last seconds, from as many samples as were read.

    Between two samples heading and speed follow their integrals linearly; after the last and before the first they
    follow the rates of that sample. Stamps that step back start the history anew.

    An integral that jumps by more than a vehicle can do is carried on by the rate before it instead, and from there by
    its own further changes. A sample that is not finite is no sample. `doubt_m_s` tells what that may have cost.
    """

    def __init__(self) -> None:
        self._samples: list[_Motion] = []
        self._stamps_ns: list[int] = []
        self._message: EgoMotion | None = None
        self._off = (0.0, 0.0)
        self._doubt_m_s = 0.0

    def add(self, ego: EgoMotion) -> None:
        """One more sample; one that is read again adds nothing."""
        if not _is_finite(ego) or (self._stamps_ns and ego.capture_time_ns == self._stamps_ns[-1]):
            return
        last = self._samples[-1] if self._samples else None
        if last is not None and ego.capture_time_ns < last.capture_time_ns:
            # The integrals began anew; the vehicle did not.
            self._off = (0.0, last.speed_change_m_s - ego.speed_change_m_s)
            self._samples, self._stamps_ns, last = [], [], None
        elif last is not None:
            self._carry_on(last, ego)
        self._message = ego
        self._samples.append(self._believed(ego, last))
        self._stamps_ns.append(ego.capture_time_ns)
        old = bisect.bisect_left(self._stamps_ns, ego.capture_time_ns - _MEMORY_NS)
        del self._samples[:old], self._stamps_ns[:old]

    def latest(self, now_ns: int) -> EgoMotion | None:
        """The last sample; None when it is too old, or too far ahead, to say anything about `now_ns`."""
        if self._message is None or abs(now_ns - self._message.capture_time_ns) > MAX_EGO_AGE_NS:
            return None
        return self._message

    @property
    def speed_change_m_s(self) -> float:
        """The last sample's change of speed since start, faults carried over; 0 before the first."""
        return self._samples[-1].speed_change_m_s if self._samples else 0.0

    def take_doubt_m_s(self) -> float:
        """One standard deviation that faulty samples have added to the change of speed since this was last asked."""
        doubt, self._doubt_m_s = self._doubt_m_s, 0.0
        return doubt

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

    def _carry_on(self, last: _Motion, ego: EgoMotion) -> None:
        """Sets off what the integrals have jumped since the sample before."""
        dt_s = (ego.capture_time_ns - last.capture_time_ns) / NS_PER_S
        heading_off, speed_off = self._off
        turned = ego.heading_rad + heading_off - last.heading_rad
        if abs(turned) > _FASTEST_RAD_S * dt_s:
            heading_off = last.heading_rad + last.yaw_rate_rad_s * dt_s - ego.heading_rad
        gained = ego.speed_change_m_s + speed_off - last.speed_change_m_s
        jumped = abs(gained) > _FASTEST_M_S2 * dt_s
        if jumped:
            speed_off = last.speed_change_m_s + last.forward_acceleration_m_s2 * dt_s - ego.speed_change_m_s
        self._off = (heading_off, speed_off)
        if jumped or not tells_speed_change(ego):
            self._doubt_m_s = math.hypot(self._doubt_m_s, _UNSEEN_M_S2 * dt_s)

    def _believed(self, ego: EgoMotion, last: _Motion | None) -> _Motion:
        """The sample as it counts: a rate that no vehicle has is taken to be that of the sample before."""
        yaw_rate, forward = ego.yaw_rate_rad_s, ego.forward_acceleration_m_s2
        if abs(yaw_rate) > _FASTEST_RAD_S:
            yaw_rate = last.yaw_rate_rad_s if last is not None else 0.0
        if abs(forward) > _FASTEST_M_S2:
            forward = last.forward_acceleration_m_s2 if last is not None else 0.0
        heading_off, speed_off = self._off
        return _Motion(
            ego.capture_time_ns, ego.heading_rad + heading_off, ego.speed_change_m_s + speed_off, yaw_rate, forward
        )

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


def _is_finite(ego: EgoMotion) -> bool:
    values = (ego.yaw_rate_rad_s, ego.forward_acceleration_m_s2, ego.heading_rad, ego.speed_change_m_s)
    return all(math.isfinite(value) for value in values)
