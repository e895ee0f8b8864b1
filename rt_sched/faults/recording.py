"""A recording with faults: what its sensors would have sent, had these faults struck while it was made.

Messages are altered before anything else sees them, so that time line, stages and monitors meet them as they would on
the vehicle. The recording itself is not touched.
"""

from __future__ import annotations

import dataclasses
import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from rt_sched.faults.clocks import SensorClock
from rt_sched.faults.contents import altered, damaged_bytes, draw
from rt_sched.faults.kinds import OVERTAKEN_AFTER
from rt_sched.faults.script import Injection, Strike
from rt_sched.model import Sensor
from rt_sched.ports import RecordedMessage, Recording, TopicInfo
from rt_sched.units import NS_PER_S, ceil_int
from sensors.ros_types import SerializedMessage

#: Kinds that keep the last message from before them.
_REPEATING = frozenset({"camera.freeze", "lidar.freeze", "imu.stuck"})
#: Kinds that change what a message holds.
_CONTENT = frozenset({"camera.black", "camera.saturate", "camera.blur", "lidar.sector", "imu.saturate"})
#: Kinds that take messages away, where the runtime has no loss of its own for them.
_TAKING = frozenset({"message.drop"})

#: All kinds that are carried out on messages here.
ON_MESSAGES = (
    _REPEATING
    | _CONTENT
    | _TAKING
    | {"payload.corrupt", "message.delay", "message.duplicate", "message.reorder", "clock.step"}
)
#: A duplicate comes right behind its message, after this share of the sensor's period.
_DUPLICATE_AFTER = Fraction(1, 100)


@dataclass(frozen=True, slots=True, eq=False)
class _Altered:
    """The payload of a message that a fault has changed: what it is now, and what is still to be done to it."""

    payload: Any
    faults: tuple[Injection, ...] = ()


class FaultedRecording:
    """`recording` with the faults `strikes`, those of its sensors; `topics_of`: sensor -> topic.

    `clocks`: topic -> how the run reads its times. `seed`: of what is drawn for each message.
    """

    def __init__(
        self,
        recording: Recording,
        sensors: Sequence[Sensor],
        topics_of: Mapping[str, str],
        strikes: Sequence[Strike],
        clocks: Mapping[str, SensorClock],
        seed: int,
    ) -> None:
        self._recording = recording
        self._clocks, self._seed = clocks, seed
        self._sensor_of = {topics_of[sensor.name]: sensor for sensor in sensors if sensor.name in topics_of}
        self._strikes: dict[str, list[Strike]] = {topic: [] for topic in self._sensor_of}
        for strike in strikes:
            if strike.fault.kind_name in ON_MESSAGES and strike.fault.target in topics_of:
                self._strikes[topics_of[strike.fault.target]].append(strike)
        copying = [strike.fault.name for strike in strikes if strike.fault.kind_name == "message.duplicate"]
        beyond = 1 + max((one.index for one in recording.messages()), default=0) if copying else 0
        # Each fault that copies doubles the indices that there may be.
        self._copies_from = {name: beyond << number for number, name in enumerate(copying)}

    @property
    def is_struck(self) -> bool:
        """Whether any message is another one than was recorded, or may be."""
        return any(self._strikes.values())

    @property
    def path(self) -> str:
        """Of the file."""
        return self._recording.path

    @property
    def files(self) -> Sequence[str]:
        """Those of the recording."""
        return self._recording.files

    @property
    def topics(self) -> Sequence[TopicInfo]:
        """As recorded, with the number of messages that there are now."""
        counts = dict.fromkeys((topic.name for topic in self._recording.topics), 0)
        struck = [topic for topic, strikes in self._strikes.items() if strikes]
        for message in self.messages(struck) if struck else ():
            counts[message.topic] += 1
        return [
            dataclasses.replace(topic, messages=counts[topic.name]) if topic.name in struck else topic
            for topic in self._recording.topics
        ]

    @property
    def damage(self) -> str | None:
        """Of the file; what faults do is none."""
        return self._recording.damage

    def close(self) -> None:
        """Closes the recording."""
        self._recording.close()

    def messages(self, topics: Sequence[str] | None = None) -> Iterator[RecordedMessage]:
        """As `Recording.messages`; copies have indices behind all others."""
        lines = {topic: _Line(self, topic, strikes) for topic, strikes in self._strikes.items() if strikes}
        held: list[tuple[int, int, RecordedMessage]] = []
        for message in self._recording.messages(topics):
            while held and held[0][0] < message.log_time_ns:
                yield heapq.heappop(held)[2]
            line = lines.get(message.topic)
            for one in [message] if line is None else line.passed(message):
                heapq.heappush(held, (one.log_time_ns, one.index, one))
        while held:
            yield heapq.heappop(held)[2]

    def decode(self, message: RecordedMessage) -> Any:
        """As `Recording.decode`, with what the faults do to the content."""
        if not isinstance(message.payload, _Altered):
            return self._recording.decode(message)
        decoded = self._recording.decode(dataclasses.replace(message, payload=message.payload.payload))
        for fault in message.payload.faults:
            decoded = altered(fault, decoded)
        return decoded

    def arrival_ns(self, message: RecordedMessage) -> int:
        """When a message reaches its device, on the run's time line."""
        return self._clocks[message.topic].arrival_ns(message)

    def capture_ns(self, message: RecordedMessage) -> int | None:
        """The stamp of a message on the run's time line."""
        return self._clocks[message.topic].capture_ns(message)

    def period_ns(self, topic: str) -> int:
        """Of the sensor behind a topic."""
        return ceil_int(NS_PER_S / self._sensor_of[topic].rate_hz)

    def drawn(self, fault: Injection, message: RecordedMessage) -> bool:
        """Whether a fault that strikes a share of the messages strikes this one."""
        return Fraction(draw(self._seed, fault.name, message.index), 2**64) < fault.share

    def damage_seed(self, fault: Injection, message: RecordedMessage) -> int:
        """Of the bits that flip."""
        return draw(self._seed, fault.name, message.index, "bits")

    def copy_index(self, fault: Injection, message: RecordedMessage) -> int:
        """The index of the copy of a message that a fault makes."""
        return self._copies_from[fault.name] + message.index


