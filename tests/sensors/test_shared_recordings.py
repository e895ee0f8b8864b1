"""Real and odd recordings that are not part of the project; skipped where they are absent."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction

import pytest

from rt_sched.errors import DataError
from rt_sched.messages import EncodedImage, PointCloud
from rt_sched.ports.source import TopicKind
from sensors.pixels import decode_bgr
from sensors.recording import open_recording
from sensors.survey import survey


def read_all(path, *, salvage=False):
    recording = open_recording(path, salvage=salvage)
    messages = list(recording.messages())
    assert [(m.log_time_ns, m.index) for m in messages] == sorted((m.log_time_ns, m.index) for m in messages)
    assert Counter(m.topic for m in messages) == {t.name: t.messages for t in recording.topics if t.messages}
    return recording, messages


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("kitti360_small_50f_zstd.mcap", {"/camera/front/compressed": 50, "/lidar/top/points": 50}),
        (
            "kitti78_small_f00-39_lz4.bag",
            {"/kitti/camera_color_left/image_raw/compressed": 40, "/kitti/velo/pointcloud": 40},
        ),
        ("euroc_stereo_imu_20f.bag", {"/cam0/image_raw": 20, "/cam1/image_raw": 20, "/imu0": 195}),
        (
            "comma2k19_60s_imu_ticks_can.mcap",
            {"/camera/frame_tick": 1200, "/imu": 6256, "/can/radar_track": 10100, "/can/speed": 4974},
        ),
        ("test1.bag", {"/imu/data": 11865, "/husky_velocity_controller/odom": 3952, "/fix": 989}),
    ],
)
def test_recordings(shared_data, name, counts):
    recording, messages = read_all(shared_data / "recordings" / name)
    assert Counter(m.topic for m in messages) == counts
    kinds = {t.name: t.kind for t in recording.topics}
    first_images = {}
    for message in messages:
        if kinds[message.topic] is TopicKind.OTHER:
            assert message.problem is not None
            continue
        decoded = recording.decode(message)
        assert decoded.capture_time_ns == message.capture_time_ns > 0
        if isinstance(decoded, EncodedImage):
            first_images.setdefault(message.topic, decoded)
        elif isinstance(decoded, PointCloud):
            assert len(decoded.xyz_m) > 1000
    for image in first_images.values():
        assert decode_bgr(image).bgr.std() > 10


def test_survey_of_recordings(shared_data):
    found = {}
    for name in ("kitti360_small_50f_zstd.mcap", "euroc_stereo_imu_20f.bag", "test1.bag"):
        found |= {t.name: t for t in survey(open_recording(shared_data / "recordings" / name)).topics}
    assert found["/camera/front/compressed"].nominal_rate_hz == Fraction(955, 100)
    assert found["/lidar/top/points"].points_median > 10_000
    assert found["/cam0/image_raw"].nominal_rate_hz == 20
    assert (found["/cam0/image_raw"].image_height, found["/cam0/image_raw"].image_encoding) == (480, "mono8")
    assert found["/imu0"].nominal_rate_hz == 200
    assert found["/husky_velocity_controller/odom"].longest_gap_ns == pytest.approx(208_000_000, abs=10**6)
    assert all(t.undecodable == 0 for t in found.values())


@pytest.mark.parametrize(
    "name",
    [
        "_ok.bag",
        "_ok.mcap",
        "all_same_log_time.mcap",
        "no_index_no_statistics.mcap",
        "out_of_order_log_time.mcap",
        "rosbag2_no_metadata",
    ],
)
def test_odd_but_intact(shared_data, name):
    recording, messages = read_all(shared_data / "odd" / name)
    assert len(messages) == 12
    assert all(recording.decode(message) for message in messages)


@pytest.mark.parametrize(
    ("name", "offset", "saved"),
    [
        ("corrupt_crc_only.mcap", 167197, 10),
        ("corrupt_zstd_frame.mcap", 167197, 10),
        ("trunc_mid_chunk.mcap", 167197, 6),
        ("truncated.bag", 4109, 7),
    ],
)
def test_odd_and_damaged(shared_data, name, offset, saved):
    path = shared_data / "odd" / name
    with pytest.raises(DataError, match=f"at byte {offset}; --salvage"):
        list(open_recording(path).messages())
    recording, messages = read_all(path, salvage=True)
    assert len(messages) >= saved
    assert f"at byte {offset}" in recording.damage


@pytest.mark.parametrize(
    ("name", "refused"),
    [
        ("image_variants.mcap", {"/img/zero_size", "/img/data_short", "/img/weird_encoding"}),
        ("pointcloud2_variants.mcap", {"/pc/data_short"}),
    ],
)
def test_odd_messages(shared_data, name, refused):
    recording, messages = read_all(shared_data / "odd" / name)
    reasons = {}
    for message in messages:
        try:
            decoded = recording.decode(message)
            if isinstance(decoded, EncodedImage):
                assert decode_bgr(decoded).bgr.shape == (decoded.height, decoded.width, 3)
        except DataError as error:
            reasons[message.topic] = str(error)
    assert reasons.keys() == refused


def test_mcap_conformance_files(shared_data):
    paths = sorted((shared_data / "mcap_conformance").rglob("*.mcap"))
    assert len(paths) == 416
    for path in paths:
        records = json.loads(path.with_suffix(".json").read_text())["records"]
        expected = [dict(map(tuple, r["fields"])) for r in records if r["type"] == "Message"]
        _, messages = read_all(path)
        rows = [(int(e["log_time"]), index, [int(b) for b in e["data"]]) for index, e in enumerate(expected)]
        assert [(m.log_time_ns, m.index, list(m.payload.data)) for m in messages] == sorted(rows), path
