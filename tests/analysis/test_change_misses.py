"""Tasks that may miss some deadlines across a change of mode, or while jobs overrun: runs beside the number that is
told."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest
from hand_made import element, planned, task
from random_cases import random_case
from random_overrun_checks import _legal_runs as overrun_runs
from random_transition_checks import _legal_runs as transition_runs
from random_transition_checks import transition_case

from rt_sched.analysis import Verdict, analyze
from rt_sched.analysis.faults.analyze import analyze_faults
from rt_sched.analysis.faults.misses import overrun_misses
from rt_sched.analysis.faults.overrun import overrun_bounds, overrun_of
from rt_sched.analysis.faults.result import TransitionTask
from rt_sched.analysis.faults.transitions.loads import Presence, transition
from rt_sched.analysis.faults.transitions.misses import misses_across
from rt_sched.analysis.faults.transitions.results import transition_bounds
from rt_sched.analysis.loads.resolve import ModeLoad, mode_loads
from rt_sched.analysis.methods import METHODS
from rt_sched.analysis.system.engine import TaskBound, mode_bounds
from rt_sched.lowering import check_plan, lower
from rt_sched.lowering.machine_input import MachineInput
from rt_sched.lowering.nominal_samples import nominal_samples
from rt_sched.lowering.task_rows import Execution
from rt_sched.model import (
    Budget,
    CriticalityLevel,
    DeadlineAction,
    Edge,
    EdgeKind,
    ExecutionTime,
    FaultEffect,
    FaultScenario,
    Input,
    Join,
    Mode,
    OnMessage,
    Periodic,
    Plan,
    Policy,
    Sporadic,
    System,
)
from rt_sched.sim import Simulation
from rt_sched.trace.weakly_hard import measure_weakly_hard

FP, EDF, FIFO = Policy.FIXED_PRIORITY, Policy.EDF, Policy.FIFO


def _changing(limit: tuple[int, int], policy: Policy = Policy.FIXED_PRIORITY, **more: object) -> tuple[System, Plan]:
    """`gone` and `come` take turns above `kept`, whose job at the change may wait for both."""
    tasks = [
        task("gone", 4, 10, 20),
        task("come", 3, 10, 20),
        task("kept", 4, 10, miss_limit=limit, **more),
    ]
    system, plan = planned([element(policy=policy)], tasks)
    return replace(system, modes=(Mode("old", ("gone", "kept")), Mode("new", ("come", "kept")))), plan


def _kept(system: System, plan: Plan) -> tuple[TransitionTask, Verdict]:
    report = analyze(system, plan)
    assert report.verdict is Verdict.SCHEDULABLE
    change = next(one for one in analyze_faults(system, plan, report).transitions if one.name == "old->new")
    return next(one for one in change.tasks if one.task == "kept"), change.verdict


@pytest.mark.parametrize("policy", [Policy.FIXED_PRIORITY, EDF, FIFO])
def test_late_jobs_of_one_busy_period_are_counted(policy: Policy) -> None:
    one, verdict = _kept(*_changing((2, 9), policy))
    assert one.bound is not None
    assert one.bound.value_ns > one.deadline_ns
    assert one.misses is not None
    assert (one.verdict, verdict) == (Verdict.SCHEDULABLE, Verdict.SCHEDULABLE)
    assert 1 <= (one.misses.at_most or 0) <= 2
    assert one.reason.startswith(f"at most {one.misses.at_most} of any 9 jobs miss: one busy period with the change")


def test_more_than_it_may_miss_is_not_proven_and_a_run_shows_it_where_there_is_one() -> None:
    one, verdict = _kept(*_changing((0, 1)))
    assert one.misses is not None
    assert (one.misses.allowed, one.misses.at_most) == (0, 1)
    assert (one.verdict, verdict) == (Verdict.UNSCHEDULABLE, Verdict.UNSCHEDULABLE)
    assert one.reason.startswith("0 of any 1 may miss, and in a legal run more do: all jobs need their worst case, and")
    assert one.witness is not None


def test_what_is_not_followed_is_told() -> None:
    one, _ = _kept(*_changing((4, 9), deadline_action=DeadlineAction.SKIP_NEXT))
    assert one.verdict is Verdict.INCONCLUSIVE
    assert "a late job suppresses the next one, which is not followed" in one.reason


def _most_missed(given: MachineInput) -> dict[str, int]:
    simulation = Simulation(given)
    simulation.run()
    return {one.task: one.most_missed for one in measure_weakly_hard(simulation.trace())}


def _tight(system: System, modes: list[ModeLoad], bounds: list[dict[int, TaskBound]], k: int) -> System:
    """Every task may miss no one of `k` deadlines, which are as short as its bounds in the modes allow."""
    values = [[one[i].bound for one in bounds if i in one] for i in range(len(system.tasks))]
    return replace(
        system,
        tasks=tuple(
            replace(
                one,
                deadline_ns=max((b.value_ns for b in mine if b is not None), default=one.deadline_ns),
                deadline_action=DeadlineAction.CONTINUE,
                miss_limit=(0, k),
                budget=Budget(),
                budget_ns=None,
            )
            for one, mine in zip(system.tasks, values, strict=True)
        ),
    )


def highly_loaded(seed: int) -> tuple[System, Plan]:
    """A core with four tasks, of which each of two modes lacks one."""
    rng = random.Random(seed)  # noqa: S311 - reproducible test data
    policy = rng.choice((FP, FP, FP, EDF, FIFO))
    tasks = []
    for name in "abcd":
        period = rng.randint(6, 24)
        wcet = max(1, round(period * rng.uniform(0.15, 0.35)))
        latency = rng.choice((0, 0, rng.randint(1, 20)))
        activation = Sporadic(period, None, 0, rng.choice((0, 0, rng.randint(1, period))))
        tasks.append(task(name, wcet, period, 3 * period, activation=activation, start_latency_ns=latency))
    preemptive = policy is not FIFO and rng.random() < 0.7
    system, plan = planned([element(policy=policy, preemptive=preemptive)], tasks)
    modes = [Mode(gone, tuple(one for one in "abcd" if one != gone)) for gone in rng.sample("abcd", 2)]
    return replace(system, modes=tuple(modes)), plan


def check_changes(seed: int, make: Callable[[int], tuple[System, Plan]], met: Counter[str]) -> None:
    """No run with a change has more misses than are told."""
    system, plan = make(seed)
    if check_plan(system, plan):
        return
    k = 12
    modes = list(mode_loads(system, plan))
    system = _tight(system, modes, [mode_bounds(mode, METHODS) for mode in modes], k)
    if check_plan(system, plan):
        return
    modes = list(mode_loads(system, plan))
    steady = [mode_bounds(mode, METHODS) for mode in modes]
    rng = random.Random(seed)  # noqa: S311 - reproducible test data
    for old, before in zip(modes, steady, strict=True):
        for new, after in zip(modes, steady, strict=True):
            if old is new:
                continue
            change = transition(old, new)
            found = misses_across(change, before, after, transition_bounds(change))
            told = {one.task: one.at_most for one in found.values() if one.at_most is not None}
            met["told"] += sum(0 < most < k for most in told.values())
            for given, _ in transition_runs(change, rng, 5):
                for name, missed in _most_missed(given).items():
                    if name in told and change.presence[_index(system, name)] is not Presence.REMOVED:
                        assert missed <= (told[name] or 0), (seed, change.name, name, missed, told[name])
                        met["missed"] += missed > 0


def check_overruns(seed: int, make: Callable[[int], tuple[System, Plan]], met: Counter[str]) -> None:
    """No run with an overrun has more misses than are told."""
    system, plan = make(seed)
    if check_plan(system, plan):
        return
    k = 12
    system = replace(system, modes=())
    (mode,) = mode_loads(system, plan)
    system = _tight(system, [mode], [mode_bounds(mode, METHODS)], k)
    if check_plan(system, plan):
        return
    (mode,) = mode_loads(system, plan)
    rng = random.Random(seed)  # noqa: S311 - reproducible test data
    target = rng.choice(system.tasks)
    jobs = tuple(sorted(rng.sample(range(6), rng.choice((1, 2)))))
    demand_ns = target.execution.wcet_ns + rng.randint(1, target.separation_ns)
    scenario = FaultScenario("o", FaultEffect.OVERRUN, target.name, jobs=jobs, demand_ns=demand_ns)
    overrun = overrun_of(mode, scenario)
    assert overrun is not None
    found = overrun_misses(mode, overrun, mode_bounds(mode, METHODS), overrun_bounds(mode, overrun, METHODS))
    told = {one.task: one.at_most for one in found if one.at_most is not None}
    met["told"] += sum(0 < most < k for most in told.values())
    for given in overrun_runs(mode, scenario, rng, 5):
        for name, missed in _most_missed(given).items():
            if name in told:
                assert missed <= (told[name] or 0), (seed, name, missed, told[name])
                met["missed"] += missed > 0


def _index(system: System, name: str) -> int:
    return next(index for index, one in enumerate(system.tasks) if one.name == name)


def test_no_random_change_has_more_misses_than_are_told() -> None:
    met: Counter[str] = Counter()
    for seed in range(20):
        check_changes(seed, highly_loaded, met)
    for seed in range(1, 9, 3):
        check_changes(seed, transition_case, met)
    assert met["told"] > 12
    assert met["missed"] > 2


def test_no_random_overrun_has_more_misses_than_are_told() -> None:
    met: Counter[str] = Counter()
    for seed in range(30):
        check_overruns(seed, highly_loaded, met)
    for seed in (1, 4, 13):
        check_overruns(seed, random_case, met)
    assert met["told"] > 12
    assert met["missed"] > 2


def test_an_overrun_that_messages_carry_on_touches_many_busy_periods() -> None:
    """While `send` makes up for what it was delayed by, it ends every 8 ns, not every 10, and `late` is hit by one more
    message in each of its periods.
    """
    carried = Input("in", "send", "out", Edge(EdgeKind.QUEUE, 64), True, None, None)
    tasks = [
        task("rare", 1, 4000),
        task("dense", 7, 8),
        task("send", 1, 10, 1000),
        task("hit", 3, 10, 1000, pe="q", activation=OnMessage(Join.LATEST, "in", 0, 0), inputs=(carried,)),
        task("late", 99, 200, 150, pe="q", activation=Periodic(Fraction(5 * 10**6)), miss_limit=(6, 50)),
    ]
    system, plan = planned([element("p"), element("q")], tasks)
    scenario = FaultScenario("o", FaultEffect.OVERRUN, "rare", jobs=(0,), demand_ns=101)
    system = replace(system, fault_scenarios=(scenario,))
    report = analyze(system, plan)
    assert report.verdict is Verdict.SCHEDULABLE
    given = lower(
        system, plan, nominal_samples(system, 4000), horizon_ns=4000, execution=Execution.WCET, scenario=scenario
    )
    assert _most_missed(given)["late"] > 6
    (case,) = analyze_faults(system, plan, report).scenarios[0].cases
    misses = next(one for one in case.misses if one.task == "late")
    assert (misses.at_most, misses.verdict) == (None, Verdict.INCONCLUSIVE)
    assert misses.reason == "jobs of hit may arrive otherwise for a while, and how many are late then is not known"
    assert case.verdict is Verdict.UNSCHEDULABLE, "the run above is found"


def test_jobs_that_are_aborted_in_high_mode_have_missed_although_none_is_late() -> None:
    """The job that overruns passes its C_LO, which no job does otherwise: nothing is known of what that ends."""
    high = replace(task("high", 3, 20, level=CriticalityLevel.HI), execution=ExecutionTime(3, 3, (3, 3), wcet_lo_ns=3))
    system, plan = planned([element()], [task("low", 2, 10, miss_limit=(0, 5)), high], levels={"high": 0, "low": 1})
    scenario = FaultScenario("o", FaultEffect.OVERRUN, "high", jobs=(0,), demand_ns=5)
    system = replace(system, fault_scenarios=(scenario,))
    report = analyze(system, plan)
    assert report.verdict is Verdict.SCHEDULABLE
    given = lower(
        system, plan, nominal_samples(system, 100), horizon_ns=100, execution=Execution.WCET, scenario=scenario
    )
    assert _most_missed(given) == {"low": 1}
    (case,) = analyze_faults(system, plan, report).scenarios[0].cases
    (misses,) = [one for one in case.misses if one.task == "low"]
    assert (misses.at_most, misses.verdict) == (None, Verdict.INCONCLUSIVE)
    assert case.verdict is not Verdict.SCHEDULABLE
