"""Every step that `explain` shows adds up to the bound that the methods found."""

from __future__ import annotations

import pytest
import textbook
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import task_sets

from rt_sched.analysis.methods import METHODS
from rt_sched.analysis.result import TermKind
from rt_sched.analysis.system.derivation import BESIDE, MOST_JOBS, Derivation, derive
from rt_sched.analysis.task_sets import task_set_bounds, task_set_load
from rt_sched.model import ArrivalCurve, Policy, SetTask, TaskSet

EXAMPLES = settings(max_examples=60, deadline=None)


def as_set(tasks: list[textbook.Task], policy: Policy, preemptive: bool, shared: bool) -> TaskSet:
    rows = [
        SetTask(f"t{i}", t.C, t.D, t.C, level=i // 2 if shared else i, period_ns=t.T, jitter_ns=t.J)
        for i, t in enumerate(tasks)
    ]
    return TaskSet("drawn", policy, preemptive, tuple(rows))


def derived(task_set: TaskSet) -> list[tuple[int, Derivation]]:
    load = task_set_load(task_set)
    found = []
    for one in task_set_bounds(load, METHODS).values():
        if one.bound is not None:
            steps = derive(load, one.task, one.bound)
            assert steps is not None
            held = sum(t.value_ns for t in one.bound.terms if t.kind is TermKind.NON_PREEMPTIVE_REGION)
            worst = steps.worst.response_ns
            assert held in {step.blocking_ns for step in steps.jobs if step.response_ns == worst}
            found.append((one.bound.value_ns, steps))
    return found


@EXAMPLES
@given(
    tasks=task_sets(blocking=False),
    policy=st.sampled_from([Policy.FIXED_PRIORITY, Policy.EDF, Policy.FIFO]),
    preemptive=st.booleans(),
    shared=st.booleans(),
)
def test_the_worst_step_is_the_bound(
    tasks: list[textbook.Task], policy: Policy, preemptive: bool, shared: bool
) -> None:
    assume(textbook.load(tasks) < 1)
    for value_ns, steps in derived(as_set(tasks, policy, preemptive, shared)):
        assert steps.worst.response_ns == value_ns
        for step in steps.jobs:
            assert list(step.windows_ns) == sorted(step.windows_ns)
        if steps.complete:
            assert [step.job for step in steps.jobs] == list(range(len(steps.jobs)))


@pytest.mark.parametrize("policy", [Policy.FIXED_PRIORITY, Policy.EDF, Policy.FIFO])
@pytest.mark.parametrize("preemptive", [True, False])
def test_curves_are_followed_too(policy: Policy, preemptive: bool) -> None:
    burst = ArrivalCurve(20, ((1, 2), (6, 3)))
    tasks = (
        SetTask("a", 2, 9, 2, level=0, period_ns=8, jitter_ns=3),
        SetTask("b", 2, 30, 2, level=1, curve=burst),
        SetTask("c", 5, 40, 5, level=2, separation_ns=30),
    )
    found = derived(TaskSet("curves", policy, preemptive, tasks))
    assert len(found) == 3
    for value_ns, steps in found:
        assert steps.worst.response_ns == value_ns


def test_lehoczky_takes_the_fifth_job() -> None:
    tasks = (
        SetTask("a", 26, 70, 26, level=0, period_ns=70),
        SetTask("b", 62, 500, 62, level=1, period_ns=100),
    )
    (_, _), (value_ns, steps) = derived(TaskSet("lehoczky", Policy.FIXED_PRIORITY, True, tasks))
    assert [step.response_ns for step in steps.jobs] == [114, 102, 116, 104, 118, 106, 94]
    assert (value_ns, steps.worst.job, steps.worst.windows_ns[-1], steps.busy_ns[-1]) == (118, 4, 518, 694)


def test_long_busy_periods_are_cut() -> None:
    tasks = (
        SetTask("a", 4999, 10_000, 4999, level=0, period_ns=10_000),
        SetTask("b", 1, 10_000, 1, level=1, period_ns=2),
    )
    found = derived(TaskSet("long", Policy.FIXED_PRIORITY, True, tasks))
    assert len(found[1][1].jobs) <= MOST_JOBS
    assert not found[1][1].complete
    edf = derived(TaskSet("long", Policy.EDF, True, tasks))
    assert all(len(steps.jobs) <= 2 * BESIDE + 1 for _, steps in edf)
