"""sensor_msgs/msg/PointCloud2, in all the shapes that drivers give it, to arrays.

A cloud is `height` rows of `width` points; a point is `point_step` bytes in which each field has an offset and a type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rt_sched.errors import DataError
from rt_sched.messages import PointCloud
from rt_sched.units import NS_PER_MS, NS_PER_S, NS_PER_US

#: PointField datatype constant -> numpy type.
_DATATYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 8: "f8"}
_INTENSITY_NAMES = ("intensity", "i", "reflectivity", "reflectance")
_RING_NAMES = ("ring", "channel", "laser_id", "line")
_TIME_NAMES = ("t", "time", "timestamp", "time_stamp", "offset_time", "time_offset")
#: A sweep takes less than this; a per-point time further away than it is in another unit or of another clock.
LONGEST_SWEEP_NS = 2 * NS_PER_S
#: Sweeps of scanners that turn take about this long: 2 to 100 turns a second, and some room.
_SHORTEST_SWEEP_NS, _LIKELY_SWEEP_NS = 5 * NS_PER_MS, 500 * NS_PER_MS
#: Names of times that are stamps of a clock, where the values fit both.
_ABSOLUTE_NAMES = ("timestamp", "time_stamp")
_MAX_POINTS = 2**28


@dataclass(frozen=True, slots=True)
class CloudField:
    """One field of a point; `datatype` is the PointField constant."""

    name: str
    offset: int
    datatype: int
    count: int


@dataclass(frozen=True, slots=True, eq=False)
class CloudLayout:
    """The message's own description of its data."""

    height: int
    width: int
    fields: Sequence[CloudField]
    big_endian: bool
    point_step: int
    row_step: int


def decode_cloud(layout: CloudLayout, data: memoryview, capture_time_ns: int, frame_id: str) -> PointCloud:
    """The finite points of a cloud in recorded order; raises DataError where the layout contradicts the data.

    Per-point times come as integer nanoseconds or microseconds since the capture, or as floats in any unit, since the
    capture or as stamps of its clock; they are given relative to `capture_time_ns`, or as None where nothing puts them
    within two seconds of it.
    """
    total = layout.height * layout.width
    if total == 0:
        empty = np.zeros(0, np.float32)
        return PointCloud(capture_time_ns, frame_id, empty.reshape(0, 3), empty)
    if not 0 < total <= _MAX_POINTS:
        raise DataError(f"point cloud claims {layout.width} x {layout.height} points")
    by_name = {field.name.lower(): field for field in reversed(layout.fields)}
    if missing := [name for name in "xyz" if name not in by_name]:
        names = ", ".join(field.name for field in layout.fields) or "none"
        raise DataError(f"point cloud lacks {', '.join(missing)}; its fields are {names}")
    for name in "xyz":
        if by_name[name].datatype not in (7, 8):
            raise DataError(
                f"point cloud field {name} has datatype {by_name[name].datatype}; read are 7 and 8 (floats)"
            )
    points = _points(layout, by_name, data)

    xyz_m = np.empty((total, 3), np.float32)
    finite = np.ones(total, bool)
    with np.errstate(over="ignore"):
        for axis, name in enumerate("xyz"):
            values = points[name].astype(np.float32)
            finite &= np.isfinite(values)
            xyz_m[:, axis] = values
    dropped = int(total - np.count_nonzero(finite))
    if dropped:
        points, xyz_m = points[finite], xyz_m[finite]
    present = points.dtype.names or ()
    return PointCloud(
        capture_time_ns,
        frame_id,
        xyz_m,
        _intensity(points, present),
        _ring(points, present),
        _time_offset_ns(points, present, capture_time_ns),
        dropped,
    )


