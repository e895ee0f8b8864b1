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


def test_the_error_says_what_is_wrong_with_each_topic():
    recording = FakeRecording()
    for k in range(3):
        recording.add("/cam", EPOCH + k, None, problem="stamp -5 s is not a time")
    with pytest.raises(DataError) as raised:
        build_timeline(recording, [sensor(), sensor("rear")], {"cam": "/cam", "rear": "/rear"})
    assert "/cam: 3 cannot be read, first: stamp -5 s is not a time; /rear: no message" in str(raised.value)


def clock_set_after(count, *, of, stamped=True):
    """The first `count` frames of all were logged and stamped in 1970."""
    recording = FakeRecording()
    for k in range(of):
        capture = (0 if k < count else EPOCH) + (k + 1) * 33 * MS
        recording.add("/cam", capture + 5 * MS, capture if stamped else None)
    return recording


@pytest.mark.parametrize("stamped", [True, False])
def test_what_was_logged_before_the_clock_was_set_is_quarantined(stamped):
    timeline = build_timeline(clock_set_after(3, of=20, stamped=stamped), [sensor()], {"cam": "/cam"})
    (intake,) = timeline.intake
    assert (intake.recorded, intake.accepted, intake.quarantined) == (20, 17, 3)
    assert timeline.file_index.tolist() == list(range(3, 20))
    assert timeline.last_arrival_ns < 1_000 * MS
    assert "log time jumps forward by 53.9 years between messages 2 (/cam) and 3 (/cam)" in timeline.notes[0]
    assert len(timeline.notes) == (1 if stamped else 2)


def test_a_clock_that_was_set_half_way_is_an_error():
    with pytest.raises(DataError, match="no part outweighs the rest"):
        build_timeline(clock_set_after(10, of=20), [sensor()], {"cam": "/cam"})


def test_a_sensor_that_ended_before_the_clock_was_set_has_no_sample():
    recording = clock_set_after(3, of=20)
    recording.add("/rear", 10 * MS, 5 * MS)
    timeline = build_timeline(recording, [sensor(), sensor("rear")], {"cam": "/cam", "rear": "/rear"})
    assert [(entry.accepted, entry.quarantined) for entry in timeline.intake] == [(17, 3), (0, 1)]


def test_stamps_that_jump_half_way_are_quarantined_whatever_clock_most_are_on():
    """The sensor's own clock was set; the recorder's was right all the time."""
    for early in (4, 16):
        recording = FakeRecording()
        for k in range(20):
            log = EPOCH + k * 33 * MS
            recording.add("/cam", log, k * 33 * MS + 1 if k < early else log - 5 * MS)
        timeline = build_timeline(recording, [sensor()], {"cam": "/cam"})
        (intake,) = timeline.intake
        assert intake.accepted == max(early, 20 - early)
        assert timeline.last_arrival_ns < 1_000 * MS
        assert any("quarantined" in note for note in timeline.notes)


def test_two_messages_whose_latencies_differ_are_not_both_quarantined():
    recording = FakeRecording()
    recording.add("/cam", EPOCH, EPOCH - 5 * MS)
    recording.add("/cam", EPOCH + 9_000 * MS, EPOCH)
    assert build_timeline(recording, [sensor()], {"cam": "/cam"}).intake[0].accepted == 1


def test_messages_without_a_stamp_stay_beside_stamps_of_a_late_sensor():
    recording = frames(10, latency_ns=3_000 * MS)
    recording.rows[4] = RecordedMessage("/cam", 4, recording.rows[4].log_time_ns, None, b"", None)
    (intake,) = build_timeline(recording, [sensor(latency_ns=3_000 * MS)], {"cam": "/cam"}).intake
    assert (intake.accepted, intake.quarantined) == (10, 0)


def test_log_times_that_do_not_move_are_replaced_by_the_stamps():
    recording = FakeRecording()
    for k in range(100):
        recording.add("/rear" if k % 2 else "/cam", 0, EPOCH + k * 33 * MS)
    sensors = [sensor(latency_ns=4 * MS), sensor("rear", latency_ns=6 * MS)]
    timeline = build_timeline(recording, sensors, {"cam": "/cam", "rear": "/rear"})
    assert [entry.accepted for entry in timeline.intake] == [50, 50]
    assert timeline.samples.arrival_ns[:3].tolist() == [4 * MS, 39 * MS, 70 * MS]
    assert timeline.notes == (
        "log times do not move; every message arrives its sensor's declared latency after its stamp",
    )


def test_a_long_pause_is_named():
    recording = frames(3)
    for k in range(3):
        for pause_s in (20, 1_000):
            capture = EPOCH + (pause_s * 1_000 + 33 * k) * MS
            recording.add("/cam", capture + 5 * MS, capture)
    (note,) = build_timeline(recording, [sensor()], {"cam": "/cam"}).notes
    assert note == (
        "nothing was recorded on a mapped topic from 20.071 s to 1000.005 s "
        "(2 such pauses above 10 s, this is the longest)"
    )


@pytest.mark.parametrize(("rate", "noted"), [(Fraction(1, 20), False), (Fraction(1), True)])
def test_the_period_of_a_slow_sensor_is_no_pause(rate, noted):
    recording = FakeRecording()
    for k in range(4):
        recording.add("/cam", EPOCH + k * 20_000 * MS, EPOCH + k * 20_000 * MS)
    notes = build_timeline(recording, [sensor(rate_hz=rate)], {"cam": "/cam"}).notes
    assert bool(notes) == noted


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
