"""From the recorded stamps of a log to arrivals on the run's time line.

The run's time line starts at 0, the earliest capture or arrival that is used; `origin_ns` is that instant on the
recording's clock. Capture time and log time stay apart: a job arrives when its message reached the device, its data
is as old as its capture stamp says.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from rt_sched.errors import DataError
from rt_sched.model import ArrivalClock, Sensor
from rt_sched.ports import Recording
from rt_sched.runtime.log_jumps import Logged, LogWindow, replayed_window
from rt_sched.trace.records import SampleStatus, SampleTable
from rt_sched.units import NS_PER_S, format_ns

Int64 = npt.NDArray[np.int64]

#: Capture-to-log differences outside this range mean that the two clocks have nothing to do with each other.
COMPARABLE_LATENCY_NS = (-NS_PER_S, 10 * NS_PER_S)

#: A stamp further than this from the sensor's usual capture-to-log difference is quarantined.
STAMP_TOLERANCE_NS = NS_PER_S

#: A longer time without a message of any mapped topic is told to the reader, unless all sensors are that slow.
LONG_PAUSE_NS = 10 * NS_PER_S
_LONG_PAUSE_PERIODS = 3


@dataclass(frozen=True, slots=True)
class SensorIntake:
    """What became of one sensor's messages before the schedule saw them. Counts add up to `recorded`."""

    sensor: str
    topic: str
    recorded: int
    accepted: int
    undecodable: int
    quarantined: int
    duplicate_stamps: int
    first_problem: str | None


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """Arrivals of all sensors, sorted by (arrival, sensor, position in the file).

    `samples`: one row per accepted message. `file_index`: int64[n], each sample's running number in the recording.
    `intake`: one entry per mapped sensor. `notes`: what a reader of the result must know about the clocks.
    """

    origin_ns: int
    samples: SampleTable
    file_index: Int64
    intake: tuple[SensorIntake, ...]
    notes: tuple[str, ...]

    @property
    def last_arrival_ns(self) -> int:
        """The last arrival; 0 for an empty time line."""
        return int(self.samples.arrival_ns[-1]) if len(self.samples.arrival_ns) else 0


@dataclass(slots=True)
class _Stamps:
    """Of one sensor's readable messages; `stamped` is 0 where `capture_ns` has no meaning."""

    index: array[int] = field(default_factory=lambda: array("q"))
    log_ns: array[int] = field(default_factory=lambda: array("q"))
    capture_ns: array[int] = field(default_factory=lambda: array("q"))
    stamped: array[int] = field(default_factory=lambda: array("b"))
    recorded: int = 0
    undecodable: int = 0
    first_problem: str | None = None

    @property
    def log_times(self) -> Int64:
        return np.array(self.log_ns, np.int64)

    @property
    def indices(self) -> Int64:
        return np.array(self.index, np.int64)

    def log_by_capture(self, latency_ns: int) -> None:
        """Takes each message for logged this long after its capture."""
        self.log_ns = array("q", (capture_ns + latency_ns for capture_ns in self.capture_ns))


def build_timeline(recording: Recording, sensors: Sequence[Sensor], topic_of: Mapping[str, str]) -> Timeline:
    """Reads every stamp of the mapped topics once.

    Raises DataError when no mapped topic has a usable message, and when log time jumps so that nobody can tell which
    part is meant.
    """
    stamps = _read_stamps(recording, topic_of)
    notes: list[str] = []
    if _log_stands_still(stamps.values()):
        notes.append("log times do not move; every message arrives its sensor's declared latency after its stamp")
        for sensor in sensors:
            if sensor.name in stamps:
                stamps[sensor.name].log_by_capture(sensor.latency_ns)
    logged = [Logged(topic_of[name], gathered.log_times, gathered.indices) for name, gathered in stamps.items()]
    if not any(len(topic.log_ns) for topic in logged):
        raise DataError(f"{recording.path}: none of the mapped topics holds a usable message; {_why(stamps, topic_of)}")
    window = replayed_window(recording.path, logged)
    if window.note:
        notes.append(window.note)
    rows: list[tuple[Int64, Int64, Int64, Int64]] = []
    intake: list[SensorIntake] = []
    for position, sensor in enumerate(sensors):
        if sensor.name not in topic_of:
            continue
        gathered = stamps[sensor.name]
        capture_ns, arrival_ns, index, duplicates = _place(sensor, gathered, window, notes)
        rows.append((np.full(len(index), position, np.int64), arrival_ns, capture_ns, index))
        intake.append(
            SensorIntake(
                sensor.name,
                topic_of[sensor.name],
                gathered.recorded,
                len(index),
                gathered.undecodable,
                len(gathered.index) - len(index),
                duplicates,
                gathered.first_problem,
            )
        )
    sensor_column, arrival, capture, index = (np.concatenate(column) for column in zip(*rows, strict=True))
    order = np.lexsort((index, sensor_column, arrival))
    origin = int(min(arrival.min(), capture.min()))
    samples = SampleTable(
        sensor=sensor_column[order].astype(np.int32),
        arrival_ns=arrival[order] - origin,
        capture_ns=capture[order] - origin,
        number=_running_numbers(sensor_column[order]),
        status=np.full(len(order), SampleStatus.WAITING, np.int8),
    )
    fastest_hz = max(sensor.rate_hz for sensor in sensors if sensor.name in topic_of)
    notes.extend(_pauses(samples.arrival_ns, max(LONG_PAUSE_NS, int(_LONG_PAUSE_PERIODS * NS_PER_S / fastest_hz))))
    return Timeline(origin, samples, index[order], tuple(intake), tuple(notes))