def _points(layout: CloudLayout, by_name: dict[str, CloudField], data: memoryview) -> npt.NDArray[np.void]:
    """Structured array of the fields that are read, one entry per point, a copy only where rows are padded."""
    row_bytes = layout.width * layout.point_step
    dense_bytes = layout.height * row_bytes
    # Some drivers leave row_step at zero or forget it after a crop; the data's own length settles those cases.
    row_step = row_bytes if layout.height == 1 or len(data) == dense_bytes else layout.row_step
    if row_step < row_bytes:
        raise DataError(
            f"point cloud row_step {row_step} is less than {layout.width} points of {layout.point_step} bytes"
        )
    if (layout.height - 1) * row_step + row_bytes > len(data):
        needed = (layout.height - 1) * row_step + row_bytes
        raise DataError(f"point cloud data of {len(data)} bytes is short of the {needed} that its size needs")
    order = ">" if layout.big_endian else "<"
    used = [f for n, f in by_name.items() if n in ("x", "y", "z", *_INTENSITY_NAMES, *_RING_NAMES, *_TIME_NAMES)]
    used = [field for field in used if field.datatype in _DATATYPES and field.count <= 1]
    for field in used:
        if field.offset + np.dtype(_DATATYPES[field.datatype]).itemsize > layout.point_step:
            raise DataError(f"point cloud field {field.name} lies outside its point of {layout.point_step} bytes")
    if missing := [name for name in "xyz" if by_name[name] not in used]:
        raise DataError(f"point cloud fields {', '.join(missing)} are arrays, not numbers")
    dtype = np.dtype(
        {
            "names": [field.name.lower() for field in used],
            "formats": [order + _DATATYPES[field.datatype] for field in used],
            "offsets": [field.offset for field in used],
            "itemsize": layout.point_step,
        }
    )
    rows = np.ndarray((layout.height, layout.width), dtype, data, strides=(row_step, layout.point_step))
    return rows.reshape(-1)


def _first(names: Sequence[str], wanted: Sequence[str]) -> str | None:
    return next((name for name in wanted if name in names), None)


def _intensity(points: npt.NDArray[np.void], names: Sequence[str]) -> npt.NDArray[np.float32]:
    name = _first(names, _INTENSITY_NAMES)
    if name is None:
        return np.zeros(len(points), np.float32)
    with np.errstate(over="ignore"):
        values: npt.NDArray[np.float32] = points[name].astype(np.float32)
    values[~np.isfinite(values)] = 0.0
    return values


def _ring(points: npt.NDArray[np.void], names: Sequence[str]) -> npt.NDArray[np.uint16] | None:
    name = _first(names, _RING_NAMES)
    if name is None:
        return None
    values = points[name]
    if len(values) and not ((values >= 0) & (values <= 0xFFFF)).all():
        raise DataError(f"point cloud field {name} holds values outside 0..65535")
    return values.astype(np.uint16)


def _time_offset_ns(
    points: npt.NDArray[np.void], names: Sequence[str], capture_time_ns: int
) -> npt.NDArray[np.int32] | None:
    name = _first(names, _TIME_NAMES)
    if name is None:
        return None
    values = points[name]
    if len(values) == 0:
        return np.zeros(0, np.int32)
    if values.dtype.kind in "iu":
        return _integer_offsets_ns(values.astype(np.int64))
    times = values.astype(np.float64)
    if not np.isfinite(times).all():
        return None
    for unit_ns in (NS_PER_S, NS_PER_MS, NS_PER_US, 1):
        # A double of today's date in seconds resolves 0.2 us, so the difference is taken before scaling.
        readings = {"offset": times, "absolute": times - capture_time_ns / unit_ns}
        reach_ns = {kind: float(np.abs(reading).max()) * unit_ns for kind, reading in readings.items()}
        kind = _likelier(reach_ns, "absolute" if name in _ABSOLUTE_NAMES else "offset")
        if reach_ns[kind] <= LONGEST_SWEEP_NS:
            offsets: npt.NDArray[np.int32] = np.rint(readings[kind] * unit_ns).astype(np.int32)
            return offsets
    return None


def _integer_offsets_ns(offsets: npt.NDArray[np.int64]) -> npt.NDArray[np.int32] | None:
    """Nanoseconds, or microseconds where nanoseconds would make a sweep too short for any scanner that turns."""
    largest, span = int(np.abs(offsets).max()), int(offsets.max() - offsets.min())
    if span < _SHORTEST_SWEEP_NS <= span * NS_PER_US and largest * NS_PER_US <= _LIKELY_SWEEP_NS:
        offsets, largest = offsets * NS_PER_US, largest * NS_PER_US
    return offsets.astype(np.int32) if largest <= LONGEST_SWEEP_NS else None


def _likelier(reach_ns: Mapping[str, float], named: str) -> str:
    """The reading that stays nearer to the stamp; what the name says where a clock near 0 leaves both possible."""
    if max(reach_ns.values()) <= _LIKELY_SWEEP_NS:
        return named
    return min(reach_ns, key=lambda kind: reach_ns[kind])
