"""Sets of very many tasks, more load than there is, and numbers at the limits: a status or a refusal, never a guess."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from rt_sched.analysis.batch import fp_response_times
from rt_sched.analysis.methods.method import MOST_TASKS
from rt_sched.analysis.methods.rows import MOST_TERMS
from rt_sched.analysis.result import Verdict
from rt_sched.analysis.task_sets import analyze_task_set
from rt_sched.analysis.theory.fixed_points import Timing
from rt_sched.analysis.theory.utilisation import MOST_EXACT, hyperbolic, liu_layland
from rt_sched.model import ArrivalCurve, Policy, SetTask, TaskSet

EDGE_NS = 2**60


def many(count: int, load: float, policy: Policy, preemptive: bool = True) -> TaskSet:
    rng = random.Random(count)  # noqa: S311 - reproducible test data
    periods = sorted(rng.randint(10**6, 10**9) for _ in range(count))
    tasks = tuple(
        SetTask(f"t{i}", wcet_ns, period_ns, wcet_ns, level=i, period_ns=period_ns)
        for i, period_ns in enumerate(periods)
        for wcet_ns in (max(1, int(period_ns * load / count)),)
    )
    return TaskSet("many", policy, preemptive, tasks)


@pytest.mark.parametrize("preemptive", [True, False])
def test_terms_of_many_tasks_add_up(preemptive: bool) -> None:
    task_set = many(1500, 0.6, Policy.FIXED_PRIORITY, preemptive)
    report = analyze_task_set(task_set)
    columns = [[task.wcet_ns for task in task_set.tasks]], [[task.period_ns for task in task_set.tasks]]
    wanted = fp_response_times(*columns, preemptive=preemptive).response_ns[0].tolist()
    found = report.modes[0].tasks
    assert report.verdict is Verdict.SCHEDULABLE
    assert [one.bound.value_ns for one in found if one.bound is not None] == wanted
    last = found[-1].bound
    assert last is not None
    assert MOST_TERMS <= len(last.terms) <= MOST_TERMS + 3
    assert any(term.by == f"{1499 - MOST_TERMS + 1} further tasks" for term in last.terms)


def test_methods_that_try_every_arrival_refuse_very_many_tasks() -> None:
    edf = analyze_task_set(many(MOST_TASKS + 1, 0.9, Policy.EDF))
    assert edf.verdict is Verdict.SCHEDULABLE  # by the demand test
    assert any("takes at most" in refusal.reason for refusal in edf.modes[0].tasks[0].refusals)
    assert edf.modes[0].tasks[0].bound is None


@pytest.mark.parametrize("test", [liu_layland, hyperbolic])
@pytest.mark.parametrize("load", [0.6, 0.693, 0.7])
def test_rounded_utilisation_tests_accept_no_more_than_exact_ones(test, load: float) -> None:  # type: ignore[no-untyped-def]
    tasks = [Timing(t.wcet_ns, t.period_ns or 1, t.deadline_ns) for t in many(MOST_EXACT + 1, load, Policy.EDF).tasks]
    exact = test(tasks[:MOST_EXACT])
    assert exact or not test(tasks)
    assert test(tasks) == (load < 0.6932)


@pytest.mark.parametrize("policy", [Policy.FIXED_PRIORITY, Policy.EDF, Policy.FIFO])
@pytest.mark.parametrize("preemptive", [True, False])
@pytest.mark.parametrize("curve", [None, ArrivalCurve(10, ((1, 2), (4, 3)))])
def test_more_load_than_there_is_misses(policy: Policy, preemptive: bool, curve: ArrivalCurve | None) -> None:
    a = SetTask("a", 3, 10, 3, level=0, period_ns=10)
    b = SetTask("b", 8, 10, 8, level=1, separation_ns=10)
    if curve is not None:
        b = replace(b, wcet_ns=3, bcet_ns=3, separation_ns=None, curve=curve)
    report = analyze_task_set(TaskSet("over", policy, preemptive, (a, b)))
    assert report.verdict is Verdict.UNSCHEDULABLE
    mine = report.task("b")
    assert mine.verdict is Verdict.UNSCHEDULABLE
    assert mine.witness is not None


@pytest.mark.parametrize("policy", [Policy.FIXED_PRIORITY, Policy.EDF, Policy.FIFO])
@pytest.mark.parametrize(
    "task",
    [
        SetTask("x", EDGE_NS, EDGE_NS, EDGE_NS, period_ns=EDGE_NS),
        SetTask("x", 1, EDGE_NS, 1, period_ns=1),
        SetTask("x", EDGE_NS - 1, EDGE_NS, 1, separation_ns=EDGE_NS, jitter_ns=EDGE_NS),
        SetTask("x", EDGE_NS // 4, EDGE_NS, 1, curve=ArrivalCurve(EDGE_NS, ((1, 3),))),
        SetTask("x", 2**40, EDGE_NS, 1, curve=ArrivalCurve(2**50, ((1, 2**9), (2**30, 2**10)))),
    ],
)
def test_numbers_at_the_limits(policy: Policy, task: SetTask) -> None:
    """Alone on its core, a job is delayed by jobs of its own only."""
    report = analyze_task_set(TaskSet("edge", policy, True, (task,)))
    bound = report.modes[0].tasks[0].bound
    if bound is None:
        assert report.modes[0].tasks[0].verdict is not Verdict.UNSCHEDULABLE
        assert report.modes[0].tasks[0].reason
        return
    jobs = 1 if task.curve is None else task.curve.steps[-1][1]
    assert task.wcet_ns <= bound.value_ns <= jobs * task.wcet_ns + task.jitter_ns
