"""Velodyne data packets, as a velodyne_msgs/msg/VelodyneScan holds them, to points.

A packet is 12 blocks of 32 returns; a block is one cycle of the lasers of an HDL-32E or two of a VLP-16, or in dual
return mode every second one of them again with the other return. Layout, angles and times are those of the sensors'
user manuals (Velodyne LiDAR: VLP-16 63-9243, HDL-32E 63-9113).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rt_sched.errors import DataError
from rt_sched.messages.sensor import SECTORS, PointCloud, sector_of
from sensors.point_cloud2 import LONGEST_SWEEP_NS

#: Returns in a block, and what a distance of one is.
_RETURNS, _DISTANCE_M = 32, 0.002
_BLOCK = np.dtype(
    [("flag", "<u2"), ("azimuth", "<u2"), ("returns", [("distance", "<u2"), ("intensity", "u1")], _RETURNS)]
)
_PACKET = np.dtype([("blocks", _BLOCK, 12), ("past_the_hour_us", "<u4"), ("mode", "u1"), ("product", "u1")])
_FLAG = 0xEEFF
_STRONGEST, _LAST, _DUAL = 0x37, 0x38, 0x39
#: A turn in the unit of azimuths, of 0.01 degrees, and a step that no speed of rotation makes between two blocks.
_TURN, _JUMP = 36_000, 200


@dataclass(frozen=True, slots=True)
class _Sensor:
    """A sensor's lasers in the order in which they fire: elevation, and how far above the origin each beam leaves."""

    name: str
    elevation_deg: tuple[float, ...]
    rise_mm: tuple[float, ...]
    laser_ns: int
    cycle_ns: int


def _alternating(low: float, high: float, step: float, count: int) -> tuple[float, ...]:
    """Two ladders of the same step, climbed in turn."""
    return tuple((high if number % 2 else low) + number // 2 * step for number in range(count))


_RISE_MM = (11.2, -0.7, 9.7, -2.2, 8.1, -3.7, 6.6, -5.1)
_SENSORS = {
    0x21: _Sensor("HDL-32E", _alternating(-92 / 3, -28 / 3, 4 / 3, 32), (0.0,) * 32, 1_152, 46_080),
    0x22: _Sensor(
        "VLP-16",
        _alternating(-15.0, 1.0, 2.0, 16),
        (*_RISE_MM, *(-rise for rise in reversed(_RISE_MM))),
        2_304,
        55_296,
    ),
}


def decode_scan(packets: Sequence[tuple[int, memoryview]], capture_time_ns: int, frame_id: str) -> PointCloud:
    """The points of a scan in the order in which they were fired, and in which directions the sensor fired at all.

    `packets`: the stamp in ns and the bytes of each. Returns without a distance are no points; where both returns of
    dual mode are the same, one counts. Packets that are damaged, or not of the sensor that most are of, are left out
    and their returns counted in `dropped_points`. Raises DataError where none is left or the sensor is not known.
    """
    read, stamps_ns = _of_one_sensor(*_undamaged(packets))
    if not len(read):
        raise DataError(f"none of the scan's {len(packets)} packets can be read")
    product, mode = int(read["product"][0]), int(read["mode"][0])
    if product not in _SENSORS:
        known = ", ".join(f"{sensor.name} ({number:#x})" for number, sensor in _SENSORS.items())
        raise DataError(f"packets of a Velodyne with product id {product:#x} are not read; read are those of {known}")
    if mode not in (_STRONGEST, _LAST, _DUAL):
        raise DataError(f"packets of return mode {mode:#x} are not read; single (0x37, 0x38) and dual (0x39) are")
    sensor, blocks = _SENSORS[product], read["blocks"]
    # [packet, cycle or pair of cycles, return of one firing, laser]
    blocks = blocks.reshape(len(read), -1, 2 if mode == _DUAL else 1)
    lasers = len(sensor.elevation_deg)
    laser = np.arange(_RETURNS) % lasers
    after_ns = np.arange(_RETURNS) // lasers * sensor.cycle_ns + laser * sensor.laser_ns
    block_ns = _RETURNS // lasers * sensor.cycle_ns
    turned = _azimuth(blocks["azimuth"][:, :, 0], after_ns / block_ns)
    fired = np.bincount(sector_of(-turned).ravel(), minlength=SECTORS).astype(np.int64)

    distance = blocks["returns"]["distance"]
    seen = distance > 0
    seen[:, :, 1:] &= distance[:, :, 1:] != distance[:, :, :1]
    packet, cycle, _, place = np.nonzero(seen)
    return PointCloud(
        capture_time_ns,
        frame_id,
        _xyz_m(distance[seen] * _DISTANCE_M, turned[packet, cycle, place], laser[place], sensor),
        blocks["returns"]["intensity"][seen].astype(np.float32),
        np.argsort(np.argsort(sensor.elevation_deg))[laser[place]].astype(np.uint16),
        _time_offset_ns(stamps_ns[packet] - capture_time_ns + cycle * block_ns + after_ns[place]),
        (len(packets) - len(read)) * _PACKET["blocks"].shape[0] * _RETURNS,
        fired=fired,
    )


def _undamaged(packets: Sequence[tuple[int, memoryview]]) -> tuple[npt.NDArray[np.void], npt.NDArray[np.int64]]:
    """Packets of the right length whose blocks begin as they must and point somewhere, and their stamps."""
    sized = [(stamp_ns, data) for stamp_ns, data in packets if len(data) == _PACKET.itemsize]
    read = np.frombuffer(b"".join(data for _, data in sized), _PACKET)
    blocks = read["blocks"]
    sound = ((blocks["flag"] == _FLAG) & (blocks["azimuth"] < _TURN)).all(axis=1)
    return read[sound], np.array([stamp_ns for stamp_ns, _ in sized], np.int64)[sound]


def _of_one_sensor(
    read: npt.NDArray[np.void], stamps_ns: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.void], npt.NDArray[np.int64]]:
    """Those of the product and return mode that most have."""
    kind = read["product"].astype(np.int64) << 8 | read["mode"]
    most = np.bincount(kind).argmax() if len(kind) else 0
    return read[kind == most], stamps_ns[kind == most]


