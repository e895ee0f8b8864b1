"""Understanding: which of the tracked objects are in the way, and how soon."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pipelines.collision import along_path, needed_deceleration, normal_probability, time_to_collision
from pipelines.ego import tells_speed_change, tells_turning
from pipelines.parameters import checked_number, nearest
from rt_sched.errors import DeploymentError
from rt_sched.messages import EgoMotion, Situation, TrackedObjects
from rt_sched.ports import JobContext, StageBase, StageContext

Float = npt.NDArray[np.float64]

#: Slower than this the yaw rate says nothing about the curve that the vehicle drives.
_MIN_CURVE_SPEED_M_S = 2.0

#: Tightest curve that is believed, how well the yaw rate tells it, and how straight roads are when nothing does.
_MAX_CURVATURE_PER_M = 0.2
_CURVATURE_SIGMA_PER_M = 5e-4
_UNKNOWN_CURVATURE_SIGMA_PER_M = 2e-3
_TIGHTEST_SIGMA_PER_M = 0.04
#: Bends are driven at a lateral acceleration of this, one standard deviation: the slower, the tighter they may be.
_LATERAL_M_S2 = 1.5

#: What closes in faster than the vehicle is believed to drive, by this and two standard deviations, comes towards it or
#: shows that the belief is wrong. Nobody knows which, so the speed is not known.
_CONTRADICTION_M_S = 0.5

#: Sideways motion counts from this speed on, and when it is this many standard deviations from none.
_LEAST_CROSSING_M_S = 1.0
_CROSSING_SIGMAS = 4.0

#: An object whose near end lies farther behind the bumper than this is not ahead.
_ALONGSIDE_M = 1.0

#: Farther ahead than this nobody knows where something that crosses will be.
_CROSSING_HORIZON_S = 3.0


class Understand(StageBase):
    """Tracked objects -> the situation ahead: what is in the vehicle's way, how far, how fast, how sure.

    Inputs `objects`: TrackedObjects, `ego`: EgoMotion (optional); output `situation`: Situation.

    `speed_m_s` is None where it is not known, and where what is in the way closes in faster than it: brakes must not be
    eased because a speed is wrong.

    The vehicle's way is an arc as wide as its corridor. The arc follows yaw rate over speed where both are known, else
    it is straight. An object is in the way when it more likely than not reaches into the corridor, where it is now or,
    for one that surely crosses, where it will be when the vehicle gets there; its uncertainty across the way and that
    of the curve are counted. Its gap is the way from the bumper to its near end.

    `data_time_ns` of the situation is the oldest view of `required_sensors`; where none is named, the freshest view of
    a sensor that sees objects (any but an IMU). The situation is not valid while a required view, or every such view,
    is missing.

    Parameters:
        corridor_half_width_m: from the centre line. ego_front_m: bumper ahead of the vehicle's origin.
        range_m: largest gap that counts. min_closing_m_s: slower approaches count as none.
        min_gap_m: what is to be left when the vehicle has braked.
        initial_speed_m_s: the vehicle's speed when its IMU began to integrate; the fusion's estimate when not given.

    Raises ValueError for a parameter out of range, DeploymentError for an unknown required sensor.
    """

    inputs: ClassVar[Mapping[str, type]] = {"objects": TrackedObjects, "ego": EgoMotion}
    outputs: ClassVar[Mapping[str, type]] = {"situation": Situation}
    optional_inputs: ClassVar[frozenset[str]] = frozenset({"ego"})
    sensor_parameters: ClassVar[Mapping[str, tuple[str, ...]]] = {"required_sensors": ("camera", "lidar")}

    def __init__(
        self,
        *,
        corridor_half_width_m: float = 1.1,
        ego_front_m: float = 2.0,
        range_m: float = 100.0,
        min_closing_m_s: float = 0.5,
        min_gap_m: float = 2.0,
        initial_speed_m_s: float | None = None,
        required_sensors: Sequence[str] = (),
    ) -> None:
        self._half_width_m = checked_number(
            "corridor_half_width_m", corridor_half_width_m, low=0.1, high=10.0, unit="m"
        )
        self._front_m = checked_number("ego_front_m", ego_front_m, low=0.0, high=20.0, unit="m")
        self._range_m = checked_number("range_m", range_m, low=1.0, high=500.0, unit="m")
        self._min_closing_m_s = checked_number("min_closing_m_s", min_closing_m_s, low=0.01, high=10.0, unit="m/s")
        self._min_gap_m = checked_number("min_gap_m", min_gap_m, low=0.0, high=20.0, unit="m")
        if initial_speed_m_s is not None:
            checked_number("initial_speed_m_s", initial_speed_m_s, low=-20.0, high=100.0, unit="m/s")
        self._initial_speed_m_s = initial_speed_m_s
        is_list = isinstance(required_sensors, Sequence) and not isinstance(required_sensors, str)
        if not is_list or not all(isinstance(name, str) for name in required_sensors):
            raise ValueError(f"required_sensors: {required_sensors!r} is not a list of sensor names")
        self._required = tuple(required_sensors)
        self._blind: frozenset[str] = frozenset()

    def start(self, context: StageContext) -> None:
        """Learns which sensors see. Raises DeploymentError for a required one that does not."""
        self._blind = frozenset(name for name, sensor in context.sensors.items() if sensor.kind == "imu")
        for name in self._required:
            seeing = sorted(set(context.sensors) - self._blind)
            if context.sensors and name not in seeing:
                raise DeploymentError(f"task {context.task}: required sensor {name!r}: {nearest(name, seeing)}")

    def process(self, job: JobContext, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        objects: TrackedObjects = inputs["objects"]
        ego: EgoMotion | None = inputs.get("ego")
        captures = {view.sensor: view.capture_time_ns for view in objects.views if view.sensor not in self._blind}
        valid = bool(captures) and set(self._required) <= set(captures)
        required_ns = [captures[name] for name in self._required if name in captures]
        freshest_ns = max(captures.values(), default=objects.capture_time_ns)
        speed_m_s = self._speed_m_s(objects, ego)
        curvature = _curvature_per_m(ego, speed_m_s)
        rows, gaps, in_path = self._in_the_way(objects, curvature, speed_m_s)
        gap_sigmas, closing_sigmas, braking = _uncertainty(objects, rows)
        closing = -objects.velocities_m_s[rows, 0]
        if speed_m_s is not None and bool((closing > speed_m_s + _CONTRADICTION_M_S + 2.0 * closing_sigmas).any()):
            speed_m_s = None
        ttc, ttc_sigmas = time_to_collision(gaps, gap_sigmas, closing, closing_sigmas, self._min_closing_m_s)
        situation = Situation(
            capture_time_ns=objects.capture_time_ns,
            frame_id=objects.frame_id,
            data_time_ns=min(required_ns) if required_ns else freshest_ns,
            valid=valid,
            speed_m_s=speed_m_s,
            curvature_per_m=curvature or 0.0,
            track_ids=objects.track_ids[rows],
            gaps_m=gaps,
            gap_sigmas_m=gap_sigmas,
            closing_m_s=closing,
            closing_sigmas_m_s=closing_sigmas,
            braking_m_s2=braking,
            in_path=in_path,
            times_to_collision_s=ttc,
            time_to_collision_sigmas_s=ttc_sigmas,
            needed_m_s2=needed_deceleration(gaps, closing, braking, speed_m_s, self._min_gap_m),
            views=objects.views,
        )
        return {"situation": situation}

    def _speed_m_s(self, objects: TrackedObjects, ego: EgoMotion | None) -> float | None:
        if self._initial_speed_m_s is not None and ego is not None and tells_speed_change(ego):
            return self._initial_speed_m_s + ego.speed_change_m_s
        return objects.ego_speed_m_s

    def _in_the_way(
        self, objects: TrackedObjects, curvature: float | None, speed_m_s: float | None
    ) -> tuple[npt.NDArray[np.int64], Float, Float]:
        """Rows of the objects in the way, nearest first, with gaps >= 0 and the probability of being in it."""
        x, y = objects.positions_m[:, 0], objects.positions_m[:, 1]
        way, left = along_path(x, y, curvature or 0.0)
        half_length, half_width = objects.sizes_m[:, 0] / 2.0, objects.sizes_m[:, 1] / 2.0
        gaps = way - half_length - self._front_m
        crossing, crossing_sigmas = self._crossing(objects, np.maximum(gaps, 0.0))
        left = left + crossing
        # A curve that is not quite the one that the yaw rate tells leads the farther astray the longer it is.
        curve_sigma = _unknown_curvature_sigma(speed_m_s) if curvature is None else _CURVATURE_SIGMA_PER_M
        spread = np.sqrt(_sigmas(objects, 1) ** 2 + (0.5 * way**2 * curve_sigma) ** 2 + crossing_sigmas**2)
        inside = self._half_width_m + half_width - np.abs(left)
        in_path = normal_probability(inside / np.maximum(spread, 1e-6))
        # What begins well behind the bumper drives or stands alongside.
        ahead = (way + half_length > self._front_m) & (gaps > -_ALONGSIDE_M)
        rows = np.flatnonzero((inside > 0.0) & ahead & (gaps <= self._range_m))
        # Equal gaps: by identifier, so that the order of the input decides nothing.
        rows = rows[np.lexsort((objects.track_ids[rows], gaps[rows]))]
        return rows, np.maximum(gaps[rows], 0.0), in_path[rows]

    def _crossing(self, objects: TrackedObjects, gaps_m: Float) -> tuple[Float, Float]:
        """How far each object will have moved sideways when the vehicle reaches it, and the standard deviation of that.

        Both are 0 for what does not surely cross.
        """
        closing, sideways, sigmas = -objects.velocities_m_s[:, 0], objects.velocities_m_s[:, 1], _sigmas(objects, 3)
        reached_s = np.divide(gaps_m, closing, out=np.full_like(gaps_m, np.inf), where=closing > self._min_closing_m_s)
        surely = np.abs(sideways) > np.maximum(_LEAST_CROSSING_M_S, _CROSSING_SIGMAS * sigmas)
        reached_s = np.where(surely & (reached_s <= _CROSSING_HORIZON_S), reached_s, 0.0)
        return sideways * reached_s, sigmas * reached_s


def _curvature_per_m(ego: EgoMotion | None, speed_m_s: float | None) -> float | None:
    """Curvature of the path; None where nothing tells it."""
    if ego is None or speed_m_s is None or speed_m_s < _MIN_CURVE_SPEED_M_S or not tells_turning(ego):
        return None
    return min(max(ego.yaw_rate_rad_s / speed_m_s, -_MAX_CURVATURE_PER_M), _MAX_CURVATURE_PER_M)


def _unknown_curvature_sigma(speed_m_s: float | None) -> float:
    """How straight the way is, per metre, when nothing tells it: on a road, as bends are driven at this speed."""
    if speed_m_s is None:
        return _UNKNOWN_CURVATURE_SIGMA_PER_M
    driven = _LATERAL_M_S2 / max(speed_m_s**2, 1e-6)
    return min(max(driven, _UNKNOWN_CURVATURE_SIGMA_PER_M), _TIGHTEST_SIGMA_PER_M)


def _sigmas(objects: TrackedObjects, state: int) -> Float:
    """Standard deviation of one number of every object's state; 0 where it is not told."""
    if objects.covariances is None:
        return np.zeros(len(objects.track_ids))
    return np.sqrt(objects.covariances[:, state, state])


def _uncertainty(objects: TrackedObjects, rows: npt.NDArray[np.int64]) -> tuple[Float, Float, Float]:
    """Standard deviations of gap and closing speed, and how hard the objects brake as far as that is certain."""
    braking = np.zeros(len(rows))
    if objects.accelerations_m_s2 is not None:
        felt = np.maximum(-objects.accelerations_m_s2[rows, 0], 0.0)
        noise = _sigmas(objects, 4)[rows]
        # The share of the variance that is no noise: little counts where the noise is as large.
        braking = felt * np.divide(felt**2, felt**2 + noise**2, out=np.zeros_like(felt), where=felt > 1e-6)
    return _sigmas(objects, 0)[rows], _sigmas(objects, 2)[rows], braking
