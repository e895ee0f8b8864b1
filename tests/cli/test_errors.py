"""Wrong input and wrong calls: one clear message, exit code 2, nothing left behind; with --json also as a document."""

import re
from pathlib import Path

import pytest
from cli_runs import QUAD_ORIN, write_log

from sensors.scene.mcap_file import McapFile

SYSTEM = """\
rt_sched: 1
name: small
devices: {box: {processing_elements: {cpu: {kind: cpu, cores: 2}}}}
sensors:
  imu: {kind: imu, rate: 100Hz, latency: 2ms, attached_to: box, topic: /imu/data}
tasks:
  turn:
    stage: pipelines.imu:Integrate
    runs_on: box.cpu
    inputs: {imu: imu}
    execution: {bcet: 1ms, wcet: 2ms}
    parameters: {sensor: imu}
"""

#: name -> (arguments, what the message must say). {logs} and {tmp} are folders; all else is as on a command line.
WRONG = {
    "missing log": ("replay {tmp}/nowhere.mcap", "nowhere.mcap: no such file"),
    "text file": ("replay {tmp}/system.yaml", "system.yaml: not a recording; read are MCAP"),
    "empty file": ("replay {tmp}/empty.mcap", "empty.mcap: the file is empty"),
    "folder without a recording": ("replay {tmp}/folder", "folder: a folder without a recording"),
    "recording without messages": ("replay {tmp}/silent.mcap", "silent.mcap: no camera, LiDAR or IMU topic"),
    "no mapped topic": (
        "replay {tmp}/other.mcap --system quad_orin",
        "other.mcap: no topic belongs to a sensor of system quad_orin; topics in the recording: "
        "/someone/else (sensor_msgs/msg/Imu)",
    ),
    "missing system": ("replay {logs}/imu.mcap --system {tmp}/no.yaml", "no.yaml  there is no such file"),
    "system that is a recording": ("replay {logs}/imu.mcap --system {logs}/imu.mcap", "imu.mcap:1:1  byte 0x89"),
    "unknown policy": ("replay {logs}/imu.mcap --policy fastest", "--policy  fastest: valid: rms, dm, opa, edf"),
    "negative seed": ("replay {logs}/imu.mcap --seed -1", "--seed"),
    "no threads": ("replay {logs}/imu.mcap --threads 0", "--threads"),
    "threads in words": ("replay {logs}/imu.mcap --threads many", "--threads"),
    "unknown option": ("replay {logs}/imu.mcap --turbo", "--turbo"),
    "no log named": ("replay", "LOG"),
    "unknown command": ("reply {logs}/imu.mcap", "reply"),
    "output below a file": ("replay {logs}/imu.mcap -o {tmp}/system.yaml/run", "system.yaml/run: cannot be written"),
    "output on a read-only mount": ("replay {logs}/imu.mcap -o /proc/run", "/proc/run: cannot be written"),
    "output is a folder of something else": (
        "replay {logs}/imu.mcap -o {tmp}/folder",
        "folder: exists and is not a run folder",
    ),
    "output is a file": ("replay {logs}/imu.mcap -o {tmp}/system.yaml", "exists and is not a run folder"),
    "init of no recording": ("init {tmp}/system.yaml", "system.yaml: not a recording"),
    "info of no file": ("info {tmp}/nowhere.mcap", "nowhere.mcap: no such file"),
}


@pytest.fixture
def place(tmp_path):
    """A working folder with odd files in it."""
    (tmp_path / "system.yaml").write_text(SYSTEM)
    (tmp_path / "empty.mcap").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "thesis.txt").write_text("years of work")
    write_log(tmp_path / "other.mcap", seconds=0.1, imus={"/someone/else": 100})
    with (tmp_path / "silent.mcap").open("wb") as stream:
        McapFile(stream).finish()
    return tmp_path


def contents(folder):
    return {path.relative_to(folder): path.is_file() and path.read_bytes() for path in folder.rglob("*")}


@pytest.mark.parametrize("name", WRONG)
def test_one_clear_message_and_nothing_left_behind(cli, place, logs, name):
    call, expected = WRONG[name]
    arguments = call.format(logs=logs, tmp=place).split()
    as_document = arguments[0] == "replay"
    before = contents(place)
    ended = cli(*arguments, *(["--json"] if as_document else []), code=2)
    said = [line for line in ended.err.splitlines() if not line.endswith(" ...")]
    assert expected in ended.err
    assert len(said) <= 2, said
    assert said[-1].startswith("rt-sched: ")
    assert contents(place) == before
    if as_document:
        document = ended.document
        assert document["schema"] == "rt-sched/error/1"
        assert (document["status"], document["exit_code"]) == ("failed", 2)
        assert expected in "\n".join([document["message"], *document["problems"]])
    else:
        assert ended.out == ""


def test_every_mistake_of_a_system_file_is_told_with_its_place(cli, place, logs):
    text = SYSTEM.replace("rate: 100Hz", "rate: -5Hz").replace("box.cpu", "box.cpx").replace("wcet: 2ms", "wcett: 2ms")
    (place / "system.yaml").write_text(text)
    ended = cli("replay", logs / "imu.mcap", "--system", "system.yaml", "-o", "run", code=2)
    places = re.findall(r"^system\.yaml:(\d+):(\d+)  \S", ended.err, re.MULTILINE)
    lines = text.splitlines()
    assert {int(line) for line, _ in places} == {5, 9, 11}
    assert ended.err.endswith(f"rt-sched: {len(places)} problems found\n")
    assert "did you mean" in ended.err
    for wrong in ("-5Hz", "box.cpx", "wcett"):
        assert any(lines[int(line) - 1][int(column) - 1 :].startswith(wrong) for line, column in places), wrong
    assert not (place / "run").exists()
    assert ended.out == ""


