"""From inertial samples to the motion of the vehicle."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pipelines.parameters import checked_number, nearest
from rt_sched.errors import DeploymentError
from rt_sched.messages import EgoMotion, ImuSample
from rt_sched.ports import JobContext, Rejected, StageBase, StageContext
from rt_sched.units import NS_PER_MS, NS_PER_S, format_ns

GRAVITY_M_S2 = 9.80665

#: A specific force this close to gravity's size belongs to a vehicle that hardly accelerates; only then does it say
#: where down is.
_GRAVITY_TOLERANCE_M_S2 = 0.3

#: An IMU whose first sample points further than this from its declared up axis, while its size is gravity's give or
#: take the second figure, is mounted differently.
_MOUNTING_COSINE = math.cos(math.radians(30.0))
_MOUNTING_TOLERANCE_M_S2 = 2.0


class Integrate(StageBase):
    """IMU sample -> yaw rate, forward acceleration, their integrals. Input `imu`: ImuSample; output `ego`: EgoMotion.

    The up axis follows the gyroscope and is pulled towards the specific force while that is about as large as gravity.
    Yaw rate is the rate about it; forward acceleration is the specific force along the forward axis at right angles
    to it, so that a slope or a tilted mounting does not look like acceleration. Integrals use the trapezoidal rule.

    Stamps: a sample that repeats a stamp or is late by up to `max_gap_ms` is rejected. One that is earlier than that
    starts a new epoch: everything begins again. Over a gap longer than `max_gap_ms` nothing is integrated, so the
    integrals then miss the motion inside it. `epochs` and `gaps` count both.

    Parameters:
        sensor: the IMU that the samples come from; the run's only IMU when not given. Its rotation to the vehicle is
            used where known; else x forward, z up.
        max_gap_ms: longest distance of two samples that is integrated over.
        gravity_time_constant_s: how slowly the up axis follows the specific force.

    Raises ValueError for parameters out of range, DeploymentError for an unknown sensor, Rejected for a bad sample.
    """

    inputs: ClassVar[Mapping[str, type]] = {"imu": ImuSample}
    outputs: ClassVar[Mapping[str, type]] = {"ego": EgoMotion}
    stateful: ClassVar[bool] = True

    def __init__(
        self, *, sensor: str | None = None, max_gap_ms: float = 100.0, gravity_time_constant_s: float = 10.0
    ) -> None:
        self._sensor = sensor
        gap = checked_number("max_gap_ms", max_gap_ms, low=0.1, high=10_000.0, unit="ms")
        self._max_gap_ns = math.floor(gap * NS_PER_MS)
        self._time_constant_s = checked_number(
            "gravity_time_constant_s", gravity_time_constant_s, low=0.1, high=1000.0, unit="s"
        )
        self._rotation: npt.NDArray[np.float64] = np.eye(3)
        self._last_ns: int | None = None
        self._up: npt.NDArray[np.float64] = np.array([0.0, 0.0, 1.0])
        self._yaw_rate = self._acceleration = self._heading_rad = self._speed_m_s = 0.0
        self.epochs = 0
        self.gaps = 0

    def start(self, context: StageContext) -> None:
        imus = sorted(name for name, sensor in context.sensors.items() if sensor.kind == "imu")
        name = self._sensor if self._sensor is not None else (imus[0] if len(imus) == 1 else None)
        if self._sensor is not None and context.sensors and self._sensor not in imus:
            raise DeploymentError(
                f"task {context.task}: sensor {self._sensor!r} is not an IMU; {nearest(self._sensor, imus)}"
            )
        description = context.sensors.get(name) if name is not None else None
        pose = None if description is None else description.sensor_to_vehicle
        self._rotation = np.eye(3) if pose is None else np.array(pose, np.float64)[:, :3]
        self.epochs = 0
        self.gaps = 0
        self._forget()

    def process(self, job: JobContext, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        sample: ImuSample = inputs["imu"]
        rate = _vector(sample.angular_velocity_rad_s, "angular velocity")
        force = _vector(sample.linear_acceleration_m_s2, "acceleration")
        rate, force = self._rotation @ rate, self._rotation @ force

        dt_s = self._elapsed_s(sample.capture_time_ns)
        self._follow_gravity(rate, force, dt_s)
        yaw_rate = float(rate @ self._up)
        forward = np.array([1.0, 0.0, 0.0])
        forward -= (forward @ self._up) * self._up
        length = float(np.linalg.norm(forward))
        acceleration = float(force @ forward) / length if length > 0.0 else 0.0
        if dt_s is not None:
            self._heading_rad += 0.5 * (self._yaw_rate + yaw_rate) * dt_s
            self._speed_m_s += 0.5 * (self._acceleration + acceleration) * dt_s
        self._yaw_rate, self._acceleration = yaw_rate, acceleration
        ego = EgoMotion(
            capture_time_ns=sample.capture_time_ns,
            frame_id="vehicle",
            yaw_rate_rad_s=yaw_rate,
            forward_acceleration_m_s2=acceleration,
            heading_rad=self._heading_rad,
            speed_change_m_s=self._speed_m_s,
        )
        return {"ego": ego}

    def _forget(self) -> None:
        self._last_ns = None
        self._up = np.array([0.0, 0.0, 1.0])
        self._yaw_rate = self._acceleration = self._heading_rad = self._speed_m_s = 0.0

    def _elapsed_s(self, stamp_ns: int) -> float | None:
        """Seconds since the last sample; None when nothing may be integrated over them."""
        last_ns, elapsed_ns = self._last_ns, 0
        if last_ns is not None:
            elapsed_ns = stamp_ns - last_ns
            if elapsed_ns == 0:
                raise Rejected("the IMU stamp repeats the last one")
            if -self._max_gap_ns <= elapsed_ns < 0:
                raise Rejected(f"the IMU sample is {format_ns(-elapsed_ns)} older than the last one")
            if elapsed_ns < 0:
                self._forget()
                self.epochs += 1
                last_ns = None
        self._last_ns = stamp_ns
        if last_ns is None:
            return None
        if elapsed_ns > self._max_gap_ns:
            self.gaps += 1
            return None
        return elapsed_ns / NS_PER_S

    def _follow_gravity(
        self, rate: npt.NDArray[np.float64], force: npt.NDArray[np.float64], dt_s: float | None
    ) -> None:
        size = float(np.linalg.norm(force))
        excess = abs(size - GRAVITY_M_S2)
        if dt_s is None:
            # First sample, or after a gap: the mounting is believed unless gravity clearly says otherwise.
            if excess <= _MOUNTING_TOLERANCE_M_S2 and float(force @ self._up) / size < _MOUNTING_COSINE:
                self._up = force / size
            return
        up = self._up - np.cross(rate, self._up) * dt_s
        if excess <= _GRAVITY_TOLERANCE_M_S2:
            up += (force / size - up) * min(dt_s / self._time_constant_s, 1.0)
        self._up = up / float(np.linalg.norm(up))


def _vector(values: npt.NDArray[np.float64], what: str) -> npt.NDArray[np.float64]:
    vector = np.asarray(values, np.float64)
    if vector.shape != (3,) or not np.isfinite(vector).all():
        raise Rejected(f"the IMU's {what} is not three finite numbers")
    return vector
