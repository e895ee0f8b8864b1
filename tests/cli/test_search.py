"""The search from the command line: its scenarios run again to the same times, and every way in which it can end."""

from __future__ import annotations

import json
import signal
from dataclasses import replace
from pathlib import Path

import pytest
from cli_runs import HANG_S, ROOT, Cli

from rt_sched.app.search import job
from rt_sched.app.search.document import bounds_of

SUSPENDING = ROOT / "examples" / "analysis" / "self_suspension.yaml"
SYSTEM = """
rt_sched: 1
name: small
devices: {ecu: {processing_elements: {cpu: {kind: cpu}, gpu: {kind: gpu}}}}
sensors: {front: {kind: camera, rate: 100Hz, latency: 1ms, jitter: 0.3ms, attached_to: ecu, topic: /f}}
tasks:
  detect: {runs_on: ecu.gpu, inputs: {x: front}, execution: {bcet: 1ms, wcet: 3ms}}
  other: {runs_on: ecu.gpu, activation: {min_separation: 15ms}, execution: {bcet: 2ms, wcet: 4ms}}
  act:
    {runs_on: ecu.cpu, activation: {period: 20ms}, execution: {bcet: 0.2ms, wcet: 1ms}, deadline: DEADLINE,
     inputs: {x: {from: detect, required: false}}}
chains: {react: {path: [front, detect, act], max_reaction: LIMIT}}
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return written(tmp_path)


def written(folder: Path, deadline: str = "5ms", limit: str = "60ms") -> Path:
    path = folder / "small.yaml"
    path.write_text(SYSTEM.replace("DEADLINE", deadline).replace("LIMIT", limit))
    return path


def test_every_scenario_shows_its_time_when_it_is_simulated(cli: Cli, small: Path) -> None:
    found = cli("search", small, "--budget", 120, "--processes", 1, "-o", "cases", "--json")
    document = found.document
    assert (document["schema"], document["status"], document["runs"]) == ("rt-sched/search/1", "ok", 120)
    assert json.loads((cli.folder / "cases" / "search.json").read_text()) == document
    rows = {(row["name"], row["quantity"]): row for row in document["targets"]}
    assert set(rows) == {
        *((name, "response") for name in ("detect", "other", "act")),
        *(("react", quantity) for quantity in ("reaction", "latency", "data_age")),
    }
    for (name, quantity), row in rows.items():
        assert row["value_ns"] <= row["bound_ns"]
        assert row["tightness"] == pytest.approx(row["value_ns"] / row["bound_ns"], abs=1e-6)
        again = cli("simulate", small, "--scenario", row["scenario"], "--json").document
        part = next(one for one in (*again["tasks"], *again["chains"]) if one["name"] == name)
        assert part[f"{quantity}_max_ns"] == row["value_ns"]
        assert (again["execution"], again["scenario"], again["runs"]) == ("scenario", row["scenario"], 1)
        assert again["checked"]["trace_check"]["violations"] == []
        assert all(one["holds"] for one in again["checked"]["monitors"])
    assert rows["detect", "response"]["value_ns"] == rows["detect", "response"]["bound_ns"] == 6_999_999


def test_the_table_names_what_was_found_and_by_what(cli: Cli) -> None:
    ended = cli("search", SUSPENDING, "--budget", "60 runs", "--target", "report", "--processes", 1, "-o", "worst.yaml")
    assert "report  response" in ended.out
    assert "60 runs" in ended.out
    assert "worst.yaml" in ended.out
    text = (cli.folder / "worst.yaml").read_text()
    assert "shows: {target: report, quantity: response, value: 12ms}" in text
    again = cli("search", SUSPENDING, "--budget", 60, "--target", "report", "-o", "worst.yaml", code=2)
    assert "exists already" in again.err


@pytest.mark.parametrize(("deadline", "limit", "who"), [("0.9ms", "60ms", "act"), ("5ms", "20ms", "react")])
def test_a_missed_deadline_or_limit_is_told(cli: Cli, deadline: str, limit: str, who: str) -> None:
    ended = cli("search", written(cli.folder, deadline, limit), "--budget", 60, "--processes", 1, "--json", code=1)
    assert ended.document["status"] == "deadline_miss"
    assert who in ended.document["reason"]


def test_wrong_calls_are_explained(cli: Cli, small: Path) -> None:
    for options, words in (
        (("--target", "detct"), "did you mean 'detect'?"),
        (("--budget", "soon"), "or a number of runs, such as 5000"),
        (("--budget", "0"), "must be at least one run"),
        (("--policy", "lifo"), "valid: "),
    ):
        assert words in cli("search", small, *options, code=2).err
    assert "2 problems found" in cli("search", small, "--budget", "soon", "--policy", "lifo", code=2).err
    (cli.folder / "s.yaml").write_text("rt_sched_scenario: 1\nsystem: small\nduration: 10ms\n")
    for options in (("--seed", 3), ("--runs", 2), ("--execution", "wcet"), ("--duration", "1s")):
        assert "the scenario says this" in cli("simulate", small, "--scenario", "s.yaml", *options, code=2).err


def test_a_bound_that_is_exceeded_ends_with_its_scenario(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the analysis has no such defect, a bound is made too small here."""

    def too_small(mode):  # type: ignore[no-untyped-def]
        found = dict(bounds_of(mode))
        bound = found["detect", "response"]
        term = replace(bound.terms[0], value_ns=bound.terms[0].value_ns - 1000)
        found["detect", "response"] = replace(bound, value_ns=bound.value_ns - 1000, terms=(term, *bound.terms[1:]))
        return found

    monkeypatch.setattr(job, "bounds_of", too_small)
    monkeypatch.chdir(tmp_path)
    request = job.SearchRequest(str(small), targets=("detect",), budget="200", processes=1)
    document = job.searched_document(request, lambda _: None)
    assert document["status"] == "bound_violated"
    (row,) = document["targets"]
    assert row["bound_ns"] == 6_998_999 < row["value_ns"]
    assert row["scenario"] == "bound_violated.yaml"
    assert "value: " in Path("bound_violated.yaml").read_text()


