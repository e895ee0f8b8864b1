"""The decision: how hard to brake for what moves into the vehicle's way."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pipelines.parameters import checked_number, nearest
from rt_sched.errors import DeploymentError
from rt_sched.messages import Command, EgoMotion, SensorView, TrackedObjects
from rt_sched.ports import JobContext, StageBase, StageContext
from rt_sched.units import NS_PER_S

Float = npt.NDArray[np.float64]

#: Slower than this the yaw rate says nothing about the curve that the vehicle drives.
_MIN_CURVE_SPEED_M_S = 2.0

#: Tightest curve that is believed.
_MAX_CURVATURE_PER_M = 0.2

#: Way left for braking is taken to be at least this: creeping up to a stopped car is no emergency.
_LEAST_WAY_M = 0.5


class Brake(StageBase):
    """Tracked objects -> a braking command.

    Inputs `objects`: TrackedObjects, `ego`: EgoMotion (optional); output `command`: Command.

    Every object that reaches into the corridor ahead is judged by its time to collision (gap over closing speed) and
    by the deceleration that just keeps `min_gap_m`: closing speed squared over twice the rest of the gap. The firmest
    answer of all objects is commanded:

    - emergency: `emergency_deceleration_m_s2`, from `emergency_ttc_s` or a needed deceleration of
      `emergency_needed_m_s2` on, until the time to collision has grown to `release_ttc_s`. Below
      `full_closing_m_s` both times shrink in proportion to the closing speed: a slow approach leaves the way to brake
      gently, and little noise makes much of its time to collision;
    - brake: the needed deceleration, at least `brake_deceleration_m_s2`, from `brake_ttc_s` on;
    - warn: `warn_deceleration_m_s2`, from `warn_ttc_s` on.

    Else the request is 0. The corridor follows the yaw rate where the speed is known (`initial_speed_m_s` plus the
    IMU's integral), else it is straight. `capture_time_ns` of the command is the oldest view of `required_sensors`;
    where none is named, the freshest view of a sensor that sees objects (any but an IMU). The command is not valid
    while a required view, or every such view, is missing.

    Parameters: corridor_half_width_m from the centre line; ego_front_m: bumper ahead of the vehicle's origin; range_m:
    largest gap that counts; min_closing_m_s: slower approaches count as none. Raises ValueError for one out of range.
    """

    inputs: ClassVar[Mapping[str, type]] = {"objects": TrackedObjects, "ego": EgoMotion}
    outputs: ClassVar[Mapping[str, type]] = {"command": Command}
    optional_inputs: ClassVar[frozenset[str]] = frozenset({"ego"})
    stateful: ClassVar[bool] = True

    def __init__(
        self,
        *,
        corridor_half_width_m: float = 1.1,
        ego_front_m: float = 2.0,
        range_m: float = 100.0,
        initial_speed_m_s: float | None = None,
        warn_ttc_s: float = 3.0,
        brake_ttc_s: float = 2.4,
        emergency_ttc_s: float = 1.6,
        release_ttc_s: float = 2.2,
        full_closing_m_s: float = 4.0,
        min_gap_m: float = 2.0,
        min_closing_m_s: float = 0.5,
        warn_deceleration_m_s2: float = 1.0,
        brake_deceleration_m_s2: float = 3.0,
        emergency_deceleration_m_s2: float = 8.0,
        emergency_needed_m_s2: float = 6.0,
        required_sensors: Sequence[str] = (),
    ) -> None:
        self._half_width_m = checked_number(
            "corridor_half_width_m", corridor_half_width_m, low=0.1, high=10.0, unit="m"
        )
        self._front_m = checked_number("ego_front_m", ego_front_m, low=0.0, high=20.0, unit="m")
        self._range_m = checked_number("range_m", range_m, low=1.0, high=500.0, unit="m")
        self._initial_speed_m_s = (
            None
            if initial_speed_m_s is None
            else checked_number("initial_speed_m_s", initial_speed_m_s, low=-20.0, high=100.0, unit="m/s")
        )
        self._warn_ttc_s = checked_number("warn_ttc_s", warn_ttc_s, low=0.1, high=20.0, unit="s")
        self._brake_ttc_s = checked_number("brake_ttc_s", brake_ttc_s, low=0.1, high=self._warn_ttc_s, unit="s")
        self._emergency_ttc_s = checked_number(
            "emergency_ttc_s", emergency_ttc_s, low=0.1, high=self._brake_ttc_s, unit="s"
        )
        self._release_ttc_s = checked_number(
            "release_ttc_s", release_ttc_s, low=self._emergency_ttc_s, high=20.0, unit="s"
        )
        self._full_closing_m_s = checked_number("full_closing_m_s", full_closing_m_s, low=0.01, high=30.0, unit="m/s")
        self._min_gap_m = checked_number("min_gap_m", min_gap_m, low=0.0, high=20.0, unit="m")
        self._min_closing_m_s = checked_number("min_closing_m_s", min_closing_m_s, low=0.01, high=10.0, unit="m/s")
        self._emergency_m_s2 = checked_number(
            "emergency_deceleration_m_s2", emergency_deceleration_m_s2, low=0.1, high=10.0, unit="m/s^2"
        )
        self._needed_m_s2 = checked_number(
            "emergency_needed_m_s2", emergency_needed_m_s2, low=0.1, high=self._emergency_m_s2, unit="m/s^2"
        )
        self._brake_m_s2 = checked_number(
            "brake_deceleration_m_s2", brake_deceleration_m_s2, low=0.1, high=self._emergency_m_s2, unit="m/s^2"
        )
        self._warn_m_s2 = checked_number(
            "warn_deceleration_m_s2", warn_deceleration_m_s2, low=0.0, high=self._brake_m_s2, unit="m/s^2"
        )
        if isinstance(required_sensors, str) or not all(isinstance(name, str) for name in required_sensors):
            raise ValueError(f"required_sensors: {required_sensors!r} is not a list of sensor names")
        self._required = tuple(required_sensors)
        self._blind: frozenset[str] = frozenset()
        self._counter = 0
        self._emergency = False

    def start(self, context: StageContext) -> None:
        self._blind = frozenset(name for name, sensor in context.sensors.items() if sensor.kind == "imu")
        for name in self._required:
            seeing = sorted(set(context.sensors) - self._blind)
            if context.sensors and name not in seeing:
                raise DeploymentError(f"task {context.task}: required sensor {name!r}: {nearest(name, seeing)}")
        self._counter = 0
        self._emergency = False

    def process(self, job: JobContext, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        objects: TrackedObjects | None = inputs.get("objects")
        self._counter += 1
        views = objects.views if objects is not None else ()
        captures = {view.sensor: view.capture_time_ns for view in views if view.sensor not in self._blind}
        if objects is None or not captures or not set(self._required) <= set(captures):
            return {"command": self._command(job.arrival_ns, 0.0, False, None, False, views)}

        gaps, closing = self._in_the_way(objects, inputs.get("ego"))
        ttc = gaps / closing
        rest = np.maximum(gaps - self._min_gap_m, _LEAST_WAY_M)
        needed = closing**2 / (2.0 * rest)
        share = np.minimum(closing / self._full_closing_m_s, 1.0)
        self._emergency = bool(
            (ttc <= self._emergency_ttc_s * share).any()
            or (needed >= self._needed_m_s2).any()
            or (self._emergency and (ttc <= self._release_ttc_s * share).any())
        )
        deceleration = 0.0
        if self._emergency:
            deceleration = self._emergency_m_s2
        elif (ttc <= self._brake_ttc_s).any():
            firmest = float(needed[ttc <= self._brake_ttc_s].max())
            deceleration = min(max(firmest, self._brake_m_s2), self._emergency_m_s2)
        elif (ttc <= self._warn_ttc_s).any():
            deceleration = self._warn_m_s2
        ttc_ns = math.floor(float(ttc.min()) * NS_PER_S) if ttc.size else None
        required = [captures[name] for name in self._required]
        capture_ns = min(required) if required else max(captures.values())
        return {"command": self._command(capture_ns, 0.0 - deceleration, self._emergency, ttc_ns, True, views)}

    def _in_the_way(self, objects: TrackedObjects, ego: EgoMotion | None) -> tuple[Float, Float]:
        """Gaps >= 0 and closing speeds of the objects that the corridor holds and that come nearer."""
        x, y = objects.positions_m[:, 0], objects.positions_m[:, 1]
        gaps = x - objects.sizes_m[:, 0] / 2.0 - self._front_m
        closing = -objects.velocities_m_s[:, 0]
        center_y = 0.5 * self._curvature_per_m(ego) * np.maximum(x, 0.0) ** 2
        inside = np.abs(y - center_y) - objects.sizes_m[:, 1] / 2.0 < self._half_width_m
        # An object whose far end is behind the bumper is no longer ahead.
        ahead = x + objects.sizes_m[:, 0] / 2.0 > self._front_m
        kept = inside & ahead & (gaps <= self._range_m) & (closing >= self._min_closing_m_s)
        return np.maximum(gaps[kept], 0.0), closing[kept]

    def _curvature_per_m(self, ego: EgoMotion | None) -> float:
        if ego is None or self._initial_speed_m_s is None:
            return 0.0
        speed = self._initial_speed_m_s + ego.speed_change_m_s
        if speed < _MIN_CURVE_SPEED_M_S:
            return 0.0
        return min(max(ego.yaw_rate_rad_s / speed, -_MAX_CURVATURE_PER_M), _MAX_CURVATURE_PER_M)

    def _command(
        self,
        capture_ns: int,
        acceleration: float,
        emergency: bool,
        ttc_ns: int | None,
        valid: bool,
        views: tuple[SensorView, ...],
    ) -> Command:
        return Command(
            capture_time_ns=capture_ns,
            source="primary",
            counter=self._counter,
            acceleration_m_s2=acceleration,
            emergency=emergency,
            time_to_collision_ns=ttc_ns,
            valid=valid,
            views=views,
        )
