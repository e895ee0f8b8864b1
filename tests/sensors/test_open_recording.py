"""Every format and layout is read: the same messages, in order, with both times."""

from __future__ import annotations

import itertools
import struct
from pathlib import Path

import numpy as np
import pytest
import zstandard
from mcap.writer import CompressionType, Writer

from rt_sched.errors import DataError
from rt_sched.messages import EncodedImage, ImuSample, PointCloud
from rt_sched.ports.source import Recording, TopicKind
from sensors import block_recording, mcap_recording
from sensors.block_index import Block
from sensors.recording import open_recording


def expected(ros, items):
    """(topic, index, log time, serialised data) in the order that is promised."""
    numbered = [(item.log_ns, index, item.topic, ros.serialize(item.message)) for index, item in enumerate(items)]
    return [(topic, index, log_ns, data) for log_ns, index, topic, data in sorted(numbered)]


def read(recording: Recording, topics=None):
    return [(m.topic, m.index, m.log_time_ns, bytes(m.payload.data)) for m in recording.messages(topics)]


MCAP_LAYOUTS = [
    {
        "compression": compression,
        "use_chunking": chunked,
        "summary": summary,
        "enable_crcs": crcs,
        "enable_data_crcs": crcs,
    }
    for compression, chunked, summary, crcs in itertools.product(
        (CompressionType.NONE, CompressionType.ZSTD, CompressionType.LZ4), (True, False), (True, False), (True, False)
    )
]


@pytest.mark.parametrize("layout", MCAP_LAYOUTS, ids=lambda o: "-".join(str(v) for v in o.values()))
def test_every_mcap_layout_reads_the_same(tmp_path, ros2, layout):
    items = ros2.drive()
    recording = open_recording(ros2.write_mcap(tmp_path / "a.mcap", items, **layout))
    assert [(t.name, t.messages) for t in recording.topics] == [("/cam", 12), ("/imu", 12), ("/lidar", 12)]
    assert read(recording) == expected(ros2, items)
    assert [(t.name, t.messages) for t in recording.topics] == [("/cam", 12), ("/imu", 12), ("/lidar", 12)]
    assert recording.damage is None


@pytest.mark.parametrize("compression", ["none", "bz2", "lz4"])
@pytest.mark.parametrize("salvage", [False, True])
def test_every_rosbag1_compression_reads_the_same(tmp_path, ros1, compression, salvage):
    items = ros1.drive()
    recording = open_recording(ros1.write_bag(tmp_path / "a.bag", items, compression), salvage=salvage)
    assert [(t.name, t.schema, t.kind, t.messages) for t in recording.topics] == [
        ("/cam", "sensor_msgs/msg/Image", TopicKind.CAMERA, 12),
        ("/imu", "sensor_msgs/msg/Imu", TopicKind.IMU, 12),
        ("/lidar", "sensor_msgs/msg/PointCloud2", TopicKind.LIDAR, 12),
    ]
    assert read(recording) == expected(ros1, items)
    assert recording.damage is None


def test_ros1_messages_inside_mcap(tmp_path, ros1):
    items = ros1.drive(3)
    recording = open_recording(ros1.write_mcap(tmp_path / "a.mcap", items))
    assert read(recording) == expected(ros1, items)
    decoded = [recording.decode(m) for m in recording.messages()]
    assert [type(d) for d in decoded[:3]] == [EncodedImage, PointCloud, ImuSample]


@pytest.mark.parametrize("whole_folder", [True, False])
@pytest.mark.parametrize("salvage", [False, True])
def test_rosbag2_sqlite(tmp_path, ros2, whole_folder, salvage):
    items = ros2.drive()
    items[3], items[4] = items[4], items[3]
    folder = ros2.write_rosbag2(tmp_path / "bag", items)
    recording = open_recording(folder if whole_folder else next(folder.glob("*.db3")), salvage=salvage)
    assert [(t.name, t.messages) for t in recording.topics] == [("/cam", 12), ("/imu", 12), ("/lidar", 12)]
    assert read(recording) == expected(ros2, items)
    assert read(recording, ["/imu"]) == [row for row in expected(ros2, items) if row[0] == "/imu"]
    assert all(recording.decode(m) for m in recording.messages())


