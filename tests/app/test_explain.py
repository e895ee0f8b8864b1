"""What `explain` and its like say of names that do not fit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rt_sched.app.explain.job import explained_in_system
from rt_sched.app.inputs.shipped import resolve, shipped_files
from rt_sched.config import load_system
from rt_sched.config.plan_text import plan_text
from rt_sched.errors import AnalysisNotApplicable, ConfigError
from rt_sched.planner import make_plan

TWO_MODES = """\
rt_sched: 1
name: two_modes
devices: {ecu: {processing_elements: {cpu: {kind: cpu}}}}
tasks:
  always: {runs_on: ecu.cpu, activation: {period: 10ms}, execution: {wcet: 1ms}}
  limping: {runs_on: ecu.cpu, activation: {period: 20ms}, execution: {wcet: 2ms}}
modes:
  normal: {tasks: [always]}
  limp: {tasks: [always, limping]}
"""


def test_a_task_of_another_mode_is_told_where_it_exists(tmp_path: Path) -> None:
    file = tmp_path / "modes.yaml"
    file.write_text(TWO_MODES)
    for mode in (None, "normal"):
        with pytest.raises(AnalysisNotApplicable, match=r"not exist in mode normal; it does in limp: add --mode limp"):
            explained_in_system("limping", str(file), None, mode)
    assert explained_in_system("limping", str(file), None, "limp")["response_bound_ns"] == 3_000_000
    with pytest.raises(AnalysisNotApplicable, match=r"unknown task or chain 'limpin'; did you mean 'limping'\?"):
        explained_in_system("limpin", str(file), None, None)


def test_an_unknown_file_names_what_ships() -> None:
    with pytest.raises(ConfigError) as wrong:
        resolve("quad_orni")
    assert "there is no such file; unknown name 'quad_orni'; did you mean 'quad_orin'?" in str(wrong.value)
    assert all(name in str(wrong.value) for name in list(shipped_files())[:3])
    assert resolve("none/quad_orni") == Path("none/quad_orni")


def test_bounds_under_a_plan_are_those_of_its_placement(tmp_path: Path) -> None:
    file = tmp_path / "choice.yaml"
    file.write_text(
        "rt_sched: 1\nname: choice\ndevices: {a: {processing_elements: {x: {kind: cpu}, y: {kind: cpu}}}}\ntasks:\n"
        "  first: {runs_on: a.x, candidates: a.y, activation: {rate: 20Hz}, execution: {wcet: 5ms}}\n"
        "  second: {runs_on: a.x, candidates: a.y, activation: {rate: 20Hz}, execution: {wcet: 5ms}}\n"
        "  third: {runs_on: a.y, activation: {rate: 20Hz, offset: 1ms}, inputs: {x: second}, execution: {wcet: 1ms}}\n"
        "chains: {go: {path: [second, third]}}\n"
    )
    system = load_system(file, stages=None)
    places = {"first": ("a", "x"), "second": ("a", "y"), "third": ("a", "y")}
    plan = replace(make_plan(system, elements=places), offsets=(("third", 6_000_000),))
    written = tmp_path / "plan.yaml"
    written.write_text(plan_text(system, plan))
    told: list[str] = []
    assert explained_in_system("second", str(file), None, None)["response_bound_ns"] == 10_000_000
    moved = explained_in_system("second", str(file), None, None, written, told.append)
    assert (moved["processor"], moved["response_bound_ns"], told) == ("a.y.0", 5_000_000, [])
    chain = explained_in_system("go", str(file), None, None, written)
    assert chain["quantities"]["latency"]["bound_ns"] == 7_000_000
    file.write_text(file.read_text().replace("wcet: 1ms", "wcet: 2ms"))
    assert explained_in_system("third", str(file), None, None, written, told.append)["response_bound_ns"] == 2_000_000
    assert "was made for another state of choice" in told[0]
