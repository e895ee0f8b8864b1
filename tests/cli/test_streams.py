"""Where the output goes: readers that leave, full disks, closed streams, encodings without the characters."""

import json
import os
import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile

import pytest
from cli_runs import HANG_S, ROOT, write_log

PROGRAM = "from rt_sched.cli import main\nmain()"
#: One call of each way in which something gets to standard output.
CALLS = [
    ["--help"],
    ["replay", "--help"],
    ["--version"],
    ["examples"],
    ["examples", "--json"],
    ["info", "{logs}/imu.mcap"],
    ["init", "{logs}/imu.mcap"],
    ["analyze", "host_two_cores"],
]
#: That of them which has a process of its own start, with all that happens at the end of one.
ANEW = ["--version"]


@pytest.fixture
def call(cli, logs):
    """Runs a command with the given streams: (exit code, stdout as bytes, stderr); stdout is None where it is given.

    `anew`: in a process of its own start, as one that begins with closed streams or in another environment has to be.
    """

    def run(*arguments, environment=None, close=(), anew=False, stdout=None, stderr=None):
        arguments = [argument.format(logs=logs, tmp=cli.folder) for argument in arguments]
        with TemporaryFile() as out, TemporaryFile() as err:
            streams = (out.fileno() if stdout is None else stdout, err.fileno() if stderr is None else stderr)
            if anew or environment or close:
                code = subprocess.run(
                    [sys.executable, "-c", PROGRAM, *arguments],
                    cwd=cli.folder,
                    env=os.environ | {"PYTHONPATH": str(ROOT), "NO_COLOR": "1", **(environment or {})},
                    preexec_fn=lambda: [os.close(descriptor) for descriptor in close],
                    timeout=HANG_S,
                    stdout=streams[0],
                    stderr=streams[1],
                ).returncode
            else:
                code = cli.into(*streams, *arguments)
            out.seek(0)
            err.seek(0)
            said = err.read().decode()
            assert "Traceback" not in said, said
            return code, out.read() if stdout is None else None, said

    return run


@contextmanager
def pipe_without_reader():
    read, write = os.pipe()
    os.close(read)
    try:
        yield write
    finally:
        os.close(write)


@contextmanager
def full_disk():
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    descriptor = os.open("/dev/full", os.O_WRONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@pytest.fixture
def late(tmp_path):
    """Arguments of a replay that misses deadlines, which is exit code 1."""
    write_log(tmp_path / "late.mcap", seconds=0.3, imus={"/imu/data": 100})
    (tmp_path / "late.yaml").write_text(
        "rt_sched: 1\n"
        "name: late\n"
        "devices: {box: {processing_elements: {cpu: {kind: cpu, cores: 1}}}}\n"
        "sensors:\n"
        "  imu: {kind: imu, rate: 100Hz, latency: 2ms, attached_to: box, topic: /imu/data}\n"
        "tasks:\n"
        "  turn:\n"
        "    stage: pipelines.imu:Integrate\n"
        "    runs_on: box.cpu\n"
        "    inputs: {imu: imu}\n"
        "    deadline: 1ms\n"
        "    execution: {bcet: 2ms, wcet: 3ms}\n"
        "    parameters: {sensor: imu}\n"
    )
    return ["replay", "late.mcap", "--system", "late.yaml", "-o", "run"]


@pytest.mark.parametrize("arguments", CALLS, ids=" ".join)
def test_a_reader_that_goes_away_is_no_error(call, arguments):
    with pipe_without_reader() as stdout:
        assert call(*arguments, stdout=stdout, anew=arguments == ANEW) == (0, None, "")


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["tables", "json"])
def test_a_replay_whose_reader_went_away_ends_quietly_with_its_run_folder(call, late, tmp_path, options):
    with pipe_without_reader() as stdout:
        code, _, err = call(*late, *options, stdout=stdout)
    assert code == 0
    assert err.endswith("writing the run folder ...\n")
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["status"] == "deadline_miss"


def test_the_tables_of_a_replay_without_cameras_have_no_empty_line(call, late):
    assert b"\n\n" not in call(*late)[1]


@pytest.mark.parametrize("broken", [pipe_without_reader, full_disk])
def test_progress_that_nobody_can_read_changes_nothing(call, tmp_path, late, broken):
    with broken() as stderr:
        code, out, _ = call(*late, stderr=stderr)
    assert code == 1
    assert b"deadline_miss" in out
    assert (tmp_path / "run" / "report.html").exists()


@pytest.mark.parametrize("arguments", [*CALLS, ["info", "{tmp}/nowhere.mcap", "--json"]], ids=" ".join)
def test_an_output_that_cannot_be_written_is_one_line(call, arguments):
    with full_disk() as stdout:
        code, _, err = call(*arguments, stdout=stdout, anew=arguments == ANEW)
    assert code == 2
    assert err.count("\n") == 1
    assert re.match(r"rt-sched: (standard output cannot be written \(No space left|.*nowhere.mcap: no such file)", err)


def test_results_of_a_replay_that_cannot_be_written_are_one_line(call, late, tmp_path):
    with full_disk() as stdout:
        code, _, err = call(*late, stdout=stdout)
    assert code == 2
    assert err.endswith(" ...\nrt-sched: standard output cannot be written (No space left on device)\n")
    assert (tmp_path / "run" / "report.html").exists()


@pytest.mark.parametrize("close", [(1,), (1, 2)], ids=["stdout", "both"])
def test_closed_streams_are_nothing_to_write_to(call, late, tmp_path, close):
    assert call(*late, close=close)[0] == 1
    assert (tmp_path / "run" / "report.html").exists()
    assert call("info", "nowhere.mcap", close=close)[0] == 2


#: The environment, and the commands whose text it may not be able to hold.
ENCODINGS = {
    "latin-1": ({"PYTHONIOENCODING": "latin-1"}, ["init"]),
    "posix": ({"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, ["replay", "init"]),
}


@pytest.mark.parametrize("name", ENCODINGS)
def test_no_encoding_is_too_small_for_the_output(call, tmp_path, name):
    topic = "/gyro/é–中😀"
    environment, commands = ENCODINGS[name]
    write_log(tmp_path / "wide.mcap", seconds=0.3, imus={topic: 100})
    for command in commands:
        code, out, err = call(command, "wide.mcap", environment=environment)
        assert (code, "Error" in err) == (0, False)
        assert b"/gyro/" in out
        assert b"\\u4e2d" in out
    code, out, _ = call("info", "wide.mcap", "--json", environment=environment)
    assert code == 0
    assert [row["name"] for row in json.loads(out)["topics"]] == [topic]
