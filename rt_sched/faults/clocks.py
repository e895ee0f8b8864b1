"""How a run reads the clocks of a recording: which time says when a message arrives, and how stamps are shifted.

The time line decides that from all stamps of a sensor; monitors and faults must follow it for each message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rt_sched.model import ArrivalClock, Sensor
from rt_sched.ports import RecordedMessage, Recording
from rt_sched.runtime.timeline import Timeline
from rt_sched.trace.records import SampleTable


@dataclass(frozen=True, slots=True)
class SensorClock:
    """`shift_ns`: what is added to stamps, less the start of the run. `log_shift_ns`: the same for log times.

    It is None where messages arrive `latency_ns` after their stamps.
    """

    shift_ns: int
    log_shift_ns: int | None
    latency_ns: int

    def capture_ns(self, message: RecordedMessage) -> int | None:
        """The stamp on the run's time line; None where the message has none."""
        return None if message.capture_time_ns is None else message.capture_time_ns + self.shift_ns

    def arrival_ns(self, message: RecordedMessage) -> int:
        """When the message reaches its device, on the run's time line."""
        stamp_ns = self.capture_ns(message)
        if self.log_shift_ns is None and stamp_ns is not None:
            return stamp_ns + self.latency_ns
        return message.log_time_ns + (self.log_shift_ns or 0)


def sensor_clocks(
    recording: Recording, timeline: Timeline, sensors: Sequence[Sensor], topics_of: Mapping[str, str]
) -> dict[str, SensorClock]:
    """Topic -> how its clock was read when `timeline` was made of the recording."""
    rows = {int(index): row for row, index in enumerate(timeline.file_index)}
    first: dict[str, tuple[RecordedMessage, int]] = {}
    for message in recording.messages(list(topics_of.values())):
        row = rows.get(message.index)
        if row is not None and message.topic not in first and message.capture_time_ns is not None:
            first[message.topic] = message, row
        if len(first) == len(topics_of):
            break
    stands_still = any(note.startswith("log times do not move") for note in timeline.notes)
    clocks = {}
    for sensor in sensors:
        if (topic := topics_of.get(sensor.name)) is None:
            continue
        shift_ns = -timeline.origin_ns
        if topic in first:
            message, row = first[topic]
            shift_ns = int(timeline.samples.capture_ns[row]) - (message.capture_time_ns or 0)
        by_log = sensor.arrival_clock is ArrivalClock.LOG and not stands_still
        clocks[topic] = SensorClock(shift_ns, -timeline.origin_ns if by_log else None, sensor.latency_ns)
    return clocks


def arriving_at(timeline: Timeline, arrivals_ns: Mapping[int, int]) -> Timeline:
    """The same messages, those named by their index in the recording at other instants, from 0 on.

    So messages whose stamps are ahead may arrive when they did: a time line takes none for there before its stamp.
    """
    samples = timeline.samples
    usual = zip(timeline.file_index.tolist(), samples.arrival_ns.tolist(), strict=True)
    arrival_ns = np.array([max(arrivals_ns.get(index, usual_ns), 0) for index, usual_ns in usual], np.int64)
    order = np.lexsort((timeline.file_index, samples.sensor, arrival_ns))
    moved = SampleTable(
        samples.sensor[order],
        samples.number[order],
        arrival_ns[order],
        samples.capture_ns[order],
        samples.status[order],
    )
    return replace(timeline, samples=moved, file_index=timeline.file_index[order])