def test_format_is_told_by_content_not_by_name(tmp_path, ros1, ros2):
    bag = ros1.write_bag(tmp_path / "a.bag", ros1.drive(1)).rename(tmp_path / "a.mcap")
    mcap = ros2.write_mcap(tmp_path / "b.mcap", ros2.drive(1)).rename(tmp_path / "b.bag")
    assert len(read(open_recording(bag))) == len(read(open_recording(mcap))) == 3


@pytest.mark.parametrize("chunked", [True, False])
@pytest.mark.parametrize("generation", [1, 2])
def test_messages_out_of_order_and_equal_log_times(tmp_path, ros1, ros2, generation, chunked):
    ros = ros1 if generation == 1 else ros2
    items = ros.drive()
    shuffled = [items[i]._replace(log_ns=10**9 + int(t)) for i, t in enumerate(np.arange(len(items)) * 7 % 5)]
    if generation == 1:
        path = ros.write_bag(tmp_path / "a.bag", shuffled)
    else:
        path = ros.write_mcap(tmp_path / "a.mcap", shuffled, use_chunking=chunked)
    recording = open_recording(path)
    assert read(recording) == expected(ros, shuffled)
    assert read(recording) == read(recording), "iterating again gives the same"
    assert read(recording, ["/lidar"]) == [row for row in expected(ros, shuffled) if row[0] == "/lidar"]
    assert read(recording, []) == []


def test_chunks_are_dropped_from_memory_and_read_again(tmp_path, ros2, monkeypatch):
    monkeypatch.setattr(block_recording, "CACHE_BYTES", 5000)
    items = [item._replace(log_ns=10**9 + i * 7 % 36) for i, item in enumerate(ros2.drive())]
    recording = open_recording(ros2.write_mcap(tmp_path / "a.mcap", items, chunk_size=2000))
    assert read(recording) == expected(ros2, items)
    assert recording._cache_bytes <= 5000


def test_capture_time_is_the_header_stamp_and_none_where_zero_or_absent(tmp_path, ros2):
    text = ros2.new("std_msgs/msg/String", data="hello")
    twist = ros2.new(
        "geometry_msgs/msg/PointStamped",
        header=ros2.header(7_000_000_123, "map"),
        point=ros2.new("geometry_msgs/msg/Point", x=0.0, y=0.0, z=0.0),
    )
    items = [
        ("/imu", 10, ros2.imu(1_700_000_000_000_000_001)),
        ("/imu", 20, ros2.imu(0)),
        ("/text", 30, text),
        ("/point", 40, twist),
    ]
    recording = open_recording(ros2.write_mcap(tmp_path / "a.mcap", items))
    messages = list(recording.messages())
    assert [m.capture_time_ns for m in messages] == [1_700_000_000_000_000_001, None, None, 7_000_000_123]
    assert [m.log_time_ns for m in messages] == [10, 20, 30, 40]
    assert recording.decode(messages[0]).capture_time_ns == 1_700_000_000_000_000_001
    assert recording.decode(messages[1]).capture_time_ns == 0
    with pytest.raises(DataError, match="std_msgs/msg/String is not decoded"):
        recording.decode(messages[2])


def test_big_endian_cdr(tmp_path, ros2):
    path = tmp_path / "a.mcap"
    message = ros2.imu(5_000_000_007, rate=(1.5, -2.5, 3.5))
    with path.open("wb") as stream:
        writer = Writer(stream)
        writer.start()
        channel = writer.register_channel("/imu", "cdr", writer.register_schema("sensor_msgs/msg/Imu", "ros2msg", b""))
        data = bytes(ros2.store.serialize_cdr(message, "sensor_msgs/msg/Imu", little_endian=False))
        writer.add_message(channel, 1, data, 1)
        writer.finish()
    recording = open_recording(path)
    (read_back,) = recording.messages()
    assert read_back.capture_time_ns == 5_000_000_007
    assert recording.decode(read_back).angular_velocity_rad_s.tolist() == [1.5, -2.5, 3.5]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "too short for a header"),
        (b"\x00\x01\x00\x00\x01\x00\x00\x00", "too short for a header"),
        (b"\x00\x07\x00\x00" + bytes(8), "CDR encapsulation 00 07"),
        (b"\x00\x01\x00\x00\x01\x00\x00\x00\xff\xff\xff\xff", "is not a time"),
        (b"\x00\x01\x00\x00\xff\xff\xff\xff\x00\x00\x00\x00", "is not a time"),
        (b"\x00\x01\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00", "damaged"),
        (b"\x00\x01\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00\xff\xff\xff\xffabc", "damaged"),
    ],
)
def test_bad_message_bytes_are_refused_with_the_reason(tmp_path, data, reason):
    path = tmp_path / "a.mcap"
    with path.open("wb") as stream:
        writer = Writer(stream)
        writer.start()
        channel = writer.register_channel("/imu", "cdr", writer.register_schema("sensor_msgs/msg/Imu", "ros2msg", b""))
        writer.add_message(channel, 1, data, 1)
        writer.finish()
    recording = open_recording(path)
    (message,) = recording.messages()
    with pytest.raises(DataError, match=f"/imu message 0: .*{reason}"):
        recording.decode(message)


