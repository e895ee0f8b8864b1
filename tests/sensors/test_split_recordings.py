"""One recording in several files: the same messages as in one, at the same times, with the gaps between files."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from rt_sched.errors import DataError
from sensors.recording import open_recording

WRITERS = {"mcap": ("write_mcap", ".mcap"), "bag": ("write_bag", ".bag")}
METADATA = "rosbag2_bagfile_information:\n  version: 5\n  relative_file_paths:\n"


def seen(recording):
    return [(m.topic, m.log_time_ns, m.capture_time_ns, m.problem, bytes(m.payload.data)) for m in recording.messages()]


def write_parts(ros, folder, parts, *, names="drive_{}", writer="write_mcap", suffix=".mcap"):
    folder.mkdir(exist_ok=True)
    return [
        getattr(ros, writer)(folder / f"{names.format(number)}{suffix}", items) for number, items in enumerate(parts)
    ]


def thirds(items):
    size = len(items) // 3
    return items[:size], items[size : 2 * size], items[2 * size :]


@pytest.mark.parametrize("kind", WRITERS)
def test_a_split_recording_is_the_whole_one(tmp_path, ros1, ros2, kind):
    ros, (writer, suffix) = (ros1 if kind == "bag" else ros2), WRITERS[kind]
    items = ros.drive(12)
    whole = open_recording(getattr(ros, writer)(tmp_path / f"whole{suffix}", items))
    files = write_parts(ros, tmp_path / "split", thirds(items), writer=writer, suffix=suffix)
    split = open_recording(tmp_path / "split")
    assert seen(split) == seen(whole)
    assert split.topics == whole.topics
    assert (split.path, split.damage) == (str(tmp_path / "split"), None)
    assert list(split.files) == [str(file) for file in files]
    messages = list(split.messages())
    assert [m.index for m in messages] == list(range(len(items)))
    assert [type(split.decode(m)) for m in messages] == [type(whole.decode(m)) for m in whole.messages()]
    assert [m.topic for m in split.messages(["/imu"])] == ["/imu"] * 12


def test_a_gap_between_files_is_kept(tmp_path, ros2):
    start, pause = ros2.drive(4), 5_000_000_000
    later = ros2.drive(4, start_ns=1_700_000_000_000_000_000 + pause)
    write_parts(ros2, tmp_path / "split", (start, later))
    times = [m.log_time_ns for m in open_recording(tmp_path / "split").messages()]
    assert times == sorted(times)
    assert max(b - a for a, b in pairwise(times)) > pause - 400_000_000


@pytest.mark.parametrize("seed", range(5))
def test_files_that_overlap_are_merged_in_the_order_of_logging(tmp_path, ros2, seed):
    """As recorders that write topics apart, or rotate while messages wait."""
    items, draw = ros2.drive(12), np.random.default_rng(seed)
    parts = [[], [], []]
    for item in items:
        parts[draw.integers(3)].append(item)
    write_parts(ros2, tmp_path / "split", parts)
    split = open_recording(tmp_path / "split")
    assert [(m.topic, m.log_time_ns) for m in split.messages()] == [(i.topic, i.log_ns) for i in items]
    pairs = [(m.log_time_ns, m.index) for m in split.messages()]
    assert pairs == sorted(pairs) and len({index for _, index in pairs}) == len(items)


def test_ten_files_and_more_are_in_the_order_of_their_numbers(tmp_path, ros2):
    items = ros2.drive(4)
    write_parts(ros2, tmp_path / "split", [[item] for item in items])
    assert [m.index for m in open_recording(tmp_path / "split").messages()] == list(range(12))


def test_names_may_hold_the_time_at_which_each_file_began(tmp_path, ros1):
    items = ros1.drive(6)
    folder = tmp_path / "split"
    folder.mkdir()
    for number, part in enumerate(thirds(items)):
        ros1.write_bag(folder / f"drive_2026-01-01-10-0{number}-17_{number}.bag", part)
    assert len(seen(open_recording(folder))) == len(items)


@pytest.mark.parametrize("prefix", ["", "old_name/", "/recorded/elsewhere/"])
def test_the_metadata_of_a_ros2_bag_says_what_belongs_to_it(tmp_path, ros2, prefix):
    items = ros2.drive(6)
    folder = tmp_path / "bag"
    folder.mkdir()
    names = ["z.mcap", "a.mcap"]
    for name, part in zip(names, (items[:9], items[9:]), strict=True):
        ros2.write_mcap(folder / name, part)
    ros2.write_mcap(folder / "of_another_day.mcap", ros2.drive(3))
    (folder / "metadata.yaml").write_text(METADATA + "".join(f"    - {prefix}{name}\n" for name in names))
    recording = open_recording(folder)
    assert [m.index for m in recording.messages()] == list(range(18))
    assert [file.rpartition("/")[2] for file in recording.files] == names


@pytest.mark.parametrize(
    "text", ["", "[", "a: b", "rosbag2_bagfile_information: 3", "\udcff".encode("utf-8", "surrogateescape")]
)
def test_metadata_that_says_nothing_is_passed_over(tmp_path, ros2, text):
    (file,) = write_parts(ros2, tmp_path / "bag", [ros2.drive(3)])
    (tmp_path / "bag/metadata.yaml").write_bytes(text.encode() if isinstance(text, str) else text)
    assert list(open_recording(tmp_path / "bag").files) == [str(file)]


@pytest.mark.parametrize("listed", [True, False])
def test_a_file_that_is_missing_is_named_and_the_rest_is_read_on_request(tmp_path, ros2, listed):
    items = ros2.drive(6)
    files = write_parts(ros2, tmp_path / "split", thirds(items))
    if listed:
        lines = "".join(f"    - {file.name}\n" for file in files)
        (tmp_path / "split/metadata.yaml").write_text(METADATA + lines)
    files[1].unlink()
    named = "drive_1.mcap" if listed else "number 1"
    with pytest.raises(DataError, match=f"{named} of this recording is missing; --salvage reads the rest"):
        open_recording(tmp_path / "split")
    rest = open_recording(tmp_path / "split", salvage=True)
    assert rest.damage == f"{named} is missing"
    assert [m.log_time_ns for m in rest.messages()] == [item.log_ns for item in (*items[:6], *items[12:])]


def test_damage_of_one_file_names_it_and_the_others_are_read_on_request(tmp_path, ros2):
    items = ros2.drive(6)
    files = write_parts(ros2, tmp_path / "split", thirds(items))
    files[1].write_bytes(files[1].read_bytes()[:-100])
    with pytest.raises(DataError, match=r"drive_1\.mcap: .*--salvage"):
        list(open_recording(tmp_path / "split").messages())
    rest = open_recording(tmp_path / "split", salvage=True)
    assert len(list(rest.messages())) >= 12
    assert rest.damage.startswith(f"{files[1]}: ")


@pytest.mark.parametrize(
    "names",
    [
        ("a", "b"),
        ("drive_1", "drive_2"),
        ("drive_0", "other_1"),
        ("drive_0", "drive_00"),
        ("drive_0", "drive_x"),
        ("2026-01-01", "2026-01-02"),
    ],
)
def test_recordings_that_only_lie_in_one_folder_are_not_joined(tmp_path, ros2, names):
    for name in names:
        ros2.write_mcap(tmp_path / f"{name}.mcap", ros2.drive(2))
    with pytest.raises(DataError, match="a folder with 2 recordings; name one"):
        open_recording(tmp_path)


def test_nothing_stays_open_when_one_file_is_refused(tmp_path, ros2):
    files = write_parts(ros2, tmp_path / "split", thirds(ros2.drive(6)))
    files[2].write_bytes(b"no recording")
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(DataError, match=r"drive_2\.mcap: not a recording"):
        open_recording(tmp_path / "split")
    assert len(list(Path("/proc/self/fd").iterdir())) == before
