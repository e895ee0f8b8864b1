"""Which sensors the ego vehicle carries, where they are mounted, and the rig as plain data for a system file."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

Vector = tuple[float, float, float]
Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class CaptureTiming:
    """Sample k is captured floor(k / rate_hz) after the start and logged `latency_ns` +- `latency_spread_ns` later."""

    rate_hz: Fraction
    latency_ns: int
    latency_spread_ns: int

    def capture_ns(self, number: int) -> int:
        """Capture instant of sample `number` since the start of the scene."""
        return number * 10**9 * self.rate_hz.denominator // self.rate_hz.numerator

    def count(self, duration_ns: int) -> int:
        """Number of samples captured before `duration_ns`."""
        return -(-duration_ns * self.rate_hz.numerator // (10**9 * self.rate_hz.denominator))


@dataclass(frozen=True, slots=True)
class Camera:
    """A pinhole camera without distortion.

    `position_m` is in the vehicle frame; `yaw_deg` turns the viewing direction to the left, `pitch_deg` down.
    Pixel (column i, row j) covers [i, i+1) x [j, j+1); the principal point is the image's middle.
    """

    name: str
    topic: str
    frame_id: str
    width: int
    height: int
    horizontal_fov_deg: float
    position_m: Vector
    yaw_deg: float
    pitch_deg: float
    timing: CaptureTiming
    jpeg_quality: int = 74

    @property
    def focal_px(self) -> float:
        """Focal length in pixels, equal in both directions."""
        return self.width / 2 / math.tan(math.radians(self.horizontal_fov_deg) / 2)

    def vehicle_to_camera(self) -> Matrix:
        """float64[3, 4]: vehicle frame to optical frame (x right, y down, z forward), metres."""
        yaw, pitch = math.radians(self.yaw_deg), math.radians(self.pitch_deg)
        cy, sy, cp, sp = math.cos(yaw), math.sin(yaw), math.cos(pitch), math.sin(pitch)
        rotation = np.array([[sy, -cy, 0.0], [-sp * cy, -sp * sy, -cp], [cp * cy, cp * sy, -sp]])
        # Twelve decimals make mathematically equal rotations equal on every C library.
        rotation = np.round(rotation, 12)
        return np.column_stack([rotation, -rotation @ np.array(self.position_m)])


@dataclass(frozen=True, slots=True)
class Lidar:
    """A spinning LiDAR, axes parallel to the vehicle frame.

    One sweep turns clockwise (seen from above) from straight back once round; its stamp is the sweep's end. Points
    are in the sensor frame at their own instant, stamp + t with t <= 0.
    """

    name: str
    topic: str
    frame_id: str
    position_m: Vector
    rings: int
    columns: int
    lowest_deg: float
    highest_deg: float
    max_range_m: float
    range_noise_m: float
    resolution_m: float
    timing: CaptureTiming


@dataclass(frozen=True, slots=True)
class Imu:
    """An IMU, axes parallel to the vehicle frame. Noise is one standard deviation per sample."""

    name: str
    topic: str
    frame_id: str
    position_m: Vector
    gyro_noise_rad_s: float
    accelerometer_noise_m_s2: float
    gyro_bias_rad_s: Vector
    accelerometer_bias_m_s2: Vector
    timing: CaptureTiming


@dataclass(frozen=True, slots=True)
class Rig:
    """All sensors of the vehicle. Camera names are unique."""

    cameras: tuple[Camera, ...]
    lidar: Lidar
    imu: Imu


_CAMERA_TIMING = CaptureTiming(Fraction(30), 5_000_000, 300_000)


def _camera(
    name: str, size: tuple[int, int], fov_deg: float, position_m: Vector, yaw_deg: float, pitch_deg: float
) -> Camera:
    return Camera(
        name,
        f"/camera/{name}/compressed",
        f"{name}_optical",
        *size,
        fov_deg,
        position_m,
        yaw_deg,
        pitch_deg,
        _CAMERA_TIMING,
    )


def quad_orin_rig() -> Rig:
    """Eight hardware-triggered cameras at 30 Hz, a 128-line LiDAR at 10 Hz on the roof, an IMU at 200 Hz."""
    front, side = (576, 360), (432, 270)
    return Rig(
        cameras=(
            _camera("front_wide", front, 68.0, (1.95, 0.0, 1.42), 0.0, 2.0),
            _camera("front_standard", front, 44.0, (1.95, 0.12, 1.42), 0.0, 3.5),
            _camera("front_tele", front, 24.0, (1.95, -0.12, 1.42), 0.0, 1.0),
            _camera("left", side, 80.0, (1.4, 0.8, 1.45), 90.0, 4.0),
            _camera("right", side, 80.0, (1.4, -0.8, 1.45), -90.0, 4.0),
            _camera("rear", side, 56.0, (-0.75, 0.0, 1.25), 180.0, 2.0),
            _camera("surround_left", side, 80.0, (2.1, 0.98, 1.15), 140.0, 3.0),
            _camera("surround_right", side, 80.0, (2.1, -0.98, 1.15), -140.0, 3.0),
        ),
        lidar=Lidar(
            name="lidar_top",
            topic="/lidar/top/points",
            frame_id="lidar_top",
            position_m=(1.1, 0.0, 1.9),
            rings=128,
            columns=600,
            lowest_deg=-22.5,
            highest_deg=9.25,
            max_range_m=75.0,
            range_noise_m=0.015,
            resolution_m=1 / 64,
            timing=CaptureTiming(Fraction(10), 4_000_000, 500_000),
        ),
        imu=Imu(
            name="imu",
            topic="/imu/data",
            frame_id="imu",
            position_m=(0.6, 0.0, 0.5),
            gyro_noise_rad_s=0.002,
            accelerometer_noise_m_s2=0.04,
            gyro_bias_rad_s=(0.0006, -0.0004, 0.0003),
            accelerometer_bias_m_s2=(0.012, -0.008, 0.015),
            timing=CaptureTiming(Fraction(200), 200_000, 50_000),
        ),
    )


def rig_as_data(rig: Rig) -> dict[str, Any]:
    """The rig in plain numbers and words: topics, rates, image sizes, intrinsics, mounting.

    Transforms are 3x4 row lists in metres: `vehicle_to_camera` ends in the optical frame (x right, y down, z
    forward); `sensor_to_vehicle` starts in the sensor's own frame.
    """
    cameras = []
    for camera in rig.cameras:
        focal = round(camera.focal_px, 6)
        cameras.append(
            {
                "name": camera.name,
                "topic": camera.topic,
                "frame_id": camera.frame_id,
                "rate_hz": str(camera.timing.rate_hz),
                "image_size": [camera.width, camera.height],
                "intrinsics": {"fx": focal, "fy": focal, "cx": camera.width / 2, "cy": camera.height / 2},
                "vehicle_to_camera": [[round(float(v), 9) for v in row] for row in camera.vehicle_to_camera()],
                "sensor_to_vehicle": _camera_to_vehicle(camera),
            }
        )
    return {
        "cameras": cameras,
        "lidar": _upright_as_data(rig.lidar) | {"rings": rig.lidar.rings, "stamp": "end of sweep; t <= 0 ns"},
        "imu": _upright_as_data(rig.imu),
    }


def _camera_to_vehicle(camera: Camera) -> list[list[float]]:
    rotation = camera.vehicle_to_camera()[:, :3].T
    rows = np.column_stack([rotation, np.array(camera.position_m)])
    return [[round(float(v), 9) for v in row] for row in rows]


def _upright_as_data(sensor: Lidar | Imu) -> dict[str, Any]:
    identity = np.column_stack([np.eye(3), np.array(sensor.position_m)])
    return {
        "name": sensor.name,
        "topic": sensor.topic,
        "frame_id": sensor.frame_id,
        "rate_hz": str(sensor.timing.rate_hz),
        "sensor_to_vehicle": [[float(v) for v in row] for row in identity],
    }
