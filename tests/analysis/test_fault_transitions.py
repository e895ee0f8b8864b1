"""Bounds across a change of mode: worked by hand, attained by runs of the kernel, and never exceeded."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hand_made import element, planned, task
from random_transition_checks import check_transitions, transition_case

from rt_sched.analysis import Verdict, analyze
from rt_sched.analysis.faults.analyze import analyze_faults
from rt_sched.analysis.faults.transitions.loads import Presence, transition
from rt_sched.analysis.faults.transitions.results import transition_bounds
from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.analysis.methods import METHODS
from rt_sched.analysis.system.engine import mode_bounds
from rt_sched.lowering import check_plan, lower
from rt_sched.lowering.nominal_samples import nominal_samples
from rt_sched.lowering.task_rows import Execution
from rt_sched.model import (
    CauseEffectChain,
    Edge,
    EdgeKind,
    Frequency,
    Input,
    Mode,
    ModeChange,
    OperatingPoint,
    Periodic,
    Plan,
    Policy,
    System,
)
from rt_sched.sim import Simulation
from rt_sched.trace.chains import measure_chain
from rt_sched.trace.records import JobStatus


def _system(
    tasks, *, old, new, policy=Policy.FIXED_PRIORITY, latency=None, khz=None, preemptive=True
) -> tuple[System, Plan]:
    """`tasks` on one core, in modes `old` and `new`; `khz`: frequencies of both."""
    own = [replace(one, start_latency_ns=(latency or {}).get(one.name, 0)) for one in tasks]
    system, plan = planned([element(policy=policy)], own)
    frequencies: tuple[tuple[Frequency, ...], ...] = ((), ())
    if khz is not None:
        (device,) = system.devices
        points = tuple(OperatingPoint(one * 1000) for one in sorted(khz))
        fast = replace(device.processing_elements[0], frequency_hz=max(khz) * 1000, operating_points=points)
        system = replace(system, devices=(replace(device, processing_elements=(fast,)),))
        frequencies = tuple((Frequency("d", "p", one * 1000),) for one in khz)
    modes = (Mode("old", tuple(old), frequencies[0]), Mode("new", tuple(new), frequencies[1]))
    return replace(system, modes=modes), plan


def _bounds(system: System, plan: Plan) -> dict[str, int | None]:
    old, new = mode_loads(system, plan)
    found = transition_bounds(transition(old, new))
    return {one.task.name: None if one.bound is None else one.bound.value_ns for one in found.values()}


def _largest(system: System, plan: Plan, changes: range, horizon: int = 120) -> dict[str, int]:
    """Largest response of each task over runs with a change at each of these instants, all arrivals from 0 on."""
    seen: dict[str, int] = {}
    for at in changes:
        given = lower(
            system,
            plan,
            nominal_samples(system, horizon),
            horizon_ns=horizon,
            execution=Execution.WCET,
            mode_changes=(ModeChange(at, "new"),),
        )
        simulation = Simulation(given)
        simulation.run()
        jobs = simulation.trace().jobs
        for index, one in enumerate(system.tasks):
            mine = (jobs.task == index) & (jobs.finish_ns >= 0) & (jobs.status == JobStatus.COMPLETED)
            seen[one.name] = max(seen.get(one.name, 0), int((jobs.finish_ns - jobs.arrival_ns)[mine].max(initial=0)))
    return seen


def test_removed_work_and_added_work_both_delay_a_job_that_goes_on():
    tasks = [task("gone", 3, 10), task("comes", 4, 10), task("stays", 5, 40)]
    system, plan = _system(tasks, old=("gone", "stays"), new=("comes", "stays"), policy=Policy.FIXED_PRIORITY)
    # 3 of the removed task, then the change, then 4 of the added one, then 5 of its own; in the modes 8 and 9.
    assert _bounds(system, plan) == {"gone": 3, "comes": 4, "stays": 12}
    assert _largest(system, plan, range(1, 12))["stays"] == 12
    assert _largest(system, plan, range(9, 12))["stays"] == 9


def test_a_start_latency_gives_the_old_work_time_to_end():
    tasks = [task("gone", 3, 10), task("comes", 4, 10), task("stays", 5, 40)]
    modes = {"old": ("gone", "stays"), "new": ("comes", "stays"), "policy": Policy.FIXED_PRIORITY}
    assert [_bounds(*_system(tasks, **modes, latency={"comes": late}))["stays"] for late in (0, 4, 5, 20)] == [
        12,
        12,
        9,
        9,
    ]


def test_both_modes_together_may_ask_for_more_than_the_processor_has():
    tasks = [task("gone", 6, 10), task("comes", 6, 10), task("stays", 3, 40)]
    system, plan = _system(tasks, old=("gone", "stays"), new=("comes", "stays"), policy=Policy.FIXED_PRIORITY)
    # 6 + 6, of which the last 1 lies behind the second job of the added task, which comes at 16.
    bounds = _bounds(system, plan)
    assert bounds["stays"] == 15
    assert _largest(system, plan, range(1, 20))["stays"] == 15
    assert analyze_faults(system, plan, analyze(system, plan)).verdict is Verdict.SCHEDULABLE


def test_an_added_job_waits_for_what_was_there_before():
    tasks = [task("stays", 5, 20), task("gone", 4, 20), task("comes", 2, 20)]
    system, plan = _system(tasks, old=("stays", "gone"), new=("stays", "comes"), policy=Policy.FIXED_PRIORITY)
    # Removed jobs are aborted, so only the job that stays is in the way; a latency of 5 lets it pass.
    assert _bounds(system, plan)["comes"] == 7
    assert _largest(system, plan, range(1, 25))["comes"] == 7


@pytest.mark.parametrize("policy", [Policy.EDF, Policy.FIFO])
def test_busy_periods_bound_a_change_between_two_full_modes(policy):
    tasks = [task("gone", 6, 10, 30), task("comes", 6, 10, 30), task("stays", 3, 40, 40)]
    system, plan = _system(tasks, old=("gone", "stays"), new=("comes", "stays"), policy=policy)
    bounds = _bounds(system, plan)
    seen = _largest(system, plan, range(1, 20))
    assert all(seen[name] <= (bounds[name] or 0) for name in seen)
    # Removed work up to 6, or 9 with the job that stays, then the added job.
    assert bounds["stays"] == 15


def test_a_change_of_frequency_rounds_what_is_left_once():
    system, plan = _system(
        [task("stays", 5, 40)], old=("stays",), new=("stays",), policy=Policy.FIXED_PRIORITY, khz=(3000, 2000)
    )
    # 1 executed at the start, then ceil(4 * 1.5) = 6; a whole job at the lower frequency takes ceil(7.5) = 8.
    assert _bounds(system, plan) == {"stays": 8}
    tasks = [replace(task("stays", 5, 40), execution=replace(task("stays", 5, 40).execution, memory_ns=4))]
    system, plan = _system(tasks, old=("stays",), new=("stays",), policy=Policy.FIXED_PRIORITY, khz=(3000, 2000))
    assert _bounds(system, plan) == {"stays": 6}
    assert _largest(system, plan, range(1, 6))["stays"] <= 6


def test_rounding_may_make_a_job_longer_than_in_either_mode():
    system, plan = _system(
        [task("stays", 5, 40)], old=("stays",), new=("stays",), policy=Policy.FIXED_PRIORITY, khz=(1001, 1000)
    )
    seen = max(_largest(system, plan, range(1, 6))["stays"], 5)
    assert seen <= (_bounds(system, plan)["stays"] or 0) <= 6


def test_a_change_that_changes_nothing_keeps_all_bounds():
    tasks = [task("a", 2, 10), task("b", 3, 15), task("c", 4, 40)]
    system, plan = _system(tasks, old=("a", "b", "c"), new=("a", "b", "c"), policy=Policy.FIXED_PRIORITY)
    old, _ = mode_loads(system, plan)
    usual = {one.task.name: one.bound.value_ns for one in mode_bounds(old, METHODS).values() if one.bound}
    assert _bounds(system, plan) == usual


def test_a_miss_at_the_change_is_replayed():
    tasks = [task("gone", 3, 10), task("comes", 4, 10), task("stays", 5, 40, 10)]
    system, plan = _system(tasks, old=("gone", "stays"), new=("comes", "stays"), policy=Policy.FIXED_PRIORITY)
    report = analyze(system, plan)
    assert report.verdict is Verdict.SCHEDULABLE
    found = analyze_faults(system, plan, report)
    change = next(one for one in found.transitions if one.name == "old->new")
    stays = next(one for one in change.tasks if one.task == "stays")
    assert (stays.before_ns, stays.after_ns, stays.bound and stays.bound.value_ns) == (8, 9, 12)
    assert stays.verdict is Verdict.UNSCHEDULABLE
    assert stays.witness is not None
    assert found.verdict is Verdict.UNSCHEDULABLE


def test_every_ordered_pair_of_modes_is_looked_at():
    tasks = [task("a", 1, 10), task("b", 1, 10), task("c", 1, 10)]
    system, plan = planned([element()], tasks)
    system = replace(system, modes=tuple(Mode(f"m{one}", (one,)) for one in "abc"))
    names = [one.name for one in analyze_faults(system, plan, analyze(system, plan)).transitions]
    assert names == ["ma->mb", "ma->mc", "mb->ma", "mb->mc", "mc->ma", "mc->mb"]


@pytest.mark.parametrize("first", range(0, 32, 8))
def test_no_change_exceeds_its_bounds(first):
    outcomes = [check_transitions(seed, runs=3) for seed in range(first, first + 8)]
    assert [text for one in outcomes for text in one.violations] == []
    assert sum(len(found) for one in outcomes for found in one.tightness.values()) > 10


def test_bounds_across_a_change_are_not_below_those_of_its_modes():
    for seed in range(40, 46):
        system, plan = transition_case(seed)
        if check_plan(system, plan):
            continue
        old, new = mode_loads(system, plan)[:2]
        change = transition(old, new)
        sides = [mode_bounds(mode, METHODS) for mode in (old, new)]
        for index, one in transition_bounds(change).items():
            if one.bound is None or change.presence[index] is not Presence.KEPT:
                continue
            for side in sides:
                usual = side[index].bound
                assert (
                    usual is None
                    or usual.method.startswith(("global", "table"))
                    or (one.bound.value_ns >= usual.value_ns)
                ), (seed, one.task.name, usual, one.bound)
            assert np.sum([term.value_ns for term in one.bound.terms]) == one.bound.value_ns


def test_a_processor_that_is_just_full_does_not_keep_anybody_waiting():
    # With what blocks it the busy period of a full processor never ends; that is given up, not followed for ever.
    tasks = [task("gone", 5, 10), task("comes", 5, 10), task("stays", 5, 10, 30), task("below", 3, 1000)]
    system, plan = _system(tasks, old=("gone", "stays", "below"), new=("comes", "stays"))
    assert _bounds(system, plan)["below"] is None
    found = analyze_faults(system, plan, analyze(system, plan))
    assert found.verdict is not Verdict.SCHEDULABLE


def test_chains_that_live_through_a_change_keep_their_bounds():
    head = task("head", 2, 10, activation=Periodic(Fraction(10**9, 10)))
    tail = task("tail", 3, 20, activation=Periodic(Fraction(10**9, 20), 5))
    read = Input("x", "head", "out", Edge(EdgeKind.LATEST), required=False)
    tasks = [task("gone", 4, 20), task("comes", 5, 20), head, replace(tail, inputs=(read,))]
    modes = {"old": ("gone", "head", "tail"), "new": ("comes", "head", "tail")}
    system, plan = _system(tasks, **modes)
    system = replace(system, chains=(CauseEffectChain("c", ("head", "tail"), max_latency_ns=200),))
    found = analyze_faults(system, plan, analyze(system, plan))
    change = next(one for one in found.transitions if one.name == "old->new")
    (chain,) = change.chains
    assert chain.latency is not None
    for at in range(1, 40, 3):
        given = lower(
            system,
            plan,
            nominal_samples(system, 200),
            horizon_ns=200,
            execution=Execution.WCET,
            mode_changes=(ModeChange(at, "new"),),
        )
        simulation = Simulation(given)
        simulation.run()
        seen = measure_chain(simulation.trace(), ("head", "tail"))
        assert len(seen.latency_ns) > 5
        assert int(seen.latency_ns.max()) <= chain.latency.value_ns
