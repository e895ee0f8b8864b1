"""A margin is kept in full, and 1 ns more breaks a verdict; scaling likewise."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from random_cases import random_case

from rt_sched.analysis import analyze
from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.analysis.methods import METHODS
from rt_sched.analysis.result import Verdict
from rt_sched.analysis.sensitivity import MILLION, sensitivity
from rt_sched.analysis.sensitivity.execution import scaled
from rt_sched.lowering import check_plan
from rt_sched.model import Device, ExecutionTime, PEKind, Periodic, Policy, ProcessingElement, System, Task
from rt_sched.planner import make_plan

US = 1000


def task(name: str, wcet_us: int, period_us: int, deadline_us: int | None = None) -> Task:
    wcet = wcet_us * US
    return Task(
        name=name,
        stage="x:Y",
        parameters=(),
        pe=("box", "cpu"),
        activation=Periodic(Fraction(10**6, period_us)),
        inputs=(),
        execution=ExecutionTime(wcet, wcet, (wcet, wcet)),
        deadline_ns=(deadline_us or period_us) * US,
        separation_ns=period_us * US,
    )


def system(tasks: list[Task], policy: Policy, preemptive: bool) -> System:
    cpu = ProcessingElement("cpu", PEKind.CPU, 1, policy, preemptive)
    return System("s", (Device("box", (cpu,)),), (), tuple(tasks), (), None, "dm", ".")


SETS = [
    [task("a", 2, 10), task("b", 5, 20), task("c", 10, 50)],
    [task("a", 26, 70), task("b", 40, 100, 140)],
    [task("a", 1, 5), task("b", 6, 20, 15), task("c", 4, 40)],
]


def with_wcet(one: Task, wcet_ns: int) -> Task:
    return replace(one, execution=ExecutionTime(wcet_ns, wcet_ns, (wcet_ns, wcet_ns)))


def verdict(tasks: list[Task], policy: Policy, preemptive: bool) -> bool:
    made = system(tasks, policy, preemptive)
    return analyze(made, make_plan(made)).verdict is Verdict.SCHEDULABLE


@pytest.mark.parametrize("preemptive", [True, False])
@pytest.mark.parametrize("policy", [Policy.FIXED_PRIORITY, Policy.EDF])
@pytest.mark.parametrize("tasks", SETS)
def test_margins_are_exact_to_the_nanosecond(tasks: list[Task], policy: Policy, preemptive: bool) -> None:
    made = system(tasks, policy, preemptive)
    (mode,) = mode_loads(made, make_plan(made))
    found = sensitivity(mode, METHODS)
    assert found.scaling.ppm is not None
    assert (found.scaling.ppm >= MILLION) == (found.broken is None) == verdict(tasks, policy, preemptive)
    if found.broken is None:
        assert [one.task for one in found.tasks] == [one.name for one in tasks]
    else:
        assert found.tasks == ()
    for place, one in enumerate(found.tasks):
        for extra, meets in ((0, True), (1, False)):
            changed = list(tasks)
            changed[place] = with_wcet(tasks[place], tasks[place].execution.wcet_ns + one.margin_ns + extra)
            assert verdict(changed, policy, preemptive) is meets
    for more, meets in ((0, True), (1, False)):
        factor = found.scaling.ppm + more
        changed = [with_wcet(one, -(-one.execution.wcet_ns * factor // MILLION)) for one in tasks]
        assert verdict(changed, policy, preemptive) is meets


def in_pieces(policy: Policy) -> System:
    """Parts that nobody preempts, with switches between them; of the last task, the last one is not the longest."""
    tasks = [task("a", 30, 120), task("c", 100, 500), task("d", 60, 900)]
    points = {"a": (), "c": (70 * US,), "d": (20 * US, 60 * US - 1)}
    made = system([replace(one, preemption_points_ns=points[one.name]) for one in tasks], policy, preemptive=True)
    (box,) = made.devices
    (cpu,) = box.processing_elements
    return replace(
        made, devices=(replace(box, processing_elements=(replace(cpu, switch_cost_ns=US, points_only=True),)),)
    )


@pytest.mark.parametrize("policy", [Policy.FIXED_PRIORITY, Policy.EDF])
def test_margins_count_the_switch_into_a_part_that_nobody_preempts(policy: Policy) -> None:
    made = in_pieces(policy)
    (mode,) = mode_loads(made, make_plan(made))
    found = sensitivity(mode, METHODS)
    assert [one.task for one in found.tasks] == ["a", "c", "d"]
    for place, one in enumerate(found.tasks):
        for extra, meets in ((0, True), (1, False)):
            tasks = list(made.tasks)
            tasks[place] = with_wcet(tasks[place], tasks[place].execution.wcet_ns + one.margin_ns + extra)
            longer = replace(made, tasks=tuple(tasks))
            assert (analyze(longer, make_plan(longer)).verdict is Verdict.SCHEDULABLE) is meets, (one, extra)


def test_progress_tells_every_search() -> None:
    told: list[tuple[int, int]] = []
    made = system(SETS[0], Policy.FIXED_PRIORITY, True)
    (mode,) = mode_loads(made, make_plan(made))
    sensitivity(mode, METHODS, lambda done, of: told.append((done, of)))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_the_factor_one_changes_nothing() -> None:
    interrupted = 0
    for seed in range(1, 400):
        made, plan = random_case(seed)
        for mode in () if check_plan(made, plan) else mode_loads(made, plan):
            assert scaled(mode, MILLION) == mode
            interrupted += any(t.blocking and t.blocking.interrupted for load in mode.loads for t in load.tasks)
    assert interrupted > 5
