"""The reports of sensors' monitors, from the process that makes them to the worker of the arbiter."""

from __future__ import annotations

from typing import cast

from rt_sched.messages import SensorHealth
from rt_sched.model import Edge, EdgeKind, Overflow
from rt_sched.ports import JobContext, Port, Reader, Writer
from rt_sched.runtime.paced.jobs.codec import Encoded, decoded
from rt_sched.transport import Channel, ChannelReader, Segment

_CHANNEL, _READER = "health", "arbiter"
#: Names of sensors and monitors, and what protects them.
_BASE_BYTES, _SENSOR_BYTES = 4096, 512


class HealthFeed:
    """A register in a segment of its own; made before forks. Each process claims the end that it uses."""

    def __init__(self, sensors: int) -> None:
        edge = Edge(EdgeKind.LATEST, 1, Overflow.DROP_OLDEST)
        size = _BASE_BYTES + _SENSOR_BYTES * sensors
        self._segment = Segment.create([Channel(_CHANNEL, size, (ChannelReader(_READER, edge, 2),))])
        self._port = cast(Port, self._segment)
        self._writer: Writer | None = None
        self._reader: Reader | None = None

    def open_to_write(self) -> None:
        """Claims the end of the process that reports."""
        self._writer = self._port.writer(_CHANNEL)

    def open_to_read(self) -> None:
        """Claims the end of the arbiter's worker."""
        self._reader = self._port.reader(_CHANNEL, _READER)

    def report(self, health: SensorHealth) -> None:
        """It is there for the arbiter from now on."""
        if self._writer is not None:
            parcel = Encoded(health)
            loan = self._writer.loan(parcel.size)
            parcel.write(loan.data)
            self._writer.publish(loan, health.capture_time_ns, health.capture_time_ns, size=parcel.size)

    def newest(self, _job: JobContext) -> object:
        """The last report, None before the first."""
        message = None if self._reader is None else self._reader.take()
        if message is None:
            return None
        with message:
            return decoded(message.data, copy=True)
