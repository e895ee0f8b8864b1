"""Motion of an actor: travel with piecewise constant acceleration and changes of lane, exact as a function of time."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rt_sched.units import NS_PER_S


@dataclass(frozen=True, slots=True)
class Phase:
    """From `start_ns` on (until the next phase) the acceleration along the heading is `acceleration_m_s2`."""

    start_ns: int
    acceleration_m_s2: float


@dataclass(frozen=True, slots=True)
class Shift:
    """A move by `by_m` to the left (negative: right) that begins at `start_ns` and takes `duration_ns`."""

    start_ns: int
    duration_ns: int
    by_m: float


@dataclass(frozen=True, slots=True)
class MotionState:
    """Where an actor's origin is, in the world frame (x along the road, y to its left, z up).

    `braking`: the brake is held, at standstill too. `pitch_rad` is positive nose up.
    """

    x_m: float
    y_m: float
    yaw_rad: float
    speed_m_s: float
    acceleration_m_s2: float
    braking: bool
    z_m: float = 0.0
    pitch_rad: float = 0.0


@dataclass(frozen=True, slots=True)
class Trajectory:
    """Travel along `yaw_rad` through (x_m, y_m) at time 0 with `speed_m_s`.

    Before the first phase the speed is constant, for negative times too. Braking ends at standstill: speed never
    turns negative. `phases` start in ascending order at or after 0. `shifts` move the course sideways, smoothly to
    the second derivative; the heading follows the course, and the speed stays that along `yaw_rad`.
    """

    x_m: float
    y_m: float
    yaw_rad: float = 0.0
    speed_m_s: float = 0.0
    phases: tuple[Phase, ...] = ()
    shifts: tuple[Shift, ...] = ()

    def state_at(self, time_ns: int) -> MotionState:
        """The state at `time_ns` since the start of the scene, on level ground."""
        travelled_m = 0.0
        speed = self.speed_m_s
        acceleration = 0.0
        reached_ns = 0
        for phase in self.phases:
            if time_ns < phase.start_ns:
                break
            step_m, speed, _ = _advance(speed, acceleration, (phase.start_ns - reached_ns) / NS_PER_S)
            travelled_m += step_m
            reached_ns = phase.start_ns
            acceleration = phase.acceleration_m_s2
        braking = acceleration < 0.0
        step_m, speed, acceleration = _advance(speed, acceleration, (time_ns - reached_ns) / NS_PER_S)
        travelled_m += step_m
        x_m = self.x_m + travelled_m * math.cos(self.yaw_rad)
        y_m = self.y_m + travelled_m * math.sin(self.yaw_rad)
        yaw_rad = self.yaw_rad
        if self.shifts:
            aside_m, sideways_m_s = self._aside(time_ns)
            x_m -= aside_m * math.sin(self.yaw_rad)
            y_m += aside_m * math.cos(self.yaw_rad)
            if sideways_m_s != 0.0:
                yaw_rad += math.atan2(sideways_m_s, speed)
        return MotionState(x_m, y_m, yaw_rad, speed, acceleration, braking)

    def _aside(self, time_ns: int) -> tuple[float, float]:
        """Offset to the left in metres and its rate in m/s."""
        aside_m = sideways_m_s = 0.0
        for shift in self.shifts:
            s = min(1.0, max(0.0, (time_ns - shift.start_ns) / shift.duration_ns))
            aside_m += shift.by_m * s * s * s * (10.0 - 15.0 * s + 6.0 * s * s)
            sideways_m_s += shift.by_m * 30.0 * s * s * (1.0 - s) * (1.0 - s) * NS_PER_S / shift.duration_ns
        return aside_m, sideways_m_s


def _advance(speed: float, acceleration: float, duration_s: float) -> tuple[float, float, float]:
    """Distance in metres, speed and effective acceleration after `duration_s` of constant acceleration."""
    if acceleration < 0.0:
        stop_s = speed / -acceleration
        if duration_s >= stop_s:
            return 0.5 * speed * stop_s, 0.0, 0.0
    return (
        speed * duration_s + 0.5 * acceleration * duration_s * duration_s,
        speed + acceleration * duration_s,
        acceleration,
    )
