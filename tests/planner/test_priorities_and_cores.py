"""Placement and priorities against what the textbook rules say."""

from collections import defaultdict
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rt_sched.lowering import check_plan
from rt_sched.model import Device, ExecutionTime, PEKind, Periodic, Policy, ProcessingElement, System, Task
from rt_sched.planner import POLICIES, make_plan

MS = 1_000_000


def task(name, period_ms, wcet_ms, *, deadline_ms=None, priority=None, core=None, pe=("box", "cpu")):
    wcet = wcet_ms * MS
    return Task(
        name=name,
        stage="x:Y",
        parameters=(),
        pe=pe,
        activation=Periodic(Fraction(1000, period_ms)),
        inputs=(),
        execution=ExecutionTime(wcet, wcet, (wcet, wcet)),
        deadline_ns=(deadline_ms or period_ms) * MS,
        separation_ns=period_ms * MS,
        priority=priority,
        core=core,
    )


def system(*tasks, cores=1, pes=None):
    cpu = ProcessingElement("cpu", PEKind.CPU, cores, Policy.FIXED_PRIORITY, True)
    gpu = ProcessingElement("gpu", PEKind.GPU, 1, Policy.FIFO, False)
    return System("s", (Device("box", (cpu, gpu)),), (), tuple(tasks), (), None, "rms", ".")


def order(plan):
    return [p.task for p in sorted(plan.placements, key=lambda p: p.level)]


def test_rate_monotonic_orders_by_period_and_deadline_monotonic_by_deadline():
    tasks = (task("a", 50, 1, deadline_ms=10), task("b", 20, 1), task("c", 40, 1, deadline_ms=40))
    assert order(make_plan(system(*tasks), "rms")) == ["b", "c", "a"]
    assert order(make_plan(system(*tasks), "dm")) == ["a", "b", "c"]


def test_explicit_priorities_go_first_and_ties_keep_the_order_of_the_file():
    tasks = (task("a", 10, 1), task("b", 10, 1), task("slow", 90, 1, priority=0), task("slower", 99, 1, priority=0))
    assert order(make_plan(system(*tasks))) == ["slow", "slower", "a", "b"]


def test_edf_turns_every_processor_but_fifo_ones():
    plan = make_plan(system(task("a", 10, 1)), "edf")
    assert {p.pe: p.policy for p in plan.processors} == {"cpu": Policy.EDF, "gpu": Policy.FIFO}
    assert make_plan(system(task("a", 10, 1))).processors[0].policy is Policy.FIXED_PRIORITY


def test_worst_fit_spreads_and_respects_fixed_cores():
    tasks = (task("pinned", 10, 6, core=1), task("big", 10, 5), task("mid", 10, 3), task("small", 10, 2))
    plan = make_plan(system(*tasks, cores=2))
    cores = {p.task: plan.processors[p.processor].core for p in plan.placements}
    assert cores == {"pinned": 1, "big": 0, "mid": 0, "small": 1}


def test_a_core_that_does_not_exist_is_named():
    with pytest.raises(ValueError, match=r"task a: box\.cpu has no core 4"):
        make_plan(system(task("a", 10, 1, core=4)))


def test_an_unknown_policy_is_refused_with_the_valid_ones():
    with pytest.raises(ValueError, match="rms, dm, opa, edf"):
        make_plan(system(task("a", 10, 1)), "fifo")


@settings(deadline=None)  # the first plan under opa loads compiled code
@given(
    st.lists(
        st.tuples(st.integers(1, 100), st.integers(1, 9), st.sampled_from(["cpu", "gpu"])), min_size=1, max_size=12
    ),
    st.integers(1, 4),
    st.sampled_from(POLICIES),
)
def test_every_plan_is_legal_and_balanced(rows, cores, policy):
    tasks = [task(f"t{i}", period, wcet, pe=("box", pe)) for i, (period, wcet, pe) in enumerate(rows)]
    given_system = system(*tasks, cores=cores)
    plan = make_plan(given_system, policy)
    assert check_plan(given_system, plan) == []
    levels = defaultdict(list)
    load = [Fraction(0)] * len(plan.processors)
    for placement, row in zip(plan.placements, tasks, strict=True):
        levels[placement.processor].append(placement.level)
        load[placement.processor] += Fraction(row.execution.wcet_ns, row.separation_ns)
    assert all(sorted(found) == list(range(len(found))) for found in levels.values())
    cpu = load[:cores]
    largest = max(
        (Fraction(t.execution.wcet_ns, t.separation_ns) for t in tasks if t.pe[1] == "cpu"), default=Fraction(0)
    )
    assert max(cpu) - min(cpu) <= largest