class _Line:
    """What passes on one topic, once from start to end."""

    def __init__(self, recording: FaultedRecording, topic: str, strikes: Sequence[Strike]) -> None:
        self._recording = recording
        self._period_ns = recording.period_ns(topic)
        self._strikes = strikes
        self._kept: dict[str, Any] = {}
        self._passed: dict[str, int] = {}

    def passed(self, message: RecordedMessage) -> list[RecordedMessage]:
        """What becomes of one message, in which order is no matter."""
        out = [message]
        arrival_ns = self._recording.arrival_ns(message)
        for strike in self._strikes:
            fault = strike.fault
            if not strike.holds(arrival_ns):
                self._kept[fault.name] = message.payload
                continue
            if self._recording.drawn(fault, message):
                out = [changed for one in out for changed in self._struck(fault, one)]
        return out

    def _struck(self, fault: Injection, message: RecordedMessage) -> list[RecordedMessage]:
        kind = fault.kind_name
        if kind in _TAKING:
            return []
        if kind in _REPEATING:
            return [dataclasses.replace(message, payload=self._kept.setdefault(fault.name, message.payload))]
        if kind in _CONTENT:
            inner = message.payload if isinstance(message.payload, _Altered) else _Altered(message.payload)
            return [dataclasses.replace(message, payload=_Altered(inner.payload, (*inner.faults, fault)))]
        if kind == "payload.corrupt":
            return [dataclasses.replace(message, payload=self._damaged(fault, message))]
        if kind == "message.delay":
            return [_later(message, fault.by_ns)]
        if kind == "message.duplicate":
            copy = dataclasses.replace(message, index=self._recording.copy_index(fault, message))
            return [message, _later(copy, ceil_int(_DUPLICATE_AFTER * self._period_ns))]
        if kind == "message.reorder":
            number = self._passed[fault.name] = self._passed.get(fault.name, -1) + 1
            return [message if number % 2 else _later(message, ceil_int(OVERTAKEN_AFTER * self._period_ns))]
        stamp_ns = message.capture_time_ns
        return [message if stamp_ns is None else dataclasses.replace(message, capture_time_ns=stamp_ns + fault.by_ns)]

    def _damaged(self, fault: Injection, message: RecordedMessage) -> _Altered:
        inner = message.payload if isinstance(message.payload, _Altered) else _Altered(message.payload)
        sent: SerializedMessage = inner.payload
        data = damaged_bytes(fault, sent.data, self._recording.damage_seed(fault, message))
        return _Altered(dataclasses.replace(sent, data=data), inner.faults)


def _later(message: RecordedMessage, by_ns: int) -> RecordedMessage:
    return dataclasses.replace(message, log_time_ns=message.log_time_ns + by_ns)
