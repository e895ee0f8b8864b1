"""Shared resources: what each protocol does, on schedules worked by hand."""

from __future__ import annotations

import pytest
from by_hand import cpu, events, finishes, run, schedule, statuses, system, task

from rt_sched.lowering.machine_input import (
    DeadlineAction,
    FaultRow,
    FaultTarget,
    MachineInput,
    Policy,
    Protocol,
    ResourceRow,
    SectionRow,
)
from rt_sched.trace.records import EventKind


def resources(protocol: Protocol, count: int = 1) -> tuple[ResourceRow, ...]:
    return tuple(ResourceRow(f"r{i}", protocol) for i in range(count))


def inversion(protocol: Protocol) -> MachineInput:
    """Low locks first; high wants the lock; middle, without any lock, comes in between."""
    section = (SectionRow(0, 1, 4),)
    tasks = (
        task("high", 5, 3, level=0, sections=section),
        task("mid", 20, 4, level=1),
        task("low", 6, 0, level=2, sections=section),
    )
    return system(tasks, resources=resources(protocol))


@pytest.mark.parametrize(
    ("protocol", "expected", "high_finishes"),
    [
        (
            Protocol.NONE,
            "low 0-3, high 3-4, mid 4-24, low 24-25, high 25-29, low 29-31",
            29,
        ),
        (
            Protocol.PRIORITY_INHERITANCE,
            "low 0-3, high 3-4, low 4-5, high 5-9, mid 9-29, low 29-31",
            9,
        ),
        (
            Protocol.PRIORITY_CEILING,
            "low 0-4, high 4-9, mid 9-29, low 29-31",
            9,
        ),
    ],
)
def test_classic_priority_inversion(protocol: Protocol, expected: str, high_finishes: int) -> None:
    trace = run(inversion(protocol))
    assert schedule(trace) == expected
    assert finishes(trace, "high") == [high_finishes]


def test_inheritance_passes_through_a_chain_of_owners() -> None:
    """High waits for r1 of middle, which waits for r0 of low: low runs with the key of high, before the other."""
    tasks = (
        task("high", 3, 5, level=0, sections=(SectionRow(1, 1, 2),)),
        task("other", 10, 6, level=1),
        task("mid", 6, 2, level=2, sections=(SectionRow(1, 1, 5), SectionRow(0, 2, 4))),
        task("low", 5, 0, level=3, sections=(SectionRow(0, 1, 4),)),
    )
    trace = run(system(tasks, resources=resources(Protocol.PRIORITY_INHERITANCE, 2)))
    assert schedule(trace) == (
        "low 0-2, mid 2-4, low 4-5, high 5-6, low 6-7, mid 7-10, high 10-12, other 12-22, mid 22-23, low 23-24"
    )


def test_without_inheritance_the_same_chain_lets_the_other_task_through() -> None:
    tasks = (
        task("high", 3, 5, level=0, sections=(SectionRow(1, 1, 2),)),
        task("other", 10, 6, level=1),
        task("mid", 6, 2, level=2, sections=(SectionRow(1, 1, 5), SectionRow(0, 2, 4))),
        task("low", 5, 0, level=3, sections=(SectionRow(0, 1, 4),)),
    )
    trace = run(system(tasks, resources=resources(Protocol.NONE, 2)))
    assert finishes(trace, "high") == [22]
    assert schedule(trace).startswith(
        "low 0-2, mid 2-4, low 4-5, high 5-6, other 6-16, low 16-17, mid 17-20, high 20-22"
    )


def test_waiters_get_the_lock_by_key_then_request() -> None:
    section = (SectionRow(0, 0, 1),)
    tasks = (
        task("owner", 10, 0, level=3, sections=(SectionRow(0, 0, 6),)),
        task("second", 1, 1, level=2, sections=section),
        task("equal", 1, 2, level=2, sections=section),
        task("first", 1, 3, level=1, sections=section),
    )
    trace = run(system(tasks, resources=resources(Protocol.NONE)))
    assert [who for _, _, who, _ in events(trace, EventKind.LOCK)] == ["owner", "first", "second", "equal"]
    assert schedule(trace).endswith("owner 3-6, first 6-7, second 7-8, equal 8-9, owner 9-13")


