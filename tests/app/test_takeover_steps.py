"""A loss on top of another: the second takeover has a bound, however soon it follows, and no run is over it."""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "planner" / "failover"))
from failover_rigs import rig

from rt_sched.app.runs.takeover_runs import TakeoverJudge, late_recoveries, takeover_runs
from rt_sched.lowering import check_plan, lower, nominal_samples
from rt_sched.model import Fault, FaultKind, Placement, Plan, System, Takeover
from rt_sched.planner import make_plan
from rt_sched.planner.failover import FailoverPlan, failover_plan
from rt_sched.planner.failover.admission import AdmissionTest
from rt_sched.planner.failover.losses import single_losses
from rt_sched.runtime.detection import detect
from rt_sched.sim import Simulation

MS = 1_000_000
END = 800 * MS
CAMERAS = ("front", "rear")
PAIRS = [("camera:front", "device:a"), ("camera:front", "device:b"), ("camera:rear", "device:b")]


@pytest.fixture(scope="module")
def system() -> System:
    return rig()


@pytest.fixture(scope="module")
def found(system: System) -> FailoverPlan:
    return failover_plan(system, make_plan(system, None), [*single_losses(system), *PAIRS])


def run(system: System, plan: Plan, first: str, second: str, instants_ns: tuple[int, int], seed: int):
    pairs = zip((first, second), instants_ns, strict=True)
    faults = [Fault(FaultKind(name.partition(":")[0]), name.partition(":")[2], at_ns) for name, at_ns in pairs]
    samples = nominal_samples(system, END, seed)
    detection = detect(system, plan, samples, faults, CAMERAS, END)
    given = lower(system, plan, samples, horizon_ns=END, seed=seed, faults=faults, plan_changes=detection.plan_changes)
    simulation = Simulation(given)
    simulation.run()
    return takeover_runs(system, plan, simulation.trace(), detection, faults, CAMERAS)


@pytest.mark.parametrize("pair", PAIRS, ids="+".join)
@pytest.mark.parametrize("turned", [False, True])
def test_no_second_recovery_is_over_its_bound_at_any_distance_of_the_losses(system, found, pair, turned):
    first, second = reversed(pair) if turned else pair
    draw = random.Random(7)  # noqa: S311  # no secret
    stepped = 0
    for seed in range(12):
        begin_ns = (400 + draw.randrange(50)) * MS
        then_ns = begin_ns + draw.randrange(160) * MS + draw.randrange(MS)
        for one in run(system, found.plan, first, second, (begin_ns, then_ns), seed):
            assert (late_recoveries(one), one.exceeded) == ([], ())
            if one.decision.before is not None and len(one.decision.losses) == 2:
                assert one.analysed, one.reason
                assert one.recovered_ns is not None
                # What is silent is noticed after a device that was lost later.
                lost_ns = then_ns if one.decision.notices[-1].what == second else begin_ns
                assert one.recovered_ns - lost_ns <= (one.bound_ns or 0)
                stepped += 1
    assert stepped > 5


def test_the_plan_says_what_is_known_of_every_step(system, found):
    steps = found.steps["camera:rear", "device:b"]
    assert [one.in_force for one in steps] == [("camera:rear",), ("device:b",)]
    assert all(one.recovered_ns is not None and one.reason == "" for one in steps)
    assert found.steps["device:a",] == ()
    judged, table = TakeoverJudge(system, found.plan), {one.losses: one for one in found.plan.takeovers}
    for one in steps:
        again = judged.result(table["camera:rear", "device:b"], table[one.in_force])
        assert not isinstance(again, str)
        assert again.recovered_ns == one.recovered_ns
    assert check_plan(system, found.plan) == []


def test_a_step_takes_no_less_than_the_same_takeover_alone(system, found):
    """But for what is noticed later: only the further loss counts."""
    judged, table = TakeoverJudge(system, found.plan), {one.losses: one for one in found.plan.takeovers}
    for pair in PAIRS:
        alone = judged.result(table[pair])
        assert not isinstance(alone, str)
        for part in pair:
            step = judged.result(table[pair], table[(part,)])
            assert not isinstance(step, str)
            assert (step.slowest.value_ns or 0) >= (alone.slowest.value_ns or 0)
            assert step.detection.value_ns <= alone.detection.value_ns
            for mine, usual in zip(step.tasks, alone.tasks, strict=True):
                assert mine.across is not None
                assert mine.across.value_ns >= usual.across.value_ns


def _refusal(system: System, first: Takeover, second: Takeover, plan: Plan) -> str:
    said = TakeoverJudge(system, plan).result(second, first)
    assert isinstance(said, str)
    return said.removeprefix("another takeover was in force: ")


def test_what_is_not_covered_is_refused_with_the_reason(system, found):
    table = {one.losses: one for one in found.plan.takeovers}
    alone, both = table[("device:b",)], table["camera:rear", "device:b"]
    elsewhere = {"a.cpu.0": 1, "a.cpu.1": 0}
    moves = tuple(
        replace(one, processor=elsewhere[found.plan.processors[one.processor].name], level=90 + number)
        for number, one in enumerate(both.moves)
    )
    said = _refusal(system, alone, replace(both, moves=moves), found.plan)
    assert said.endswith("which goes on")
    assert _refusal(system, replace(alone, dropped=("see",)), both, found.plan).startswith("see, which the takeover")
    assert _refusal(system, both, alone, found.plan) == "camera:rear came back while something else was lost"


def test_what_comes_late_before_a_move_counts_once_more_behind_it():
    """Behind `busy`, `see` may send a frame late, just before its device is lost; at its new place it is faster."""
    one_core = (
        "a: {processing_elements: {cpu: {kind: cpu, cores: 2}}}",
        "a: {processing_elements: {cpu: {kind: cpu}}}",
    )
    busy = "  busy: {runs_on: a.cpu, priority: 1, activation: {rate: 10Hz}, execution: {wcet: WCET}}\n"
    across_ns = []
    for wcet in ("1ms", "12ms"):
        system = rig(one_core, ("deadline: 20ms", "deadline: 50ms"), extra=busy.replace("WCET", wcet))
        plan = make_plan(system, None)
        b = next(number for number, one in enumerate(plan.processors) if one.name == "b.cpu.0")
        move = Takeover(("device:a",), (Placement("see", b, 90),), redone=("see",))
        found = TakeoverJudge(system, replace(plan, takeovers=(move,))).result(move)
        assert not isinstance(found, str)
        across_ns.append(next(one.across.value_ns for one in found.tasks if one.task == "see"))
    assert across_ns[1] == across_ns[0] + 4 * MS


def test_what_the_table_lacks_is_admitted_where_the_takeover_in_force_has_put_things(system):
    plan = failover_plan(system, make_plan(system, None)).plan
    table, test = {one.losses: one for one in plan.takeovers}, AdmissionTest(system, plan)
    for first, second in [("device:b", "camera:rear"), ("device:a", "camera:front"), ("device:a", "camera:rear")]:
        admitted = test.admit([first, second])
        assert admitted.takeover is not None, admitted.reason
        there = {one.task: one.processor for one in table[(first,)].moves}
        assert all(there.get(one.task, one.processor) == one.processor for one in admitted.takeover.moves)
        found = TakeoverJudge(system, plan).result(admitted.takeover, table[(first,)])
        assert not isinstance(found, str), found
        assert found.recovered_ns is not None
