"""The log is well formed, reproducible, and the shipped files are what the manifest says."""

import hashlib
import io
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from mcap.reader import make_reader
from rosbags.typesys import Stores, get_typestore

from rt_sched.errors import DataError, DeploymentError
from rt_sched.units import NS_PER_MS
from sensors.scene import write_scene
from sensors.scene.mcap_file import McapFile
from sensors.scene.rig import Rig
from sensors.scene.world import World
from sensors.scene.writer import EPOCH_NS

STORE = get_typestore(Stores.ROS2_HUMBLE)


def messages_by_topic(path: Path) -> dict[str, list]:
    found: dict[str, list] = defaultdict(list)
    with path.open("rb") as stream:
        for _, channel, message in make_reader(stream, validate_crcs=True).iter_messages(log_time_order=False):
            found[channel.topic].append(message)
    return found


def stamp_ns(schema: str, data: bytes) -> int:
    stamp = STORE.deserialize_cdr(data, schema).header.stamp
    return stamp.sec * 10**9 + stamp.nanosec


@pytest.mark.parametrize(
    ("name", "cameras", "images", "sweeps", "samples"), [("hazard", 8, 120, 40, 800), ("hazard_short", 3, 24, 8, 160)]
)
def test_shipped_log_is_complete_and_stamped(
    replay_data: Path, rig: Rig, name: str, cameras: int, images: int, sweeps: int, samples: int
) -> None:
    with (replay_data / f"{name}.mcap").open("rb") as stream:
        reader = make_reader(stream, validate_crcs=True)
        summary = reader.get_summary()
        assert summary is not None and summary.statistics is not None
        assert reader.get_header().profile == "ros2"
        assert {index.compression for index in summary.chunk_indexes} == {"zstd"}
        assert summary.statistics.message_count == cameras * images + sweeps + samples
        latest = 0
        captured: dict[str, list[int]] = defaultdict(list)
        for schema, channel, message in reader.iter_messages(log_time_order=False):
            assert schema is not None
            assert message.log_time >= latest
            latest = message.log_time
            capture = stamp_ns(schema.name, message.data)
            assert capture == message.publish_time
            assert message.sequence == len(captured[channel.topic])
            captured[channel.topic].append(capture)
            latency = message.log_time - capture
            timing = next(
                (c.timing for c in rig.cameras if c.topic == channel.topic),
                rig.lidar.timing if channel.topic == rig.lidar.topic else rig.imu.timing,
            )
            assert abs(latency - timing.latency_ns) <= timing.latency_spread_ns
    grid = {topic: [t - EPOCH_NS for t in stamps] for topic, stamps in captured.items()}
    for camera in rig.cameras:
        if camera.topic in grid:
            assert grid.pop(camera.topic) == [k * 10**9 // 30 for k in range(images)]
    assert grid == {
        rig.lidar.topic: [k * 100 * NS_PER_MS for k in range(sweeps)],
        rig.imu.topic: [k * 5 * NS_PER_MS for k in range(samples)],
    }


def test_shipped_files_are_those_of_the_manifest(replay_data: Path) -> None:
    manifest = json.loads((replay_data / "manifest.json").read_text(encoding="utf-8"))
    names = {entry["name"] for entry in manifest["files"]}
    assert names == {"hazard.mcap", "hazard_short.mcap", "hazard_truth.json"}
    total = 0
    for entry in manifest["files"]:
        data = (replay_data / entry["name"]).read_bytes()
        assert hashlib.sha256(data).hexdigest() == entry["sha256"], entry["name"]
        assert len(data) == entry["size_bytes"]
        assert entry["licence"] == "Apache-2.0"
        total += len(data)
    assert total < 30 * 10**6


def test_short_log_is_the_beginning_of_the_long_one(replay_data: Path) -> None:
    long, short = (messages_by_topic(replay_data / name) for name in ("hazard.mcap", "hazard_short.mcap"))
    assert len(short) == 5
    for topic, messages in short.items():
        begin = long[topic][: len(messages)]
        assert [(m.log_time, m.data) for m in messages] == [(m.log_time, m.data) for m in begin]


def test_two_runs_write_the_same_bytes(world: World, rig: Rig, excerpt, tmp_path: Path) -> None:
    again = write_scene(
        world,
        rig,
        tmp_path / "other_name.mcap",
        duration_s=excerpt.duration_s,
        cameras=excerpt.cameras,
        seed=excerpt.seed,
    )
    assert again.path.read_bytes() == excerpt.summary.path.read_bytes()
    assert again.sha256 == excerpt.summary.sha256
    assert again.messages == {
        "/camera/front_wide/compressed": 9,
        "/camera/left/compressed": 9,
        "/lidar/top/points": 3,
        "/imu/data": 60,
    }


def test_excerpt_is_what_was_shipped(excerpt, replay_data: Path) -> None:
    # Compressed images can differ between versions of the codec; what sensors measured cannot.
    shipped, fresh = messages_by_topic(replay_data / "hazard.mcap"), messages_by_topic(excerpt.summary.path)
    for topic in ("/lidar/top/points", "/imu/data"):
        assert [m.data for m in fresh[topic]] == [m.data for m in shipped[topic][: len(fresh[topic])]]


def test_another_seed_gives_other_noise(world: World, rig: Rig, tmp_path: Path) -> None:
    first, second = (
        messages_by_topic(
            write_scene(world, rig, tmp_path / f"{seed}.mcap", duration_s=0.02, cameras=[], seed=seed).path
        )
        for seed in (1, 2)
    )
    assert list(first) == list(second)
    assert all(a.data != b.data for a, b in zip(first["/imu/data"], second["/imu/data"], strict=True))


def test_imu_feels_gravity_and_braking(replay_data: Path) -> None:
    samples = [
        STORE.deserialize_cdr(m.data, "sensor_msgs/msg/Imu")
        for m in messages_by_topic(replay_data / "hazard.mcap")["/imu/data"]
    ]
    force = np.array([(s.linear_acceleration.x, s.linear_acceleration.y, s.linear_acceleration.z) for s in samples])
    assert force[:540].mean(axis=0) == pytest.approx([0.0, 0.0, 9.80665], abs=0.03)
    assert force[540:].mean(axis=0) == pytest.approx([-7.0, 0.0, 9.80665], abs=0.03)
    assert 0.03 < force[:540].std(axis=0).min() < force[:540].std(axis=0).max() < 0.06
    assert samples[0].orientation_covariance[0] == -1.0


def test_an_unknown_camera_is_named_with_the_choices(world: World, rig: Rig, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no camera 'frnt'; it has front_wide, front_standard"):
        write_scene(world, rig, tmp_path / "x.mcap", duration_s=0.1, cameras=["frnt"], seed=1)


def test_a_file_that_cannot_be_written_is_one_clear_error(world: World, rig: Rig, tmp_path: Path) -> None:
    with pytest.raises(DeploymentError, match=r"cannot write .*No such file or directory"):
        write_scene(world, rig, tmp_path / "missing" / "x.mcap", duration_s=0.1, cameras=[], seed=1)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_recording_leaves_nothing_behind(
    world: World, rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full_disk(self: McapFile) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(McapFile, "finish", full_disk)
    with pytest.raises(DeploymentError, match="No space left on device"):
        write_scene(world, rig, tmp_path / "x.mcap", duration_s=0.01, cameras=[], seed=1)
    assert list(tmp_path.iterdir()) == []


def test_mcap_file_is_read_back_by_the_library_through_its_index() -> None:
    stream = io.BytesIO()
    log = McapFile(stream, chunk_bytes=200)
    for topic in ("/a", "/b"):
        log.add_channel(topic, "std_msgs/msg/Empty", "")
    for k in range(50):
        log.add_message("/a" if k % 3 else "/b", bytes([k]) * 40, log_time_ns=1000 + k, publish_time_ns=900 + k)
    log.finish()
    reader = make_reader(io.BytesIO(stream.getvalue()), validate_crcs=True)
    summary = reader.get_summary()
    assert summary is not None and summary.statistics is not None
    assert summary.statistics.chunk_count == len(summary.chunk_indexes) > 5
    assert (summary.statistics.message_start_time, summary.statistics.message_end_time) == (1000, 1049)
    found = [(m.log_time, m.publish_time, m.data) for _, _, m in reader.iter_messages(topics=["/b"])]
    assert found == [(1000 + k, 900 + k, bytes([k]) * 40) for k in range(0, 50, 3)]


def test_empty_mcap_file_is_readable() -> None:
    stream = io.BytesIO()
    McapFile(stream).finish()
    assert list(make_reader(io.BytesIO(stream.getvalue()), validate_crcs=True).iter_messages()) == []
