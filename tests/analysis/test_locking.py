"""Blocking by sections: what counts as one, who is blocked by it, and what may run in the meantime."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from rt_sched.analysis.analyze import analyze
from rt_sched.analysis.loads.locking import LockTerms, lock_terms
from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.analysis.result import Verdict
from rt_sched.model import (
    Budget,
    CriticalSection,
    Device,
    ExecutionTime,
    OverrunAction,
    PEKind,
    Placement,
    Plan,
    ProcessingElement,
    Processor,
    SharedResource,
    Sporadic,
    System,
    Task,
)
from rt_sched.model import Policy as ModelPolicy
from rt_sched.model import Protocol as ModelProtocol
from rt_sched.trace.setup import Policy, ProcessorRow, Protocol, ResourceRow, SectionRow, Setup, TaskRow


def _terms(policy: Policy, protocol: Protocol, tasks: list[tuple[int, int, list[SectionRow]]]) -> list[LockTerms]:
    """Terms of tasks on one core, given as (deadline, jitter, sections), the most urgent first; each executes 20 ns."""
    rows = tuple(
        TaskRow(f"t{i}", 0, deadline, 20, i, rate_hz=Fraction(10**6), jitter_ns=jitter, sections=tuple(sections))
        for i, (deadline, jitter, sections) in enumerate(tasks)
    )
    resources = tuple(ResourceRow(f"r{i}", protocol) for i in range(3))
    setup = Setup((ProcessorRow("p", policy, True),), (), rows, (), resources)
    return lock_terms(setup, [True] * len(rows), dict.fromkeys(range(len(rows)), 20))


def _blocking(terms: list[LockTerms]) -> list[int | None]:
    return [None if one.blocking is None else one.blocking.total_ns for one in terms]


@pytest.mark.parametrize("policy", [Policy.FIXED_PRIORITY, Policy.EDF])
def test_a_spin_lock_of_one_task_still_keeps_the_core(policy: Policy) -> None:
    assert _blocking(_terms(policy, Protocol.MSRP, [(100, 0, []), (200, 0, [SectionRow(0, 2, 9)])])) == [7, 0]


def test_a_ceiling_of_one_task_blocks_nobody_under_fixed_priority() -> None:
    tasks = [(100, 0, []), (200, 0, [SectionRow(0, 2, 9)])]
    assert _blocking(_terms(Policy.FIXED_PRIORITY, Protocol.PRIORITY_CEILING, tasks)) == [0, 0]


@pytest.mark.parametrize("protocol", [Protocol.PRIORITY_CEILING, Protocol.PRIORITY_INHERITANCE, Protocol.MSRP])
@pytest.mark.parametrize(("gap", "blocking"), [(0, 10), (1, 6)])
def test_sections_without_a_gap_block_together(protocol: Protocol, gap: int, blocking: int) -> None:
    mine = [SectionRow(0, 0, 1), SectionRow(1, 5, 6)]
    other = [SectionRow(0, 0, 4), SectionRow(1, 4 + gap, 10 + gap)]
    tasks = [(100, 0, mine), (200, 0, other)]
    assert _blocking(_terms(Policy.FIXED_PRIORITY, protocol, tasks)) == [blocking, 0]


def test_jitter_lets_a_shorter_deadline_block_a_longer_one() -> None:
    section = [SectionRow(0, 0, 5)]
    plain = [(9, 0, section), (10, 0, [SectionRow(0, 0, 2)])]
    late = [(9, 0, section), (10, 5, [SectionRow(0, 0, 2)])]
    assert _blocking(_terms(Policy.EDF, Protocol.PRIORITY_CEILING, plain)) == [2, 0]
    assert _blocking(_terms(Policy.EDF, Protocol.PRIORITY_CEILING, late)) == [5, 5]


def _system(policy: ModelPolicy, tasks: list[Task], protocol: ModelProtocol) -> tuple[System, Plan]:
    element = ProcessingElement("p", PEKind.CPU, 1, policy, True)
    system = System(
        "locks", (Device("d", (element,)),), (), tuple(tasks), (), None, "dm", ".", (SharedResource("r", protocol),)
    )
    placements = tuple(Placement(task.name, 0, level) for level, task in enumerate(tasks))
    return system, Plan("locks", "dm", (Processor("d", "p", 0, policy, True),), placements)


def _task(name: str, wcet: int, period: int, deadline: int, section: tuple[int, int] | None = None) -> Task:
    sections = () if section is None else (CriticalSection("r", *section),)
    execution = ExecutionTime(wcet, wcet, (wcet, wcet))
    return Task(name, "none:None", (), ("d", "p"), Sporadic(period), (), execution, deadline, period, sections=sections)


def test_short_deadlines_run_while_a_section_blocks_under_srp() -> None:
    # While `long` holds the lock, every job of `short` may start; each puts off the end of the section for `middle`.
    tasks = [_task("short", 1, 7, 5), _task("long", 18, 35, 35, (0, 17)), _task("middle", 1, 40, 9, (0, 1))]
    system, plan = _system(ModelPolicy.EDF, tasks, ModelProtocol.PRIORITY_CEILING)
    result = analyze(system, plan).task("middle")
    assert result.bound is not None
    assert result.bound.value_ns >= 20
    assert result.verdict is Verdict.UNSCHEDULABLE


def test_enforcement_waits_for_sections_without_a_gap() -> None:
    sections = (CriticalSection("r", 2, 5), CriticalSection("r", 5, 9))
    budget = Budget(1, OverrunAction.ABORT)
    task = replace(_task("one", 30, 100, 100), sections=sections, budget_ns=3, budget=budget)
    system, plan = _system(ModelPolicy.FIXED_PRIORITY, [task], ModelProtocol.PRIORITY_CEILING)
    (mode,) = mode_loads(system, plan)
    assert mode.loads[0].tasks[0].wcet_ns == 3 + 7


def test_inheritance_with_sections_in_a_circle_has_no_bound() -> None:
    one, other = [SectionRow(0, 0, 9), SectionRow(1, 2, 5)], [SectionRow(1, 0, 9), SectionRow(0, 2, 5)]
    tasks = [(100, 0, one), (200, 0, other)]
    assert _blocking(_terms(Policy.FIXED_PRIORITY, Protocol.PRIORITY_INHERITANCE, tasks)) == [None, None]
    assert _blocking(_terms(Policy.FIXED_PRIORITY, Protocol.PRIORITY_CEILING, tasks)) == [9, 0]
    tasks = [(100, 0, one), (200, 0, one)]
    assert _blocking(_terms(Policy.FIXED_PRIORITY, Protocol.PRIORITY_INHERITANCE, tasks)) == [9, 0]


def test_a_point_inside_a_section_lets_nobody_in() -> None:
    low = replace(_task("low", 8, 100, 100, (2, 5)), preemption_points_ns=(4, 6))
    system, plan = _system(
        ModelPolicy.FIXED_PRIORITY, [_task("high", 1, 50, 50, (0, 1)), low], ModelProtocol.PRIORITY_CEILING
    )
    element = replace(system.devices[0].processing_elements[0], points_only=True)
    system = replace(system, devices=(replace(system.devices[0], processing_elements=(element,)),))
    (mode,) = mode_loads(system, plan)
    assert mode.loads[0].tasks[1].region_ns == 6
    assert mode.loads[0].tasks[1].last_region_ns == 2
