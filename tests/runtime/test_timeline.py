"""Recorded stamps become arrivals: every message is counted once, strange clocks are named."""

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rt_sched.errors import DataError
from rt_sched.model import ArrivalClock, Sensor, SensorKind
from rt_sched.ports import RecordedMessage
from rt_sched.runtime.feed import SampleFeed
from rt_sched.runtime.timeline import build_timeline

MS = 1_000_000
EPOCH = 1_700_000_000_000_000_000


@dataclass
class FakeRecording:
    rows: list = field(default_factory=list)
    path: str = "fake.mcap"

    def messages(self, topics=None):
        for row in sorted(self.rows, key=lambda m: (m.log_time_ns, m.index)):
            if topics is None or row.topic in topics:
                yield row

    def add(self, topic, log_ns, capture_ns, problem=None):
        self.rows.append(RecordedMessage(topic, len(self.rows), log_ns, capture_ns, b"", problem))


def sensor(name="cam", **changes):
    values = {"kind": SensorKind.CAMERA, "rate_hz": Fraction(30), "attached_to": ("d",), "topics": ("/x",)}
    return Sensor(name=name, **(values | changes))


def frames(count, latency_ns=5 * MS, topic="/cam"):
    recording = FakeRecording()
    for k in range(count):
        capture = EPOCH + k * 33 * MS
        recording.add(topic, capture + latency_ns, capture)
    return recording


def test_arrival_is_log_time_and_capture_is_kept_apart():
    timeline = build_timeline(frames(3), [sensor()], {"cam": "/cam"})
    assert timeline.origin_ns == EPOCH
    assert timeline.samples.capture_ns.tolist() == [0, 33 * MS, 66 * MS]
    assert timeline.samples.arrival_ns.tolist() == [5 * MS, 38 * MS, 71 * MS]
    assert timeline.samples.number.tolist() == [0, 1, 2]
    assert timeline.notes == ()


def test_arrival_by_capture_adds_the_declared_latency():
    recording = frames(2, latency_ns=900 * MS)
    by_capture = sensor(arrival_clock=ArrivalClock.CAPTURE, latency_ns=7 * MS)
    timeline = build_timeline(recording, [by_capture], {"cam": "/cam"})
    assert timeline.samples.arrival_ns.tolist() == [7 * MS, 40 * MS]


def test_a_foreign_capture_clock_is_shifted_and_named():
    recording = FakeRecording()
    for k in range(10):
        recording.add("/cam", EPOCH + k * 33 * MS, 12_345 + k * 33 * MS)
    timeline = build_timeline(recording, [sensor(latency_ns=4 * MS)], {"cam": "/cam"})
    assert (timeline.samples.arrival_ns - timeline.samples.capture_ns).tolist() == [4 * MS] * 10
    assert "another clock" in timeline.notes[0]


def test_missing_stamps_fall_back_to_log_time_minus_latency():
    recording = FakeRecording()
    recording.add("/cam", EPOCH + 10 * MS, None)
    recording.add("/cam", EPOCH + 50 * MS, EPOCH + 43 * MS)
    timeline = build_timeline(recording, [sensor(latency_ns=7 * MS)], {"cam": "/cam"})
    assert np.diff(timeline.samples.capture_ns).tolist() == [40 * MS]
    assert "without a capture stamp" in timeline.notes[0]


def test_a_stamp_that_jumps_is_quarantined_and_counted():
    recording = frames(10)
    recording.rows[4] = RecordedMessage("/cam", 4, recording.rows[4].log_time_ns, EPOCH - 5_000 * MS, b"", None)
    recording.rows[7] = RecordedMessage("/cam", 7, recording.rows[7].log_time_ns, EPOCH + 9_000 * MS, b"", None)
    timeline = build_timeline(recording, [sensor()], {"cam": "/cam"})
    (intake,) = timeline.intake
    assert (intake.recorded, intake.accepted, intake.quarantined) == (10, 8, 2)
    assert timeline.file_index.tolist() == [0, 1, 2, 3, 5, 6, 8, 9]


def test_unreadable_messages_are_counted_with_the_first_reason():
    recording = frames(3)
    recording.add("/cam", EPOCH + 200 * MS, None, problem="too short")
    (intake,) = build_timeline(recording, [sensor()], {"cam": "/cam"}).intake
    assert (intake.recorded, intake.accepted, intake.undecodable, intake.first_problem) == (4, 3, 1, "too short")


def test_nothing_usable_is_an_error():
    recording = FakeRecording()
    recording.add("/cam", EPOCH, None, problem="broken")
    with pytest.raises(DataError, match="none of the mapped topics"):
        build_timeline(recording, [sensor()], {"cam": "/cam"})


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["/cam", "/rear", "/other"]),
            st.integers(0, 3_000_000_000),
            st.one_of(st.none(), st.integers(-3_000_000_000, 20_000_000_000)),
            st.booleans(),
        ),
        min_size=1,
        max_size=60,
    )
)
def test_every_message_is_counted_once_and_the_feed_hands_out_what_was_accepted(rows):
    recording = FakeRecording()
    for topic, log, capture, broken in rows:
        stamp = None if capture is None else EPOCH + capture
        recording.add(topic, EPOCH + log, None if broken else stamp, "broken" if broken else None)
    mapping = {"cam": "/cam", "rear": "/rear"}
    sensors = [sensor(), sensor("rear", arrival_clock=ArrivalClock.CAPTURE, latency_ns=3 * MS)]
    try:
        timeline = build_timeline(recording, sensors, mapping)
    except DataError:
        return
    for entry in timeline.intake:
        of_topic = sum(1 for row in rows if row[0] == entry.topic)
        assert entry.recorded == of_topic
        assert entry.recorded == entry.accepted + entry.undecodable + entry.quarantined
    samples = timeline.samples
    assert (np.diff(samples.arrival_ns) >= 0).all()
    assert (samples.arrival_ns >= samples.capture_ns).all()
    assert min(samples.arrival_ns.min(), samples.capture_ns.min()) == 0
    feed = SampleFeed(recording, list(mapping.values()), timeline)
    assert [feed.next().index for _ in range(len(samples))] == timeline.file_index.tolist()
