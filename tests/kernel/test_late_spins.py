"""Spin locks that a dispatched job releases: the spinning jobs go on at that instant, and may release them at once."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from agreement import bulk, disagreement
from by_hand import cpu, events, run, schedule, statuses, system, task
from kernel_systems import Feature, embellish
from late_spins import late_spin_system

from rt_sched.lowering.machine_input import (
    DeadlineAction,
    FrequencyChangeRow,
    MachineInput,
    OverrunAction,
    Protocol,
    ResourceRow,
    SectionRow,
    TaskRow,
)
from rt_sched.trace.checker import check_trace
from rt_sched.trace.records import EventKind

#: Raises a frequency so far that offsets 1 ... 5 become 1.
FIVEFOLD = 5


def late_release(*spinning: TaskRow) -> MachineInput:
    """Low holds q until 4, high waits for it inside r from 2 on, `spinning` tasks want r meanwhile.

    When low unlocks q at 4, high is dispatched, and both its sections end there.
    """
    tasks = (
        task("low", 20, 0, level=5, sections=(SectionRow(1, 0, 15),)),
        task("high", 15, 1, level=0, sections=(SectionRow(0, 1, 5), SectionRow(1, 2, 4))),
        *spinning,
    )
    processors = [cpu(name=f"p{index}") for index in range(max(one.processor for one in tasks) + 1)]
    protocols = (Protocol.MSRP, Protocol.PRIORITY_INHERITANCE, Protocol.MSRP)
    return system(
        tasks,
        processors,
        resources=tuple(ResourceRow(f"r{index}", protocol) for index, protocol in enumerate(protocols)),
        frequency_changes=tuple(FrequencyChangeRow(0, index, FIVEFOLD) for index in range(len(processors))),
    )


def spinning(name: str, processor: int, *sections: tuple[int, int, int], **more: object) -> TaskRow:
    """Requests r at 3, when it has executed 1."""
    rows = tuple(SectionRow(*section) for section in sections)
    return task(name, 15, 1, processor=processor, explicit_jitters_ns=(1,), sections=rows, **more)


def test_a_lock_granted_and_released_in_dispatch_passes_through_all_who_spin() -> None:
    given = late_release(*(spinning(f"s{index}", index, (0, 1, 5)) for index in (1, 2, 3)))
    trace = run(given)
    for core in (1, 2, 3):
        assert schedule(trace, core) == f"s{core} 2-3, s{core} 3-4*, s{core} 4-6"
    assert [
        (time, kind, who) for time, kind, who, resource in events(trace, EventKind.LOCK) if resource == 0 and time == 4
    ] == [(4, "LOCK", "s1"), (4, "LOCK", "s2"), (4, "LOCK", "s3")]
    assert disagreement(given) is None
    assert check_trace(trace).ok


def test_the_one_who_keeps_the_lock_lets_the_others_spin() -> None:
    given = late_release(spinning("a", 1, (0, 1, 5)), spinning("b", 2, (0, 1, 8)), spinning("c", 3, (0, 1, 5)))
    trace = run(given)
    assert schedule(trace, 1) == "a 2-3, a 3-4*, a 4-6"
    assert schedule(trace, 2) == "b 2-3, b 3-4*, b 4-6"
    assert schedule(trace, 3) == "c 2-3, c 3-5*, c 5-7"
    assert disagreement(given) is None
    assert check_trace(trace).ok


@pytest.mark.parametrize(
    ("sections", "told"),
    [
        pytest.param(
            ((0, 1, 3), (0, 3, 5)),
            ["LOCK a 0", "UNLOCK a 0", "LOCK b 0", "REQUEST a 0", "UNLOCK b 0", "LOCK a 0", "UNLOCK a 0"],
            id="consecutive, so that the second waits for the other processor",
        ),
        pytest.param(
            ((0, 1, 5), (2, 2, 4)),
            ["LOCK a 0", "LOCK a 2", "UNLOCK a 2", "UNLOCK a 0", "LOCK b 0", "UNLOCK b 0"],
            id="nested",
        ),
        pytest.param(
            ((0, 1, 2), (2, 2, 9)),
            ["LOCK a 0", "UNLOCK a 0", "LOCK b 0", "LOCK a 2", "UNLOCK b 0"],
            id="another lock that is kept",
        ),
    ],
)
def test_sections_of_no_length(sections: tuple[tuple[int, int, int], ...], told: list[str]) -> None:
    given = late_release(spinning("a", 1, *sections), spinning("b", 2, (0, 1, 5)))
    trace = run(given)
    kinds = (EventKind.REQUEST, EventKind.LOCK, EventKind.UNLOCK)
    late = [f"{kind} {who} {resource}" for time, kind, who, resource in events(trace, *kinds) if time == 4]
    assert [one for one in late if one.split()[1] in {"a", "b"}] == told
    assert disagreement(given) is None
    assert check_trace(trace).ok


@pytest.mark.parametrize(
    ("action", "ended", "told"),
    [
        (OverrunAction.ABORT, "ABORTED", [(5, "ENFORCE", "a", int(OverrunAction.ABORT))]),
        (OverrunAction.SKIP_NEXT, "COMPLETED", [(5, "ENFORCE", "a", int(OverrunAction.SKIP_NEXT))]),
    ],
)
def test_a_budget_used_up_while_spinning_is_enforced_one_nanosecond_later(
    action: OverrunAction, ended: str, told: list[tuple[int, str, str, int]]
) -> None:
    given = late_release(spinning("a", 1, (0, 1, 5), budget_ns=1, overrun_action=action))
    trace = run(given)
    assert statuses(trace, "a") == [ended]
    assert events(trace, EventKind.ENFORCE) == told
    assert disagreement(given) is None
    assert check_trace(trace).ok


def test_an_owner_that_is_to_be_aborted_goes_when_the_dispatch_has_let_it_release() -> None:
    """Its deadline at 4 is missed: it still held the lock in phase 4."""
    deadline = {"deadline_ns": 3, "deadline_action": DeadlineAction.ABORT}
    given = late_release(spinning("a", 1, (0, 1, 5), (2, 0, 5), **deadline))
    trace = run(given)
    assert events(trace, EventKind.ABORT) == [(4, "ABORT", "a", -1)]
    assert trace.jobs.missed.tolist() == [False, False, True]
    assert disagreement(given) is None
    assert check_trace(trace).ok


def test_kernel_oracle_and_checker_agree_on_random_late_spins() -> None:
    met: Counter[str] = Counter()
    for seed in range(250):
        rng = random.Random(seed)  # noqa: S311 - reproducible test data
        has = {feature for feature in Feature if rng.random() < 0.3}
        given = late_spin_system(rng, lambda row, on, rng=rng, has=has: embellish(rng, row, on, has, 80))
        assert (seed, disagreement(given, met)) == (seed, None)
        assert (seed, list(map(str, check_trace(bulk(given)).violations))) == (seed, [])
    assert met["spin ends in dispatch"] >= 40
    assert met["lock released in the dispatch that granted it"] >= 30
