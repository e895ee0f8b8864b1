"""Policies, preemption, overheads, several cores, slices and tables, on schedules worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from by_hand import cpu, events, finishes, run, schedule, statuses, system, task

from rt_sched.lowering.machine_input import OverrunAction, Policy, TableEntry, TimeSlice
from rt_sched.trace import SliceKind
from rt_sched.trace.records import EventKind


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        (None, "low 0-2, high 2-4, low 4-10"),
        ((), "low 0-8, high 8-10"),
        ((5,), "low 0-5, high 5-7, low 7-10"),
        ((1, 3, 7), "low 0-3, high 3-5, low 5-10"),
    ],
)
def test_preemption_only_at_declared_points(points: tuple[int, ...] | None, expected: str) -> None:
    low = task("low", 8, 0, level=1, preemption_points_ns=points)
    assert schedule(run(system((low, task("high", 2, 2))))) == expected


def test_switch_costs_precede_every_start_and_resume_and_are_not_preempted() -> None:
    tasks = (task("high", 2, 1), task("low", 4, 0, level=1, budget_ns=4))
    trace = run(system(tasks, cpu(switch_ns=3)))
    assert schedule(trace) == "low 0-3~, high 3-6~, high 6-8, low 8-11~, low 11-15"
    assert trace.jobs.start_ns.tolist() == [0, 3]
    assert not trace.jobs.overrun.any()
    assert trace.jobs.executed_ns.tolist() == [4, 2]


def test_a_migration_costs_more_than_a_resume() -> None:
    tasks = (task("a", 4, 0, 6, level=0), task("b", 8, 0, level=1), task("c", 9, 1, level=2))
    trace = run(system(tasks, cpu(cores=2, switch_ns=1, migration_ns=2)))
    assert schedule(trace, core=0) == "a 0-1~, a 1-5, c 5-6~, a1 6-7~, a1 7-11"
    assert schedule(trace, core=1) == "b 0-1~, b 1-9, c 9-12~, c 12-21"
    other = run(
        system((task("a", 4, 0, 6), task("b", 8, 0, level=1), task("c", 3, 1, level=2)), cpu(cores=2, migration_ns=2))
    )
    assert schedule(other) == "a 0-4, b 0-8, c 4-6, a1 6-10, c 8-10~, c 10-11"


def test_global_queue_runs_the_best_keys_and_keeps_cores() -> None:
    tasks = (
        task("low", 10, 0, level=5),
        task("mid", 10, 0, level=3),
        task("high", 2, 4, level=1),
    )
    trace = run(system(tasks, cpu(cores=2)))
    assert schedule(trace, core=0) == "mid 0-10"
    assert schedule(trace, core=1) == "low 0-4, high 4-6, low 6-12"


def test_the_worst_job_that_may_be_preempted_gives_way() -> None:
    tasks = (
        task("fixed", 10, 0, level=5, preemption_points_ns=()),
        task("mid", 10, 0, level=3),
        task("high", 2, 4, level=1),
    )
    trace = run(system(tasks, cpu(cores=2)))
    assert schedule(trace, core=1) == "fixed 0-10"
    assert schedule(trace, core=0) == "mid 0-4, high 4-6, mid 6-12"


def test_among_equal_keys_the_running_job_stays() -> None:
    tasks = (task("b", 3, 1, level=1), task("a", 5, 0, level=1), task("c", 1, 1, level=1))
    assert schedule(run(system(tasks))) == "a 0-5, b 5-8, c 8-9"


def test_fifo_is_ordered_by_release_and_not_preemptive() -> None:
    tasks = (task("a", 3, 2, 3, level=0), task("b", 4, 0, level=9), task("late", 1, 1, explicit_jitters_ns=(3,)))
    assert schedule(run(system(tasks, cpu(Policy.FIFO)))) == "b 0-4, a 4-7, a1 7-10, late 10-11"


def test_published_time_slices_leave_what_the_switches_leave() -> None:
    """Slices of 6, 3 and 1 ms with 0.5 ms switches leave 8.5 of 10 ms, one switch a cycle would leave 9.5."""
    slices = tuple(TimeSlice(length * 10**6, (i,), 500_000) for i, length in enumerate((6, 3, 1)))
    tasks = tuple(task(f"t{i}", 10**9, 0) for i in range(3))
    trace = run(system(tasks, cpu(Policy.TIME_SLICED, slices=slices), horizon_ns=10**8))
    assert trace.jobs.executed_ns.tolist() == [55_000_000, 25_000_000, 5_000_000]
    assert (trace.slices.kind == SliceKind.EXECUTE).all()


def test_a_slice_without_ready_jobs_idles_unless_its_slack_is_shared() -> None:
    slices = (TimeSlice(5, (0,), 1), TimeSlice(5, (1,)))
    tasks = (task("a", 3, 7), task("b", 9, 0, level=1))
    alone = run(system(tasks, cpu(Policy.TIME_SLICED, slices=slices)))
    assert schedule(alone) == "b 5-10, a 11-14, b 15-19"
    shared = run(system(tasks, cpu(Policy.TIME_SLICED, slices=slices, slack_sharing=True)))
    assert schedule(shared) == "b 1-5, b 5-10, a 11-14"


def test_a_slice_is_taken_back_from_jobs_that_share_its_slack() -> None:
    slices = (TimeSlice(10, (0,)), TimeSlice(10, (1,)))
    tasks = (task("a", 3, 4, level=9), task("b", 20, 0, level=0))
    given = system(tasks, cpu(Policy.TIME_SLICED, preemptive=False, slices=slices, slack_sharing=True))
    assert schedule(run(given)) == "b 0-4, a 4-7, b 7-10, b 10-20, b 20-23"


def test_table_entries_start_at_their_time_or_stay_empty() -> None:
    table = (TableEntry(2, 3, 0), TableEntry(5, 4, 1))
    tasks = (task("a", 2, 0, 5, 13), task("b", 4, 0, 10))
    trace = run(system(tasks, cpu(Policy.TABLE, table=table, cycle_ns=10), horizon_ns=30))
    assert schedule(trace) == "a 2-4, b 5-9, a1 12-14, b1 15-19, a2 22-24"
    assert statuses(trace, "b") == ["COMPLETED", "COMPLETED"]
    assert len(events(trace, EventKind.ENTRY)) == 6


@pytest.mark.parametrize(
    ("action", "expected", "status"),
    [
        (OverrunAction.LOG, "a 0-3, a 10-12", "COMPLETED"),
        (OverrunAction.THROTTLE, "a 0-3, a 10-12", "COMPLETED"),
        (OverrunAction.ABORT, "a 0-3", "ABORTED"),
        (OverrunAction.FAIL_OVER, "a 0-3", "ABORTED"),
    ],
)
def test_the_end_of_an_entry_is_a_budget(action: OverrunAction, expected: str, status: str) -> None:
    job = task("a", 5, 0, overrun_action=action)
    trace = run(system((job,), cpu(Policy.TABLE, table=(TableEntry(0, 3, 0),), cycle_ns=10)))
    assert schedule(trace) == expected
    assert statuses(trace, "a") == [status]
    assert trace.jobs.overrun.tolist() == [True]


def test_edf_ties_and_deadlines_decide_on_several_processors_apart() -> None:
    tasks = (
        task("a", 4, 0, deadline_ns=20, processor=0),
        task("b", 2, 1, deadline_ns=10, processor=0),
        task("c", 3, 0, deadline_ns=9, processor=1),
    )
    trace = run(system(tasks, [cpu(Policy.EDF, name="x"), cpu(Policy.EDF, name="y")]))
    assert schedule(trace, core=0) == "a 0-1, b 1-3, a 3-6"
    assert finishes(trace, "c") == [3]


def test_cores_are_numbered_through_and_named() -> None:
    trace = run(system((task("a", 1, 0),), [cpu(name="one"), cpu(name="two", cores=2)]))
    assert trace.processor_names == ("one", "two.0", "two.1")
    assert np.array_equal(trace.slices.processor, [0])
