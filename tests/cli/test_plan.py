"""`rt-sched plan` in processes of its own: exit codes, the plan file and what reads it, Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pytest
from cli_runs import Cli

sys.path.insert(0, str(Path(__file__).parents[1] / "planner"))

from planned_systems import TRADE

SYSTEM = f"rt_sched: 1\nname: choice\n{TRADE}"
HOPELESS = """
rt_sched: 1
name: hopeless
devices: {a: {processing_elements: {x: {kind: cpu}, y: {kind: cpu}}}}
tasks:
  one: {runs_on: a.x, candidates: a.y, activation: {rate: 100Hz}, execution: {wcet: 12ms}}
"""


@pytest.fixture
def system(cli: Cli) -> Path:
    path = cli.folder / "choice.yaml"
    path.write_text(SYSTEM)
    return path


def test_a_plan_is_written_explained_and_read_by_analyze(cli: Cli, system: Path) -> None:
    ended = cli(
        "plan", system, "--optimise", "balance", "--explain", "-o", "plan.yaml", "--json", "--time-limit", "20s"
    )
    document = ended.document
    assert (document["schema"], document["verdict"]) == ("rt-sched/plan/1", "schedulable")
    assert document["objective"] == "balance"
    assert document["plan_file"] == "plan.yaml"
    assert {one["task"] for one in document["reasons"]} == {one["task"] for one in document["placements"]}
    assert document["frame"]["critical_path"]
    assert document["costs"]["peak_load"] <= document["costs_as_in_file"]["peak_load"]
    solver = next(one["solver"] for one in document["proposals"] if one["solver"])
    assert solver["status"] == "optimal"
    analysed = cli("analyze", system, "--plan", "plan.yaml", "--json")
    places = {one["name"]: one["processor"] for one in analysed.document["tasks"]}
    assert places == {one["task"]: one["processor"] for one in document["placements"]}
    again = cli("plan", system, "-o", "plan.yaml", "--heuristics", "--no-failover", code=2)
    assert "plan.yaml exists already; give another name, or --force" in again.err
    system.write_text(SYSTEM.replace("wcet: 2ms", "wcet: 2.1ms"))
    assert "was made for another state of choice" in cli("analyze", system, "--plan", "plan.yaml").err
    system.write_text(SYSTEM.replace("act:", "react:").replace(", act]", ", react]"))
    refused = cli("analyze", system, "--plan", "plan.yaml", code=2)
    assert "plan.yaml:" in refused.err
    assert "not placed: react" in refused.err


def test_heuristics_need_neither_solver_nor_much_time(cli: Cli, system: Path) -> None:
    prelude = (
        "import sys\nclass Refuse:\n    def find_spec(self, name, *_):\n        assert name != 'ortools', name\n"
        "sys.meta_path.insert(0, Refuse())"
    )
    ended = cli("plan", system, "--heuristics", "--no-failover", prelude=prelude)
    assert "schedulable  best for latency" in ended.out
    assert "failover" not in ended.out


def test_tasks_stay_where_the_file_has_them(cli: Cli, system: Path) -> None:
    """Another place would be better here, and its takeovers are planned all the same."""
    analysed = cli("analyze", system, "--json", code=None).document
    of_file = {one["name"]: one["processor"] for one in analysed["tasks"]}
    moved = cli("plan", system, "--optimise", "balance", "--json").document
    assert {one["task"]: one["processor"] for one in moved["placements"]} != of_file
    stayed = cli("plan", system, "--optimise", "balance", "--stay", "--json").document
    assert {one["task"]: one["processor"] for one in stayed["placements"]} == of_file
    assert all(one["method"].startswith("as in the file") for one in stayed["proposals"])
    assert stayed["failover"]
    assert "schedulable  tasks stay where the file has them" in cli("plan", system, "--stay").out
    assert "leave one out" in cli("plan", system, "--stay", "--heuristics", code=2).err


@pytest.mark.parametrize("heuristics", [(), ("--heuristics",)])
def test_what_cannot_be_planned_ends_with_the_reason(cli: Cli, heuristics: tuple[str, ...]) -> None:
    (cli.folder / "hopeless.yaml").write_text(HOPELESS)
    ended = cli("plan", "hopeless.yaml", *heuristics, "-o", "plan.yaml", "--force", code=1)
    assert "obstacle: load: even the best placement fills" in ended.out
    assert "to 120 %; execution times of one would have to fall to 83 %" in ended.out
    assert "no plan: task one: it takes 12ms wherever it runs, longer than its deadline of 10ms" in ended.out
    assert "unschedulable  there is no plan; shown above is what comes closest" in ended.out
    assert "plan.yaml  (the analysis does not accept it)" in ended.out


def test_what_is_only_not_found_is_no_proof(cli: Cli) -> None:
    late = HOPELESS.replace("wcet: 12ms", "wcet: 6ms") + (
        "  two: {runs_on: a.x, activation: {rate: 100Hz}, execution: {wcet: 3ms}, deadline: 4ms}\n"
        "  three: {runs_on: a.y, activation: {rate: 100Hz}, execution: {wcet: 3ms}, deadline: 4ms}\n"
    )
    (cli.folder / "late.yaml").write_text(
        late.replace("execution: {wcet: 6ms}", "execution: {wcet: 6ms}, deadline: 8ms")
    )
    ended = cli("plan", "late.yaml", "--heuristics", "--policy", "dm", "--no-failover", code=3)
    assert "inconclusive  no accepted plan was found, and none is ruled out; what comes closest:" in ended.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--optimise", "beauty"], "unknown objective 'beauty'; valid: latency, margin, energy, balance"),
        (["--policy", "lifo"], "unknown policy 'lifo'; valid: rms, dm, opa, edf"),
        (["--time-limit", "10"], "--time-limit"),
        (["--merge", "--tables", "all"], "tables name the tasks of the file; leave one out"),
        (["-o", "no/such/folder/plan.yaml", "--heuristics", "--no-failover"], "cannot be written"),
    ],
)
def test_a_wrong_call_is_told(cli: Cli, system: Path, arguments: list[str], message: str) -> None:
    ended = cli("plan", system, *arguments, "--json", code=2)
    assert message in ended.err
    assert json.loads(ended.out)["exit_code"] == 2


def test_ctrl_c_ends_the_search_with_the_best_so_far(cli: Cli) -> None:
    """Forty tasks leave the solver busy for longer than the test waits."""
    everywhere = [f"d{d}.e{e}" for d in range(4) for e in range(4)]
    tasks = "".join(
        f"  t{n}: {{runs_on: d{n % 4}.e0, candidates: [{', '.join(set(everywhere) - {f'd{n % 4}.e0'})}], "
        f"activation: {{rate: 20Hz}}, execution: {{wcet: {1 + n % 7}ms}}}}\n"
        for n in range(40)
    )
    elements = ", ".join(f"e{e}: {{kind: cpu}}" for e in range(4))
    devices = "".join(f"  d{d}: {{processing_elements: {{{elements}}}}}\n" for d in range(4))
    (cli.folder / "many.yaml").write_text(f"rt_sched: 1\nname: many\ndevices:\n{devices}tasks:\n{tasks}")
    with cli.start("plan", "many.yaml", "--time-limit", "300s", "--no-failover", "--json") as process:
        assert process.stderr is not None
        while "solver:" not in process.stderr.readline():
            assert process.poll() is None
        os.killpg(process.pid, signal.SIGINT)
        out, _ = process.communicate(timeout=120)
    document = json.loads(out)
    assert process.returncode == 0
    assert document["interrupted"] is True
    assert document["verdict"] == "schedulable"
