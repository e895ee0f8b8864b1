"""A simulated time above its bound: who, where, and whether an assumption explains it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rt_sched.app.inputs.plan_files import plan_for
from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.app.progress import Quiet
from rt_sched.app.simulate import evidence as evidence_module
from rt_sched.app.simulate.beginning import Beginning, beside, look_at_beginning, traced
from rt_sched.app.simulate.document import simulation_document
from rt_sched.app.simulate.evidence import evidence_of
from rt_sched.app.simulate.runs import Case, Simulated, run_all
from rt_sched.config import load_system
from rt_sched.lowering import Execution
from rt_sched.sim.bulk_tables import Questions

HORIZON_NS = 10**9


@pytest.fixture
def case(limp: str) -> Case:
    system = load_system(Path(limp), stages=ImportedStages())
    plan, _ = plan_for(system, None, None)
    return Case(system, plan, (), Execution.WCET, HORIZON_NS, 7)


def with_bound(beginning: Beginning, task: str, bound_ns: int) -> Beginning:
    """The same with another bound of a task's response."""
    tasks = {name: dict(row) for name, row in beginning.bounds.tasks.items()}
    tasks[task]["bound_ns"] = bound_ns
    return replace(beginning, bounds=replace(beginning.bounds, tasks=tasks))


def simulated(case: Case, beginning: Beginning) -> Simulated:
    bounds = tuple(beginning.bounds.tasks.get(task.name, {}).get("bound_ns") for task in case.system.tasks)
    return run_all(case, Questions(bounds_ns=bounds), 3, 2, None, Quiet())


def document(case: Case, beginning: Beginning) -> dict[str, Any]:
    ran = simulated(case, beginning)
    evidence = evidence_of(case, ran.counts, beginning)
    return simulation_document(case, ran, beginning, evidence, file="limp.yaml", notes=[], wall_s=0.0)


def test_nothing_above_its_bound_is_no_evidence(case: Case) -> None:
    assert document(case, look_at_beginning(case))["bounds_exceeded"] == []


def test_a_time_above_its_bound_is_a_defect_while_the_assumptions_hold(case: Case) -> None:
    beginning = with_bound(look_at_beginning(case), "detect", 11_999_999)
    shown = document(case, beginning)
    assert shown["status"] == "bound_violated"
    (row,) = shown["bounds_exceeded"]
    assert (row["who"], row["quantity"], row["run"], row["seed"]) == ("detect", "response", 0, 7)
    assert (row["value_ns"] >= 12_000_000, row["bound_ns"]) == (True, 11_999_999)
    assert "detect" in shown["reason"]


def test_a_broken_assumption_explains_a_time_above_its_bound(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = {
        "assumption": "demand",
        "holds": False,
        "broken": 1,
        "first": [{"who": "detect", "number": 3, "time_ns": 5, "evidence": "13 ms, assumed was at most 12 ms"}],
    }

    def looked(case: Case, run: int, trace: Any) -> Any:
        chains, bounds = beside(case, run, trace)
        return chains, replace(bounds, monitors=[broken])

    monkeypatch.setattr(evidence_module, "beside", looked)
    shown = document(case, with_bound(look_at_beginning(case), "detect", 11_999_999))
    assert shown["status"] == "assumption_violated"
    assert "demand" in shown["reason"]


def test_the_part_that_is_looked_at_is_the_run_itself(case: Case) -> None:
    whole, part = traced(case, 2, HORIZON_NS), traced(case, 2, HORIZON_NS // 3)
    count = int((part.jobs.finish_ns >= 0).sum())
    assert count > 10
    finished = part.jobs.finish_ns >= 0
    assert (whole.jobs.finish_ns[: len(part.jobs)][finished] == part.jobs.finish_ns[finished]).all()
