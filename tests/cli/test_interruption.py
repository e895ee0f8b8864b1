"""Interrupted in the middle: the right exit code, nothing half-written, nobody left running."""

import json
import os
import signal
from pathlib import Path

import pytest
from cli_runs import HANG_S, QUAD_ORIN, SHIPPED_LOG


def start_until(cli, text, *options):
    """A running replay of the shipped log that has just said `text`."""
    process = cli.start("replay", SHIPPED_LOG, "--system", QUAD_ORIN, "-o", "out/run", *options)
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


@pytest.mark.parametrize(
    ("number", "step", "code"),
    [
        (signal.SIGINT, "reading the recording", 130),
        (signal.SIGINT, "starting the stages", 130),
        (signal.SIGINT, "replaying", 130),
        (signal.SIGTERM, "replaying", 143),
    ],
)
def test_an_interrupted_replay_leaves_nothing_behind(cli, tmp_path, number, step, code):
    process = start_until(cli, step)
    process.send_signal(number)
    returned, out, err = end(process)
    assert returned == code, err
    assert "Traceback" not in err
    assert err.endswith(f"rt-sched: {'interrupted' if number == signal.SIGINT else 'terminated'}\n")
    assert out == ""
    assert list(tmp_path.iterdir()) == []


def test_with_json_an_interruption_is_one_document(cli):
    process = start_until(cli, "replaying", "--json")
    process.send_signal(signal.SIGINT)
    code, out, _ = end(process)
    assert code == 130
    assert json.loads(out)["message"] == "interrupted"


def test_an_interrupted_replay_keeps_the_run_it_was_to_replace(cli, tmp_path, logs):
    cli("replay", logs / "imu.mcap", "-o", "out/run")
    before = (tmp_path / "out/run/summary.json").read_bytes()
    process = start_until(cli, "replaying")
    process.send_signal(signal.SIGINT)
    end(process)
    assert (tmp_path / "out/run/summary.json").read_bytes() == before
    assert [entry.name for entry in (tmp_path / "out").iterdir()] == ["run"]


def test_what_a_killed_replay_left_is_removed_by_the_next(cli, tmp_path, logs):
    process = start_until(cli, "replaying")
    process.kill()
    assert end(process)[0] == -signal.SIGKILL
    left = list((tmp_path / "out").iterdir())
    assert len(left) == 1
    assert not Path(tmp_path / "out/run").exists()
    cli("replay", logs / "imu.mcap", "-o", "out/run")
    assert [entry.name for entry in (tmp_path / "out").iterdir()] == ["run"]
