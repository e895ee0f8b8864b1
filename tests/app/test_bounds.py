"""What a run says of its bounds: the job that exceeded one, the assumption that broke, both with their evidence."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rt_sched.analysis.loads.resolve import ModeLoad
from rt_sched.analysis.result import Bound, ModeResult
from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.app.runs.bounds import RunBounds, run_bounds, tripped, violated
from rt_sched.app.runs.judged_chains import judged_chains
from rt_sched.config import load_system
from rt_sched.lowering import lower, nominal_samples
from rt_sched.model import System
from rt_sched.planner import make_plan
from rt_sched.sim import Simulation
from rt_sched.trace.records import JobStatus

SYSTEM = """
rt_sched: 1
name: two
devices: {ecu: {processing_elements: {cpu: {kind: cpu}}}}
sensors: {cam: {kind: camera, rate: 30Hz, latency: 5ms, jitter: 1ms, attached_to: ecu, topic: "/cam/*"}}
tasks:
  see: {runs_on: ecu.cpu, inputs: {image: cam}, execution: {bcet: 2ms, wcet: SEE}, deadline: 30ms}
  act: {runs_on: ecu.cpu, activation: {period: 10ms}, execution: {wcet: 1ms}, inputs: {x: {from: see, required: false}}}
chains:
  drive: {path: [cam, see, act], max_reaction: 90ms}
"""
#: The module; its package has a function of that name.
analysis = importlib.import_module("rt_sched.analysis.analyze")
HORIZON_NS = 400_000_000


def system(folder: Path, worst_case: str = "8ms") -> System:
    path = folder / "two.yaml"
    path.write_text(SYSTEM.replace("SEE", worst_case))
    return load_system(path, stages=ImportedStages())


def bounds_of(declared: System, real: System, silent: Sequence[int] = ()) -> RunBounds:
    """A run of `real`, held against what `declared` says."""
    plan = make_plan(real)
    simulation = Simulation(lower(real, plan, nominal_samples(real, HORIZON_NS), horizon_ns=HORIZON_NS))
    simulation.run()
    trace = simulation.trace()
    rows = [int(np.flatnonzero(trace.jobs.status == JobStatus.COMPLETED)[one]) for one in silent]
    chains = judged_chains(declared, make_plan(declared), trace, (), ("cam",), rows)
    return run_bounds(declared, make_plan(declared), trace, chains, rows)


def patched(monkeypatch: pytest.MonkeyPatch, change: Callable[[ModeResult], ModeResult]) -> None:
    """The analysis is wrong in the way of `change`."""
    right = analysis.analyze_mode

    def wrong(load: ModeLoad, *methods: Any, **options: bool) -> ModeResult:
        return change(right(load, *methods, **options))

    monkeypatch.setattr(analysis, "analyze_mode", wrong)


def cut(bound: Bound | None, value_ns: int) -> Bound:
    assert bound is not None
    first = replace(bound.terms[0], value_ns=bound.terms[0].value_ns + value_ns - bound.value_ns)
    return replace(bound, value_ns=value_ns, terms=(first, *bound.terms[1:]))


def test_a_run_of_the_declared_system_says_nothing(tmp_path: Path) -> None:
    made = system(tmp_path)
    found = bounds_of(made, made)
    assert violated(found) is None
    assert tripped(found) is None
    keys = {"execution", "separation", "clocks", "sensor_rate", "sensor_latency", "sensor_gap", "outputs"}
    assert {one["assumption"] for one in found.monitors} >= keys


def test_a_bound_on_a_task_that_is_wrong_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def smaller(result: ModeResult) -> ModeResult:
        see, act = result.tasks
        return replace(result, tasks=(replace(see, bound=cut(see.bound, 3_000_000)), act))

    patched(monkeypatch, smaller)
    made = system(tmp_path)
    found = bounds_of(made, made)
    assert {(one["who"], one["quantity"]) for one in found.exceeded} == {("see", "response")}
    said = violated(found)
    assert said is not None
    assert said.startswith("see #")
    assert said.endswith("ms is over its bound of 3.000 ms although every assumption held")


@pytest.mark.parametrize("quantity", ["reaction", "latency", "data_age"])
def test_a_bound_on_a_chain_that_is_wrong_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quantity: str
) -> None:
    def smaller(result: ModeResult) -> ModeResult:
        (chain,) = result.chains
        return replace(result, chains=(replace(chain, **{quantity: cut(getattr(chain, quantity), 9_000_000)}),))

    patched(monkeypatch, smaller)
    made = system(tmp_path)
    found = bounds_of(made, made)
    assert {(one["who"], one["quantity"], one["bound_ns"]) for one in found.exceeded} == {
        ("drive", quantity, 9_000_000)
    }
    said = violated(found)
    assert said is not None
    assert f"{quantity.replace('_', ' ')} of" in said


def test_a_bound_that_is_exceeded_because_an_assumption_broke_is_no_defect(tmp_path: Path) -> None:
    found = bounds_of(system(tmp_path, "8ms"), system(tmp_path, "20ms"))
    assert found.exceeded
    assert violated(found) is None
    said = tripped(found)
    assert said is not None
    assert "assumption execution broke" in said
    assert "first see #" in said
    assert said.split(", assumed was ")[1].startswith("at most 8ms")


def test_counts_are_told_as_counts(tmp_path: Path) -> None:
    made = system(tmp_path)
    found = bounds_of(made, made, silent=(2,))
    (row,) = [one for one in found.monitors if one["assumption"] == "outputs"]
    assert row["unit"] == "jobs"
    first = row["first"][0]
    assert (first["value"], first["limit"]) == (1, 0)
    assert first["evidence"] == "1 job, assumed was at most 0 jobs"
    assert {one["unit"] for one in found.monitors} == {"ns", "jobs", "messages"}
