"""Charts of simulated runs: on the terminal, as files, of any run, and what is refused."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from cli_runs import Cli, Ended

from rt_sched.app.simulate.gantt import parse_window

BUSY = """
rt_sched: 1
name: busy
devices: {ecu: {processing_elements: {cpu: {kind: cpu}}}}
resources: {bus: {protocol: priority_inheritance}}
tasks:
  high: {runs_on: ecu.cpu, activation: {rate: 50Hz, offset: 3ms}, execution: {bcet: 2ms, wcet: 4ms},
         critical_sections: [{resource: bus, from: 1ms, to: 2ms}]}
  low: {runs_on: ecu.cpu, activation: {rate: 20Hz}, execution: {wcet: 9ms}, deadline: 12ms,
        critical_sections: [{resource: bus, from: 1ms, to: 7ms}]}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gantt")
    (folder / "busy.yaml").write_text(BUSY)
    return folder


@pytest.fixture(scope="module")
def printed(folder: Path) -> Ended:
    options = ("--duration", "1s", "--runs", 3, "--run", 2, "--execution", "wcet", "--trace", "run.svg")
    return Cli(folder)("simulate", "busy.yaml", *options, "--gantt", "--window", "0ms..100ms", code=1)


def rows(out: str) -> dict[str, str]:
    lines = [line.split(maxsplit=1) for line in out.splitlines() if line.startswith("  ") and len(line.split()) > 1]
    return {words[0]: words[1] for words in lines}


def test_the_chart_is_printed_before_the_tables(printed: Ended) -> None:
    assert printed.out.startswith("Run 2 from 0 to 100 ms\n")
    assert printed.out.index("ecu.cpu") < printed.out.index("Tasks (response in ms)")
    assert {"high", "low"} <= rows(printed.out).keys()
    assert "!" in rows(printed.out)["low"]
    assert "\x1b" not in printed.out


def test_the_same_chart_is_a_file(printed: Ended, folder: Path) -> None:
    text = (folder / "run.svg").read_text(encoding="utf-8")
    assert "busy, run 2 (seed 2)" in text
    assert text.count('class="piece') >= 8
    assert not list(folder.glob("*.part"))


def test_letters_alone_where_the_stream_takes_no_more(folder: Path) -> None:
    options = ("--duration", "0.2s", "--gantt", "--rows", "processors")
    ended = Cli(folder)("simulate", "busy.yaml", *options, code=None, prelude=ASCII)
    chart = ended.out[: ended.out.index("Tasks (response in ms)")]
    assert chart.isascii()
    assert "A high  B low" in chart


ASCII = """
import sys
sys.stdout.reconfigure(encoding="ascii")
"""


def test_json_keeps_stdout_to_itself(folder: Path) -> None:
    options = ("--duration", "0.2s", "--gantt", "--json", "--trace", "run.html")
    ended = Cli(folder)("simulate", "busy.yaml", *options, code=None)
    assert ended.document["schema"] == "rt-sched/simulation/1"
    assert "Run 0 from 0 to 100 ms" in ended.err
    assert "<!doctype html>" in (folder / "run.html").read_text(encoding="utf-8")


def test_any_run_of_many_is_that_of_its_seed(folder: Path) -> None:
    options = ("--duration", "1s", "--threads", 2)
    Cli(folder)("simulate", "busy.yaml", *options, "--runs", 5, "--run", 3, "--trace", "third.csv", code=None)
    Cli(folder)("simulate", "busy.yaml", *options, "--seed", 3, "--trace", "alone.csv", code=None)
    third, alone = ((folder / f"{name}.csv").read_text() for name in ("third", "alone"))
    assert third == alone
    assert len(list(csv.DictReader(third.splitlines()))) == 70


def test_every_mistake_about_charts_is_told_at_once(folder: Path) -> None:
    options = ("--duration", "1s", "--run", 1, "--rows", "cores", "--window", "2s..1s")
    ended = Cli(folder)("simulate", "busy.yaml", *options, "--json", code=2)
    assert ended.document["message"] == "4 problems found"
    for words in ("runs are numbered 0 to 0", "valid: tasks, processors", "add --gantt", "not after its begin"):
        assert words in ended.err


@pytest.mark.parametrize(
    ("window", "words"),
    [
        ("5ms", "write TIME..TIME"),
        ("1..2", "has no unit"),
        ("-1ms..1ms", "must not begin before"),
        ("2ms..2ms", "is not after its begin"),
    ],
)
def test_a_window_that_cannot_be_shown_is_refused(window: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_window(window)


def test_a_window_behind_the_run_is_refused(folder: Path) -> None:
    options = ("--duration", "1s", "--gantt", "--window", "1s..2s")
    ended = Cli(folder)("simulate", "busy.yaml", *options, code=2)
    assert "begins at or after the end of the run, 1s" in ended.err
