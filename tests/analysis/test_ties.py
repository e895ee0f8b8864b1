"""Misses that hinge on the order of equal levels or deadlines: found by a run, or the reason says what is counted."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hand_made import element, jobs_of, planned, task, worst

from rt_sched.analysis.analyze import analyze
from rt_sched.analysis.result import Verdict
from rt_sched.analysis.task_sets import analyze_task_set, task_set_load
from rt_sched.lowering.machine_input import MachineInput, TaskRow
from rt_sched.model import Policy, SetTask, TaskSet
from rt_sched.sim import Simulation

FP, EDF = Policy.FIXED_PRIORITY, Policy.EDF


def _set(policy: Policy, preemptive: bool, *rows: tuple[int, int, int]) -> TaskSet:
    """Sporadic tasks (wcet, separation, deadline), all of one level."""
    tasks = (SetTask(f"t{i}", c, d, c, level=0, separation_ns=t) for i, (c, t, d) in enumerate(rows))
    return TaskSet("ties", policy, preemptive, tuple(tasks))


@pytest.mark.parametrize(
    ("task_set", "behind"),
    [
        (_set(FP, False, (1, 7, 2), (4, 14, 8)), "t0"),
        (_set(FP, True, (2, 10, 4), (5, 20, 20)), "t0"),
        (_set(EDF, True, (5, 20, 9), (6, 20, 9)), "t0"),
    ],
)
def test_a_job_just_behind_its_equals_misses(task_set: TaskSet, behind: str) -> None:
    result = analyze_task_set(task_set).task(behind)
    assert result.verdict is Verdict.UNSCHEDULABLE
    assert result.witness is not None
    assert (result.witness.finish_ns or 10**9) > result.witness.deadline_ns
    assert f"{behind} 1 ns behind them" in result.witness.how


def test_systems_are_tried_likewise() -> None:
    system, plan = planned([element(policy=EDF)], [task("a", 5, 20, 9), task("b", 6, 20, 9)])
    result = analyze(system, plan).task("a")
    assert result.verdict is Verdict.UNSCHEDULABLE
    assert worst(jobs_of(system, plan, arrivals={"b": [0], "a": [1]}), "a") == 10


def test_the_reason_says_which_equals_are_counted() -> None:
    """A job of the same level that is released later never goes first, but is counted."""
    result = analyze_task_set(_set(FP, True, (6, 20, 12), (2, 6, 20))).task("t0")
    assert result.bound is not None
    assert (result.bound.value_ns, result.verdict) == (10, Verdict.SCHEDULABLE)
    result = analyze_task_set(_set(FP, True, (6, 20, 9), (2, 6, 20))).task("t0")
    assert result.verdict is Verdict.INCONCLUSIVE
    assert "it lets jobs of the same level (t1) go first, even those released later" in result.reason
    result = analyze_task_set(_set(EDF, True, (1, 4, 4), (6, 15, 8), (1, 8, 8))).task("t1")
    assert result.verdict is Verdict.INCONCLUSIVE
    assert "jobs with equal deadlines go first, which may be 1ns too much" in result.reason


def _responses(task_set: TaskSet, first: tuple[int, ...]) -> list[int]:
    """Largest response of each task when it arrives at `first` and as soon as it may again."""
    load = task_set_load(task_set)
    rows = tuple(
        TaskRow(t.name, 0, t.deadline_ns, t.wcet_ns, t.level, explicit_arrivals_ns=(at, at + (t.separation_ns or 1)))
        for t, at in zip(task_set.tasks, first, strict=True)
    )
    simulation = Simulation(MachineInput((load.row,), (), rows, (), horizon_ns=100))
    simulation.run()
    jobs = simulation.trace().jobs
    responses = jobs.finish_ns - jobs.arrival_ns
    return [int(responses[jobs.task == index].max()) for index in range(len(rows))]


@pytest.mark.parametrize("preemptive", [True, False])
@pytest.mark.parametrize("policy", [FP, EDF])
def test_no_phase_contradicts_a_verdict(policy: Policy, preemptive: bool) -> None:
    """Two tasks that share a level or meet with equal deadlines, in every phase of their first jobs."""
    met: Counter[tuple[Verdict, bool]] = Counter()
    for (c, d), (other_c, other_d) in product([(2, 5), (3, 6), (4, 6)], [(3, 5), (4, 6), (4, 7)]):
        task_set = _set(policy, preemptive, (c, 9, d), (other_c, 12, other_d))
        phases = [(0, at) for at in range(12)] + [(at, 0) for at in range(9)]
        seen = np.max([_responses(task_set, first) for first in phases], axis=0).tolist()
        for one, result, response in zip(task_set.tasks, analyze_task_set(task_set).modes[0].tasks, seen, strict=True):
            assert result.bound is not None
            assert response <= result.bound.value_ns
            missed = response > one.deadline_ns
            assert (result.verdict is Verdict.UNSCHEDULABLE) == missed, (c, d, other_c, other_d, result.task)
            met[result.verdict, missed] += 1
    assert met[Verdict.SCHEDULABLE, False] >= 2
    assert met[Verdict.UNSCHEDULABLE, True] >= 2