def _azimuth(begin: npt.NDArray[np.uint16], share: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Radians clockwise from straight ahead, [packet, cycle, place]: the sensor turns on while the lasers fire.

    Between blocks it turns as far as the next one says; after the last one, and where firings were left out in
    between, as far as after most of the packet's others.
    """
    step = np.diff(begin.astype(np.float64), axis=1) % _TURN
    usual = np.median(step, axis=1, keepdims=True)
    step = np.concatenate([np.where(step > _JUMP, usual, step), usual], axis=1)
    turned: npt.NDArray[np.float64] = (begin[:, :, None] + step[:, :, None] * share) * (2 * np.pi / _TURN)
    return turned


def _xyz_m(
    distance_m: npt.NDArray[np.float64],
    azimuth: npt.NDArray[np.float64],
    laser: npt.NDArray[np.int64],
    sensor: _Sensor,
) -> npt.NDArray[np.float32]:
    """x forward, y left, z up."""
    elevation = np.radians(sensor.elevation_deg)
    level_m = distance_m * np.cos(elevation)[laser]
    z_m = distance_m * np.sin(elevation)[laser] + np.array(sensor.rise_mm)[laser] / 1e3
    return np.stack([level_m * np.cos(azimuth), -level_m * np.sin(azimuth), z_m], axis=1).astype(np.float32)


def _time_offset_ns(offset_ns: npt.NDArray[np.int64]) -> npt.NDArray[np.int32] | None:
    """None where stamps of packets and of the scan are of different clocks."""
    if len(offset_ns) and int(np.abs(offset_ns).max()) > LONGEST_SWEEP_NS:
        return None
    return offset_ns.astype(np.int32)