def _log_stands_still(stamps: Collection[_Stamps]) -> bool:
    """All messages have one log time but stamps that tell them apart, as in files of converters without log times."""
    logged = {log_ns for gathered in stamps for log_ns in gathered.log_ns}
    captured = {capture_ns for gathered in stamps for capture_ns in gathered.capture_ns}
    return len(logged) == 1 < len(captured) and all(all(gathered.stamped) for gathered in stamps)


def _why(stamps: Mapping[str, _Stamps], topic_of: Mapping[str, str]) -> str:
    """What is wrong with each of the topics, none of which has a readable message."""
    return "; ".join(
        f"{topic_of[name]}: {gathered.undecodable} cannot be read, first: {gathered.first_problem}"
        if gathered.undecodable
        else f"{topic_of[name]}: no message"
        for name, gathered in stamps.items()
    )


def _pauses(arrival_ns: Int64, longer_than_ns: int) -> list[str]:
    """A note on times without any arrival, the longest of them named."""
    pauses_ns = np.diff(arrival_ns)
    long = int(np.count_nonzero(pauses_ns > longer_than_ns))
    if not long:
        return []
    at = int(np.argmax(pauses_ns))
    begin_s, end_s = int(arrival_ns[at]) / NS_PER_S, int(arrival_ns[at + 1]) / NS_PER_S
    more = f" ({long} such pauses above {longer_than_ns / NS_PER_S:g} s, this is the longest)" if long > 1 else ""
    return [f"nothing was recorded on a mapped topic from {begin_s:.3f} s to {end_s:.3f} s{more}"]


def _read_stamps(recording: Recording, topic_of: Mapping[str, str]) -> dict[str, _Stamps]:
    stamps = {name: _Stamps() for name in topic_of}
    by_topic = {topic: stamps[name] for name, topic in topic_of.items()}
    for message in recording.messages(list(by_topic)):
        gathered = by_topic[message.topic]
        gathered.recorded += 1
        if message.problem is not None:
            gathered.undecodable += 1
            gathered.first_problem = gathered.first_problem or message.problem
            continue
        gathered.index.append(message.index)
        gathered.log_ns.append(message.log_time_ns)
        gathered.capture_ns.append(message.capture_time_ns or 0)
        gathered.stamped.append(message.capture_time_ns is not None)
    return stamps


def _place(sensor: Sensor, gathered: _Stamps, window: LogWindow, notes: list[str]) -> tuple[Int64, Int64, Int64, int]:
    """Capture, arrival and file index of the accepted messages of one sensor, and how many repeat a stamp."""
    log, index = gathered.log_times, gathered.indices
    inside = (log >= window.first_ns) & (log <= window.last_ns)
    log, index = log[inside], index[inside]
    stamped = np.array(gathered.stamped, np.bool_)[inside]
    capture = np.array(gathered.capture_ns, np.int64)[inside]
    if not len(log):
        return capture, log, index, 0
    usual = sensor.latency_ns
    if stamped.any():
        latency = (log - capture)[stamped]
        usual = _lower_percentile(latency, 50)
        if not COMPARABLE_LATENCY_NS[0] <= usual <= COMPARABLE_LATENCY_NS[1]:
            near = latency[np.abs(latency - usual) <= STAMP_TOLERANCE_NS]
            shift = _lower_percentile(near, 1) - sensor.latency_ns
            capture, usual = capture + shift, usual - shift
            notes.append(
                f"{sensor.name}: capture stamps are on another clock than log times; shifted by {format_ns(shift)}"
            )
    missing = int(np.count_nonzero(~stamped))
    if missing:
        notes.append(
            f"{sensor.name}: {missing} messages without a capture stamp; taken as log time minus the "
            f"declared latency of {format_ns(sensor.latency_ns)}"
        )
        capture[~stamped] = log[~stamped] - sensor.latency_ns
    keep = ~stamped | (np.abs((log - capture) - usual) <= STAMP_TOLERANCE_NS)
    newest = np.maximum.accumulate(np.where(keep, capture, np.iinfo(np.int64).min))
    keep[1:] &= capture[1:] >= newest[:-1]
    quarantined = int((~keep).sum())
    if quarantined:
        notes.append(f"{sensor.name}: {quarantined} messages quarantined, their stamps step back or jump")
    capture, log, index = capture[keep], log[keep], index[keep]
    duplicates = int((np.diff(capture) == 0).sum())
    if duplicates:
        notes.append(f"{sensor.name}: {duplicates} messages repeat the capture stamp before them")
    arrival = log if sensor.arrival_clock is ArrivalClock.LOG else capture + sensor.latency_ns
    early = int((arrival < capture).sum())
    if early:
        notes.append(f"{sensor.name}: {early} messages were logged before their capture stamp; arrival is the stamp")
        arrival = np.maximum(arrival, capture)
    return capture, arrival, index, duplicates


def _lower_percentile(values: Int64, percent: int) -> int:
    """A percentile that is one of the values."""
    return int(np.percentile(values, percent, method="lower"))


def _running_numbers(sensor: Int64) -> Int64:
    numbers = np.empty(len(sensor), np.int64)
    for value in np.unique(sensor):
        rows = np.flatnonzero(sensor == value)
        numbers[rows] = np.arange(len(rows))
    return numbers
