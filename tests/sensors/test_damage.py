"""Damaged files: refused with the place named, or read as far as they are intact when that is asked for."""

from __future__ import annotations

import os
import re
import sqlite3
import struct
from pathlib import Path

import numpy as np
import pytest
from mcap.writer import CompressionType

from rt_sched.errors import DataError
from sensors.recording import open_recording
from sensors.survey import survey

FUZZ_ROUNDS = 60


def rows(recording):
    return [(m.topic, m.log_time_ns, bytes(m.payload.data)) for m in recording.messages()]


def whole(path: Path):
    return rows(open_recording(path))


def chunk_offsets(path: Path) -> list[int]:
    """File positions of the chunk records of an intact MCAP file."""
    data, position, found = path.read_bytes(), 8, []
    while data[position] != 0x02:
        if data[position] == 0x06:
            found.append(position)
        position += 9 + struct.unpack_from("<Q", data, position + 1)[0]
    return found


def flip(path: Path, offset: int, value: int | None = None) -> Path:
    data = bytearray(path.read_bytes())
    data[offset] = data[offset] ^ 0xFF if value is None else value
    path.write_bytes(data)
    return path


@pytest.fixture
def mcap(tmp_path, ros2):
    return ros2.write_mcap(tmp_path / "a.mcap", ros2.drive(), chunk_size=2500)


@pytest.fixture
def bag(tmp_path, ros1):
    return ros1.write_bag(tmp_path / "a.bag", ros1.drive(), "lz4", chunk_bytes=2500)


def test_a_damaged_chunk_is_named_and_the_others_are_salvaged(mcap):
    intact = whole(mcap)
    offsets = chunk_offsets(mcap)
    assert len(offsets) >= 4
    flip(mcap, offsets[2] - 200 if offsets[2] - offsets[1] < 300 else offsets[1] + 250)
    with pytest.raises(DataError, match=r"damaged: (a zstd chunk|.*CRC)") as caught:
        whole(mcap)
    assert f"at byte {offsets[1]}; --salvage reads what is intact" in str(caught.value)
    recording = open_recording(mcap, salvage=True)
    saved = rows(recording)
    lost = int(re.search(r"(\d+) messages lost", recording.damage).group(1))
    assert 0 < lost < len(intact)
    assert len(saved) == len(intact) - lost
    assert set(saved) < set(intact)
    assert sum(t.messages for t in recording.topics) == len(saved)
    assert f"at byte {offsets[1]}" in recording.damage


def test_a_wrong_crc_alone_is_damage(tmp_path, ros2):
    path = ros2.write_mcap(tmp_path / "a.mcap", ros2.drive(), compression=CompressionType.NONE, chunk_size=2500)
    first = chunk_offsets(path)[0]
    flip(path, first + 9 + 24)
    with pytest.raises(DataError, match=f"a chunk whose CRC does not match at byte {first}"):
        whole(path)


def test_a_wrong_byte_outside_any_chunk_is_found_by_the_data_crc(tmp_path, ros2):
    path = ros2.write_mcap(tmp_path / "a.mcap", ros2.drive(), use_chunking=False, enable_data_crcs=True)
    position = path.read_bytes().index(b"bgr8") + 40
    intact = whole(path)
    flip(path, position)
    with pytest.raises(DataError, match=r"the data section .* has a CRC that does not match"):
        whole(path)
    recording = open_recording(path, salvage=True)
    assert len(rows(recording)) == len(intact)
    assert "CRC" in recording.damage


def test_a_damaged_summary_is_found_and_costs_no_message(mcap):
    intact = whole(mcap)
    topic = mcap.read_bytes().rindex(b"/lidar")
    flip(mcap, topic + 2, ord("x"))
    with pytest.raises(DataError, match="a summary whose CRC does not match"):
        open_recording(mcap)
    assert len(rows(open_recording(mcap, salvage=True))) == len(intact)


