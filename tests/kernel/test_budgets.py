"""Budgets, servers, deadline actions and mixed criticality, on schedules worked by hand."""

from __future__ import annotations

import itertools

import pytest
from by_hand import cpu, events, finishes, run, schedule, statuses, system, task, worst_response

from rt_sched.lowering.machine_input import (
    DeadlineAction,
    OverrunAction,
    Policy,
    Protocol,
    ResourceRow,
    SectionRow,
)
from rt_sched.trace.records import EventKind


@pytest.mark.parametrize(
    ("action", "expected", "ends"),
    [
        (OverrunAction.LOG, "job 0-6, job1 10-16", ["COMPLETED", "COMPLETED"]),
        (OverrunAction.ABORT, "job 0-4, job1 10-14", ["ABORTED", "ABORTED"]),
        (OverrunAction.FAIL_OVER, "job 0-4, job1 10-14", ["ABORTED", "ABORTED"]),
        (OverrunAction.SKIP_NEXT, "job 0-6", ["COMPLETED", "SUPPRESSED"]),
        (OverrunAction.DEGRADE, "job 0-6, job1 10-13", ["COMPLETED", "COMPLETED"]),
    ],
)
def test_what_an_overrun_leads_to(action: OverrunAction, expected: str, ends: list[str]) -> None:
    """Budget 3, enforced in steps of 2: so at 4."""
    job = task("job", 6, 0, 10, budget_ns=3, budget_granularity_ns=2, overrun_action=action, degraded_demand_ns=3)
    trace = run(system((job,)))
    assert schedule(trace) == expected
    assert statuses(trace, "job") == ends
    assert events(trace, EventKind.OVERRUN)[0] == (3, "OVERRUN", "job", -1)
    if action != OverrunAction.LOG:
        assert events(trace, EventKind.ENFORCE)[0] == (4, "ENFORCE", "job", action)


def test_finishing_exactly_at_the_budget_is_no_overrun() -> None:
    job = task("job", 3, 0, budget_ns=3, overrun_action=OverrunAction.ABORT)
    trace = run(system((job,)))
    assert statuses(trace, "job") == ["COMPLETED"]
    assert not trace.jobs.overrun.any()


def test_enforcement_waits_until_the_lock_is_released() -> None:
    job = task("job", 9, 0, budget_ns=3, overrun_action=OverrunAction.ABORT, sections=(SectionRow(0, 2, 6),))
    trace = run(system((job,), resources=(ResourceRow("r", Protocol.NONE),)))
    assert schedule(trace) == "job 0-6"
    assert events(trace, EventKind.OVERRUN, EventKind.ENFORCE) == [
        (3, "OVERRUN", "job", -1),
        (6, "ENFORCE", "job", OverrunAction.ABORT),
    ]


def test_a_throttled_task_of_fixed_priority_waits_for_its_next_arrival() -> None:
    """The arrival at 10 pays for the rest of job 0; job 1 gets what is left of it, then waits for the arrival at 20."""
    job = task("job", 3, 0, 10, 20, budget_ns=3, overrun_action=OverrunAction.THROTTLE, explicit_demands_ns=(4, 3, 2))
    low = task("low", 30, 0, level=1)
    trace = run(system((job, low)))
    assert schedule(trace) == "job 0-3, low 3-10, job 10-11, job1 11-13, low 13-20, job1 20-21, job2 21-23, low 23-39"
    assert finishes(trace, "job") == [11, 21, 23]


def test_a_constant_bandwidth_server_postpones_its_deadline() -> None:
    """The server (3 in 10) has its deadline at 10, then 20, then 30; the other job's is at 17."""
    job = task("job", 8, 0, deadline_ns=10, budget_ns=3, separation_ns=10, overrun_action=OverrunAction.THROTTLE)
    other = task("other", 6, 1, deadline_ns=16)
    trace = run(system((job, other), cpu(Policy.EDF)))
    assert schedule(trace) == "job 0-3, other 3-9, job 9-14"
    assert [(time, value) for time, _, _, value in events(trace, EventKind.REPLENISH)] == [(3, 20), (12, 30)]
    assert trace.jobs.deadline_ns.tolist() == [10, 17]
    assert trace.jobs.missed.tolist() == [True, False]


