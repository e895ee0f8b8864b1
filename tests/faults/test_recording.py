"""A recording with faults: only what they strike is another one, in an order and with numbers that others rely on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from fault_cases import AT_NS, drive
from hypothesis import given, settings
from hypothesis import strategies as st

from rt_sched.errors import DataError
from rt_sched.faults.clocks import SensorClock, sensor_clocks
from rt_sched.faults.contents import draw
from rt_sched.faults.kinds import BY_NAME
from rt_sched.faults.recording import ON_MESSAGES, FaultedRecording
from rt_sched.faults.script import Damage, Injection, Strike, Trigger
from rt_sched.model import ArrivalClock, Sensor, SensorKind
from rt_sched.ports import RecordedMessage, TopicInfo, TopicKind
from rt_sched.runtime.timeline import build_timeline

PERIOD_NS = 50_000_000
ON_STREAMS = ("message.drop", "message.delay", "message.duplicate", "message.reorder", "clock.step", "camera.freeze")


@dataclass(frozen=True)
class Made:
    """Messages of two topics, each 50 ms apart; what they hold is their own number."""

    path: str = "made"
    damage: str | None = None

    @property
    def topics(self):
        return [TopicInfo(name, "sensor_msgs/msg/Image", TopicKind.CAMERA, 20) for name in ("/a", "/b")]

    def messages(self, topics=None):
        for index in range(40):
            topic, log_ns = ("/a", "/b")[index % 2], index // 2 * PERIOD_NS + index % 2
            if topics is None or topic in topics:
                yield RecordedMessage(topic, index, log_ns, log_ns - 5, index)

    def decode(self, message):
        return message.payload

    def close(self):
        pass


def faulted(*strikes, seed=0):
    sensors = [Sensor(name, SensorKind.CAMERA, Fraction(20), ("ecu",), (f"/{name}",)) for name in ("a", "b")]
    clocks = dict.fromkeys(("/a", "/b"), SensorClock(0, 0, 0))
    return FaultedRecording(Made(), sensors, {"a": "/a", "b": "/b"}, strikes, clocks, seed)


def strike(kind, begin_ns, end_ns, name="f", **values):
    return Strike(Injection(name, kind, "a", Trigger(begin_ns), **values), begin_ns, end_ns)


strikes = st.builds(
    lambda kind, begin, lasts, share, by: strike(
        kind,
        begin,
        None if lasts is None else begin + lasts,
        share=Fraction(1) if kind in ("message.reorder", "camera.freeze") else share,
        by_ns=by if kind == "clock.step" else abs(by),
    ),
    st.sampled_from(ON_STREAMS),
    st.integers(0, 21 * PERIOD_NS),
    st.none() | st.integers(1, 21 * PERIOD_NS),
    st.fractions(0, 1).filter(bool),
    st.integers(-3 * PERIOD_NS, 3 * PERIOD_NS).filter(bool),
)


def test_without_faults_nothing_changes():
    assert [vars_of(one) for one in faulted().messages()] == [vars_of(one) for one in Made().messages()]


def vars_of(message):
    return message.topic, message.index, message.log_time_ns, message.capture_time_ns, message.payload


@settings(max_examples=20)
@given(st.lists(strikes, max_size=3))
def test_messages_keep_what_a_recording_promises(some):
    some = [replace(one, fault=replace(one.fault, name=f"f{number}")) for number, one in enumerate(some)]
    recording = faulted(*some)
    messages = list(recording.messages())
    order = [(one.log_time_ns, one.index) for one in messages]
    assert order == sorted(order)
    assert len({one.index for one in messages if one.topic == "/b"}) == 20
    assert [vars_of(one) for one in recording.messages()] == [vars_of(one) for one in messages]
    assert [vars_of(one) for one in recording.messages(["/a"])] == [
        vars_of(one) for one in messages if one.topic == "/a"
    ]
    counts = {topic.name: topic.messages for topic in recording.topics}
    assert counts == {name: sum(one.topic == name for one in messages) for name in counts}


@settings(max_examples=20)
@given(strikes)
def test_only_what_arrives_meanwhile_is_struck(one):
    sent = {message.index: vars_of(message) for message in Made().messages()}
    there = {message.index: vars_of(message) for message in faulted(one).messages()}
    for index, message in sent.items():
        if message[0] == "/b" or not one.holds(message[2]):
            assert there[index] == message
    if one.fault.share == 1 and one.fault.kind_name not in ("message.duplicate", "message.reorder", "camera.freeze"):
        struck = [index for index, message in sent.items() if message[0] == "/a" and one.holds(message[2])]
        assert all(there.get(index) != sent[index] for index in struck)


@settings(max_examples=20)
@given(strikes.filter(lambda one: one.fault.kind_name != "camera.freeze"))
def test_indices_name_one_message_each(one):
    indices = [message.index for message in faulted(one).messages()]
    assert len(set(indices)) == len(indices)


def test_each_kind_does_to_a_stream_what_it_says():
    def passed(kind, **values):
        recording = faulted(strike(kind, 2 * PERIOD_NS, 4 * PERIOD_NS, **values))
        return [(one.log_time_ns, one.capture_time_ns, recording.decode(one)) for one in recording.messages(["/a"])][:6]

    usual = [(n * PERIOD_NS, n * PERIOD_NS - 5, 2 * n) for n in range(7)]
    assert passed("message.drop") == [*usual[:2], *usual[4:7], (7 * PERIOD_NS, 7 * PERIOD_NS - 5, 14)]
    late = [(log + 7, stamp, held) for log, stamp, held in usual[2:4]]
    assert passed("message.delay", by_ns=7) == [*usual[:2], *late, *usual[4:6]]
    stepped = [(log, stamp - 9, held) for log, stamp, held in usual[2:4]]
    assert passed("clock.step", by_ns=-9) == [*usual[:2], *stepped, *usual[4:6]]
    frozen = [(log, stamp, 2) for log, stamp, _ in usual[2:4]]
    assert passed("camera.freeze") == [*usual[:2], *frozen, *usual[4:6]]
    twice = [(log + PERIOD_NS // 100, stamp, held) for log, stamp, held in usual[2:4]]
    assert passed("message.duplicate") == [*usual[:3], twice[0], usual[3], twice[1]]
    overtaken = (usual[2][0] + 3 * PERIOD_NS // 2, *usual[2][1:])
    assert passed("message.reorder") == [*usual[:2], usual[3], overtaken, *usual[4:6]]


@settings(max_examples=20)
@given(st.integers(0, 5), st.fractions(Fraction(1, 10), Fraction(9, 10)))
def test_a_share_is_drawn_by_the_seed_and_the_message_alone(seed, share):
    def kept(*more):
        recording = faulted(strike("message.drop", 0, None, share=share), *more, seed=seed)
        return {one.index for one in recording.messages(["/a"])}

    wanted = {index for index in range(0, 40, 2) if Fraction(draw(seed, "f", index), 2**64) >= share}
    other = Strike(Injection("g", "message.delay", "a", Trigger(0), by_ns=3), 0, None)
    assert kept() == kept(other) == wanted


def decoded(kind, target, **values):
    """The first message of a shipped sensor that a fault strikes, as recorded and as struck."""
    clean = drive()
    topics = clean.mapping.sensor_to_topic
    injection = Injection("f", kind, target, Trigger(AT_NS), **values)
    strikes = [Strike(injection, AT_NS, None)]
    recording = FaultedRecording(clean.recording, clean.system.sensors, topics, strikes, clean.clocks, 3)
    message = next(one for one in recording.messages([topics[target]]) if recording.arrival_ns(one) >= AT_NS)
    as_sent = next(one for one in clean.recording.messages([topics[target]]) if one.index == message.index)
    return clean.recording.decode(as_sent), lambda: recording.decode(message)


@pytest.mark.parametrize(("kind", "level"), [("camera.black", 0), ("camera.saturate", 255)])
def test_pictures_of_one_level_are_still_pictures(kind, level):
    from sensors.pixels import decode_bgr

    before, after = decoded(kind, "rear")
    image = after()
    assert (image.encoding, image.capture_time_ns) == (before.encoding, before.capture_time_ns)
    assert decode_bgr(image).bgr.shape == decode_bgr(before).bgr.shape
    assert (decode_bgr(image).bgr == level).all()


def test_a_sector_takes_the_points_in_it_and_no_others():
    before, after = decoded("lidar.sector", "lidar_top", from_deg=Fraction(150), to_deg=Fraction(-120))
    angle = np.degrees(np.arctan2(before.xyz_m[:, 1], before.xyz_m[:, 0]))
    outside = ~((angle >= 150) | (angle <= -120))
    assert 0 < outside.sum() < len(angle)
    cloud = after()
    assert np.array_equal(cloud.xyz_m, before.xyz_m[outside])
    assert np.array_equal(cloud.intensity, before.intensity[outside])


@pytest.mark.parametrize("target", ["rear", "lidar_top", "imu"])
def test_a_message_that_is_cut_off_is_refused_with_its_reason(target):
    _, after = decoded("payload.corrupt", target)
    with pytest.raises(DataError, match=str(drive().mapping.sensor_to_topic[target])):
        after()


def test_flipped_bits_leave_header_and_length():
    before, after = decoded("payload.corrupt", "lidar_top", how=Damage.FLIP)
    cloud = after()
    assert (cloud.capture_time_ns, cloud.frame_id) == (before.capture_time_ns, before.frame_id)
    assert not np.array_equal(cloud.xyz_m, before.xyz_m)


def test_every_kind_is_carried_out_somewhere():
    from rt_sched.faults import schedule

    on_schedule = {*schedule._LOSSES, *schedule._KILLS, "process.stall", "overrun"}
    assert {name for name, kind in BY_NAME.items() if kind.lockstep} == ON_MESSAGES | on_schedule
    assert not ON_MESSAGES & on_schedule


@pytest.mark.parametrize("arrival", list(ArrivalClock))
@pytest.mark.parametrize("ahead_ns", [0, 10**12, -(10**12)])
def test_clocks_are_read_as_the_time_line_reads_them(arrival, ahead_ns):
    """Stamps on another clock than log times are shifted alike, and arrivals are those of the samples."""

    class Ahead(Made):
        def messages(self, topics=None):
            for one in super().messages(topics):
                yield replace(one, log_time_ns=one.log_time_ns + 10**15, capture_time_ns=one.capture_time_ns + at_ns)

    at_ns = 10**15 + ahead_ns
    sensors = [
        Sensor(name, SensorKind.CAMERA, Fraction(20), ("ecu",), (f"/{name}",), latency_ns=5, arrival_clock=arrival)
        for name in ("a", "b")
    ]
    topics = {"a": "/a", "b": "/b"}
    timeline = build_timeline(Ahead(), sensors, topics)
    clocks = sensor_clocks(Ahead(), timeline, sensors, topics)
    messages = {one.index: one for one in Ahead().messages()}
    for row, index in enumerate(timeline.file_index):
        message = messages[int(index)]
        clock = clocks[message.topic]
        assert clock.capture_ns(message) == timeline.samples.capture_ns[row]
        assert clock.arrival_ns(message) == timeline.samples.arrival_ns[row]
    assert all((clock.log_shift_ns is None) == (arrival is ArrivalClock.CAPTURE) for clock in clocks.values())
