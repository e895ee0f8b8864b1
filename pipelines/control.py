"""Control: the plan as a command that brakes and passengers can follow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pipelines.parameters import checked_number
from rt_sched.messages import Command, EgoMotion, MotionPlan
from rt_sched.ports import JobContext, StageBase, StageContext
from rt_sched.units import NS_PER_MS, NS_PER_S

#: The deceleration may change for at most this long from one command to the next; it is also what the first one gets.
_LONGEST_STEP_NS = 100 * NS_PER_MS
_FIRST_STEP_NS = 33 * NS_PER_MS

#: Speeds between which the limits of normal braking change, as in ISO 15622:2018 (adaptive cruise control).
_SLOW_M_S, _FAST_M_S = 5.0, 20.0


class Control(StageBase):
    """Plan -> braking command, limited in deceleration, in jerk and by the speed that is left.

    Inputs `plan`: MotionPlan, `ego`: EgoMotion (optional); output `command`: Command.

    Normal braking keeps to `deceleration_slow_m_s2` and `jerk_slow_m_s3` up to 5 m/s, to `deceleration_fast_m_s2` and
    `jerk_fast_m_s3` from 20 m/s on, and to what lies between them in between (defaults: ISO 15622). An unknown speed
    counts as slow, which brakes firmer. Emergency braking keeps to `emergency_deceleration_m_s2` and
    `emergency_jerk_m_s3`, and brakes are let go with `release_jerk_m_s3`. Jerk counts from the last command's
    acceleration over the time between the jobs' arrivals.

    Where the speed is known, the deceleration falls towards `hold_deceleration_m_s2` when the vehicle would stand in
    less than `stop_time_s`: it comes to rest without a jolt and stays. An emergency's does not fall, whatever the speed
    is said to be: a wrong speed must not ease the brake, and a vehicle that stands can do with it. Standstill by the
    IMU counts only while nothing closes in. `capture_time_ns` of the command is the plan's
    `data_time_ns`. A plan that is not valid gives a command that is not, and jerk then counts from no braking at all.
    An arrival before the last one starts a new epoch. Raises ValueError for a parameter out of range.
    """

    inputs: ClassVar[Mapping[str, type]] = {"plan": MotionPlan, "ego": EgoMotion}
    outputs: ClassVar[Mapping[str, type]] = {"command": Command}
    optional_inputs: ClassVar[frozenset[str]] = frozenset({"ego"})
    stateful: ClassVar[bool] = True

    def __init__(
        self,
        *,
        deceleration_slow_m_s2: float = 5.0,
        deceleration_fast_m_s2: float = 3.5,
        jerk_slow_m_s3: float = 5.0,
        jerk_fast_m_s3: float = 2.5,
        emergency_deceleration_m_s2: float = 8.0,
        emergency_jerk_m_s3: float = 40.0,
        release_jerk_m_s3: float = 10.0,
        stop_time_s: float = 0.3,
        hold_deceleration_m_s2: float = 0.5,
    ) -> None:
        self._emergency_m_s2 = checked_number(
            "emergency_deceleration_m_s2", emergency_deceleration_m_s2, low=0.1, high=10.0, unit="m/s^2"
        )
        self._emergency_jerk = checked_number(
            "emergency_jerk_m_s3", emergency_jerk_m_s3, low=1.0, high=1000.0, unit="m/s^3"
        )
        high = self._emergency_m_s2
        self._decelerations = (
            checked_number("deceleration_slow_m_s2", deceleration_slow_m_s2, low=0.1, high=high, unit="m/s^2"),
            checked_number("deceleration_fast_m_s2", deceleration_fast_m_s2, low=0.1, high=high, unit="m/s^2"),
        )
        high = self._emergency_jerk
        self._jerks = (
            checked_number("jerk_slow_m_s3", jerk_slow_m_s3, low=0.1, high=high, unit="m/s^3"),
            checked_number("jerk_fast_m_s3", jerk_fast_m_s3, low=0.1, high=high, unit="m/s^3"),
        )
        self._release_jerk = checked_number("release_jerk_m_s3", release_jerk_m_s3, low=0.1, high=1000.0, unit="m/s^3")
        self._stop_time_s = checked_number("stop_time_s", stop_time_s, low=0.01, high=5.0, unit="s")
        self._hold_m_s2 = checked_number(
            "hold_deceleration_m_s2", hold_deceleration_m_s2, low=0.01, high=self._emergency_m_s2, unit="m/s^2"
        )
        self._counter = 0
        self._last_ns: int | None = None
        self._deceleration = 0.0

    def start(self, context: StageContext) -> None:
        """Forgets an earlier run."""
        self._counter = 0
        self._reset()

    def process(self, job: JobContext, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        plan: MotionPlan = inputs["plan"]
        if self._last_ns is not None and job.arrival_ns < self._last_ns:
            self._reset()
        elapsed_ns = _FIRST_STEP_NS if self._last_ns is None else min(job.arrival_ns - self._last_ns, _LONGEST_STEP_NS)
        self._last_ns = job.arrival_ns
        self._counter += 1
        wanted = self._within_limits(plan, inputs.get("ego")) if plan.valid else 0.0
        rise = self._jerk(plan) * elapsed_ns / NS_PER_S
        fall = self._release_jerk * elapsed_ns / NS_PER_S
        limited = min(max(wanted, self._deceleration - fall), self._deceleration + rise)
        self._deceleration = limited if plan.valid else 0.0
        command = Command(
            capture_time_ns=plan.data_time_ns,
            source="primary",
            counter=self._counter,
            acceleration_m_s2=0.0 - self._deceleration,
            # Brakes that have not begun to close are no emergency braking yet.
            emergency=plan.emergency and self._deceleration > 0.0,
            time_to_collision_ns=plan.time_to_collision_ns,
            valid=plan.valid,
            views=plan.views,
        )
        return {"command": command}

    def _reset(self) -> None:
        self._last_ns = None
        self._deceleration = 0.0

    def _within_limits(self, plan: MotionPlan, ego: EgoMotion | None) -> float:
        """The wanted deceleration within what the speed allows."""
        wanted = max(-plan.acceleration_m_s2, 0.0)
        if plan.emergency:
            return min(wanted, self._emergency_m_s2)
        limit = _by_speed(self._decelerations, plan.speed_m_s)
        standing = ego is not None and ego.at_rest and plan.time_to_collision_ns is None
        if plan.speed_m_s is not None or standing:
            speed = 0.0 if standing or plan.speed_m_s is None else max(plan.speed_m_s, 0.0)
            limit = min(limit, max(speed / self._stop_time_s, self._hold_m_s2))
        return min(wanted, limit)

    def _jerk(self, plan: MotionPlan) -> float:
        return self._emergency_jerk if plan.emergency else _by_speed(self._jerks, plan.speed_m_s)


def _by_speed(limits: tuple[float, float], speed_m_s: float | None) -> float:
    """The limit at a speed, out of those for slow and for fast driving."""
    slow, fast = limits
    share = 0.0 if speed_m_s is None else (speed_m_s - _SLOW_M_S) / (_FAST_M_S - _SLOW_M_S)
    return slow + (fast - slow) * min(max(share, 0.0), 1.0)
