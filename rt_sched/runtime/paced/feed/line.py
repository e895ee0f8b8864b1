"""Samples that lie decoded, in order, until their instant: from the process that decodes to the one that publishes."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from rt_sched.errors import DataError
from rt_sched.model import Edge, EdgeKind, Overflow, System
from rt_sched.ports import Port, Reader, Writer
from rt_sched.runtime.paced.clock import PacedClock
from rt_sched.runtime.paced.jobs.codec import Encoded
from rt_sched.runtime.paced.jobs.edges import PortLetter
from rt_sched.runtime.paced.shared import shared_array
from rt_sched.runtime.stage_graph import NoData
from rt_sched.transport import Channel, ChannelReader
from rt_sched.transport.bell import Bell
from rt_sched.units import NS_PER_S, ceil_int, floor_int

#: How far ahead of its instant a sample may lie decoded, and how many of one sensor at least and at most.
_AHEAD_NS = 2_000_000_000
_LEAST, _MOST = 4, 1024
#: What all lines may take together.
_MOST_BYTES = 512 * 2**20
_READER = "publisher"


def line_channels(system: System, bytes_of: Mapping[str, int]) -> tuple[Channel, ...]:
    """The channel of each sensor's line; `bytes_of`: size of the largest message of those sensors that are read."""
    wanted = {
        sensor.name: min(_MOST, max(_LEAST, ceil_int(sensor.rate_hz * _AHEAD_NS / NS_PER_S)))
        for sensor in system.sensors
        if sensor.name in bytes_of
    }
    whole = sum(count * bytes_of[name] for name, count in wanted.items())
    share = min(Fraction(1), Fraction(_MOST_BYTES, max(whole, 1)))
    found = []
    for name, count in wanted.items():
        edge = Edge(EdgeKind.QUEUE, max(_LEAST, floor_int(count * share)), Overflow.DROP_NEWEST)
        found.append(Channel(_name(name), bytes_of[name], (ChannelReader(_READER, edge, 2),)))
    return tuple(found)


def _name(sensor: str) -> str:
    """No sensor, task or port has a blank in its name."""
    return f"{sensor} decoded"


class ReadyLine:
    """Of one sensor. `put` belongs to one process, `get` to another; each claims its end when it first uses it."""

    def __init__(self, port: Port, channel: Channel, clock: PacedClock) -> None:
        self._port, self._channel, self._clock = port, channel.name, clock
        self._length = channel.readers[0].edge.depth
        self._taken = shared_array(np.int32, 1)
        self._room = Bell(self._taken.ctypes.data)
        self._put = 0
        self._writer: Writer | None = None
        self._reader: Reader | None = None
        self._full = shared_array(np.int32, 1)

    @property
    def filled(self) -> bool:
        """Whether as much lies ready as can."""
        return bool(self._full[0])

    def put(self, encoded: Encoded, row: int, capture_ns: int) -> bool:
        """Adds a sample once there is room; False when the run has ended before.

        One that is larger than its channel takes is replaced by the reason.
        """
        if self._writer is None:
            self._writer = self._port.writer(self._channel)
        while self._put - self._room.count() >= self._length:
            self._full[0] = 1
            if self._clock.ended:
                return False
            self._room.wait(self._put - self._length, None)
        try:
            loan = self._writer.loan(encoded.size)
        except DataError as error:
            encoded = Encoded(NoData("decode", str(error)))
            loan = self._writer.loan(encoded.size)
        encoded.write(loan.data)
        self._writer.publish(loan, capture_ns, 0, size=encoded.size, tag=row)
        self._put += 1
        return True

    def close(self) -> None:
        """Nothing more comes."""
        self._full[0] = 1

    def open(self) -> Reader:
        """Claims the end at which samples are got, which takes milliseconds."""
        if self._reader is None:
            self._reader = self._port.reader(self._channel, _READER)
        return self._reader

    def get(self) -> PortLetter | None:
        """The next sample, when it lies ready; None when the run has ended before."""
        reader = self.open()
        while not reader.wait(_LOOK_NS):
            if self._clock.ended:
                return None
        message = reader.take()
        if message is None:
            return None
        self._room.ring()
        return PortLetter(message, copy=False)


#: How often it is looked whether the run has ended.
_LOOK_NS = 50_000_000
