"""`explain` of a run folder from the command line; of a system file it derives bounds as before."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from cli_runs import Cli

sys.path.insert(0, str(Path(__file__).parents[1] / "trace"))

from checked_systems import traced

from rt_sched.record.trace_file import TRACE_FILE, save_trace


@pytest.fixture
def run(cli: Cli) -> Path:
    folder = cli.folder / "run"
    folder.mkdir()
    save_trace(traced("chain"), folder / TRACE_FILE)
    (folder / "summary.json").write_text(
        '{"schema": "rt-sched/run-summary/1", "tasks": [], '
        '"chains": [{"name": "brake", "path": ["camera", "detect", "act"]}]}'
    )
    return folder


def test_the_second_argument_tells_what_is_explained(cli: Cli, run: Path) -> None:
    document = cli("explain", "camera#0", "run", "--json").document
    assert document["schema"] == "rt-sched/run-explanation/1"
    assert document["frame"]["chains"][0]["latency_ns"] == 11
    shown = cli("explain", "detect#0", "run/trace.npz").out
    assert shown.startswith("detect#0 on cpu: response 3ns <= deadline 9ns\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("camera#9", "run", "--chain", "break"), ("did you mean 'brake'", "camera has no sample 9")),
        (("camera", "run", "--policy", "edf"), ("--policy and --mode",)),
        (("fuse", "quad_orin", "--chain", "brake"), ("--chain",)),
    ],
)
def test_wrong_calls_are_exit_2(cli: Cli, run: Path, arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    ended = cli("explain", *arguments, code=2)
    assert all(word in ended.err for word in words)