def test_other_encodings_and_changing_types_are_named(tmp_path, ros2):
    path = tmp_path / "a.mcap"
    with path.open("wb") as stream:
        writer = Writer(stream)
        writer.start()
        json = writer.register_channel("/a", "json", writer.register_schema("Tick", "jsonschema", b"{}"))
        imu = writer.register_channel("/b", "cdr", writer.register_schema("sensor_msgs/msg/Imu", "ros2msg", b""))
        cloud = writer.register_channel(
            "/b", "cdr", writer.register_schema("sensor_msgs/msg/PointCloud2", "ros2msg", b"")
        )
        writer.add_message(json, 1, b"{}", 1)
        writer.add_message(imu, 2, ros2.serialize(ros2.imu(5)), 2)
        writer.add_message(cloud, 3, ros2.serialize(ros2.cloud(5, np.zeros(1, [("x", "<f4")]))), 3)
        writer.finish()
    recording = open_recording(path)
    assert [(t.name, t.kind, t.messages) for t in recording.topics] == [
        ("/a", TopicKind.OTHER, 1),
        ("/b", TopicKind.IMU, 2),
    ]
    problems = [m.problem for m in recording.messages()]
    assert problems[0] == "message encoding 'json' is not read; cdr and ros1 are"
    assert problems[1] is None
    assert problems[2] == "type sensor_msgs/msg/PointCloud2 on a topic that began with sensor_msgs/msg/Imu"


@pytest.mark.parametrize("text", [b"float64 nonsense[[\n", b"uint32 only_field\n", b"\xff\xfe"])
def test_an_unusual_or_unreadable_definition_gives_data_or_a_data_error(tmp_path, ros2, text):
    path = tmp_path / "a.mcap"
    with path.open("wb") as stream:
        writer = Writer(stream)
        writer.start()
        schema = writer.register_schema("sensor_msgs/msg/Imu", "ros2msg", text)
        writer.add_message(writer.register_channel("/imu", "cdr", schema), 1, ros2.serialize(ros2.imu(5)), 1)
        writer.finish()
    recording = open_recording(path)
    (message,) = recording.messages()
    try:
        assert recording.decode(message).linear_acceleration_m_s2.tolist() == [1, 2, 9.8]
    except DataError as error:
        assert "/imu message 0" in str(error)


RULER = "=" * 80
IDL = f"""{RULER}
IDL: sensor_msgs/msg/CompressedImage
#include "std_msgs/msg/Header.idl"
module sensor_msgs {{ module msg {{
  struct CompressedImage {{
    std_msgs::msg::Header header;
    string format;
    double exposure;
    sequence<uint8> data;
  }};
}}; }};
{RULER}
IDL: std_msgs/msg/Header
module std_msgs {{ module msg {{
  struct Header {{ builtin_interfaces::msg::Time stamp; string frame_id; }};
}}; }};
{RULER}
IDL: builtin_interfaces/msg/Time
module builtin_interfaces {{ module msg {{
  struct Time {{ int32 sec; uint32 nanosec; }};
}}; }};
"""
MSG = f"""std_msgs/Header header
string format
float64 exposure
uint8[] data
{RULER}
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
"""


