"""`rt-sched init` writes a system file that loads and replays unedited, for any kind of recording."""

from fractions import Fraction

import pytest
from cli_runs import Run, write_log

from rt_sched.app.init.job import write_system_for
from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.config import load_system

KINDS = {
    "one camera": {"cameras": {"/camera/image_raw": 10}},
    "one lidar": {"lidars": {"/points": 10}},
    "imu at 1 kHz": {"imus": {"/imu": 1000}},
    "cameras and imus": {"cameras": {"/front": 15, "/rear": 15}, "imus": {"/imu/a": 100, "/imu/b": 100}},
    "two lidars": {"lidars": {"/lidar/left": 10, "/lidar/right": 10}},
    "rates that are no whole numbers": {
        "cameras": {"/ntsc": Fraction(30000, 1001)},
        "lidars": {"/slow": Fraction(71, 10)},
        "imus": {"/third": Fraction(100, 3)},
    },
    "names that YAML and globs read otherwise": {
        "imus": {
            "/odd name: with #signs": 50,
            "/\"quoted\" \\ and 'more'": 50,
            "/a*": 50,
            "/ab": 50,
            "/list[0]": 50,
            "/list[1]": 50,
            "/what?": 50,
            "/ümlaut/自動車": 50,
            "/123": 50,
            "yes": 50,
            "/null": 50,
            "/-1.5e3": 50,
            "/{x: y}, &z": 50,
            "/tab\tand\nline": 50,
        }
    },
    "names that differ only in their signs": {"imus": {"/a/b": 50, "/a_b": 50, "/a b": 50, "/a/b_2": 50}},
    "names that the tasks would like to have": {
        "cameras": {"/x": 10},
        "imus": {"/fuse": 50, "/decide": 50, "/arbiter": 50, "/pre/x": 50, "/imu_fuse": 50, "/backup": 50},
        "lidars": {"/cluster_y": 10, "/y": 10},
    },
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_file_replays_unedited(cli, tmp_path, kind):
    log = write_log(tmp_path / "null.mcap", seconds=0.5, **KINDS[kind])
    write_system_for(str(log), host=False, salvage=False, output=tmp_path / "made.yaml", overwrite=False)
    run = Run(tmp_path / "run", cli("replay", log, "--system", "made.yaml", "-o", "run"))
    summary = run.summary
    assert summary["status"] == "ok", summary["reason"]
    topics = {topic for part in KINDS[kind].values() for topic in part}
    assert {row["name"] for row in summary["topics"]} == topics
    for row in summary["topics"]:
        assert row["sensor"] is not None, row
        assert row["delivered"] == row["recorded"] > 0, row
    assert len({row["sensor"] for row in summary["topics"]}) == len(topics)
    assert not [task["name"] for task in summary["tasks"] if task["without_data"]]


@pytest.mark.parametrize("cores", [{3}, {0, 1}, {2, 5, 6, 7, 9, 11, 40}], ids=["one core", "two cores", "seven cores"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_file_for_this_host_deploys_what_it_declares_and_no_more(cli, tmp_path, monkeypatch, kind, cores):
    monkeypatch.setattr("rt_sched.app.init.job.allowed_cores", lambda: cores)
    log = write_log(tmp_path / "null.mcap", seconds=0.3, **KINDS[kind])
    write_system_for(str(log), host=True, salvage=False, output=tmp_path / "made.yaml", overwrite=False)
    system = load_system(tmp_path / "made.yaml", stages=ImportedStages())
    (device,) = system.devices
    deployed = {one.pe: one.cores for one in system.deployments}
    assert {(device.name, element.name) for element in device.processing_elements} == {*deployed}
    assert {*deployed} == {task.pe for task in system.tasks}
    used = [core for (core,) in deployed.values()]
    assert len({*used}) == len(used) and {*used} <= cores
    assert min(cores) in used
    networks = sorted(task.pe[1] for task in system.tasks if task.name.startswith("infer_"))
    assert len(cores) == 1 or f"cpu{min(cores)}" not in networks
    assert cli("analyze", "made.yaml", code=None).code in (0, 1, 3)


def test_a_file_name_cannot_write_into_the_system_file(cli, tmp_path):
    log = write_log(tmp_path / "a\nname: {injected.mcap", seconds=0.2, imus={"/imu": 100})
    cli("init", log, "-o", "made.yaml")
    assert cli("replay", log, "--system", "made.yaml", "--json").document["system"] == "a_name_injected"


def test_a_replay_without_a_system_file_is_that_of_the_file_that_init_writes(cli, tmp_path, logs):
    (tmp_path / "made.yaml").write_text(cli("init", logs / "drive.mcap").out)
    cli("replay", logs / "drive.mcap", "-o", "without")
    cli("replay", logs / "drive.mcap", "--system", "made.yaml", "-o", "with")
    assert Run(tmp_path / "without", None).hashes == Run(tmp_path / "with", None).hashes


def test_what_was_measured_is_written_down_and_what_was_guessed_is_marked(cli, logs):
    text = cli("init", logs / "drive.mcap").out
    for measured in ("rate: 50Hz", "rate: 10Hz", "topic: /camera/front", "image_size: [64, 48]", "latency: 2"):
        line = next(line for line in text.splitlines() if measured in line)
        assert "guess" not in line
    for guessed in ("devices:", "tasks:", "policy:", "attached_to:"):
        assert all("guess" in line for line in text.splitlines() if line.strip().startswith(guessed))


def test_a_recording_that_cannot_be_decoded_is_refused_with_the_reason(cli, tmp_path):
    log = write_log(tmp_path / "log.mcap", seconds=0.5, cameras={"/front": 10}, imus={"/imu": 100}, broken_every=1)
    for command in ("init", "replay"):
        err = cli(command, log, code=2).err
        assert "/front: none of its 5 messages can be decoded, first: message 0: " in err
        assert "/imu: none of its 50 messages can be decoded, first: message 1: " in err


def test_a_topic_with_too_few_messages_is_left_out_and_named(cli, tmp_path):
    log = write_log(tmp_path / "log.mcap", seconds=0.5, imus={"/imu": 100, "/once": 2})
    text = cli("init", log).out
    assert "# /once: left out" in text
    (tmp_path / "made.yaml").write_text(text)
    ended = cli("replay", log, "--system", "made.yaml", "--json")
    assert {row["name"]: row["unmapped"] for row in ended.document["topics"]} == {"/imu": 0, "/once": 1}
