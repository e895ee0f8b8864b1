"""Bounds while jobs overrun, worked by hand, and never exceeded; how many jobs an overrun makes late."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hand_made import element, jobs_of, planned, task
from random_overrun_checks import check_overruns, check_overruns_in_modes

from rt_sched.analysis import Verdict, analyze
from rt_sched.analysis.faults.analyze import analyze_faults
from rt_sched.analysis.faults.misses import most_listed
from rt_sched.analysis.faults.overrun import overrun_bounds, overrun_of
from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.analysis.methods import METHODS
from rt_sched.analysis.result import TermKind
from rt_sched.config import load_system_text
from rt_sched.model import Budget, FaultEffect, FaultScenario, OverrunAction, Plan, Policy, System
from rt_sched.planner import make_plan


def _scenario(target: str, demand: int, jobs=(0,), **more) -> FaultScenario:
    return FaultScenario("o", FaultEffect.OVERRUN, target, jobs=tuple(jobs), demand_ns=demand, **more)


def _bounds(system: System, plan: Plan, scenario: FaultScenario):
    (mode,) = mode_loads(system, plan)
    overrun = overrun_of(mode, scenario)
    assert overrun is not None
    return {one.task.name: one.bound for one in overrun_bounds(mode, overrun, METHODS).values()}


def _values(system: System, plan: Plan, scenario: FaultScenario) -> dict[str, int | None]:
    return {name: None if bound is None else bound.value_ns for name, bound in _bounds(system, plan, scenario).items()}


TASKS = (task("a", 1, 10), task("b", 2, 20), task("c", 3, 40))


def test_an_overrun_delays_itself_and_all_below_it():
    system, plan = planned([element()], TASKS)
    found = _bounds(system, plan, _scenario("b", 7))
    # 5 more for b and c; c then meets no second job of a, which comes at 10.
    assert {name: bound and bound.value_ns for name, bound in found.items()} == {"a": 1, "b": 8, "c": 12}
    terms = found["c"].terms
    (extra,) = [term for term in terms if term.kind is TermKind.OVERRUN]
    assert (extra.by, extra.value_ns, extra.jobs, extra.each_ns) == ("b", 5, 1, 5)
    assert sum(term.value_ns for term in terms) == 12
    demands = {"b": (7, 2, 2, 2, 2, 2)}
    assert jobs_of(system, plan, demands=demands)["c"][0] == (0, 12)


def test_several_overruns_count_once_each_or_as_if_every_job_overran():
    system, plan = planned([element()], TASKS)
    assert _values(system, plan, _scenario("b", 7, jobs=(0, 1))) == {"a": 1, "b": 8, "c": 12}
    # Jobs of b are 20 apart, so that only one of them is met: every job counts as an overrun, which is less than four.
    assert _values(system, plan, _scenario("b", 7, jobs=(0, 1, 2, 3))) == {"a": 1, "b": 8, "c": 12}


def test_without_preemption_the_longer_job_blocks_those_above_it():
    system, plan = planned([element(preemptive=False)], TASKS)
    assert _values(system, plan, _scenario("c", 8))["a"] == 8
    blocked = jobs_of(system, plan, arrivals={"c": (0,), "a": (1,)}, demands={"c": (8,)})["a"]
    assert blocked == [(1, 8)]


@pytest.mark.parametrize("policy", [Policy.EDF, Policy.FIFO])
def test_an_overrun_counts_under_policies_without_levels(policy):
    system, plan = planned([element(policy=policy)], TASKS)
    found = _values(system, plan, _scenario("b", 7))
    usual = {one.task: one.bound.value_ns for one in analyze(system, plan).modes[0].tasks if one.bound is not None}
    assert found["c"] >= usual["c"] + 5
    runs = jobs_of(system, plan, demands={"b": (7, 2, 2, 2, 2, 2, 2, 2, 2, 2)})
    assert all(response <= found[name] for name, jobs in runs.items() for _, response in jobs)


def test_an_enforced_budget_ends_the_overrun():
    held = replace(TASKS[1], budget_ns=3, budget=Budget(1, OverrunAction.ABORT))
    system, plan = planned([element()], (TASKS[0], held, TASKS[2]))
    usual = {one.task: one.bound and one.bound.value_ns for one in analyze(system, plan).modes[0].tasks}
    assert _values(system, plan, _scenario("b", 7)) == usual
    report = analyze(system, plan)
    system = replace(system, fault_scenarios=(_scenario("b", 7, jobs=(2, 3, 9)),))
    (case,) = analyze_faults(system, plan, report).scenarios[0].cases
    (misses,) = case.misses
    assert (misses.task, misses.at_most, misses.k) == ("b", 3, 10)


def test_a_throttled_overrun_has_no_bound():
    held = replace(TASKS[1], budget_ns=3, budget=Budget(1, OverrunAction.THROTTLE))
    system, plan = planned([element()], (TASKS[0], held, TASKS[2]))
    assert set(_values(system, plan, _scenario("b", 7)).values()) == {None}


def test_a_miss_is_replayed():
    system, plan = planned([element()], (TASKS[0], TASKS[1], task("c", 3, 40, 11)))
    report = analyze(system, plan)
    system = replace(system, fault_scenarios=(_scenario("b", 7),))
    found = analyze_faults(system, plan, report)
    (scenario,) = found.scenarios
    assert (found.verdict, scenario.verdict) == (Verdict.UNSCHEDULABLE, Verdict.UNSCHEDULABLE)
    (late,) = [one for one in scenario.cases[0].tasks if one.verdict is not Verdict.SCHEDULABLE]
    assert late.task == "c"
    assert late.witness is not None
    assert late.witness.finish_ns == 12


def test_a_weakly_hard_deadline_bears_what_it_allows():
    tasks = (TASKS[0], TASKS[1], task("c", 3, 12, miss_limit=(1, 3)))
    system, plan = planned([element()], tasks)
    report = analyze(system, plan)
    for demand, at_most, verdict in ((7, 0, Verdict.SCHEDULABLE), (9, 1, Verdict.SCHEDULABLE)):
        stricken = replace(system, fault_scenarios=(_scenario("b", demand),))
        (case,) = analyze_faults(stricken, plan, report).scenarios[0].cases
        misses = next(one for one in case.misses if one.task == "c")
        assert (misses.at_most, misses.allowed, misses.k, case.verdict) == (at_most, 1, 3, verdict)
    # Twice as long an overrun makes more jobs in a row late than are allowed.
    stricken = replace(system, fault_scenarios=(_scenario("b", 26),))
    (case,) = analyze_faults(stricken, plan, report).scenarios[0].cases
    misses = next(one for one in case.misses if one.task == "c")
    runs = jobs_of(system, plan, demands={"b": (26, *[2] * 9)})["c"]
    late = sum(response > 12 for _, response in runs)
    assert 1 < late <= (misses.at_most or 0)
    assert case.verdict is not Verdict.SCHEDULABLE


@pytest.mark.parametrize(
    ("jobs", "k", "most"), [((0,), 3, 1), ((0, 1, 2), 2, 2), ((0, 5), 5, 1), ((0, 4), 5, 2), ((3, 9, 10), 10, 3)]
)
def test_listed_jobs_within_consecutive_ones(jobs, k, most):
    assert most_listed(jobs, k) == most


@pytest.mark.parametrize("first", range(0, 45, 15))
def test_no_overrun_exceeds_its_bounds(first):
    outcomes = [check_overruns(seed, runs=3) for seed in range(first, first + 15)]
    assert [text for one in outcomes for text in one.violations] == []
    assert sum(count for one in outcomes for name, count in one.counts.items() if "overrun" in name) > 5


SLOWER = """
rt_sched: 1
name: m
devices: {ecu: {CONTENTIONprocessing_elements: {cpu: {kind: cpu, frequency: 1GHz}, gpu: {kind: gpu}}}}
tasks:
  a: {runs_on: ecu.cpu, activation: {rate: 10Hz}, execution: {wcet: 10ms, memory: 4ms}, budget: {limit: 50ms}}
  g: {runs_on: ecu.gpu, activation: {rate: 10Hz}, execution: {wcet: 1ms}}
