"""Motion of an actor: straight travel with piecewise constant acceleration, exact as a function of time."""

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
class MotionState:
    """Where an actor's origin is, in the world frame (x along the road, y to its left, z up).

    `braking`: the brake is held, at standstill too.
    """

    x_m: float
    y_m: float
    yaw_rad: float
    speed_m_s: float
    acceleration_m_s2: float
    braking: bool


@dataclass(frozen=True, slots=True)
class Trajectory:
    """Straight travel along `yaw_rad` through (x_m, y_m) at time 0 with `speed_m_s`.

    Before the first phase the speed is constant, for negative times too. Braking ends at standstill: speed never
    turns negative. `phases` start in ascending order at or after 0.
    """

    x_m: float
    y_m: float
    yaw_rad: float = 0.0
    speed_m_s: float = 0.0
    phases: tuple[Phase, ...] = ()

    def state_at(self, time_ns: int) -> MotionState:
        """The state at `time_ns` since the start of the scene."""
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
        return MotionState(
            self.x_m + travelled_m * math.cos(self.yaw_rad),
            self.y_m + travelled_m * math.sin(self.yaw_rad),
            self.yaw_rad,
            speed,
            acceleration,
            braking,
        )


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