def test_the_server_isolates_others_from_a_task_that_always_overruns() -> None:
    """The others need 7 of every 10 and get them, whatever the served task (3 of 10) demands."""
    greedy = task(
        "greedy", 9, deadline_ns=10, period_ns=10, budget_ns=3, separation_ns=10, overrun_action=OverrunAction.THROTTLE
    )
    modest = task("modest", 7, deadline_ns=10, period_ns=10)
    trace = run(system((greedy, modest), cpu(Policy.EDF), horizon_ns=500))
    assert not trace.jobs.missed[trace.jobs.task == 1].any()
    free = run(system((task("greedy", 9, deadline_ns=10, period_ns=10), modest), cpu(Policy.EDF), horizon_ns=500))
    assert free.jobs.missed[free.jobs.task == 1].any()


@pytest.mark.parametrize(
    ("action", "expected", "ends"),
    [
        (DeadlineAction.CONTINUE, "job 0-6, job1 8-14", ["COMPLETED", "COMPLETED"]),
        (DeadlineAction.ABORT, "job 0-5, job1 8-13", ["ABORTED", "ABORTED"]),
        (DeadlineAction.SKIP_NEXT, "job 0-6", ["COMPLETED", "SUPPRESSED"]),
    ],
)
def test_what_a_missed_deadline_leads_to(action: DeadlineAction, expected: str, ends: list[str]) -> None:
    trace = run(system((task("job", 6, 0, 8, deadline_ns=5, deadline_action=action),)))
    assert schedule(trace) == expected
    assert statuses(trace, "job") == ends


def amc(high_demands: tuple[int, ...], low_demands: tuple[int, ...], third: tuple[int, ...]) -> tuple:
    """The published mixed-criticality set: C_LO 2, 3, 4; C_HI 4, 7 for tasks 1 and 3; T 10, 12, 30."""
    return (
        task("t1", 2, level=0, deadline_ns=10, period_ns=10, high_criticality=True, low_budget_ns=2,
             explicit_demands_ns=high_demands),
        task("t2", 3, level=1, deadline_ns=12, period_ns=12, explicit_demands_ns=low_demands),
        task("t3", 4, level=2, deadline_ns=30, period_ns=30, high_criticality=True, low_budget_ns=4,
             explicit_demands_ns=third),
    )  # fmt: skip


def test_published_mixed_criticality_responses_in_lo_mode() -> None:
    trace = run(system(amc((), (), ()), horizon_ns=240))
    assert [worst_response(trace, name) for name in ("t1", "t2", "t3")] == [2, 5, 9]
    assert not events(trace, EventKind.HIGH)


def test_published_mixed_criticality_bound_over_all_behaviours() -> None:
    """AMC-rtb bounds task 3 by 18 across the change; every choice of C_LO or C_HI per job stays below."""
    worst = 0
    for first in itertools.product((2, 3, 4), repeat=3):
        for third in range(1, 8):
            trace = run(system(amc(first, (), (third,)), horizon_ns=30))
            assert trace.jobs.finish_ns[trace.jobs.task == 2].min() > 0
            worst = max(worst, worst_response(trace, "t3"))
    assert 15 <= worst <= 18


def test_the_criticality_switch_aborts_and_suppresses_lo_jobs_until_the_processor_idles() -> None:
    tasks = (
        task("high", 7, 2, level=0, high_criticality=True, low_budget_ns=4),
        task("low", 3, 0, 4, 8, 9, 12, level=1),
        task("also_high", 1, 9, level=2, high_criticality=True),
    )
    trace = run(system(tasks))
    assert schedule(trace) == "low 0-2, high 2-9, also_high 9-10, low4 12-15"
    assert statuses(trace, "low") == ["ABORTED", "ABORTED", "SUPPRESSED", "SUPPRESSED", "COMPLETED"]
    assert events(trace, EventKind.HIGH, EventKind.LOW) == [(6, "HIGH", "0", -1), (10, "LOW", "0", -1)]


def test_reaching_the_lo_budget_exactly_at_completion_is_no_switch() -> None:
    trace = run(system((task("high", 4, 0, high_criticality=True, low_budget_ns=4),)))
    assert not events(trace, EventKind.HIGH)