@pytest.mark.parametrize(("text_format", "text"), [("ros2msg", MSG), ("ros2idl", IDL), ("omgidl", IDL)])
def test_the_definition_in_the_file_is_the_one_that_counts(tmp_path, text_format, text):
    """A type with the usual name and a field that the usual one lacks."""
    png = b"\x89PNG\r\n\x1a\n....IEND"
    data = b"\x00\x01\x00\x00" + struct.pack("<iII4sI4sdI", 5, 7, 4, b"cam\0", 4, b"png\0", 0.01, len(png)) + png
    path = tmp_path / "a.mcap"
    with path.open("wb") as stream:
        writer = Writer(stream)
        writer.start()
        schema = writer.register_schema("sensor_msgs/msg/CompressedImage", text_format, text.encode())
        writer.add_message(writer.register_channel("/cam", "cdr", schema), 1, data, 1)
        writer.finish()
    recording = open_recording(path)
    image = recording.decode(next(iter(recording.messages())))
    assert (image.frame_id, image.capture_time_ns, bytes(image.data)) == ("cam", 5_000_000_007, png)


@pytest.mark.parametrize("payload", [b"", b"some records" * 100])
def test_zstd_frames_that_do_not_state_their_size(payload):
    stored = zstandard.ZstdCompressor(write_content_size=False).compress(payload)
    block = Block(0, len(stored), 0, len(stored), "zstd", len(payload))
    assert mcap_recording._decompress_whole(block, stored) == payload


def test_imu_with_values_that_are_not_finite(tmp_path, ros2):
    path = ros2.write_mcap(tmp_path / "a.mcap", [("/imu", 1, ros2.imu(5, rate=(0, float("nan"), 0)))])
    recording = open_recording(path)
    with pytest.raises(DataError, match="/imu message 0: IMU sample with values that are not finite"):
        recording.decode(next(iter(recording.messages())))


def test_a_recording_without_messages(tmp_path, ros1, ros2):
    assert open_recording(ros2.write_mcap(tmp_path / "a.mcap", [])).topics == ()
    assert list(open_recording(ros2.write_mcap(tmp_path / "b.mcap", [], summary=False)).messages()) == []
    assert list(open_recording(ros1.write_bag(tmp_path / "a.bag", [])).messages()) == []


def make_folder(path: Path) -> Path:
    path.mkdir()
    return path


def with_bytes(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda d: d / "none.mcap", "no such file"),
        (lambda d: make_folder(d / "folder"), "a folder without a recording"),
        (lambda d: with_bytes(d / "empty.mcap", b""), "the file is empty"),
        (lambda d: with_bytes(d / "text.mcap", b"hello"), "not a recording; read are MCAP, ROS 1 bags"),
        (lambda d: with_bytes(d / "old.bag", b"#ROSBAG V1.2\nabc"), "#ROSBAG V1.2.*V2.0' is read"),
        (lambda d: with_bytes(d / "a.db3", b"SQLite format 3\x00" + bytes(100)), "not a readable ROS 2 bag"),
        (lambda d: with_bytes(d / "a.mcap", b"\x89MCAP0\r\n"), "ends before its footer at byte 8; --salvage"),
        (lambda d: "a\0b", "no such file"),
    ],
)
def test_what_is_no_recording_gives_one_clear_line(tmp_path, make, reason):
    with pytest.raises(DataError, match=reason) as caught:
        open_recording(make(tmp_path))
    assert "\n" not in str(caught.value)


def test_a_folder_with_several_recordings_names_them(tmp_path, ros2):
    ros2.write_mcap(tmp_path / "a.mcap", [])
    ros2.write_mcap(tmp_path / "b.mcap", [])
    with pytest.raises(DataError, match=r"2 recordings; name one: a\.mcap, b\.mcap"):
        open_recording(tmp_path)


def test_a_database_that_is_no_bag(tmp_path):
    import sqlite3

    with sqlite3.connect(tmp_path / "a.db3") as database:
        database.execute("CREATE TABLE other (id INTEGER)")
    database.close()
    with pytest.raises(DataError, match="not a ROS 2 bag"):
        open_recording(tmp_path / "a.db3")


def test_messages_stay_valid_after_close_and_reading_does_not(tmp_path, ros2):
    recording = open_recording(ros2.write_mcap(tmp_path / "a.mcap", ros2.drive(2)))
    first = next(iter(recording.messages()))
    recording.close()
    recording.close()
    assert recording.decode(first).encoding == "bgr8"
    with pytest.raises(DataError, match="was closed"):
        list(recording.messages())
