"""A recording whose messages arrive anew: as late after their stamps as the system file says that they may."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rt_sched.faults.contents import draw
from rt_sched.model import Sensor
from rt_sched.ports import RecordedMessage, Recording, TopicInfo

#: One message in so many comes as early, and one as late, as it may; all others anywhere between.
_AT_AN_END = 20


class RedrawnArrivals:
    """`recording` with log times of stamp + latency + a draw of [-jitter, +jitter], by `seed`.

    `sensor_of`: topic -> sensor. What has been decoded is kept in `decoded`, as draws share it.
    """

    def __init__(
        self, recording: Recording, sensor_of: Mapping[str, Sensor], seed: int, decoded: dict[int, Any]
    ) -> None:
        self._recording, self._sensor_of, self._seed, self._decoded = recording, sensor_of, seed, decoded

    @property
    def path(self) -> str:
        return self._recording.path

    @property
    def files(self) -> Sequence[str]:
        return self._recording.files

    @property
    def topics(self) -> Sequence[TopicInfo]:
        return self._recording.topics

    @property
    def damage(self) -> str | None:
        return self._recording.damage

    def close(self) -> None:
        self._recording.close()

    def decode(self, message: RecordedMessage) -> Any:
        if message.index not in self._decoded:
            self._decoded[message.index] = self._recording.decode(message)
        return self._decoded[message.index]

    def messages(self, topics: Sequence[str] | None = None) -> Iterator[RecordedMessage]:
        held: list[tuple[int, int, RecordedMessage]] = []
        most_ns = max(one.latency_ns + one.jitter_ns for one in self._sensor_of.values())
        for message in self._recording.messages(topics):
            redrawn = self._redrawn(message)
            heapq.heappush(held, (redrawn.log_time_ns, redrawn.index, redrawn))
            while held[0][0] < message.log_time_ns - most_ns:
                yield heapq.heappop(held)[2]
        while held:
            yield heapq.heappop(held)[2]

    def _redrawn(self, message: RecordedMessage) -> RecordedMessage:
        sensor = self._sensor_of.get(message.topic)
        if sensor is None or message.capture_time_ns is None:
            return message
        number = draw(self._seed, message.topic, message.index)
        place, end = number // _AT_AN_END, number % _AT_AN_END
        late_ns = place % (2 * sensor.jitter_ns + 1) - sensor.jitter_ns
        if end < 2:
            late_ns = (-sensor.jitter_ns, sensor.jitter_ns)[end]
        return replace(message, log_time_ns=message.capture_time_ns + sensor.latency_ns + late_ns)
