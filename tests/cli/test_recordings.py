"""Recordings that are damaged, or hold more or less than the system expects."""

import hashlib
import shutil
import struct
from pathlib import Path

import cli_runs
import numpy as np
import pytest
from cli_runs import Run, by_name, write_log

from sensors.scene.mcap_file import McapFile

ONE_IMU = """\
rt_sched: 1
name: wants_more
devices: {box: {processing_elements: {cpu: {kind: cpu, cores: 2}}}}
sensors:
  imu: {kind: imu, rate: 100Hz, latency: 2ms, attached_to: box, topic: /imu/*}
  spare: {kind: imu, rate: 100Hz, latency: 2ms, attached_to: box, topic: /spare}
tasks:
  turn: &turn {stage: "pipelines.imu:Integrate", runs_on: box.cpu, inputs: {imu: imu}, parameters: {sensor: imu},
    execution: {bcet: 1ms, wcet: 2ms}}
  turn_spare: {<<: *turn, inputs: {imu: spare}, parameters: {sensor: spare}}
"""


def chunks(data):
    """Start and end of every chunk record of an intact MCAP file."""
    position, found = 8, []
    while data[position] != 0x02:
        end = position + 9 + struct.unpack_from("<Q", data, position + 1)[0]
        if data[position] == 0x06:
            found.append((position, end))
        position = end
    return found