@pytest.mark.parametrize("summary", [True, False])
@pytest.mark.parametrize("chunked", [True, False])
@pytest.mark.parametrize("compression", [CompressionType.NONE, CompressionType.ZSTD, CompressionType.LZ4])
def test_truncated_mcap_keeps_every_message_before_the_cut(tmp_path, ros2, compression, chunked, summary):
    source = ros2.write_mcap(
        tmp_path / "a.mcap",
        ros2.drive(),
        compression=compression,
        use_chunking=chunked,
        summary=summary,
        chunk_size=2500,
    )
    intact = whole(source)
    data = source.read_bytes()
    cut_file = tmp_path / "cut.mcap"
    counts = []
    for cut in range(8, len(data) - 8, 1499):
        cut_file.write_bytes(data[:cut])
        with pytest.raises(DataError, match=r"at byte \d+; --salvage"):
            open_recording(cut_file)
        recording = open_recording(cut_file, salvage=True)
        saved = rows(recording)
        assert saved == intact[: len(saved)]
        assert "at byte" in recording.damage
        assert "unknown number of messages lost" in recording.damage
        counts.append(len(saved))
    assert counts == sorted(counts)
    assert counts[0] == 0
    assert counts[-1] >= len(intact) - 6


def test_the_beginning_of_a_cut_chunk_is_salvaged(tmp_path, ros2):
    path = ros2.write_mcap(
        tmp_path / "a.mcap", ros2.drive(), compression=CompressionType.NONE, chunk_size=10**6, summary=False
    )
    intact = whole(path)
    path.write_bytes(path.read_bytes()[: len(path.read_bytes()) * 2 // 3])
    saved = rows(open_recording(path, salvage=True))
    assert len(saved) >= len(intact) // 2
    assert saved == intact[: len(saved)]


@pytest.mark.parametrize("compression", ["none", "bz2", "lz4"])
def test_truncated_bag_keeps_every_message_before_the_cut(tmp_path, ros1, compression):
    source = ros1.write_bag(tmp_path / "a.bag", ros1.drive(), compression, chunk_bytes=2500)
    intact = whole(source)
    data = source.read_bytes()
    cut_file = tmp_path / "cut.bag"
    counts = []
    for cut in range(5000, len(data) - 4, 1499):
        cut_file.write_bytes(data[:cut])
        with pytest.raises(DataError, match=r"at byte \d+; --salvage"):
            rows(open_recording(cut_file))
        recording = open_recording(cut_file, salvage=True)
        saved = rows(recording)
        assert saved == intact[: len(saved)]
        assert "at byte" in recording.damage
        counts.append(len(saved))
    assert counts == sorted(counts)
    assert counts[-1] == len(intact)


def test_a_bag_that_was_not_closed_says_so(bag):
    intact = whole(bag)
    data = bytearray(bag.read_bytes())
    position = data.index(b"index_pos=") + len(b"index_pos=")
    (index,) = struct.unpack_from("<Q", data, position)
    data[position : position + 8] = bytes(8)
    bag.write_bytes(data[:index])
    with pytest.raises(DataError, match="did not close this bag"):
        open_recording(bag)
    assert rows(open_recording(bag, salvage=True)) == intact


def test_a_damaged_bag_chunk_costs_its_own_messages_only(bag):
    intact = whole(bag)
    second = [m.start() for m in re.finditer(rb"compression=lz4", bag.read_bytes())][1]
    flip(bag, second + 60)
    with pytest.raises(DataError, match=r"damaged: .*at byte \d+; --salvage"):
        whole(bag)
    recording = open_recording(bag, salvage=True)
    lost = int(re.search(r"(\d+) messages lost", recording.damage).group(1))
    assert 0 < lost == len(intact) - len(rows(recording)) < len(intact)


@pytest.mark.parametrize("summary", [True, False])
def test_broken_framing_is_stepped_over_to_the_next_chunk(tmp_path, ros2, summary):
    path = ros2.write_mcap(tmp_path / "a.mcap", ros2.drive(), chunk_size=2500, summary=summary)
    intact = whole(path)
    offsets = chunk_offsets(path)
    flip(path, offsets[1] + 6)
    with pytest.raises(DataError, match=f"at byte {offsets[1]}"):
        whole(path)
    recording = open_recording(path, salvage=True)
    saved = rows(recording)
    assert f"unreadable bytes up to byte {offsets[2]} at byte {offsets[1]}" in recording.damage
    assert len(intact) // 2 < len(saved) < len(intact)
    assert set(saved) < set(intact)


def test_broken_framing_of_a_bag_is_stepped_over_by_its_index(bag):
    intact = whole(bag)
    data = bag.read_bytes()
    second = [m.start() for m in re.finditer(rb"op=\x05", data)][1]
    flip(bag, second + 1)
    recording = open_recording(bag, salvage=True)
    assert len(intact) // 2 < len(rows(recording)) < len(intact)
    assert recording.damage is not None


def test_statistics_that_count_more_than_there_is(mcap):
    """A chunk cut out of the file without a trace in the framing."""
    data = bytearray(mcap.read_bytes())
    first, second = chunk_offsets(mcap)[1:3]
    for position in range(first, second):
        # Records of private kinds are skipped by every reader.
        if position == first:
            data[position] = 0x90
    mcap.write_bytes(data)
    with pytest.raises(DataError, match=r"the file counts 12 messages on /\w+ and holds \d+"):
        whole(mcap)
    recording = open_recording(mcap, salvage=True)
    lost = int(re.search(r"(\d+) messages lost", recording.damage).group(1))
    assert len(rows(recording)) == 36 - lost


def test_a_file_that_changes_while_it_is_read(mcap, monkeypatch):
    monkeypatch.setattr("sensors.block_recording.CACHE_BYTES", 1)
    recording = open_recording(mcap)
    messages = recording.messages()
    next(messages)
    os.truncate(mcap, 2000)
    with pytest.raises(DataError, match="changed while it was being read"):
        list(messages)


def test_a_chunk_of_absurd_size_takes_no_memory(tmp_path, ros2):
    path = ros2.write_mcap(tmp_path / "a.mcap", ros2.drive(2))
    data = bytearray(path.read_bytes())
    struct.pack_into("<Q", data, chunk_offsets(path)[0] + 9 + 16, 2**50)
    path.write_bytes(data)
    with pytest.raises(DataError, match=f"claims {2**50} bytes"):
        whole(path)


def test_damaged_database(tmp_path, ros2):
    folder = ros2.write_rosbag2(tmp_path / "bag", ros2.drive())
    path = next(folder.glob("*.db3"))
    intact = whole(path)
    with sqlite3.connect(path) as database:
        (page_size,) = database.execute("PRAGMA page_size").fetchone()
    database.close()
    data = bytearray(path.read_bytes())
    pages = len(data) // page_size
    assert pages > 4
    outcomes = set()
    for page in range(1, pages):
        bad = bytearray(data)
        bad[page * page_size : page * page_size + 64] = b"\xa5" * 64
        path.write_bytes(bad)
        try:
            whole(path)
        except DataError as error:
            assert "\n" not in str(error)
            outcomes.add("refused")
        try:
            recording = open_recording(path, salvage=True)
            saved = rows(recording)
            assert len(saved) <= len(intact)
            if recording.damage:
                outcomes.add("salvaged")
        except DataError as error:
            assert "\n" not in str(error)
    assert {"refused", "salvaged"} <= outcomes


@pytest.mark.parametrize("salvage", [False, True])
@pytest.mark.parametrize(
    "kind", ["mcap zstd", "mcap lz4", "mcap none", "mcap loose", "bag lz4", "bag bz2", "bag none", "db3"]
)
def test_random_damage_gives_messages_or_a_data_error(tmp_path, ros1, ros2, kind, salvage):
    container, _, how = kind.partition(" ")
    if container == "bag":
        path = ros1.write_bag(tmp_path / "a.bag", ros1.drive(4), how, chunk_bytes=1500)
    elif container == "db3":
        path = next(ros2.write_rosbag2(tmp_path / "bag", ros2.drive(4)).glob("*.db3"))
    else:
        chosen = CompressionType[how.upper()] if how != "loose" else CompressionType.NONE
        path = ros2.write_mcap(
            tmp_path / "a.mcap", ros2.drive(4), compression=chosen, use_chunking=how != "loose", chunk_size=1500
        )
    intact = path.read_bytes()
    random = np.random.default_rng(len(kind) * 2 + salvage)
    outcomes = {"read": 0, "refused": 0}
    for _ in range(FUZZ_ROUNDS):
        data = bytearray(intact)
        for _ in range(random.integers(1, 4)):
            data[random.integers(16, len(data))] = random.integers(0, 256)
        if random.random() < 0.2:
            del data[random.integers(16, len(data)) :]
        path.write_bytes(data)
        try:
            recording = open_recording(path, salvage=salvage)
            measured = survey(recording)
            assert measured.messages == sum(topic.messages for topic in recording.topics)
            outcomes["read"] += 1
        except DataError as error:
            assert str(path) in str(error)
            outcomes["refused"] += 1
    # Checksums leave an MCAP file hardly a byte that may change unnoticed; a bag has none.
    assert outcomes["read" if salvage or container == "bag" else "refused"] > 0
