"""What every takeover of random rigs keeps: places, levels, ownership, memory, and the bounds it was accepted for."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from failover_rigs import rigs
from hypothesis import HealthCheck, Phase, assume, given, settings

from rt_sched.analysis.faults.losses import loss_of_faults, surviving
from rt_sched.analysis.faults.takeover_loads import faults_of, with_moves
from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.analysis.methods import METHODS
from rt_sched.analysis.result import Verdict
from rt_sched.analysis.system.engine import mode_bounds
from rt_sched.app.runs.takeover_runs import TakeoverJudge
from rt_sched.lowering import check_plan
from rt_sched.model import Criticality, Plan, System, Takeover
from rt_sched.planner import make_plan
from rt_sched.planner.failover import FailoverPlan, Outcome, failover_plan
from rt_sched.planner.failover.admission import AdmissionTest
from rt_sched.planner.failover.ground import Ground

#: Smaller rigs say no more, and take long to find.
_SLOW = settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow], phases=(Phase.reuse, Phase.generate)
)


def _lost_devices(losses: tuple[str, ...]) -> set[str]:
    return {one.removeprefix("device:") for one in losses if one.startswith("device:")}


def _device(plan: Plan, task: str) -> str:
    placement = next(one for one in plan.placements if one.task == task)
    return plan.processors[placement.processor].device


def _check_places(system: System, plan: Plan, takeover: Takeover) -> None:
    tasks = {task.name: task for task in system.tasks}
    kinds = {(device.name, pe.name): pe.kind for device in system.devices for pe in device.processing_elements}
    attached = {sensor.name: sensor.attached_to for sensor in system.sensors}
    lost = _lost_devices(takeover.losses)
    owner: dict[str, str] = {}
    for move in takeover.moves:
        there, task = plan.processors[move.processor], tasks[move.task]
        assert _device(plan, move.task) in lost, "only what is lost moves"
        assert there.device not in lost
        assert kinds[there.device, there.pe] is kinds[task.pe]
        for port in task.inputs:
            if port.source in attached:
                assert there.device in attached[port.source], "raw frames come by attachment"
                assert owner.setdefault(port.source, there.device) == there.device, "a sensor has one owner"
    assert set(takeover.redone) <= {move.task for move in takeover.moves}
    gone = {move.task for move in takeover.moves} & set(takeover.dropped)
    assert not gone
    assert all(tasks[name].criticality is Criticality.QM for name in takeover.dropped)


def _check_levels(system: System, nominal: Plan, found: FailoverPlan) -> None:
    plan = found.plan
    for number in range(len(plan.processors)):
        here = [
            (old.level, new.level)
            for old, new in zip(nominal.placements, plan.placements, strict=True)
            if new.processor == number
        ]
        levels = [new for _, new in sorted(here)]
        assert levels == sorted(set(levels)), "the order of urgency stays"
        standbys = {(move.task, move.level) for one in plan.takeovers for move in one.moves if move.processor == number}
        every = [*levels, *(level for _, level in standbys)]
        assert max(Counter(every).values(), default=1) == 1, "no two tasks ever share a level"


def _check_explained(system: System, plan: Plan, outcome: Outcome) -> None:
    """Every task of a lost device that leads to the arbiter moves, or there is a reason."""
    if outcome.takeover is None:
        assert outcome.reason
        return
    moved = {move.task for move in outcome.takeover.moves}
    told = {name for name, _ in outcome.unmoved} | {name for result in outcome.results for name, _ in result.lost}
    leading = {"arbiter"}
    for task in reversed(system.tasks):
        leading |= {port.source for port in task.inputs if task.name in leading}
    for task in system.tasks:
        if task.name in leading and _device(plan, task.name) in _lost_devices(outcome.losses):
            assert task.name in moved | told


def _check_memory(system: System, plan: Plan) -> None:
    needed = {task.name: task.memory_bytes or 0 for task in system.tasks}
    there = {
        device.name: {t.name for t in system.tasks if _device(plan, t.name) == device.name} for device in system.devices
    }
    resident = {name: sum(needed[task] for task in tasks) for name, tasks in there.items()}
    for takeover in plan.takeovers:
        for move in takeover.moves:
            there[plan.processors[move.processor].device].add(move.task)
    for device in system.devices:
        if device.memory_bytes is not None and resident[device.name] <= device.memory_bytes:
            assert sum(needed[task] for task in there[device.name]) <= device.memory_bytes


def _check_bounds(system: System, plan: Plan, outcome: Outcome) -> None:
    """Under a takeover without variants and moved clocks the bounds are those of a plan that is made so."""
    takeover = outcome.takeover
    if takeover is None or takeover.variants or takeover.dropped:
        return
    tasks = {task.name: task for task in system.tasks}
    if any(tasks[move.task].is_timed for move in takeover.moves):
        return
    (mode,) = mode_loads(system, with_moves(plan, takeover))
    left = surviving(mode, loss_of_faults(mode, faults_of(takeover.losses)))
    expected = {one.task.name: one.bound for one in mode_bounds(left, METHODS).values()}
    (result,) = outcome.results
    assert {task.task: task.bound and task.bound.value_ns for task in result.tasks} == {
        name: bound and bound.value_ns for name, bound in expected.items()
    }


@_SLOW
@given(rigs())
def test_every_takeover_can_be_carried_out_and_keeps_what_it_promises(system: System) -> None:
    nominal = make_plan(system)
    assume(not check_plan(system, nominal))
    found = failover_plan(system, nominal)
    assert check_plan(system, found.plan) == []
    _check_levels(system, nominal, found)
    _check_memory(system, found.plan)
    for outcome in found.outcomes:
        _check_explained(system, found.plan, outcome)
        if outcome.takeover is None:
            continue
        _check_places(system, found.plan, outcome.takeover)
        _check_bounds(system, found.plan, outcome)
        for result in outcome.results:
            assert all(task.bound and task.across for task in result.tasks)
            if outcome.verdict is Verdict.SCHEDULABLE and result.limit_ns is not None:
                assert result.recovered_ns is not None
                assert result.recovered_ns <= result.limit_ns
                assert all(one.across.value_ns <= one.deadline_ns for one in result.tasks if one.across)


def _check_order(plan: Plan, ground: Ground, takeover: Takeover) -> None:
    """What comes is as urgent among the residents, by the levels of the plan that runs, as by its own rate."""
    for move in takeover.moves:
        rank = ground.levels.ranks[ground.index_of[move.task]]
        for index in ground.levels.residents[move.processor]:
            if ground.levels.ranks[index] < rank:
                assert plan.placements[index].level < move.level


@_SLOW
@given(rigs())
def test_what_the_admission_test_lets_in_is_in_time(system: System) -> None:
    """For pairs of losses that no table has, each admitted takeover is one that the analysis finds in time, too."""
    nominal = make_plan(system)
    assume(not check_plan(system, nominal))
    plan = failover_plan(system, nominal).plan
    test = AdmissionTest(system, plan)
    ground, judged = Ground(system, plan), TakeoverJudge(system, plan)
    names = [losses for (losses,) in (one.losses for one in plan.takeovers)]
    pairs = [(one, other) for place, one in enumerate(names) for other in names[place + 1 :]]
    for pair in pairs[:: max(1, len(pairs) // 6)]:
        admitted = test.admit(pair)
        assert admitted.reason
        if admitted.takeover is None:
            continue
        assert check_plan(system, replace(plan, takeovers=(admitted.takeover,))) == []
        _check_order(plan, ground, admitted.takeover)
        result = judged.result(admitted.takeover)
        assert not isinstance(result, str), result
        late = [problem for problem in result.problems if problem.startswith("task ")]
        assert late == []


def test_losses_of_the_table_are_answered_from_it() -> None:
    from failover_rigs import rig

    system = rig()
    plan = failover_plan(system, make_plan(system)).plan
    test = AdmissionTest(system, plan)
    assert test.admit(["device:a"]).takeover == plan.takeovers[2]
    refused = test.admit(["device:a", "device:b"])
    assert refused.takeover is None
    assert "goes nowhere" in refused.reason
    with pytest.raises(ValueError, match="unknown loss"):
        test.admit(["device:z"])
