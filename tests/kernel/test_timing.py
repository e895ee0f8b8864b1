"""Jitter, sporadic arrivals, suspension, LET, links, frequencies and modes, on schedules worked by hand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from by_hand import cpu, events, finishes, run, schedule, statuses, system, task

from rt_sched.lowering.machine_input import (
    EdgeKind,
    EdgeRow,
    FaultRow,
    FaultTarget,
    FrequencyChangeRow,
    LinkRow,
    MachineInput,
    ModeChangeRow,
    Protocol,
    ResourceRow,
    Role,
    Samples,
    SectionRow,
    SuspensionRow,
)
from rt_sched.trace.records import EventKind


def test_release_follows_arrival_by_the_jitter_and_counts_in_the_response() -> None:
    late = task("late", 2, 0, 10, deadline_ns=6, explicit_jitters_ns=(5, 1))
    trace = run(system((late, task("low", 20, 0, level=1))))
    assert schedule(trace) == "low 0-5, late 5-7, low 7-11, late1 11-13, low 13-24"
    assert trace.jobs.release_ns.tolist() == [5, 0, 11]
    assert trace.jobs.missed.tolist() == [True, False, False]


def test_drawn_jitter_stays_in_range_and_reaches_both_ends() -> None:
    job = task("job", 1, period_ns=50, jitter_ns=4, deadline_ns=50)
    trace = run(system((job,), horizon_ns=20_000))
    assert set((trace.jobs.release_ns - trace.jobs.arrival_ns).tolist()) == {0, 1, 2, 3, 4}


def test_sporadic_arrivals_keep_their_separation() -> None:
    job = task("job", 1, period_ns=10, extra_separation_ns=5, separation_ns=10, deadline_ns=10)
    trace = run(system((job,), horizon_ns=5_000))
    assert set(np.diff(trace.jobs.arrival_ns).tolist()) == set(range(10, 16))
    assert not events(trace, EventKind.SEPARATION)


def test_arrivals_that_come_too_early_are_flagged_and_released() -> None:
    trace = run(system((task("job", 1, 0, 10, 17, 17, separation_ns=10),)))
    assert events(trace) == [(17, "SEPARATION", "job", 7), (17, "SEPARATION", "job", 0)]
    assert finishes(trace, "job") == [1, 11, 18, 19]


def test_a_suspended_job_leaves_its_core_and_resumes_with_its_key() -> None:
    tasks = (
        task("waits", 5, 0, level=0, suspensions=(SuspensionRow(2, 4, 4),)),
        task("low", 9, 0, level=1),
    )
    trace = run(system(tasks))
    assert schedule(trace) == "waits 0-2, low 2-6, waits 6-9, low 9-14"
    assert events(trace) == [(2, "SUSPEND", "waits", 4), (6, "WAKE", "waits", -1)]


def test_a_job_that_ends_at_its_suspension_completes() -> None:
    assert schedule(run(system((task("job", 2, 0, suspensions=(SuspensionRow(2, 4, 4),)),)))) == "job 0-2"


def test_first_jobs_suspend_for_given_times_and_later_ones_for_drawn_ones() -> None:
    waits = (SuspensionRow(1, 2, 2, (3, 0)),)
    trace = run(system((task("job", 2, 0, 10, 20, suspensions=waits),)))
    assert schedule(trace) == "job 0-1, job 4-5, job1 10-12, job2 20-21, job2 23-24"
    assert events(trace)[::2] == [(1, "SUSPEND", "job", 3), (21, "SUSPEND", "job", 2)]


def test_published_supremum_of_a_self_suspending_task() -> None:
    """C 1, 5, 1, T 2, 20, 50, S2 = 5: the supremum of R3 is 22; a tick of 1/1000 reaches 21.995.

    The job of the second task that comes first suspends after each tick until the first task is back, the next one
    not at all; two tasks of one level stand for the two jobs.
    """
    steps = tuple(SuspensionRow(tick, 999, 999) for tick in range(1, 6))
    tasks = (
        task("t1", 1000, level=0, period_ns=2000, deadline_ns=2000),
        task("t2", 5000, 0, level=1, suspensions=steps, deadline_ns=20_000),
        task("t2_again", 5000, 20_000, level=1, deadline_ns=20_000),
        task("t3", 1000, 10_000, level=2, deadline_ns=50_000),
    )
    trace = run(system(tasks, horizon_ns=50_000))
    assert finishes(trace, "t3") == [10_000 + 21_995]


def edge(target: int, source: int | None = None, **more: object) -> EdgeRow:
    kind = more.pop("kind", EdgeKind.LATEST)
    return EdgeRow(target, "in", kind, more.pop("role", Role.READ), task=source, **more)  # type: ignore[arg-type]


def test_let_reads_at_arrival_and_publishes_at_arrival_plus_deadline() -> None:
    """The producer finishes at 2, its output is visible at 6: to the consumer that arrives at 6, not to that at 5."""
    producer = task("producer", 2, 0, 6, deadline_ns=6, let=True)
    consumer = task("consumer", 1, 5, 6, 13, level=1, deadline_ns=6)
    given = system((producer, consumer), edges=(edge(1, 0, required=False),))
    trace = run(given)
    assert trace.jobs.inputs[trace.jobs.task == 1, 0].tolist() == [-1, 0, 2]
    assert events(trace) == [(6, "LET_PUBLISH", "producer", -1), (12, "LET_PUBLISH", "producer", -1)]


def test_let_inputs_are_those_of_the_arrival_even_when_the_job_starts_later() -> None:
    source = task("source", 1, 0, 3, level=0, processor=1)
    reader = task("reader", 1, 2, level=1, let=True, deadline_ns=20)
    hog = task("hog", 10, 0, level=0)
    given = system((source, reader, hog), [cpu(name="a"), cpu(name="b")], edges=(edge(1, 0),))
    trace = run(given)
    reading = int(np.flatnonzero(trace.jobs.task == 1)[0])
    first_output = int(np.flatnonzero(trace.jobs.task == 0)[0])
    assert trace.jobs.inputs[reading].tolist() == [first_output]
    implicit = run(replace(given, tasks=(source, replace(reader, let=False), hog)))
    assert implicit.jobs.inputs[reading].tolist() == [int(np.flatnonzero(implicit.jobs.task == 0)[1])]


def test_an_unfinished_let_job_publishes_nothing() -> None:
    trace = run(system((task("slow", 9, 0, 20, deadline_ns=6, let=True),), edges=(edge(0, 0, required=False),)))
    assert events(trace) == [(6, "LET_UNFINISHED", "slow", -1), (26, "LET_UNFINISHED", "slow", -1)]
    assert trace.jobs.inputs[:, 0].tolist() == [-1, -1]


def linked(**more: object) -> MachineInput:
    """Two producers finish at 2, each sends 9 bytes over one link of 2 bytes/ns and 3 ns latency to its consumer."""
    tasks = (
        task("a", 2, 0, processor=0),
        task("b", 2, 0, processor=1),
        replace(task("at_a", 1, processor=2), explicit_arrivals_ns=None),
        replace(task("at_b", 1, processor=3), explicit_arrivals_ns=None),
    )
    link = {"role": Role.EACH, "kind": EdgeKind.QUEUE, "link": 0, "size_bytes": 9}
    return system(
        tasks,
        [cpu(name=name) for name in "wxyz"],
        edges=(edge(2, 0, **link), edge(3, 1, **link)),
        links=(LinkRow("eth", Fraction(2 * 10**9), 3),),
        **more,
    )


def test_a_link_sends_one_message_after_the_other_and_then_adds_its_latency() -> None:
    trace = run(linked())
    transfers = trace.transfers
    assert transfers.queued_ns.tolist() == [2, 2]
    assert transfers.start_ns.tolist() == [2, 7]
    assert transfers.end_ns.tolist() == [7, 12]
    assert transfers.delivered_ns.tolist() == [10, 15]
    assert trace.jobs.arrival_ns.tolist() == [0, 0, 10, 15]


def test_a_lost_link_delivers_nothing_more() -> None:
    trace = run(linked(faults=(FaultRow(10, FaultTarget.LINK, 0),)))
    assert trace.transfers.delivered_ns.tolist() == [-1, -1]
    assert len(trace.jobs) == 2


def test_samples_travel_over_links_too() -> None:
    given = linked(
        sensors=("eye",),
        samples=Samples(np.array([4]), np.array([0]), np.array([1])),
    )
    first, second = given.edges
    trace = run(replace(given, edges=(replace(first, task=None, sensor=0), second)))
    assert trace.transfers.start_ns.tolist() == [2, 7]
    assert trace.transfers.delivered_ns.tolist() == [10, 15]
    assert trace.jobs.capture_ns.tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize(
    ("memory_ns", "finish_ns", "demand_ns"),
    [(0, 18, 18), (3, 15, 15), (9, 10, 10)],
)
def test_a_frequency_change_rescales_the_compute_work_that_is_left(
    memory_ns: int, finish_ns: int, demand_ns: int
) -> None:
    """At executed 2 of 10 the frequency halves: compute work left doubles, memory-bound work, which is last, not."""
    job = task("job", 10, 0, memory_ns=memory_ns)
    given = system((job,), cpu(frequency_khz=1000), frequency_changes=(FrequencyChangeRow(2, 0, 500),))
    trace = run(given)
    assert finishes(trace, "job") == [finish_ns]
    assert trace.jobs.demand_ns.tolist() == [demand_ns]


def test_rescaling_rounds_up_once_and_moves_sections_along() -> None:
    """Executed 1 of 8 at 3 kHz, then 2 kHz: 7 * 3 / 2 = 10.5, so 11 left; the section [3, 5) moves to [4, 7)."""
    job = task("job", 8, 0, sections=(SectionRow(0, 3, 5),))
    trace = run(
        system(
            (job,),
            cpu(frequency_khz=3),
            resources=(ResourceRow("r", Protocol.NONE),),
            frequency_changes=(FrequencyChangeRow(1, 0, 2),),
        )
    )
    assert finishes(trace, "job") == [12]
    assert events(trace, EventKind.LOCK, EventKind.UNLOCK) == [(4, "LOCK", "job", 0), (7, "UNLOCK", "job", 0)]


def test_a_job_that_has_not_begun_is_rescaled_once_from_what_was_declared() -> None:
    """Declared 5 at 3 kHz. Through 2, 7 and 2 kHz it would become 8, 3, 11; it is 8 = 5 * 3 / 2 rounded up."""
    changes = tuple(FrequencyChangeRow(time, 0, khz) for time, khz in ((1, 2), (2, 7), (3, 2)))
    tasks = (task("first", 5, 0), task("waits", 5, 0, level=1), task("new", 5, 4, level=2))
    trace = run(system(tasks, cpu(frequency_khz=3), frequency_changes=changes))
    assert trace.jobs.demand_ns.tolist()[1:] == [8, 8]


def test_mode_changes_abort_removed_tasks_and_start_added_ones_after_their_latency() -> None:
    tasks = (
        task("old", 8, period_ns=10, deadline_ns=10),
        replace(task("new", 2, period_ns=10, deadline_ns=10), active=False, start_latency_ns=4, offset_ns=7),
    )
    trace = run(system(tasks, mode_changes=(ModeChangeRow(13, removed=(0,), added=(1,)),), horizon_ns=40))
    assert schedule(trace) == "old 0-8, old1 10-13, new 17-19, new1 27-29, new2 37-39"
    assert statuses(trace, "old") == ["COMPLETED", "ABORTED"]
    assert [row[:3] for row in events(trace, EventKind.TASK_REMOVED, EventKind.TASK_ADDED)] == [
        (13, "TASK_REMOVED", "old"),
        (17, "TASK_ADDED", "new"),
    ]


def test_a_start_that_is_cancelled_never_happens() -> None:
    tasks = (replace(task("new", 2, period_ns=10), active=False, start_latency_ns=5),)
    modes = (ModeChangeRow(10, added=(0,)), ModeChangeRow(15, removed=(0,)))
    assert len(run(system(tasks, mode_changes=modes)).jobs) == 0


def test_messages_to_a_task_that_is_not_there_activate_nothing() -> None:
    tasks = (task("source", 1, 0, 10, 20), replace(task("sink", 1, level=1), explicit_arrivals_ns=None))
    activating = edge(1, 0, kind=EdgeKind.QUEUE, role=Role.EACH, depth=4)
    modes = (ModeChangeRow(5, removed=(1,)), ModeChangeRow(15, added=(1,)))
    trace = run(system(tasks, edges=(activating,), mode_changes=modes))
    assert trace.jobs.arrival_ns[trace.jobs.task == 1].tolist() == [1, 21]
    assert trace.drops.reason.tolist() == [3]
