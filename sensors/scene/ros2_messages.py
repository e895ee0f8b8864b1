"""Scene data as ROS 2 messages in CDR."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from rosbags.typesys import Stores, get_typestore

from rt_sched.units import NS_PER_S
from sensors.scene.lidar import Sweep

IMAGE = "sensor_msgs/msg/CompressedImage"
CLOUD = "sensor_msgs/msg/PointCloud2"
IMU = "sensor_msgs/msg/Imu"

# Ring next to the padding and `t` last: bytes that are equal from point to point lie side by side and compress well.
# (name, numpy type, offset in the point, code in PointField)
_FIELDS = (
    ("x", "<f4", 0, 7),
    ("y", "<f4", 4, 7),
    ("z", "<f4", 8, 7),
    ("ring", "<u2", 12, 4),
    ("intensity", "u1", 15, 2),
    ("t", "<i4", 16, 5),
)
_POINT = np.dtype(
    {
        "names": [name for name, _, _, _ in _FIELDS],
        "formats": [kind for _, kind, _, _ in _FIELDS],
        "offsets": [offset for _, _, offset, _ in _FIELDS],
        "itemsize": 20,
    }
)


@cache
def _store() -> Any:
    return get_typestore(Stores.ROS2_HUMBLE)


def definition_of(type_name: str) -> str:
    """The ros2msg text of a message type with everything it contains."""
    text, _ = _store().generate_msgdef(type_name, ros_version=2)
    return str(text)


def image_message(capture_time_ns: int, frame_id: str, jpeg: bytes) -> bytes:
    """A CompressedImage with format jpeg."""
    message = _store().types[IMAGE](_header(capture_time_ns, frame_id), "jpeg", np.frombuffer(jpeg, np.uint8))
    return bytes(_store().serialize_cdr(message, IMAGE))


def cloud_message(capture_time_ns: int, frame_id: str, sweep: Sweep) -> bytes:
    """A PointCloud2 with fields x, y, z (float32), ring (uint16), intensity (uint8), t (int32 ns since the stamp)."""
    points = np.zeros(len(sweep.xyz_m), _POINT)
    points["x"], points["y"], points["z"] = sweep.xyz_m.T
    points["ring"], points["intensity"], points["t"] = sweep.ring, sweep.intensity, sweep.time_offset_ns
    field_type = _store().types["sensor_msgs/msg/PointField"]
    fields = [field_type(name, offset, code, 1) for name, _, offset, code in _FIELDS]
    message = _store().types[CLOUD](
        header=_header(capture_time_ns, frame_id),
        height=1,
        width=len(points),
        fields=fields,
        is_bigendian=False,
        point_step=_POINT.itemsize,
        row_step=_POINT.itemsize * len(points),
        data=np.frombuffer(points.tobytes(), np.uint8),
        is_dense=True,
    )
    return bytes(_store().serialize_cdr(message, CLOUD))


def imu_message(
    capture_time_ns: int,
    frame_id: str,
    angular_velocity_rad_s: npt.NDArray[np.float64],
    specific_force_m_s2: npt.NDArray[np.float64],
    gyro_noise_rad_s: float,
    accelerometer_noise_m_s2: float,
) -> bytes:
    """An Imu message without orientation, which the first element of its covariance, -1, says."""
    types = _store().types
    vector = types["geometry_msgs/msg/Vector3"]
    unknown = np.zeros(9)
    unknown[0] = -1.0
    message = types[IMU](
        header=_header(capture_time_ns, frame_id),
        orientation=types["geometry_msgs/msg/Quaternion"](0.0, 0.0, 0.0, 1.0),
        orientation_covariance=unknown,
        angular_velocity=vector(*angular_velocity_rad_s.tolist()),
        angular_velocity_covariance=(np.eye(3) * gyro_noise_rad_s**2).reshape(-1),
        linear_acceleration=vector(*specific_force_m_s2.tolist()),
        linear_acceleration_covariance=(np.eye(3) * accelerometer_noise_m_s2**2).reshape(-1),
    )
    return bytes(_store().serialize_cdr(message, IMU))


def _header(capture_time_ns: int, frame_id: str) -> Any:
    types = _store().types
    stamp = types["builtin_interfaces/msg/Time"](capture_time_ns // NS_PER_S, capture_time_ns % NS_PER_S)
    return types["std_msgs/msg/Header"](stamp, frame_id)