def test_stack_resource_policy_keeps_jobs_from_starting() -> None:
    """Long locks r, used by a task with deadline 10. A job with deadline 20 may not start, one with deadline 5 may."""
    tasks = (
        task("user", 1, 60, deadline_ns=10, sections=(SectionRow(0, 0, 1),)),
        task("long", 6, 0, deadline_ns=50, sections=(SectionRow(0, 1, 5),)),
        task("medium", 2, 2, deadline_ns=20),
        task("short", 1, 3, deadline_ns=5),
    )
    trace = run(system(tasks, cpu(Policy.EDF), resources=resources(Protocol.PRIORITY_CEILING)))
    assert schedule(trace) == "long 0-3, short 3-4, long 4-6, medium 6-8, long 8-9, user 60-61"


def test_msrp_spins_in_order_of_request_and_is_not_preempted() -> None:
    section = (SectionRow(0, 1, 4),)
    tasks = (
        task("a", 5, 0, level=1, processor=0, sections=section),
        task("b", 5, 1, level=1, processor=1, sections=section),
        task("c", 5, 0, level=1, processor=2, explicit_jitters_ns=(2,), sections=section),
        task("urgent", 2, 3, level=0, processor=1),
    )
    processors = [cpu(name=f"cpu{i}") for i in range(3)]
    trace = run(system(tasks, processors, resources=resources(Protocol.MSRP)))
    assert schedule(trace, core=0) == "a 0-5"
    assert schedule(trace, core=1) == "b 1-2, b 2-4*, b 4-7, urgent 7-9, b 9-10"
    assert schedule(trace, core=2) == "c 2-3, c 3-7*, c 7-11"
    assert trace.jobs.executed_ns.tolist() == [5, 5, 5, 2]


def test_inheritance_works_across_processors_of_one_policy() -> None:
    section = (SectionRow(0, 0, 3),)
    tasks = (
        task("waiter", 4, 1, level=0, processor=1, sections=section),
        task("hog", 10, 2, level=1, processor=0),
        task("owner", 4, 0, level=2, processor=0, sections=section),
    )
    given = system(tasks, [cpu(name="a"), cpu(name="b")], resources=resources(Protocol.PRIORITY_INHERITANCE))
    assert schedule(run(given)) == "owner 0-3, hog 3-13, waiter 3-7, owner 13-14"


def test_lock_of_a_lost_owner_is_freed_and_marked() -> None:
    section = (SectionRow(0, 0, 3),)
    tasks = (
        task("owner", 5, 0, processor=0, sections=section),
        task("waiter", 4, 1, processor=1, sections=section),
    )
    given = system(
        tasks,
        [cpu(name="a"), cpu(name="b")],
        resources=resources(Protocol.MSRP),
        faults=(FaultRow(2, FaultTarget.PROCESSOR, 0),),
    )
    trace = run(given)
    assert statuses(trace, "owner") == ["LOST"]
    assert schedule(trace) == "owner 0-2, waiter 1-2*, waiter 2-6"
    assert events(trace, EventKind.OWNER_DEAD, EventKind.LOCK) == [
        (0, "LOCK", "owner", 0),
        (2, "OWNER_DEAD", "owner", 0),
        (2, "LOCK", "waiter", 0),
    ]


def test_a_lock_owner_is_aborted_only_after_it_has_unlocked() -> None:
    job = task(
        "job",
        9,
        0,
        deadline_ns=3,
        deadline_action=DeadlineAction.ABORT,
        sections=(SectionRow(0, 1, 6), SectionRow(0, 7, 8)),
    )
    trace = run(system((job, task("next", 2, 4, level=1)), resources=resources(Protocol.PRIORITY_INHERITANCE)))
    assert schedule(trace) == "job 0-6, next 6-8"
    assert statuses(trace, "job") == ["ABORTED"]
    assert trace.jobs.missed.tolist() == [True, False]


def test_locks_are_free_when_their_owner_completes_early() -> None:
    tasks = (
        task("owner", 3, 0, level=1, sections=(SectionRow(0, 1, 9), SectionRow(1, 2, 8))),
        task("waiter", 2, 2, level=0, sections=(SectionRow(0, 0, 1),)),
    )
    trace = run(system(tasks, resources=resources(Protocol.PRIORITY_INHERITANCE, 2)))
    assert schedule(trace) == "owner 0-2, owner 2-3, waiter 3-5"
    assert events(trace, EventKind.UNLOCK)[:2] == [(3, "UNLOCK", "owner", 1), (3, "UNLOCK", "owner", 0)]
