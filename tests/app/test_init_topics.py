"""Topics become sensors where that can work, and the system file says why the others did not."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from rt_sched.app.init.job import system_text_for
from rt_sched.app.init.topics import choose_topics
from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.config import load_system_text
from rt_sched.errors import DataError
from rt_sched.messages import EncodedImage, ImuSample, PointCloud
from rt_sched.ports import RecordedMessage, TopicInfo, TopicKind

EPOCH = 1_700_000_000 * 10**9
SCHEMAS = {TopicKind.CAMERA: "Image", TopicKind.LIDAR: "PointCloud2", TopicKind.IMU: "Imu", TopicKind.OTHER: "String"}


class FakeRecording:
    """Decodes to whatever message was put in; to an error where that is a text."""

    path = "drive.mcap"
    damage = None

    def __init__(self):
        self.rows, self.kinds, self.decoded = [], {}, 0

    def topic(self, name, kind, stamps_ns, content, log_ns=None):
        """`content`: one message for all, or one for each."""
        self.kinds[name] = kind
        contents = content if isinstance(content, list) else [content] * len(stamps_ns)
        for stamp, log, item in zip(stamps_ns, log_ns or stamps_ns, contents, strict=True):
            self.rows.append(RecordedMessage(name, len(self.rows), log, stamp, item))
        return self

    @property
    def topics(self):
        counts = {name: sum(row.topic == name for row in self.rows) for name in self.kinds}
        return [
            TopicInfo(name, f"sensor_msgs/msg/{SCHEMAS[kind]}", kind, counts[name]) for name, kind in self.kinds.items()
        ]

    def messages(self, topics=None):
        ordered = sorted(self.rows, key=lambda row: (row.log_time_ns, row.index))
        return (row for row in ordered if topics is None or row.topic in topics)

    def decode(self, message):
        self.decoded += 1
        if isinstance(message.payload, str):
            raise DataError(f"{message.topic} message {message.index}: {message.payload}")
        return message.payload


def image():
    return EncodedImage(0, "cam", "mono8", bytes(8), 2, 4, 4)


def cloud(points):
    return PointCloud(0, "lidar", np.zeros((points, 3), np.float32), np.zeros(points, np.float32))


def imu():
    return ImuSample(0, "imu", np.zeros(3), np.zeros(3))


def every(period_ns, count, start_ns=EPOCH):
    return [start_ns + k * period_ns for k in range(count)]


MS = 10**6


def system_of(recording):
    return load_system_text(system_text_for(recording), file_name="made.yaml", base_dir=Path(), stages=ImportedStages())


def test_topics_that_cannot_be_decoded_are_left_out_with_the_reason():
    recording = (
        FakeRecording()
        .topic(
            "/depth", TopicKind.CAMERA, every(100 * MS, 4), "image encoding '16UC1' is not read; read are mono8, bgr8"
        )
        .topic("/front", TopicKind.CAMERA, every(100 * MS, 4), ["cut off", image(), image(), image()])
        .topic("/imu", TopicKind.IMU, every(10 * MS, 4), "values that are not finite")
        .topic("/silent", TopicKind.LIDAR, [], cloud(1))
        .topic("/text", TopicKind.OTHER, every(10 * MS, 4), "no sensor")
    )
    text = system_text_for(recording)
    comments = [line for line in text.splitlines() if "left out" in line]
    assert comments == [
        "# /depth: left out, none of its 4 messages can be decoded, first: "
        "message 0: image encoding '16UC1' is not read",
        "# /imu: left out, none of its 4 messages can be decoded, first: message 8: values that are not finite",
        "# /silent: left out, it holds no message",
    ]
    assert [sensor.name for sensor in system_of(recording).sensors] == ["front"]


def test_decoding_ends_at_the_first_good_message_of_a_topic():
    recording = FakeRecording().topic("/front", TopicKind.CAMERA, every(100 * MS, 200), image())
    system_text_for(recording)
    assert recording.decoded == 1


def test_without_a_lidar_the_backup_gets_the_camera_that_looks_ahead():
    for names, expected in ((("/left", "/front_wide", "/rear"), "front_wide"), (("/left", "/rear"), "left")):
        recording = FakeRecording()
        for name in names:
            recording.topic(name, TopicKind.CAMERA, every(100 * MS, 20), image())
        system = system_of(recording)
        (backup,) = (task for task in system.tasks if task.name == "backup")
        assert backup.stage == "safety.camera_corridor:CameraCorridor"
        assert [port.source for port in backup.inputs] == [expected]
        assert system.safety.backup == "backup"
        chains = {chain.name: chain.path for chain in system.chains}
        assert chains[f"backup_from_{expected}"] == (expected, "backup", "arbiter")


def test_fusion_and_backup_get_the_lidar_with_the_most_points():
    recording = FakeRecording()
    for name, points in (("/empty", 0), ("/roof", [9_000, *[500] * 39]), ("/front", [0, *[3_000] * 39]), ("/rear", 10)):
        sweeps = [cloud(n) for n in points] if isinstance(points, list) else cloud(points)
        recording.topic(name, TopicKind.LIDAR, every(100 * MS, 40), sweeps)
    system = system_of(recording)
    tasks = {task.name: task for task in system.tasks}
    assert "cluster_front" in {port.source for port in tasks["fuse"].inputs}
    assert [port.source for port in tasks["backup"].inputs] == ["front"]
    chains = {chain.name: chain.path for chain in system.chains}
    assert chains["backup_from_front"][0] == "front"
    assert chains["brake_from_roof"] == ("roof", "pre_roof", "cluster_roof")
    assert [sensor.name for sensor in system.sensors] == ["empty", "roof", "front", "rear"]
    assert recording.decoded < 4 * 16


@pytest.mark.parametrize(("period_ns", "rate"), [(1, Fraction(10**6)), (1_500 * 10**9, Fraction(1, 1000))])
def test_rates_that_no_system_file_may_state_are_clamped_and_said_to_be(period_ns, rate):
    recording = FakeRecording().topic("/imu", TopicKind.IMU, every(period_ns, 3), imu())
    (sensor,) = system_of(recording).sensors
    assert sensor.rate_hz == rate
    (line,) = [line for line in system_text_for(recording).splitlines() if "    rate:" in line]
    assert "measured" in line and line.endswith("this is the nearest that can be stated")


def test_a_camera_that_no_gpu_keeps_up_with_has_one_of_its_own_and_says_so():
    recording = FakeRecording()
    for name, period_ns in (("/a", 33 * MS), ("/fast", MS), ("/b", 33 * MS), ("/c", 50 * MS)):
        recording.topic(name, TopicKind.CAMERA, every(period_ns, 4), image())
    lines = system_text_for(recording).splitlines()
    (marked,) = [
        i for i, line in enumerate(lines) if line.endswith("# guess: more than its element can do; expect misses")
    ]
    assert any("infer_fast:" in line for line in lines[marked - 5 : marked])
    devices = {sensor.name: sensor.attached_to for sensor in system_of(recording).sensors}
    assert devices == {"a": ("orin-1",), "fast": ("orin-2",), "b": ("orin-3",), "c": ("orin-3",)}


def test_a_topic_that_ended_before_the_clock_was_set_is_left_out():
    recording = (
        FakeRecording()
        .topic("/boot", TopicKind.IMU, every(10 * MS, 5, start_ns=0), imu())
        .topic("/imu", TopicKind.IMU, every(10 * MS, 50), imu())
    )
    assert [sensor.name for sensor in system_of(recording).sensors] == ["imu"]
    assert "# /boot: left out, all its messages were logged before or after a jump" in system_text_for(recording)


def test_a_recording_whose_clock_was_set_half_way_is_refused_at_once():
    stamps = every(10 * MS, 5, start_ns=0) + every(10 * MS, 5)
    recording = FakeRecording().topic("/imu", TopicKind.IMU, stamps, imu())
    with pytest.raises(DataError, match=r"jumps forward by 53\.9 years between messages 4 \(/imu\) and 5 \(/imu\)"):
        system_text_for(recording)


def test_a_recording_without_a_usable_topic_gives_the_reason_for_each():
    recording = (
        FakeRecording()
        .topic("/once", TopicKind.CAMERA, [EPOCH], image())
        .topic("/bad", TopicKind.IMU, every(MS, 3), "header stamp -5 s is not a time")
        .topic("/text", TopicKind.OTHER, every(MS, 3), "no sensor")
    )
    with pytest.raises(DataError) as raised:
        choose_topics(recording)
    assert str(raised.value) == (
        "drive.mcap: no camera, LiDAR or IMU topic with two usable messages; "
        "/once: its rate cannot be told from fewer than two usable stamps; "
        "/bad: none of its 3 messages can be decoded, first: message 1: header stamp -5 s is not a time"
    )


def test_a_recording_without_sensor_data_lists_what_it_has():
    recording = FakeRecording().topic("/text", TopicKind.OTHER, every(MS, 3), "no sensor")
    with pytest.raises(DataError, match=r"topics: /text \(sensor_msgs/msg/String\)"):
        choose_topics(recording)
