"""A recording that a recorder split into files is replayed as the one that it is."""

from __future__ import annotations

import hashlib
from pathlib import Path

from cli_runs import Run
from mcap.reader import make_reader
from mcap.writer import Writer


def split(log: Path, folder: Path, count: int) -> list[Path]:
    """Files drive_0.mcap and on, with as many messages of the log each."""
    with log.open("rb") as stream:
        rows = list(make_reader(stream).iter_messages())
    folder.mkdir()
    files = []
    for number in range(count):
        file = folder / f"drive_{number}.mcap"
        with file.open("wb") as stream:
            writer = Writer(stream)
            writer.start(profile="ros2")
            channels: dict[int, int] = {}
            for schema, channel, message in rows[number * len(rows) // count : (number + 1) * len(rows) // count]:
                if channel.id not in channels:
                    known = writer.register_schema(schema.name, schema.encoding, schema.data)
                    channels[channel.id] = writer.register_channel(channel.topic, channel.message_encoding, known)
                writer.add_message(channels[channel.id], message.log_time, message.data, message.publish_time)
            writer.finish()
        files.append(file)
    return files


def test_a_split_log_gives_the_same_schedule_and_outputs(cli, tmp_path, logs):
    files = split(logs / "drive.mcap", tmp_path / "split", 3)
    whole = Run(tmp_path / "whole", cli("replay", logs / "drive.mcap", "--system", _made(cli, logs), "-o", "whole"))
    parts = Run(tmp_path / "parts", cli("replay", "split", "--system", "made.yaml", "-o", "parts"))
    assert parts.hashes == whole.hashes
    inputs = {row["path"]: row["sha256"] for row in parts.read("manifest.json")["inputs"]}
    assert {path: sha for path, sha in inputs.items() if path != "made.yaml"} == {
        f"split/{file.name}": hashlib.sha256(file.read_bytes()).hexdigest() for file in files
    }


def _made(cli, logs) -> str:
    cli("init", logs / "drive.mcap", "-o", "made.yaml")
    return "made.yaml"


def test_info_and_init_take_a_split_log(cli, tmp_path, logs):
    split(logs / "drive.mcap", tmp_path / "split", 3)
    whole = cli("info", logs / "drive.mcap", "--json").document
    parts = cli("info", "split", "--json").document
    assert parts["topics"] == whole["topics"]
    assert parts["path"] == "split"
    system = cli("init", "split").out
    assert "name: split" in system
    assert cli("init", logs / "drive.mcap").out.splitlines()[4:] == system.splitlines()[4:]


def test_a_file_that_is_missing_is_told_at_once_and_in_the_report_when_the_rest_is_read(cli, tmp_path, logs):
    split(logs / "drive.mcap", tmp_path / "split", 3)[1].unlink()
    err = cli("replay", "split", "-o", "run", code=2).err
    assert err.endswith("rt-sched: split: number 1 of this recording is missing; --salvage reads the rest\n")
    ended = cli("replay", "split", "--salvage", "-o", "run", code=None)
    assert ended.code in (1, 3)
    assert "number 1 is missing" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
