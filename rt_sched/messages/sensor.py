"""What sensors deliver, decoded from whatever container it was recorded in.

`capture_time_ns` is the stamp that the sensor (its header) gave; it is never the time of logging.
`frame_id` names the coordinate frame: optical (x right, y down, z forward) for cameras,
x forward, y left, z up for LiDAR and IMU. Arrays are read-only by contract.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

#: Sectors of a whole turn in which directions are counted, of 10 degrees each.
SECTORS = 36


@dataclass(frozen=True, slots=True, eq=False)
class EncodedImage:
    """A camera frame as recorded: compressed (jpeg, png) or raw rows.

    `encoding` is "jpeg" or "png" for compressed data, else a ROS encoding such as "bgr8", "rgb8", "mono8",
    with `height`, `width` and `row_bytes` (step) set; these are 0 for compressed data.
    """

    capture_time_ns: int
    frame_id: str
    encoding: str
    data: bytes | memoryview
    height: int = 0
    width: int = 0
    row_bytes: int = 0
    big_endian: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class CameraImage:
    """A decoded frame. `bgr`: uint8[height, width, 3]."""

    capture_time_ns: int
    frame_id: str
    bgr: npt.NDArray[np.uint8]
    recorded_height: int
    recorded_width: int


class Deskew(str, Enum):
    """What was done about the vehicle's motion during a sweep.

    RAW: nothing, each point is where it was at its own instant. FULL: points that stand still are where they were at
    the sweep's capture time. ROTATION: only the vehicle's turning is undone, its speed was not known. NO_TIMES,
    NO_MOTION: nothing could be done, for want of per-point times, or of ego motion over the whole sweep.
    """

    RAW = "raw"
    FULL = "full"
    ROTATION = "rotation"
    NO_TIMES = "no_times"
    NO_MOTION = "no_motion"


@dataclass(frozen=True, slots=True, eq=False)
class PointCloud:
    """One LiDAR sweep. Only finite points; order as recorded.

    `xyz_m`: float32[n, 3]; `intensity`: float32[n] (zeros when not recorded);
    `ring`: uint16[n] or None; `time_offset_ns`: int32[n] since capture_time_ns, or None.
    `ground_z_m`: float32[n], height of the ground below each point in the same frame, None before it is known.
    `fired`: int64[SECTORS], how often the sensor measured in each direction, whether or not anything returned; None
    where the recording holds points and no packets.
    """

    capture_time_ns: int
    frame_id: str
    xyz_m: npt.NDArray[np.float32]
    intensity: npt.NDArray[np.float32]
    ring: npt.NDArray[np.uint16] | None = None
    time_offset_ns: npt.NDArray[np.int32] | None = None
    dropped_points: int = 0
    ground_z_m: npt.NDArray[np.float32] | None = None
    deskew: Deskew = Deskew.RAW
    fired: npt.NDArray[np.int64] | None = None


def sector_of(angle_rad: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.int64]:
    """The sector of directions counter-clockwise from straight ahead: counted from straight behind over the right."""
    index: npt.NDArray[np.int64] = np.floor((angle_rad + np.pi) * (SECTORS / (2 * np.pi))).astype(np.int64) % SECTORS
    return index


@dataclass(frozen=True, slots=True, eq=False)
class ImuSample:
    """Angular velocity float64[3] in rad/s and specific force float64[3] in m/s^2, in the IMU frame."""

    capture_time_ns: int
    frame_id: str
    angular_velocity_rad_s: npt.NDArray[np.float64]
    linear_acceleration_m_s2: npt.NDArray[np.float64]


SensorMessage = EncodedImage | PointCloud | ImuSample
