"""From inertial samples to the motion of the vehicle."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pipelines import imu_health as health
from pipelines.motion_window import MotionWindow
from pipelines.parameters import checked_choice, checked_number, nearest
from pipelines.rotations import Float, cross, matrix_of_vector, upright
from pipelines.strapdown import GRAVITY_M_S2, Strapdown
from rt_sched.errors import DeploymentError
from rt_sched.messages import EgoMotion, ImuSample
from rt_sched.ports import JobContext, Rejected, StageBase, StageContext
from rt_sched.units import NS_PER_MS, NS_PER_S, format_ns

_UNITS_M_S2 = {"m/s^2": 1.0, "g": GRAVITY_M_S2}
_UNITS_RAD_S = {"rad/s": 1.0, "deg/s": math.pi / 180.0}

#: A sample that is older than the last one by up to this is late; one that is older still begins a new epoch.
_MAX_LATE_NS = NS_PER_S
#: The longest gap where the sensor's period is not known.
_DEFAULT_GAP_NS = 100 * NS_PER_MS

#: A specific force this close to gravity's size belongs to a vehicle that hardly accelerates; only then does it say
#: where down is. In a bend at unknown speed it does not.
_GRAVITY_TOLERANCE_M_S2 = 0.3
_BEND_RAD_S = 0.05
_GRAVITY_NS = 50 * NS_PER_MS

#: An IMU whose first sample points further than this from its declared up axis, while its size is gravity's give or
#: take the second figure, is mounted differently.
_MOUNTING_COSINE = math.cos(math.radians(30.0))
_MOUNTING_TOLERANCE_M_S2 = 2.0

#: No sensor measures more than its range, give or take what its range is not exactly.
_BEYOND_RANGE = 1.05

#: Flags of samples that are not integrated.
_UNMEASURED = frozenset({health.GAP, health.STUCK, health.AT_END_FOR_LONG})

_RATE_HINT = "a sensor with a larger one needs gyro_range_deg_s, one in deg/s needs rate_unit: deg/s"
_FORCE_HINT = "a sensor with a larger one needs accelerometer_range_g; see acceleration_unit too"

#: Least duration of an interval of the history.
_INTERVAL_NS = 5 * NS_PER_MS


class Integrate(StageBase):
    """IMU sample -> the vehicle's motion by inertial navigation. Input `imu`: ImuSample; output `ego`: EgoMotion.

    Attitude, velocity, position and both biases with their uncertainty come from a Kalman filter
    (`pipelines.strapdown`). Standstill, found by the variance of the samples, gives the biases, aligns the attitude
    with gravity and tells the speed; before the first one, and once it has grown too uncertain, `speed_m_s` is None.
    Yaw rate is the rate about the true up axis without bias. Forward acceleration is the specific force along the
    level forward axis at the vehicle's origin, so that a slope or a tilted mounting does not look like acceleration.
    `heading_rad` and `speed_change_m_s` integrate these two by the trapezoidal rule. `history` holds the latest
    `history_ms` of motion for stages that carry points from one instant to another.

    Stamps: a sample that repeats a stamp or is late by up to 1 s is rejected. One that is earlier than that starts a
    new epoch: everything begins again. Over a gap nothing is integrated; uncertainty grows by what a vehicle may do
    meanwhile, the history begins anew, and the message says so. `epochs` and `gaps` count both.

    Samples that are not finite, or beyond the sensor's range, are rejected: the state is as if they had been missing.
    For a sensor at the end of its range its last good values stand in for 100 ms while uncertainty grows; after that,
    and over stuck values, nothing is integrated. `flags` names both; a gap and a sensor at its end stay in it for
    100 ms, so that nobody who reads less often than the IMU measures misses them. An accelerometer in g or without
    gravity, or in m/s^2 where g is stated, is refused with what to do about it.

    Parameters:
        sensor: the IMU that the samples come from; the run's only IMU when not given. Its pose in the vehicle is used
            where known; else x forward, z up, at the origin.
        max_gap_periods: longest distance of two samples that is integrated over, in periods of the sensor;
            max_gap_ms: the same in time, used instead where given.
        gravity_time_constant_s: how slowly the attitude follows the specific force while driving.
        acceleration_unit: m/s^2 or g; rate_unit: rad/s or deg/s.
        gyro_range_deg_s, accelerometer_range_g: the sensor's measuring range. stuck_ms: for how long values may repeat.
        rest_window_ms: duration of a standstill before it counts; rest_gyro_std_rad_s, rest_accelerometer_std_m_s2:
            the sensor's own noise with some room. Too large, and smooth driving looks like standstill.
        max_speed_sigma_m_s: uncertainty above which the speed counts as unknown.
        history_ms: see above; a LiDAR sweep plus its latency must fit in.

    Raises ValueError for parameters out of range, DeploymentError for an unknown sensor, Rejected for a bad sample.
    """

    inputs: ClassVar[Mapping[str, type]] = {"imu": ImuSample}
    outputs: ClassVar[Mapping[str, type]] = {"ego": EgoMotion}
    stateful: ClassVar[bool] = True
    sensor_parameters: ClassVar[Mapping[str, tuple[str, ...]]] = {"sensor": ("imu",)}

    def __init__(
        self,
        *,
        sensor: str | None = None,
        max_gap_periods: float = 5.0,
        max_gap_ms: float | None = None,
        gravity_time_constant_s: float = 10.0,
        acceleration_unit: str = "m/s^2",
        rate_unit: str = "rad/s",
        gyro_range_deg_s: float = 2000.0,
        accelerometer_range_g: float = 16.0,
        stuck_ms: float = 200.0,
        rest_window_ms: float = 1000.0,
        rest_gyro_std_rad_s: float = 0.0018,
        rest_accelerometer_std_m_s2: float = 0.03,
        max_speed_sigma_m_s: float = 1.0,
        history_ms: float = 300.0,
    ) -> None:
        self._sensor = sensor
        self._gap_periods = checked_number("max_gap_periods", max_gap_periods, low=1.0, high=1000.0)
        self._given_gap_ns = None if max_gap_ms is None else _ms("max_gap_ms", max_gap_ms, 0.1, 10_000.0)
        self._time_constant_s = checked_number(
            "gravity_time_constant_s", gravity_time_constant_s, low=0.1, high=1000.0, unit="s"
        )
        self._force_unit = _UNITS_M_S2[checked_choice("acceleration_unit", acceleration_unit, _UNITS_M_S2)]
        self._rate_unit = _UNITS_RAD_S[checked_choice("rate_unit", rate_unit, _UNITS_RAD_S)]
        gyro_range = checked_number("gyro_range_deg_s", gyro_range_deg_s, low=10.0, high=100_000.0, unit="deg/s")
        force_range = checked_number("accelerometer_range_g", accelerometer_range_g, low=1.1, high=1000.0, unit="g")
        self._ranges = (math.radians(gyro_range), force_range * GRAVITY_M_S2)
        self._stuck_ns = _ms("stuck_ms", stuck_ms, 1.0, 60_000.0)
        self._rest_ns = _ms("rest_window_ms", rest_window_ms, 100.0, 60_000.0)
        self._rest_limits = (
            checked_number("rest_gyro_std_rad_s", rest_gyro_std_rad_s, low=0.0, high=0.1, unit="rad/s"),
            checked_number("rest_accelerometer_std_m_s2", rest_accelerometer_std_m_s2, low=0.0, high=2.0, unit="m/s^2"),
        )
        self._max_sigma_m_s = checked_number(
            "max_speed_sigma_m_s", max_speed_sigma_m_s, low=0.05, high=10.0, unit="m/s"
        )
        self._history_ns = _ms("history_ms", history_ms, 10.0, 5000.0)
        self._max_gap_ns = self._given_gap_ns if self._given_gap_ns is not None else _DEFAULT_GAP_NS
        self._mounting: Float = np.eye(3)
        self._place_m: Float = np.zeros(3)
        self.epochs = 0
        self.gaps = 0
        self._forget()

    def start(self, context: StageContext) -> None:
        imus = sorted(name for name, sensor in context.sensors.items() if sensor.kind == "imu")
        name = self._sensor if self._sensor is not None else (imus[0] if len(imus) == 1 else None)
        if self._sensor is not None and context.sensors and self._sensor not in imus:
            raise DeploymentError(
                f"task {context.task}: sensor {self._sensor!r} is not an IMU; {nearest(self._sensor, imus)}"
            )
        description = context.sensors.get(name) if name is not None else None
        pose = None if description is None else description.sensor_to_vehicle
        self._mounting = np.eye(3) if pose is None else np.array(pose, np.float64)[:, :3]
        self._place_m = np.zeros(3) if pose is None else np.array(pose, np.float64)[:, 3]
        if self._given_gap_ns is None and description is not None:
            self._max_gap_ns = math.floor(self._gap_periods * description.period_ns)
        self.epochs = 0
        self.gaps = 0
        self._forget()

    def process(self, job: JobContext, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        sample: ImuSample = inputs["imu"]
        now_ns = sample.capture_time_ns
        try:
            measured_rate = _measured(
                sample.angular_velocity_rad_s, "angular velocity", self._rate_unit, self._ranges[0], _RATE_HINT
            )
            measured_force = _measured(
                sample.linear_acceleration_m_s2, "acceleration", self._force_unit, self._ranges[1], _FORCE_HINT
            )
        except Rejected:
            self._lost = True
            raise
        elapsed_ns = self._elapsed_ns(now_ns)
        complaint = self._units.complaint(now_ns, measured_force)
        if complaint is not None:
            raise Rejected(f"the accelerometer cannot be used: {complaint}")
        flags = list(self._checks.flags(now_ns, measured_rate, measured_force))
        level = self._mounting.T @ (GRAVITY_M_S2 * self._filter.up)
        measured_rate, measured_force = self._ends.stand_ins(now_ns, flags, measured_rate, measured_force, level)
        if self._lost:
            flags.append(health.SAMPLES_LOST)
            self._lost = False

        if elapsed_ns is None:
            self._align(self._mounting @ measured_force)
        turned = self._correction @ self._mounting
        rate, force = turned @ measured_rate, turned @ measured_force
        self._move(now_ns, elapsed_ns, rate, force, flags)
        integrated = elapsed_ns is not None and not _UNMEASURED.intersection(flags)
        at_rest = self._look_for_rest(now_ns, rate, force, flags)
        if integrated and not at_rest and not health.AT_END.intersection(flags):
            self._look_for_gravity(now_ns, rate, force)
        flags += self._ends.lately(now_ns, flags)
        return {"ego": self._ego(now_ns, elapsed_ns if integrated else None, rate, force, at_rest, tuple(flags))}

    def _forget(self) -> None:
        self._last_ns: int | None = None
        self._lost = False
        self._correction: Float = np.eye(3)
        self._filter = Strapdown()
        self._checks = health.SampleChecks(*self._ranges, self._stuck_ns)
        self._rest = health.RestDetector(self._rest_ns, *self._rest_limits)
        self._units = health.UnitCheck(self._rest_ns // 2, is_g=self._force_unit != 1.0)
        self._window = MotionWindow(self._history_ns, _INTERVAL_NS)
        self._last: tuple[Float, Float] = (np.zeros(3), np.zeros(3))
        self._felt: list[tuple[Float, Float]] = []
        self._ends = health.EndsOfRange()
        self._gravity_ns = 0
        self._yaw_rate = self._acceleration = self._heading_rad = self._speed_change_m_s = 0.0

    def _elapsed_ns(self, stamp_ns: int) -> int | None:
        """Time since the last sample; None for the first one of an epoch."""
        if self._last_ns is not None:
            elapsed_ns = stamp_ns - self._last_ns
            if elapsed_ns == 0:
                raise Rejected("the IMU stamp repeats the last one")
            if -_MAX_LATE_NS <= elapsed_ns < 0:
                raise Rejected(f"the IMU sample is {format_ns(-elapsed_ns)} older than the last one")
            if elapsed_ns > 0:
                self._last_ns = stamp_ns
                return elapsed_ns
            self._forget()
            self.epochs += 1
        self._last_ns = stamp_ns
        self._gravity_ns = stamp_ns
        return None

    def _align(self, force: Float) -> None:
        """The mounting is believed unless the first sample clearly says otherwise."""
        size = float(np.linalg.norm(force))
        if abs(size - GRAVITY_M_S2) <= _MOUNTING_TOLERANCE_M_S2 and float(force[2]) / size < _MOUNTING_COSINE:
            self._correction = upright(force / size)

    def _move(self, now_ns: int, elapsed_ns: int | None, rate: Float, force: Float, flags: list[str]) -> None:
        """Integrates from the last sample to this one, or notes that it may not."""
        last_rate, last_force = self._last
        self._last = (rate, force)
        if elapsed_ns is not None and elapsed_ns > self._max_gap_ns:
            self.gaps += 1
            flags.append(health.GAP)
        if elapsed_ns is None or _UNMEASURED.intersection(flags):
            self._window.forget(now_ns)
            self._rest.forget()
            self._felt.clear()
            if elapsed_ns is not None:
                self._filter.pass_over(elapsed_ns / NS_PER_S)
            return
        dt_s = elapsed_ns / NS_PER_S
        step = self._filter.advance(0.5 * (last_rate + rate), 0.5 * (last_force + force), dt_s)
        if health.AT_END.intersection(flags):
            self._filter.pass_over(dt_s)
        # The IMU swings about the vehicle's origin.
        swing = matrix_of_vector(step.turn_rad) @ self._place_m - self._place_m
        self._window.add(now_ns, step.turn_rad, step.move_m - swing)

    def _look_for_rest(self, now_ns: int, rate: Float, force: Float, flags: list[str]) -> bool:
        """Whether the vehicle stands; then the filter learns from it."""
        if health.STUCK in flags or health.AT_END.intersection(flags):
            self._rest.quiet = False
            return False
        looked = self._rest.add(now_ns, rate, force)
        if self._rest.gravity_off:
            flags.append(health.GRAVITY_OFF)
        if not self._rest.quiet:
            return False
        speed_m_s, sigma_m_s = float(np.linalg.norm(self._filter.velocity_m_s)), self._filter.velocity_sigma_m_s
        if speed_m_s > 5.0 * sigma_m_s + 0.5:
            flags.append(health.NOT_AT_REST)
            return False
        if looked:
            self._filter.rests(self._rest.mean_rate_rad_s, self._rest.mean_force_m_s2)
        return True

    def _look_for_gravity(self, now_ns: int, rate: Float, force: Float) -> None:
        """While driving, the mean force of some samples points up, more or less."""
        self._felt.append((rate, force))
        if now_ns - self._gravity_ns < _GRAVITY_NS:
            return
        over_s = (now_ns - self._gravity_ns) / NS_PER_S
        self._gravity_ns = now_ns
        mean_rate, mean_force = np.mean(self._felt, axis=0)
        self._felt.clear()
        calm = abs(float(np.linalg.norm(mean_force)) - GRAVITY_M_S2) <= _GRAVITY_TOLERANCE_M_S2
        straight = abs(float((mean_rate - self._filter.gyro_bias_rad_s) @ self._filter.up)) <= _BEND_RAD_S
        if calm and (straight or self._filter.velocity_sigma_m_s <= self._max_sigma_m_s):
            self._filter.feels_gravity(mean_rate, mean_force, self._time_constant_s / over_s)

    def _ego(
        self, now_ns: int, elapsed_ns: int | None, rate: Float, force: Float, at_rest: bool, flags: tuple[str, ...]
    ) -> EgoMotion:
        found = self._filter
        turning = rate - found.gyro_bias_rad_s
        ahead = np.array([1.0, 0.0, 0.0]) - found.up[0] * found.up
        length = float(np.linalg.norm(ahead))
        ahead = ahead / length if length > 0.0 else ahead
        # What is felt at the IMU's place beyond the origin's acceleration; angular acceleration is too noisy to use.
        swing = cross(turning, cross(turning, self._place_m))
        yaw_rate = float(turning @ found.up)
        acceleration = float((force - found.force_bias_m_s2 - swing) @ ahead)
        if elapsed_ns is not None:
            dt_s = elapsed_ns / NS_PER_S
            self._heading_rad += 0.5 * (self._yaw_rate + yaw_rate) * dt_s
            self._speed_change_m_s += 0.5 * (self._acceleration + acceleration) * dt_s
        self._yaw_rate, self._acceleration = yaw_rate, acceleration
        speed_m_s = None
        if found.velocity_sigma_m_s <= self._max_sigma_m_s:
            velocity = found.rotation.T @ found.velocity_m_s - cross(turning, self._place_m)
            speed_m_s = float(velocity @ ahead)
        return EgoMotion(
            capture_time_ns=now_ns,
            frame_id="vehicle",
            yaw_rate_rad_s=yaw_rate,
            forward_acceleration_m_s2=acceleration,
            heading_rad=self._heading_rad,
            speed_change_m_s=self._speed_change_m_s,
            speed_m_s=speed_m_s,
            at_rest=at_rest,
            flags=flags,
            state=found.state(),
            history=self._window.message(now_ns),
        )


def _ms(name: str, value: Any, low: float, high: float) -> int:
    return math.floor(checked_number(name, value, low=low, high=high, unit="ms") * NS_PER_MS)


def _measured(values: npt.NDArray[np.float64], what: str, unit: float, limit: float, hint: str) -> Float:
    """`values` in SI units; raises Rejected for what no sensor of the range `limit` (SI) can have measured."""
    vector = np.asarray(values, np.float64)
    if vector.shape != (3,) or not np.isfinite(vector).all():
        raise Rejected(f"the IMU's {what} is not three finite numbers")
    largest = float(np.abs(vector).max())
    if largest > _BEYOND_RANGE * limit / unit:
        raise Rejected(f"the IMU's {what} of {largest:.4g} is beyond its range of {limit / unit:.4g}; {hint}")
    return vector * unit