LOSING = """
rt_sched: 1
name: losing
devices: {ecu: {processing_elements: {cpu: {kind: cpu}}}}
sensors:
  front: {kind: camera, rate: 50Hz, latency: 1ms, attached_to: ecu, topic: /f}
  side: {kind: camera, rate: 100Hz, latency: 1ms, attached_to: ecu, topic: /s}
tasks:
  act: {runs_on: ecu.cpu, inputs: {x: front}, execution: {bcet: 1ms, wcet: 2ms}}
  slow:
    {runs_on: ecu.cpu, activation: {period: 40ms, offset: OFFSET}, execution: {wcet: 1ms},
     inputs: {x: {from: side, edge: {queue: 1}}}}
chains: {react: {path: [front, act], max_reaction: 60ms}}
"""


@pytest.mark.parametrize("offset", ["0ms", "39ms"])
def test_times_that_lost_messages_hide_are_not_called_in_time(cli: Cli, tmp_path: Path, offset: str) -> None:
    path = tmp_path / "losing.yaml"
    path.write_text(LOSING.replace("OFFSET", offset))
    found = cli("search", path, "--budget", 40, "--processes", 1, "--json", code=3).document
    assert found["status"] == "incomplete"
    assert any("queues at" in one for one in found["checked"]["losses"])
    hidden = [row for row in found["targets"] if row["limit_ns"] and row["value_ns"] is None]
    assert all(f"{row['quantity']} of {row['name']}" in found["reason"] for row in hidden)


def test_an_interrupt_keeps_what_was_found(cli: Cli, small: Path) -> None:
    running = cli.start("search", small, "--budget", "100s", "--processes", 1, "--json")
    assert running.stderr is not None
    for line in running.stderr:
        if " runs: " in line:
            break
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=HANG_S)
    document = json.loads(out)
    assert (running.returncode, document["status"], document["interrupted"]) == (0, "ok", True), err
    assert document["runs"] > 0
