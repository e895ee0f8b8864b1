"""Offsets that a plan sets: proposed where bounds get better, and the same to analysis and runs as those of a file."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from planned_systems import system_of

sys.path.insert(0, str(Path(__file__).parent / "failover"))
from failover_rigs import rig

from rt_sched.analysis.analyze import analyze
from rt_sched.app.analyze.job import analysed_system
from rt_sched.app.plan.job import PlanRequest, planned_document
from rt_sched.app.simulate.job import SimulateRequest, simulate
from rt_sched.lowering import check_plan, lower, nominal_samples
from rt_sched.lowering.offsets import with_offsets
from rt_sched.planner import make_plan
from rt_sched.planner.better_offsets import with_better_offsets
from rt_sched.planner.failover import failover_plan
from rt_sched.planner.objectives import Objective
from rt_sched.planner.offsets import OffsetProposal, propose_offsets
from rt_sched.planner.optimise import optimise
from rt_sched.planner.placing.stopping import Stop
from rt_sched.planner.recoverable import answered
from rt_sched.sim import Simulation

MS = 1_000_000
#: `act` reads 1 ms before `make` has its result; behind it, it reads almost a period earlier.
TOO_SOON = """
devices: {a: {processing_elements: {x: {kind: cpu}, y: {kind: cpu}}}}
tasks:
  make: {runs_on: a.x, activation: {rate: 20Hz}, execution: {wcet: 10ms}}
  act: {runs_on: a.y, activation: {rate: 20Hz, offset: 9ms}, inputs: {x: make}, execution: {wcet: 2ms}}
chains: {go: {path: [make, act], max_latency: 200ms}}
"""


def test_a_better_offset_is_proposed_and_accepted() -> None:
    system = system_of(TOO_SOON)
    (found,) = propose_offsets(system, make_plan(system), Stop(60))
    assert (found.task, found.before_offset_ns, found.offset_ns) == ("act", 9 * MS, 10 * MS)
    assert found.after_ns == 12 * MS < found.before_ns


def test_a_plan_with_better_offsets_has_the_bounds_that_were_proposed_and_nothing_more_to_propose() -> None:
    system = system_of(TOO_SOON)
    planned = optimise(system, Objective.LATENCY, Stop(10), search=False)
    assert planned.best is not None
    assert planned.best.plan is not None
    proposals = propose_offsets(system, planned.best.plan, Stop(60))
    better, failover = with_better_offsets(system, planned, None, proposals, lambda _: None)
    assert failover is None
    assert better.best is not None
    assert better.best.plan is not None
    assert better.best.plan.offsets == (("act", 10 * MS),)
    assert better.best.costs is not None
    assert better.best.costs.latency_ns == proposals[-1].after_ns
    assert better.report is not None
    assert better.report.modes[0].chains[0].latency is not None
    assert better.report.modes[0].chains[0].latency.value_ns == 12 * MS
    assert propose_offsets(system, better.best.plan, Stop(60)) == ()


def test_offsets_of_a_plan_are_those_of_the_file() -> None:
    system = system_of(TOO_SOON)
    plan = make_plan(system)
    timed = replace(plan, offsets=(("act", 17 * MS),))
    written = system_of(TOO_SOON.replace("offset: 9ms", "offset: 17ms"))
    assert with_offsets(system, timed) == written
    assert check_plan(system, timed) == []
    assert analyze(system, timed).modes == analyze(written, plan).modes
    none = nominal_samples(system, 200 * MS)
    runs = [lower(one, by, none, horizon_ns=200 * MS, seed=5) for one, by in ((system, timed), (written, plan))]
    assert runs[0].setup == runs[1].setup
    simulation = Simulation(runs[0])
    simulation.run()
    jobs = simulation.trace().jobs
    assert jobs.arrival_ns[np.equal(jobs.task, 1)].tolist() == [17 * MS, 67 * MS, 117 * MS, 167 * MS]


def test_offsets_that_are_worse_for_the_objective_are_not_taken() -> None:
    system = system_of(TOO_SOON.replace("offset: 9ms", "offset: 10ms"))
    planned = optimise(system, Objective.MARGIN, Stop(10), search=False)
    told: list[str] = []
    earlier = OffsetProposal("act", 10 * MS, 9 * MS, 2, 1)
    assert with_better_offsets(system, planned, None, (earlier,), told.append) == (planned, None)
    assert told == ["offsets stay as in the file: the better ones for latency are worse for margin"]


def test_offsets_of_a_plan_file_reach_the_analysis_and_the_runs(tmp_path: Path) -> None:
    path, plan_path = tmp_path / "choice.yaml", tmp_path / "plan.yaml"
    path.write_text(f"rt_sched: 1\nname: choice\n{TOO_SOON}")
    document = planned_document(
        PlanRequest(str(path), search=False, offsets=True, output=plan_path, failover=False), lambda _: None
    )
    assert [(one["task"], one["applied"]) for one in document["offsets"]] == [("act", True)]
    assert document["costs"]["latency_ns"] == 12 * MS
    analysed = analysed_system(str(path), None, None, plan_file=plan_path)
    assert analysed.report.modes[0].chains[0].latency.value_ns == 12 * MS
    progress = SimpleNamespace(step=lambda _: None, advance=lambda *_: None)
    run = simulate(SimulateRequest(str(path), plan=plan_path, duration="2s"), progress)
    (chain,) = run["chains"]
    assert (chain["latency_bound_ns"], chain["latency_max_ns"]) == (12 * MS, 12 * MS)
    without = simulate(SimulateRequest(str(path), duration="2s"), progress)
    assert without["chains"][0]["latency_max_ns"] > 50 * MS


def test_offsets_that_leave_a_loss_without_an_answer_are_not_taken() -> None:
    system = rig()
    planned = optimise(system, Objective.LATENCY, Stop(10), search=False)
    assert planned.best is not None
    assert planned.best.plan is not None
    failover = failover_plan(system, planned.best.plan)
    told: list[str] = []
    late = OffsetProposal("fuse", 15 * MS, 16 * MS, 2, 1)
    better, now = with_better_offsets(system, planned, failover, (late,), told.append)
    assert now is not None
    assert answered(now) >= answered(failover)
    assert better.best is not None
    assert better.best.plan is not None
    assert now.plan.offsets == better.best.plan.offsets
    assert all(check_plan(system, one.plan) == [] for one in (now,))
