"""Cyclone DDS over the loopback interface, serialised by hand: the package itself takes 230 ms a frame."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from transports import DEPTH

# Read when the first participant is made: frames need larger buffers than the default.
os.environ.setdefault(
    "CYCLONEDDS_URI",
    "<General><Interfaces><NetworkInterface name='lo' multicast='false'/></Interfaces>"
    "<AllowMulticast>false</AllowMulticast><MaxMessageSize>65500B</MaxMessageSize></General>"
    "<Discovery><ParticipantIndex>auto</ParticipantIndex><Peers><Peer address='127.0.0.1'/></Peers></Discovery>"
    "<Internal><SocketReceiveBufferSize min='default' max='16MB'/></Internal>",
)

from cyclonedds.core import InstanceState, Policy, Qos, ReadCondition, SampleState, ViewState, WaitSet
from cyclonedds.domain import DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.types import sequence, uint8
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration

TITLE = "Cyclone DDS"
IN_PLACE = False
_LITTLE_ENDIAN = b"\0\1\0\0"


@dataclass
class Blob(IdlStruct, typename="rt_sched.Blob"):
    """A sequence of bytes; `serialize` and `deserialize` are the calls that the package makes."""

    data: sequence[uint8]

    def serialize(self, buffer: Any = None, endianness: Any = None, use_version_2: Any = None) -> bytes:
        return b"".join((_LITTLE_ENDIAN, len(self.data).to_bytes(4, "little"), self.data))

    @classmethod
    def deserialize(cls, data: bytes, has_header: bool = True, **_: Any) -> Self:
        content = memoryview(data)[4 if has_header else 0 :]
        return cls(content[4 : 4 + int.from_bytes(content[:4], "little")])


class Peer:
    def __init__(self, size: int) -> None:
        self.name = f"benchmark_{os.getpid()}_{size}"
        self.qos = Qos(Policy.Reliability.Reliable(duration(seconds=1)), Policy.History.KeepLast(DEPTH))

    def _topic(self) -> tuple[Any, Any]:
        participant = DomainParticipant(73)
        return participant, Topic(participant, self.name, Blob, qos=self.qos)

    def receiver(self) -> Iterator[memoryview]:
        participant, topic = self._topic()
        reader = DataReader(participant, topic, qos=self.qos)
        waiting = WaitSet(participant)
        waiting.attach(ReadCondition(reader, SampleState.Any | ViewState.Any | InstanceState.Any))
        while True:
            samples = reader.take(1)
            if not samples:
                waiting.wait(duration(milliseconds=500))
                continue
            yield samples[0].data

    def sender(self) -> None:
        self.participant, topic = self._topic()
        self.writer = DataWriter(self.participant, topic, qos=self.qos)

    def send(self, source: np.ndarray) -> None:
        self.writer.write(Blob(source.data))

    def close(self) -> None:
        del self.writer
        del self.participant
