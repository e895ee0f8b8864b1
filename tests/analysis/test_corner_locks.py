"""Runs of a few jobs in which locks and regions delay more than a quick look tells, against the bounds.

Each case is simulated; the response that it shows is more than an analysis finds that overlooks the matter.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hand_made import bound, element, jobs_of, planned, section, task, worst

from rt_sched.analysis.analyze import analyze
from rt_sched.analysis.result import TermKind, Verdict
from rt_sched.model import (
    Budget,
    Mode,
    OverrunAction,
    Policy,
    ProcessingElement,
    Protocol,
    Sporadic,
    TableEntry,
    TimeSlice,
)

FP, EDF = Policy.FIXED_PRIORITY, Policy.EDF


@pytest.mark.parametrize("policy", [FP, EDF])
def test_a_spin_lock_that_one_task_uses_keeps_the_core(policy: Policy) -> None:
    tasks = [task("high", 1, 50), task("low", 10, 90, sections=(section(2, 9),))]
    system, plan = planned([element(policy=policy)], tasks, {"r": Protocol.MSRP})
    seen = worst(jobs_of(system, plan, arrivals={"low": [0], "high": [2]}), "high")
    assert seen == 7 + 1
    assert seen <= (bound(system, plan, "high") or 0)


@pytest.mark.parametrize("protocol", [Protocol.PRIORITY_CEILING, Protocol.PRIORITY_INHERITANCE, Protocol.MSRP])
def test_sections_that_follow_each_other_block_as_one(protocol: Protocol) -> None:
    high = task("high", 2, 50, sections=(section(0, 1, "r"), section(1, 2, "s")))
    low = task("low", 12, 90, sections=(section(0, 4, "r"), section(4, 10, "s")))
    system, plan = planned([element()], [high, low], {"r": protocol, "s": protocol})
    seen = worst(jobs_of(system, plan, arrivals={"low": [0], "high": [1]}), "high")
    assert seen == 9 + 2
    assert seen > 2 + 6
    assert seen <= (bound(system, plan, "high") or 0)


def test_enforcement_waits_for_sections_that_follow_each_other() -> None:
    sections = (section(2, 5, "r"), section(5, 9, "s"))
    high = task("high", 30, 90, sections=sections, budget_ns=3, budget=Budget(1, OverrunAction.ABORT))
    system, plan = planned(
        [element()], [high, task("low", 1, 90)], {"r": Protocol.PRIORITY_CEILING, "s": Protocol.PRIORITY_CEILING}
    )
    seen = worst(jobs_of(system, plan, arrivals={"high": [0], "low": [0]}), "low")
    assert seen == 9 + 1
    assert seen > 3 + 4 + 1
    assert seen <= (bound(system, plan, "low") or 0)


def test_a_spin_waits_for_every_core_of_the_other_processor() -> None:
    tasks = [
        task("mine", 3, 90, sections=(section(0, 2),)),
        task("left", 5, 90, pe="q", sections=(section(0, 5),)),
        task("right", 5, 90, pe="q", sections=(section(0, 5),)),
    ]
    system, plan = planned([element(), element("q", cores=2)], tasks, {"r": Protocol.MSRP})
    seen = worst(jobs_of(system, plan, arrivals={"mine": [1], "left": [0], "right": [0]}), "mine")
    assert seen == 3 + 4 + 5
    assert seen > 3 + 5
    assert seen <= (bound(system, plan, "mine") or 0)


def test_release_jitter_lets_a_shorter_relative_deadline_block_under_srp() -> None:
    tasks = [
        task("short", 5, 40, 9, sections=(section(0, 5),)),
        task("late", 2, 40, 10, sections=(section(0, 2),), activation=Sporadic(40, None, 0, 5)),
    ]
    system, plan = planned([element(policy=EDF)], tasks, {"r": Protocol.PRIORITY_CEILING})
    seen = worst(jobs_of(system, plan, arrivals={"short": [4], "late": [0]}, jitters={"late": [5]}), "late")
    assert seen == 11
    assert seen <= (bound(system, plan, "late") or 0)


def test_jobs_that_nest_in_a_circle_never_end_and_have_no_bound() -> None:
    tasks = [
        task("one", 8, 50, sections=(section(0, 8, "r"), section(2, 4, "s"))),
        task("other", 8, 50, sections=(section(0, 8, "s"), section(2, 4, "r"))),
    ]
    inheritance = {"r": Protocol.PRIORITY_INHERITANCE, "s": Protocol.PRIORITY_INHERITANCE}
    system, plan = planned([element()], tasks, inheritance)
    jobs = jobs_of(system, plan, arrivals={"other": [0], "one": [1]})
    assert worst(jobs, "one") == 199
    assert worst(jobs, "other") == 200
    assert bound(system, plan, "one") is bound(system, plan, "other") is None


def test_a_point_at_which_a_section_begins_lets_nobody_in() -> None:
    high = task("high", 1, 50, sections=(section(0, 1),))
    low = task("low", 8, 90, sections=(section(4, 5),), preemption_points_ns=(4, 6))
    system, plan = planned([element(points_only=True)], [high, low], {"r": Protocol.PRIORITY_CEILING})
    seen = worst(jobs_of(system, plan, arrivals={"low": [0], "high": [1]}), "high")
    assert seen == 5 + 1
    assert seen > 1 + 3 + 1
    assert seen <= (bound(system, plan, "high") or 0)


def test_a_load_below_one_decides_nothing_where_jobs_have_regions() -> None:
    tasks = [task("short", 2, 4), task("long", 8, 20)]
    system, plan = planned([element(policy=EDF, points_only=True)], tasks)
    seen = worst(jobs_of(system, plan, arrivals={"long": [0], "short": [1]}), "short")
    assert seen == 7 + 2
    result = analyze(system, plan).task("short")
    assert result.verdict is Verdict.UNSCHEDULABLE
    assert result.bound is not None
    assert seen <= result.bound.value_ns


def _cycle(policy: Policy, *, preemptive: bool) -> ProcessingElement:
    """4 ns for `long`, then 4 ns for `short`."""
    if policy is Policy.TIME_SLICED:
        return element(policy=policy, preemptive=preemptive, slices=(TimeSlice(4, ("long",)), TimeSlice(4, ("short",))))
    table = (TableEntry(0, 4, "long"), TableEntry(4, 4, "short"))
    return element(policy=policy, preemptive=preemptive, table=table, table_cycle_ns=8)


@pytest.mark.parametrize("policy", [Policy.TIME_SLICED, Policy.TABLE])
@pytest.mark.parametrize("preemptive", [True, False])
def test_slices_and_entries_end_jobs_that_nobody_else_preempts(policy: Policy, preemptive: bool) -> None:
    system, plan = planned([_cycle(policy, preemptive=preemptive)], [task("long", 6, 100), task("short", 1, 100)])
    worst_long = worst_short = 0
    for at in range(8):
        jobs = jobs_of(system, plan, arrivals={"long": [at], "short": [at]})
        worst_long, worst_short = max(worst_long, worst(jobs, "long")), max(worst_short, worst(jobs, "short"))
    assert worst_long > 6 + 4
    assert worst_long <= (bound(system, plan, "long") or 0)
    assert worst_short <= (bound(system, plan, "short") or 0)


@pytest.mark.parametrize("policy", [Policy.TIME_SLICED, Policy.TABLE])
@pytest.mark.parametrize("preemptive", [True, False])
def test_a_slice_may_end_inside_a_section(policy: Policy, preemptive: bool) -> None:
    cpu = _cycle(policy, preemptive=preemptive)
    free, plan = planned([cpu], [task("long", 16, 200), task("short", 1, 200)])
    locking = [task("long", 16, 200, sections=(section(0, 16),)), task("short", 1, 200, sections=(section(0, 1),))]
    system, _ = planned([cpu], locking, {"r": Protocol.PRIORITY_INHERITANCE})
    seen = worst(jobs_of(system, plan, 400, arrivals={"long": [0], "short": [1]}), "short")
    assert seen > (bound(free, plan, "short") or 0)
    assert bound(system, plan, "short") is None


@pytest.mark.parametrize(
    ("policy", "protocol"), [(FP, Protocol.PRIORITY_CEILING), (EDF, Protocol.PRIORITY_CEILING), (FP, Protocol.MSRP)]
)
def test_a_ceiling_is_that_of_all_modes(policy: Policy, protocol: Protocol) -> None:
    tasks = [
        task("absent", 1, 40, 10, sections=(section(0, 1),)),
        task("middle", 2, 50, 20),
        task("holder", 9, 90, 60, sections=(section(0, 9),)),
    ]
    system, plan = planned([element(policy=policy)], tasks, {"r": protocol})
    system = replace(system, modes=(Mode("all", ("absent", "middle", "holder")), Mode("few", ("middle", "holder"))))
    seen = worst(jobs_of(system, plan, arrivals={"holder": [1], "middle": [2]}, mode="few"), "middle")
    assert seen == 8 + 2
    assert seen <= (bound(system, plan, "middle", mode="few") or 0)


def test_who_blocks_is_a_less_urgent_task() -> None:
    tasks = [
        task("high", 4, 40, sections=(section(0, 4),)),
        task("middle", 2, 50),
        task("low", 9, 90, sections=(section(0, 4),)),
    ]
    system, plan = planned([element()], tasks, {"r": Protocol.PRIORITY_CEILING})
    found = analyze(system, plan).task("middle").bound
    assert found is not None
    assert [term.by for term in found.terms if term.kind is TermKind.BLOCKING] == ["low in r"]
