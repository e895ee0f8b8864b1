"""Building blocks of ROS 2 messages: stamps, headers, poses, hypotheses, colours."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rt_sched.errors import DataError
from rt_sched.record.schemas import typestore
from rt_sched.units import NS_PER_S

Colour = tuple[float, float, float]

#: Distinct, readable on dark and light pictures; r, g, b in 0..1.
_PALETTE = (
    (0.20, 0.80, 0.20),
    (1.00, 0.60, 0.00),
    (0.10, 0.65, 1.00),
    (0.95, 0.25, 0.35),
    (0.80, 0.45, 1.00),
    (1.00, 0.90, 0.10),
    (0.10, 0.85, 0.75),
)


@dataclass(frozen=True, slots=True)
class RosMessage:
    """A message to write: its topic, type name such as vision_msgs/msg/Detection2DArray, and rosbags value."""

    topic: str
    type_name: str
    value: Any


class RosTypes:
    """Constructors of ROS 2 values whose stamps are `time_zero_ns` + a time on the run's clock.

    `types[name]` is the class of a type such as std_msgs/msg/Header.
    """

    def __init__(self, time_zero_ns: int) -> None:
        self.types: Mapping[str, Any] = typestore().types
        self._time_zero_ns = time_zero_ns
        self._no_covariance = np.zeros(36, dtype=np.float64)
        self.upright = self.types["geometry_msgs/msg/Quaternion"](0.0, 0.0, 0.0, 1.0)

    def time(self, run_time_ns: int) -> Any:
        seconds, nanoseconds = divmod(self._time_zero_ns + int(run_time_ns), NS_PER_S)
        if not -(2**31) <= seconds < 2**31:
            raise DataError(
                f"the stamp {self._time_zero_ns + int(run_time_ns)} ns lies outside the years 1901 to 2038 "
                "that a ROS 2 time can hold; correct the clock of the recording"
            )
        return self.types["builtin_interfaces/msg/Time"](seconds, nanoseconds)

    def header(self, run_time_ns: int, frame_id: str) -> Any:
        return self.types["std_msgs/msg/Header"](self.time(run_time_ns), frame_id)

    def point(self, x: float, y: float, z: float) -> Any:
        return self.types["geometry_msgs/msg/Point"](x, y, z)

    def size(self, x: float, y: float, z: float) -> Any:
        return self.types["geometry_msgs/msg/Vector3"](x, y, z)

    def pose(self, x: float, y: float, z: float, yaw_rad: float) -> Any:
        turn = self.types["geometry_msgs/msg/Quaternion"](0.0, 0.0, math.sin(yaw_rad / 2), math.cos(yaw_rad / 2))
        return self.types["geometry_msgs/msg/Pose"](self.point(x, y, z), turn)

    def quaternion(self, rotation: npt.NDArray[np.float64]) -> Any:
        """Unit quaternion of a rotation matrix, by its largest component (S. W. Shepperd, 1978)."""
        (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = rotation.tolist()
        squares = (1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz, 1 + xx + yy + zz)
        rows = (
            (squares[0], xy + yx, xz + zx, zy - yz),
            (xy + yx, squares[1], yz + zy, xz - zx),
            (xz + zx, yz + zy, squares[2], yx - xy),
            (zy - yz, xz - zx, yx - xy, squares[3]),
        )
        row = rows[max(range(4), key=squares.__getitem__)]
        length = math.hypot(*row)
        return self.types["geometry_msgs/msg/Quaternion"](*(value / length for value in row))

    def hypothesis(self, name: str, score: float, pose: Any = None) -> Any:
        types = self.types
        pose = types["geometry_msgs/msg/Pose"](self.point(0.0, 0.0, 0.0), self.upright) if pose is None else pose
        with_covariance = types["geometry_msgs/msg/PoseWithCovariance"](pose, self._no_covariance)
        hypothesis = types["vision_msgs/msg/ObjectHypothesis"](name, score)
        return types["vision_msgs/msg/ObjectHypothesisWithPose"](hypothesis, with_covariance)


def colour_of(name: str) -> Colour:
    """The colour of a class of objects, the same in every picture."""
    return _PALETTE[zlib.crc32(name.encode()) % len(_PALETTE)]