def test_every_wrong_fault_is_told_at_once(cli, logs):
    wrong = ["camera", "camera:fron_wide@1s", "engine:left@1s", "device:orin-1@soon", "lidar:lidar_top@-1s"]
    faults = [part for fault in wrong for part in ("--fault", fault)]
    ended = cli("replay", logs / "imu.mcap", "--system", QUAD_ORIN, *faults, "--json", code=2)
    problems = ended.document["problems"]
    assert len(problems) == len(wrong)
    assert all(any(f"--fault  {fault}: " in problem for problem in problems) for fault in wrong)
    assert any("did you mean front_wide" in problem for problem in problems)


def test_a_missing_model_ends_the_run_before_it_begins(cli, place, logs):
    text = cli("init", logs / "drive.mcap").out
    (place / "system.yaml").write_text(
        re.sub(r"(stage: pipelines.detector:Infer\n)", r"\1    parameters: {model: gone.onnx}\n", text)
    )
    ended = cli("replay", logs / "drive.mcap", "--system", "system.yaml", "-o", "new/run", code=2)
    assert "gone.onnx does not exist" in ended.err
    assert not (place / "new").exists()


def test_stages_that_do_not_fit_each_other_are_the_system_files_mistake(cli, place, logs):
    text = cli("init", logs / "drive.mcap").out
    (place / "system.yaml").write_text(
        re.sub(r"(stage: pipelines.camera:Preprocess\n)", r"\1    parameters: {input_width: 320}\n", text)
    )
    ended = cli("replay", logs / "drive.mcap", "--system", "system.yaml", "-o", "run", code=2)
    assert "does not take one float32[1, 3, 300, 320]" in ended.err
    assert "input_width, input_height" in ended.err
    assert not (place / "run").exists()


def test_a_stage_that_breaks_is_a_defect_that_names_its_task(cli, place, logs):
    (place / "broken_stage.py").write_text(
        "from pipelines.imu import Integrate\n"
        "class Broken(Integrate):\n"
        "    def process(self, job, inputs):\n"
        "        if job.number == 20:\n"
        "            raise ZeroDivisionError('no such luck')\n"
        "        return super().process(job, inputs)\n"
    )
    (place / "system.yaml").write_text(SYSTEM.replace("pipelines.imu:Integrate", "broken_stage:Broken"))
    ended = cli(
        *("replay", logs / "imu.mcap", "--system", "system.yaml", "-o", "run", "--json"),
        code=4,
        prelude=f"import sys; sys.path.insert(0, {str(place)!r})",
    )
    said = "stage broken_stage:Broken of task turn failed in job 20: ZeroDivisionError: no such luck"
    found = re.search(rf"{said} \(traceback in (\S+)\)\n", ended.err)
    assert found
    log = Path(found[1])
    assert "in process\n" in log.read_text()
    log.unlink()
    assert ended.document["exit_code"] == 4
    assert not (place / "run").exists()


def test_a_defect_of_the_tool_is_one_line_with_the_traceback_in_a_file(cli, logs):
    prelude = """
import rt_sched.app.replay.job as job
def run_replay(*_): raise LookupError("lost")
job.run_replay = run_replay
"""
    ended = cli("replay", logs / "imu.mcap", "--json", code=4, prelude=prelude)
    found = re.fullmatch(r"rt-sched: internal error: LookupError: lost \(traceback in (\S+)\)\n", ended.err)
    assert found
    assert ended.document["exit_code"] == 4
    log = Path(found[1])
    assert "Traceback" in log.read_text()
    log.unlink()


@pytest.mark.parametrize("limit", (4_000, 12_000, 20_000, 28_000))
def test_a_disk_that_is_full_is_named_and_nothing_is_left(cli, place, logs, limit):
    """Whichever file of the run folder is the first that does not fit."""
    prelude = f"import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))"
    (place / "system.yaml").write_text(SYSTEM)
    before = contents(place)
    ended = cli("replay", logs / "imu.mcap", "--system", "system.yaml", "-o", "run", code=2, prelude=prelude)
    assert re.search(r"rt-sched: cannot write \S+/[a-z]+\.[a-z]+: File too large\n$", ended.err)
    assert contents(place) == before


def test_init_refuses_to_overwrite_unless_told(cli, tmp_path, logs):
    target = tmp_path / "mine.yaml"
    target.write_text("precious")
    ended = cli("init", logs / "imu.mcap", "-o", target, code=2)
    assert "exists; overwrite it with --force" in ended.err
    assert target.read_text() == "precious"
    cli("init", logs / "imu.mcap", "-o", target, "--force")
    assert target.read_text().startswith("# Made by")


def test_a_group_without_a_command_shows_its_help(cli):
    ended = cli("faults", code=2)
    assert ended.err == cli("faults", "--help").out


def test_a_call_without_arguments_shows_the_help(cli):
    ended = cli(code=2)
    assert ended.out == ""
    assert ended.err == cli("--help").out
