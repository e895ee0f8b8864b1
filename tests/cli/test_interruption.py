"""Interrupted in the middle: the right exit code, nothing half-written, nobody left running."""

import json
import os
import signal
from pathlib import Path

import pytest
from cli_runs import HANG_S, QUAD_ORIN, SHIPPED_LOG

#: Half a second of samples that take ten.
SLOW = """\
rt_sched: 1
name: slow
devices: {box: {processing_elements: {cpu: {kind: cpu}}}}
sensors: {imu: {kind: imu, rate: 100Hz, latency: 2ms, attached_to: box, topic: /imu/data}}
tasks:
  turn: {stage: "slow_stage:Slow", runs_on: box.cpu, inputs: {imu: imu}, execution: {wcet: 2ms},
    parameters: {sensor: imu}}
"""
STAGE = """\
import time
from pipelines.imu import Integrate
class Slow(Integrate):
    def process(self, job, inputs):
        time.sleep(0.2)
        return super().process(job, inputs)
"""


#: A module whose loading is interrupted, and which makes an error of its own of that, as some in C do.
CUT_SHORT = """\
import os, signal
try:
    os.kill(os.getpid(), signal.{signal})
    for _ in range(1000):
        pass
except KeyboardInterrupt:
    raise {error}("initialization failed")
"""


@pytest.fixture
def slow(tmp_path_factory, logs):
    """What follows `replay` for a run that is slow and needs little, and the Python that it needs before."""
    folder = tmp_path_factory.mktemp("slow")
    (folder / "slow.yaml").write_text(SLOW)
    (folder / "slow_stage.py").write_text(STAGE)
    hears = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL)"
    found = f"import sys; sys.path.insert(0, {str(folder)!r})"
    return (logs / "imu.mcap", "--system", folder / "slow.yaml"), f"{hears}; {found}"


#: The shipped log, with threads and models to load.
WHOLE = ((SHIPPED_LOG, "--system", QUAD_ORIN), "")


def start_until(cli, what, text, *options, anew=False):
    """A running replay that has just said `text`; `what` as of `slow`."""
    arguments, prelude = what
    process = cli.start("replay", *arguments, "-o", "out/run", *options, prelude=prelude, anew=anew)
    said = ""
    for line in process.stderr:
        said += line
        if text in line:
            return process
    raise AssertionError(f"{text!r} was not said: {said}")


def end(process):
    out, err = process.communicate(timeout=HANG_S)
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
    return process.returncode, out, err


_TOLD = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "hung up"}


def assert_leaves_nothing(process, number, folder):
    """Sent the signal, it ends with its code and a word, and nothing lies in its folder."""
    process.send_signal(number)
    code, out, err = end(process)
    assert code == 128 + number, err
    assert "Traceback" not in err
    assert err.endswith(f"rt-sched: {_TOLD[number]}\n")
    assert out == ""
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("step", "anew"), [("reading the recording", False), ("starting the stages", False), ("replaying", True)]
)
def test_an_interrupted_replay_leaves_nothing_behind(cli, tmp_path, step, anew):
    assert_leaves_nothing(start_until(cli, WHOLE, step, anew=anew), signal.SIGINT, tmp_path)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_replay_that_is_told_to_end_leaves_nothing_behind(cli, slow, tmp_path, number):
    assert_leaves_nothing(start_until(cli, slow, "replaying"), number, tmp_path)


@pytest.mark.parametrize("error", ["ImportError", "SystemError", "OSError"])
@pytest.mark.parametrize("number", _TOLD)
def test_an_error_that_an_interruption_led_to_is_the_interruption(cli, slow, tmp_path, number, error):
    what, prelude = slow
    (what[-1].parent / "slow_stage.py").write_text(CUT_SHORT.format(signal=number.name, error=error))
    ended = cli("replay", *what, "-o", "out/run", prelude=prelude, code=128 + number)
    assert ended.err.endswith(f"rt-sched: {_TOLD[number]}\n")
    assert ended.out == ""
    assert list(tmp_path.iterdir()) == []


def test_a_replay_that_does_not_mind_a_hang_up_goes_on(cli, slow, tmp_path):
    what, prelude = slow
    deaf = f"{prelude}; signal.signal(signal.SIGHUP, signal.SIG_IGN)"
    process = start_until(cli, (what, deaf), "replaying", anew=True)
    process.send_signal(signal.SIGHUP)
    assert_leaves_nothing(process, signal.SIGTERM, tmp_path)


def test_with_json_an_interruption_is_one_document(cli, slow):
    process = start_until(cli, slow, "replaying", "--json")
    process.send_signal(signal.SIGINT)
    code, out, _ = end(process)
    assert code == 130
    assert json.loads(out)["message"] == "interrupted"


def test_an_interrupted_replay_keeps_the_run_it_was_to_replace(cli, slow, tmp_path, logs):
    cli("replay", logs / "imu.mcap", "-o", "out/run")
    before = (tmp_path / "out/run/summary.json").read_bytes()
    process = start_until(cli, slow, "replaying")
    process.send_signal(signal.SIGINT)
    end(process)
    assert (tmp_path / "out/run/summary.json").read_bytes() == before
    assert [entry.name for entry in (tmp_path / "out").iterdir()] == ["run"]


def test_what_a_killed_replay_left_is_removed_by_the_next(cli, slow, tmp_path, logs):
    process = start_until(cli, slow, "replaying")
    process.kill()
    assert end(process)[0] == -signal.SIGKILL
    left = list((tmp_path / "out").iterdir())
    assert len(left) == 1
    assert not Path(tmp_path / "out/run").exists()
    cli("replay", logs / "imu.mcap", "-o", "out/run")
    assert [entry.name for entry in (tmp_path / "out").iterdir()] == ["run"]