@pytest.fixture(params=["a broken chunk", "a missing end"])
def damaged(request, tmp_path, logs):
    """A damaged copy of the IMU recording, and where the damage lies."""
    data = bytearray((logs / "imu.mcap").read_bytes())
    start, end = chunks(data)[1]
    if request.param == "a broken chunk":
        for position in range(end - 200, end):
            data[position] ^= 0x5A
    else:
        del data[(start + end) // 2 :]
    path = tmp_path / "damaged.mcap"
    path.write_bytes(data)
    return path, start, len(data)


def test_a_damaged_recording_stops_with_the_place_and_the_way_out(cli, tmp_path, damaged):
    path, start, size = damaged
    ended = cli("replay", path, "-o", "run", code=2)
    offset = next(int(word.strip(",;:.()")) for word in ended.err.split() if word.strip(",;:.()").isdigit())
    assert start <= offset <= size
    assert "--salvage" in ended.err
    assert not (tmp_path / "run").exists()


def test_what_is_intact_is_replayed_on_request_and_the_run_is_incomplete(cli, tmp_path, damaged):
    path, _, _ = damaged
    run = Run(tmp_path / "run", cli("replay", path, "--salvage", "-o", "run", "--json", code=3))
    assert run.ended.document == run.summary
    assert run.summary["status"] == "incomplete"
    assert "damaged" in run.summary["reason"]
    assert any(note.startswith("salvaged: ") for note in run.summary["notes"])
    (topic,) = run.summary["topics"]
    assert 0 < topic["delivered"] < 50
    parts = ("delivered", "unread", "dropped", "undecodable", "quarantined", "lost_to_faults", "unmapped")
    assert topic["recorded"] == sum(topic[part] for part in parts)


def test_salvage_changes_nothing_for_an_intact_recording(cli, tmp_path, logs):
    cli("replay", logs / "imu.mcap", "-o", "plain")
    cli("replay", logs / "imu.mcap", "-o", "salvaged", "--salvage")
    assert Run(tmp_path / "plain", None).hashes == Run(tmp_path / "salvaged", None).hashes


def test_info_reads_damaged_recordings_and_says_so(cli, damaged):
    path, _, _ = damaged
    ended = cli("info", path, "--json")
    assert ended.document["damage"]
    assert "damaged" in cli("info", path).out


def test_sensors_without_topic_and_topics_without_sensor_are_told(cli, tmp_path):
    log = write_log(tmp_path / "log.mcap", seconds=0.3, imus={"/imu/data": 100, "/imu/extra": 100, "/else": 50})
    (tmp_path / "system.yaml").write_text(ONE_IMU)
    summary = cli("replay", log, "--system", "system.yaml", "--json").document
    topics = by_name(summary["topics"])
    assert (topics["/imu/data"]["delivered"], topics["/imu/data"]["sensor"]) == (30, "imu")
    assert (topics["/imu/extra"]["unmapped"], topics["/else"]["unmapped"]) == (30, 15)
    assert by_name(summary["tasks"])["turn_spare"]["jobs"] == 0
    notes = "\n".join(summary["notes"])
    assert "no topic for spare" in notes
    assert "no sensor of the system takes /else (15 messages), /imu/extra (30 messages)" in notes
    assert "/imu/data was taken; /imu/extra would match as well" in notes


def test_messages_that_cannot_be_decoded_are_counted_and_the_run_is_incomplete(cli, tmp_path, logs):
    """Every second cloud has a header only."""
    log = write_log(tmp_path / "log.mcap", seconds=1, lidars={"/points": 10}, broken_every=2)
    summary = cli("replay", log, "--json", code=3).document
    (topic,) = summary["topics"]
    assert (topic["recorded"], topic["delivered"], topic["undecodable"]) == (10, 5, 5)
    assert summary["status"] == "incomplete"
    assert by_name(summary["tasks"])["pre_lidar"]["without_data"] in (0, 5)
    assert any("refused" in note or "could not be read" in note for note in summary["notes"])


def test_a_sensor_with_a_problem_has_one_note_whatever_its_tasks_lacked(cli, tmp_path):
    log = write_log(tmp_path / "log.mcap", seconds=0.6, cameras={"/front": 10, "/rear": 10}, broken_every=3)
    summary = cli("replay", log, "--json", code=3).document
    assert by_name(summary["tasks"])["infer_front"]["without_data"] == 2
    for camera in ("front", "rear"):
        assert [note for note in summary["notes"] if camera in note] == [
            note for note in summary["notes"] if note.startswith(f"{camera}: 2 messages were refused, first: ")
        ]
    assert len(summary["notes"]) == 2


def test_a_clock_that_was_set_while_it_recorded(cli, tmp_path, monkeypatch):
    """Of 60 messages the first 10 were logged and stamped 10 years before the others, or half of them were."""
    payload, epoch_ns = cli_runs._payload, cli_runs.EPOCH_NS

    class Earlier(McapFile):
        early = 10

        def add_message(self, topic, data, *, log_time_ns, publish_time_ns):
            if log_time_ns < epoch_ns + self.early * 10_000_000:
                stamp_ns = publish_time_ns - 10 * 365 * 86_400 * 10**9
                data = payload("imu", stamp_ns, np.random.default_rng(1))
                log_time_ns -= publish_time_ns - stamp_ns
            super().add_message(topic, data, log_time_ns=log_time_ns, publish_time_ns=publish_time_ns)

    monkeypatch.setattr("cli_runs.McapFile", Earlier)
    write_log(tmp_path / "log.mcap", seconds=0.6, imus={"/imu": 100})
    summary = cli("replay", "log.mcap", "--json", code=3).document
    (topic,) = summary["topics"]
    assert (topic["recorded"], topic["delivered"], topic["quarantined"]) == (60, 50, 10)
    assert summary["reason"] == "10 recorded messages were quarantined, as their stamps jump or step back"
    assert summary["notes"][0].startswith(
        "log time jumps forward by 10.0 years between messages 9 (/imu) and 10 (/imu)"
    )
    assert "quarantined" in cli("replay", "log.mcap", code=3).out

    Earlier.early = 30
    write_log(tmp_path / "half.mcap", seconds=0.6, imus={"/imu": 100})
    for command in ("init", "replay"):
        ended = cli(command, "half.mcap", code=2)
        assert "log time jumps forward by 10.0 years between messages 29 (/imu) and 30 (/imu)" in ended.err


def test_a_recording_that_counts_from_zero_and_has_no_stamps(cli, tmp_path, monkeypatch):
    """As simulators write them: the first data was then captured before the recording's time 0."""
    payload = cli_runs._payload
    monkeypatch.setattr("cli_runs.EPOCH_NS", 0)
    monkeypatch.setattr("cli_runs._payload", lambda kind, _, random: payload(kind, 0, random))
    write_log(tmp_path / "log.mcap", seconds=0.5, imus={"/imu/data": 100})
    cli("replay", "log.mcap", "-o", "run")
    summary = Run(tmp_path / "run", None).summary
    assert summary["recording"] == "log.mcap"
    assert by_name(summary["topics"])["/imu/data"]["delivered"] == 50
    assert any("without a capture stamp" in note for note in summary["notes"])


def test_the_folder_of_a_ros_2_bag(cli, tmp_path, logs):
    (tmp_path / "bag").mkdir()
    copied = shutil.copy(logs / "imu.mcap", tmp_path / "bag" / "bag_0.mcap")
    cli("replay", "bag", "-o", "run")
    (read,) = Run(tmp_path / "run", None).read("manifest.json")["inputs"]
    assert read == {"path": "bag", "sha256": hashlib.sha256(Path(copied).read_bytes()).hexdigest()}


def test_the_end_of_the_recording_makes_no_data_old(cli, tmp_path):
    """The run goes on until the last job's deadline, here for a second in which timed tasks find nothing new."""
    write_log(tmp_path / "log.mcap", seconds=0.5, imus={"/imu/data": 100})
    (tmp_path / "passing.py").write_text(
        "from rt_sched.messages import EgoMotion\n"
        "from rt_sched.ports import StageBase\n"
        "class On(StageBase):\n"
        "    inputs = outputs = {'ego': EgoMotion}\n"
        "    def process(self, job, inputs): return dict(inputs)\n"
    )
    (tmp_path / "system.yaml").write_text(
        ONE_IMU.replace("  turn_spare: {<<: *turn, inputs: {imu: spare}, parameters: {sensor: spare}}\n", "")
        + """\
  pass_on: {stage: "passing:On", runs_on: box.cpu, activation: {rate: 50Hz}, deadline: 1s,
    inputs: {ego: {from: turn, edge: latest}}, execution: {bcet: 1ms, wcet: 2ms}}
chains: {passed: {path: [imu, turn, pass_on], max_data_age: 100ms}}
"""
    )
    prelude = f"import sys; sys.path.insert(0, {str(tmp_path)!r})"
    cli("replay", "log.mcap", "--system", "system.yaml", "-o", "run", prelude=prelude)
    (chain,) = Run(tmp_path / "run", None).summary["chains"]
    assert 0 < chain["data_age_max_ns"] < 50_000_000
    assert chain["outputs"] < 40