modes: {fast: {}, slow: {frequencies: {ecu.cpu: 500MHz}}}
faults: {long: {overrun: a, jobs: [0], demand: 30ms, detection: 60ms, reaction: 5ms}}
"""


@pytest.mark.parametrize(
    ("contention", "responses_ms"), [("", (30, 4 + 26 * 2)), ("cpu: {gpu: 1.5}", (45, 6 + 39 * 2))]
)
def test_the_demand_of_an_overrun_grows_as_that_of_all_jobs_does(contention, responses_ms):
    text = SLOWER.replace("CONTENTION", f"contention: {{{contention}}}, " if contention else "")
    system = load_system_text(text, file_name="m.yaml", base_dir=".", stages=None)
    plan = make_plan(system)
    cases = analyze_faults(system, plan, analyze(system, plan)).scenarios[0].cases
    found = {case.new: next(one.bound for one in case.tasks if one.task == "a") for case in cases}
    assert {mode: bound and bound.value_ns for mode, bound in found.items()} == {
        mode: ms * 10**6 for mode, ms in zip(("fast", "slow"), responses_ms, strict=True)
    }
    # Only what exceeds the budget is noticed by it.
    noticed = [case.handling.derived is not None for case in cases if case.handling is not None]
    assert noticed == [ms > 50 for ms in responses_ms]


@pytest.mark.parametrize("first", [0, 12])
def test_no_overrun_in_a_mode_with_other_frequencies_exceeds_its_bounds(first):
    outcomes = [check_overruns_in_modes(seed, runs=2) for seed in range(first, first + 12)]
    assert [text for one in outcomes for text in one.violations] == []
    assert sum(count for one in outcomes for name, count in one.counts.items() if "overrun" in name) > 5


FUSED = """
rt_sched: 1
name: m
devices: {ecu: {processing_elements: {cpu: {kind: cpu, cores: 2}}}}
sensors: {eye: {kind: camera, rate: 10Hz, attached_to: ecu, topic: /eye}}
tasks:
  slow: {runs_on: ecu.cpu, core: 0, inputs: {x: eye}, execution: {wcet: 20ms}, deadline: 250ms}
  fast: {runs_on: ecu.cpu, core: 1, inputs: {x: eye}, execution: {wcet: 5ms}}
  fuse:
    {runs_on: ecu.cpu, core: 1, activation: {period: 50ms}, execution: {wcet: 2ms}, max_disparity: LIMIT,
     inputs: {a: {from: slow, required: false}, b: {from: fast, required: false}}}
faults: {long: {overrun: slow, jobs: [2], demand: 150ms}}
"""


@pytest.mark.parametrize(("limit", "verdict"), [("130ms", Verdict.INCONCLUSIVE), ("250ms", Verdict.SCHEDULABLE)])
def test_an_overrun_counts_in_the_disparity_of_inputs(limit, verdict):
    system = load_system_text(FUSED.replace("LIMIT", limit), file_name="m.yaml", base_dir=".", stages=None)
    plan = make_plan(system)
    report = analyze(system, plan)
    assert report.verdict is Verdict.SCHEDULABLE
    (case,) = analyze_faults(system, plan, report).scenarios[0].cases
    assert case.verdict is verdict
    assert (case.verdict is Verdict.SCHEDULABLE) != case.reason.startswith("disparity of fuse: ")
