"""Building blocks of ROS 2 messages: stamps, headers, turns, colours."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
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
    """A message to write: its topic, type name such as vision_msgs/msg/Detection2DArray, and CDR encoding."""

    topic: str
    type_name: str
    data: bytes


class RosTypes:
    """Constructors of ROS 2 values whose stamps are `time_zero_ns` + a time on the run's clock.

    `types[name]` is the class of a type such as std_msgs/msg/Header.
    """

    def __init__(self, time_zero_ns: int) -> None:
        self._store = typestore()
        self.types: Mapping[str, Any] = self._store.types
        self._time_zero_ns = time_zero_ns

    def message(self, topic: str, type_name: str, *fields: Any) -> RosMessage:
        """A message of the type `type_name` from the values of its fields, in the order of its definition."""
        value = self.types[type_name](*fields)
        return RosMessage(topic, type_name, bytes(self._store.serialize_cdr(value, type_name)))

    def stamp(self, run_time_ns: int) -> tuple[int, int]:
        """Seconds and nanoseconds of a ROS 2 time. Raises DataError when they do not fit into one."""
        seconds, nanoseconds = divmod(self._time_zero_ns + int(run_time_ns), NS_PER_S)
        if not -(2**31) <= seconds < 2**31:
            raise DataError(
                f"the stamp {self._time_zero_ns + int(run_time_ns)} ns lies outside the years 1901 to 2038 "
                "that a ROS 2 time can hold; correct the clock of the recording"
            )
        return seconds, nanoseconds

    def time(self, run_time_ns: int) -> Any:
        """A builtin_interfaces/Time."""
        return self.types["builtin_interfaces/msg/Time"](*self.stamp(run_time_ns))

    def header(self, run_time_ns: int, frame_id: str) -> Any:
        """A std_msgs/Header."""
        return self.types["std_msgs/msg/Header"](self.time(run_time_ns), frame_id)

    def vector(self, x: float, y: float, z: float) -> Any:
        """A geometry_msgs/Vector3."""
        return self.types["geometry_msgs/msg/Vector3"](x, y, z)

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


@cache
def colour_of(name: str) -> Colour:
    """The colour of a class of objects, the same in every picture."""
    return _PALETTE[zlib.crc32(name.encode()) % len(_PALETTE)]
