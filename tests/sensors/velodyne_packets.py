"""Velodyne packets for tests: written from the manuals' tables, firing by firing."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from rosbags.typesys import get_types_from_msg

VLP16, HDL32 = 0x22, 0x21
STRONGEST, LAST, DUAL = 0x37, 0x38, 0x39
#: Lasers, ns from one to the next, ns of a cycle.
TIMES = {VLP16: (16, 2_304, 55_296), HDL32: (32, 1_152, 46_080)}
#: A turn of a tenth of a second.
TURN_NS = 100_000_000
#: (azimuth in degrees clockwise, laser) -> distances in units of 2 mm, one, or (last, strongest) in dual mode.
World = Callable[[float, int], Sequence[int]]


def turn(world: World, *, product: int = VLP16, mode: int = STRONGEST, start_ns: int = 0) -> list[tuple[int, bytes]]:
    """The packets of a whole turn and the instant at which each begins."""
    lasers, _, cycle_ns = TIMES[product]
    cycles = 32 // lasers
    step_deg = 360.0 * cycles * cycle_ns / TURN_NS
    returns = 2 if mode == DUAL else 1
    packets, block = [], 0
    while block * step_deg < 360.0:
        begin_ns = start_ns + block * cycles * cycle_ns
        blocks = b""
        for number in range(block, block + 12 // returns):
            blocks += _blocks(world, round(number * step_deg * 100) % 36_000, step_deg, product, returns)
        packets.append((begin_ns, blocks + struct.pack("<IBB", begin_ns // 1000 % 3_600_000_000, mode, product)))
        block += 12 // returns
    return packets


def _blocks(world: World, azimuth: int, step_deg: float, product: int, returns: int) -> bytes:
    lasers, laser_ns, cycle_ns = TIMES[product]
    data = b""
    seen = []
    for place in range(32):
        after_ns = place // lasers * cycle_ns + place % lasers * laser_ns
        at_deg = azimuth / 100 + step_deg * after_ns / (32 // lasers * cycle_ns)
        seen.append(world(at_deg % 360.0, place % lasers))
    for number in range(returns):
        data += struct.pack("<HH", 0xEEFF, azimuth)
        data += b"".join(struct.pack("<HB", distances[number], 7 + number) for distances in seen)
    return data


def register(store: Any) -> Any:
    """The types, as their package defines them, in a store of types that lacks them."""
    time = "builtin_interfaces/Time"
    store.register(get_types_from_msg(f"{time} stamp\nuint8[1206] data", "velodyne_msgs/msg/VelodynePacket"))
    text = "std_msgs/Header header\nvelodyne_msgs/VelodynePacket[] packets"
    store.register(get_types_from_msg(text, "velodyne_msgs/msg/VelodyneScan"))
    return store


def scan(ros: Any, stamp_ns: int, packets: Sequence[tuple[int, bytes]]) -> Any:
    """The message; `ros`: of the conftest, its types registered."""
    return ros.new(
        "velodyne_msgs/msg/VelodyneScan",
        header=ros.header(stamp_ns, "velodyne"),
        packets=[
            ros.new(
                "velodyne_msgs/msg/VelodynePacket",
                stamp=ros.new("builtin_interfaces/msg/Time", sec=at_ns // 10**9, nanosec=at_ns % 10**9),
                data=np.frombuffer(data, np.uint8),
            )
            for at_ns, data in packets
        ],
    )
