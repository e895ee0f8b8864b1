"""Each rule: traces with something wrong in them, in a record or in a declaration, are caught and named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest
from checked_systems import SYSTEMS, declared, edited, event, job_of, slice_of, traced, without

from rt_sched.lowering.machine_input import (
    FaultRow,
    FaultTarget,
    ModeChangeRow,
    OverrunAction,
    Protocol,
    SectionRow,
    SuspensionRow,
    TableEntry,
    TimeSlice,
)
from rt_sched.trace import EventKind, SampleStatus, SliceKind, Trace
from rt_sched.trace.checker import Rule, check_trace

Corrupt = Callable[[Trace], Trace]


def _swapped(trace: Trace, one: int, other: int) -> Trace:
    """Two slices with their jobs exchanged."""
    first, second = int(trace.slices.job[one]), int(trace.slices.job[other])
    return edited(edited(trace, "slices", one, job=second), "slices", other, job=first)


def _moved(trace: Trace, job: int, by_ns: int) -> Trace:
    """A job with its only slice, start and finish, shifted."""

    def shift(value: int) -> int:
        return value + by_ns

    shifted = edited(trace, "jobs", job, start_ns=shift, finish_ns=shift)
    return edited(shifted, "slices", slice_of(trace, job), start_ns=shift, end_ns=shift)


def _faulty(trace: Trace, fault: FaultRow) -> Trace:
    assert trace.setup is not None
    return replace(trace, setup=replace(trace.setup, faults=(fault,)))


def _changed(trace: Trace, number: int, **fields: object) -> Trace:
    """A change of a task declared differently."""
    assert trace.setup is not None
    changes = list(trace.setup.task_changes)
    changes[number] = replace(changes[number], **fields)  # type: ignore[arg-type]
    return replace(trace, setup=replace(trace.setup, task_changes=tuple(changes)))


#: Rule, system, what is wrong, where it is found (a part of the name).
CASES: list[tuple[Rule, str, Corrupt, str]] = [
    (Rule.RECORDS, "edf", lambda t: edited(t, "jobs", 1, number=4), "job row 1"),
    (Rule.RECORDS, "edf", lambda t: edited(t, "slices", 0, job=7), "slice row 0"),
    (Rule.RECORDS, "spin", lambda t: edited(t, "events", 1, value=3), "event row 1"),
    (Rule.ARRIVALS, "horizon", lambda t: edited(t, "jobs", 1, arrival_ns=11), "work #1"),
    (Rule.ARRIVALS, "horizon", lambda t: declared(t, "tasks", 0, offset_ns=1), "work #0"),
    (Rule.ARRIVALS, "preemption", lambda t: declared(t, "tasks", 0, rate_hz=Fraction(10**9, 9)), "high #1"),
    (Rule.FAULTS, "chain", lambda t: edited(t, "samples", 2, status=SampleStatus.DELIVERED), "sample 2 of camera"),
    (Rule.FAULTS, "horizon", lambda t: _faulty(t, FaultRow(11, FaultTarget.PROCESSOR, 0)), "cpu"),
    (Rule.FAULTS, "loss", lambda t: edited(t, "jobs", 2, status=2), "here #1"),
    (Rule.TIMES, "edf", lambda t: edited(t, "jobs", 1, deadline_ns=13), "soon #0"),
    (Rule.TIMES, "edf", lambda t: edited(t, "jobs", 1, missed=True), "soon #0"),
    (Rule.TIMES, "edf", lambda t: edited(t, "jobs", 1, start_ns=1), "soon #0"),
    (Rule.TIMES, "drawn", lambda t: without(t, "events", 0), "sporadic #2"),
    (Rule.SEQUENCE, "throttle", lambda t: edited(t, "jobs", 2, start_ns=13), "served #1"),
    (Rule.SEQUENCE, "edf", lambda t: edited(t, "slices", slice_of(t, 0, 1), start_ns=1), "late #0"),
    (Rule.PRIORITY, "preemption", lambda t: declared(t, "tasks", 1, level=-1), "cpu"),
    (Rule.PRIORITY, "inheritance", lambda t: declared(t, "resources", 0, protocol=Protocol.NONE), "cpu"),
    (Rule.PRIORITY, "edf", lambda t: declared(edited(t, "jobs", 1, deadline_ns=90), "tasks", 1, deadline_ns=88), "cpu"),
    (Rule.DISPATCH, "fifo", lambda t: _swapped(t, 1, 2), "cpu"),
    (Rule.DISPATCH, "budget", lambda t: declared(t, "tasks", 0, level=9), "cpu"),
    (Rule.OVERLAP, "edf", lambda t: edited(t, "slices", slice_of(t, 1), end_ns=6), "cpu"),
    (Rule.OVERLAP, "loss", lambda t: edited(t, "slices", slice_of(t, 3), processor=0), "p"),
    (Rule.WORK_CONSERVATION, "horizon", lambda t: _moved(t, 1, 2), "cpu"),
    (Rule.WORK_CONSERVATION, "let", lambda t: _moved(t, 0, 1), "cpu"),
    (Rule.CORE_CHOICE, "cores", lambda t: edited(t, "slices", slice_of(t, 0, kind=1), processor=1), "cpu.1"),
    (
        Rule.CORE_CHOICE,
        "cores",
        lambda t: edited(
            edited(t, "slices", slice_of(t, 3, kind=1), processor=1), "slices", slice_of(t, 3), processor=1
        ),
        "cpu.1",
    ),
    (Rule.PREEMPTION, "points", lambda t: declared(t, "tasks", 1, preemption_points_ns=(4, 9)), "cpu"),
    (Rule.PREEMPTION, "edf", lambda t: declared(t, "processors", 0, preemptive=False), "cpu"),
    (
        Rule.SLICES,
        "slices",
        lambda t: declared(t, "processors", 0, slices=(TimeSlice(5, (0,), 1), TimeSlice(5, (1,), 1))),
        "cpu",
    ),
    (Rule.SLICES, "slices", lambda t: _swapped(t, 0, 1), "cpu"),
    (Rule.SLICES, "table", lambda t: edited(t, "events", event(t, EventKind.ENTRY, 3), job=1), "cpu"),
    (
        Rule.SLICES,
        "table",
        lambda t: declared(t, "processors", 0, table=(TableEntry(1, 4, 0), TableEntry(6, 3, 0))),
        "cpu",
    ),
    (Rule.OVERHEADS, "points", lambda t: declared(t, "processors", 0, switch_ns=2), "cpu"),
    (Rule.OVERHEADS, "cores", lambda t: edited(t, "slices", slice_of(t, 1, 0), kind=SliceKind.SWITCH), "cpu.1"),
    (Rule.DEMAND, "edf", lambda t: edited(t, "jobs", 0, executed_ns=8), "late #0"),
    (Rule.DEMAND, "edf", lambda t: edited(t, "jobs", 1, demand_ns=4), "soon #0"),
    (Rule.BUDGETS, "budget", lambda t: declared(t, "tasks", 0, budget_granularity_ns=2), "greedy #0"),
    (Rule.BUDGETS, "budget", lambda t: edited(t, "jobs", 1, overrun=False), "modest #0"),
    (Rule.BUDGETS, "table", lambda t: without(t, "events", event(t, EventKind.OVERRUN)), "left #0"),
    (Rule.BUDGETS, "server", lambda t: edited(t, "events", event(t, EventKind.REPLENISH), value=41), "served #0"),
    (Rule.BUDGETS, "throttle", lambda t: declared(t, "tasks", 0, budget_ns=2), "served #0"),
    (Rule.ENDS, "budget", lambda t: without(t, "events", event(t, EventKind.ABORT)), "greedy #0"),
    (Rule.ENDS, "budget", lambda t: declared(t, "tasks", 1, overrun_action=OverrunAction.LOG), "modest #1"),
    (Rule.CRITICALITY, "criticality", lambda t: declared(t, "tasks", 0, low_budget_ns=4), "cpu"),
    (Rule.CRITICALITY, "criticality", lambda t: edited(t, "events", event(t, EventKind.LOW), time_ns=9), "cpu"),
    (Rule.CRITICALITY, "criticality", lambda t: declared(t, "tasks", 1, high_criticality=True), "music #1"),
    (Rule.SUSPENSION, "suspension", lambda t: declared(t, "tasks", 0, suspensions=(SuspensionRow(3, 3, 9),)), "camera"),
    (Rule.SUSPENSION, "suspension", lambda t: edited(t, "events", event(t, EventKind.WAKE), time_ns=7), "camera #0"),
    (Rule.READING, "chain", lambda t: edited(t, "jobs", 4, inputs=[1]), "act #2"),
    (Rule.READING, "let", lambda t: edited(t, "jobs", 6, inputs=[4]), "reader #2"),
    (Rule.READING, "chain", lambda t: edited(t, "jobs", 1, capture_ns=6), "detect #0"),
    (Rule.PUBLISHING, "let", lambda t: without(t, "events", 0), "writer #0"),
    (Rule.PUBLISHING, "let", lambda t: declared(t, "tasks", 1, let=False), "writer #0"),
    (Rule.LINKS, "link", lambda t: edited(t, "transfers", 1, start_ns=7), "wire"),
    (Rule.LINKS, "link", lambda t: declared(t, "links", 0, bytes_per_s=Fraction(10**9, 2)), "wire"),
    (Rule.EDGES, "queue", lambda t: declared(t, "edges", 0, depth=3), "imu -> reader.in"),
    (Rule.EDGES, "queue", lambda t: edited(t, "drops", 0, message=-3), "imu -> reader.in"),
    (Rule.EDGES, "queue", lambda t: declared(t, "edges", 0, required=False), "reader #2"),
    (Rule.EDGES, "queue", lambda t: edited(t, "jobs", 1, inputs=[-3]), "reader #1"),
    (Rule.ACTIVATION, "pairs", lambda t: declared(t, "tasks", 0, tolerance_ns=1), "fusion #0"),
    (Rule.ACTIVATION, "chain", lambda t: edited(t, "samples", 1, arrival_ns=15), "detect #1"),
    (Rule.RESOURCES, "inheritance", lambda t: declared(t, "tasks", 2, sections=(SectionRow(0, 2, 6),)), "low #0"),
    (
        Rule.RESOURCES,
        "inheritance",
        lambda t: edited(t, "events", event(t, EventKind.LOCK, 1), time_ns=7, job=2, task=1),
        "bus",
    ),
    (Rule.RESOURCES, "ceiling", lambda t: _swapped(edited(t, "jobs", 1, start_ns=3), 0, 1), "short #0"),
    (Rule.RESOURCES, "spin", lambda t: without(t, "events", event(t, EventKind.UNLOCK)), "shared"),
    (Rule.FREQUENCY, "frequency", lambda t: declared(t, "tasks", 0, memory_ns=0), "work #0"),
    (Rule.FREQUENCY, "frequency", lambda t: edited(t, "events", 0, value=3), "cpu"),
    (
        Rule.MODES,
        "modes",
        lambda t: replace(t, setup=replace(t.setup, mode_changes=(ModeChangeRow(20, (0,), (1,)),))),
        "day",
    ),
    (Rule.MODES, "modes", lambda t: declared(t, "tasks", 1, start_latency_ns=5), "night"),
    (Rule.TAKEOVERS, "takeover", lambda t: without(t, "events", event(t, EventKind.TASK_VARIED)), "seen"),
    (Rule.TAKEOVERS, "takeover", lambda t: _changed(t, 0, time_ns=3), "seen #0"),
    (Rule.TAKEOVERS, "takeover", lambda t: edited(t, "events", event(t, EventKind.SUPPRESS), value=3), "seen #5"),
    (Rule.ARRIVALS, "takeover", lambda t: replace(t, setup=replace(t.setup, extra_arrivals=())), "seen #1"),
    (Rule.OVERLAP, "takeover", lambda t: edited(t, "slices", slice_of(t, 1), processor=0), "here"),
    (Rule.RANDOMNESS, "drawn", lambda t: replace(t, seed=8), "profile #0"),
    (Rule.RANDOMNESS, "drawn", lambda t: edited(t, "jobs", 0, demand_ns=4), "profile #0"),
    (Rule.RANDOMNESS, "drawn", lambda t: edited(t, "jobs", 4, release_ns=44), "profile #1"),
    (Rule.HORIZON, "horizon", lambda t: edited(t, "jobs", 3, start_ns=32), "work #3"),
    (Rule.HORIZON, "horizon", lambda t: edited(t, "jobs", 2, finish_ns=33), "work #2"),
]


@pytest.mark.parametrize("name", SYSTEMS)
def test_says_nothing_of_what_the_machine_makes(name: str) -> None:
    result = check_trace(traced(name))
    assert result.ok, [str(violation) for violation in result.violations]
    assert set(result.checked) == set(Rule)


@pytest.mark.parametrize(("rule", "name", "corrupt", "where"), CASES)
def test_catches_and_names(rule: Rule, name: str, corrupt: Corrupt, where: str) -> None:
    result = check_trace(corrupt(traced(name)))
    said = [violation for violation in result.violations if violation.rule is rule]
    assert any(where in violation.where for violation in said), [str(violation) for violation in result.violations]


def test_every_rule_has_two_traces_that_break_it() -> None:
    broken = [rule for rule, *_ in CASES]
    assert [rule.key for rule in Rule if broken.count(rule) < 2] == []


def test_says_what_was_expected() -> None:
    trace = declared(traced("preemption"), "tasks", 0, level=2)
    first = next(found for found in check_trace(trace).violations if found.rule is Rule.PRIORITY)
    assert str(first) == "1 ns, cpu: low #0 (key 1) runs rather than high #0 (key 2) (rule 4, priority)"


def test_a_trace_without_its_rules_cannot_be_checked() -> None:
    with pytest.raises(ValueError, match="carries no setup"):
        check_trace(replace(traced("edf"), setup=None))


def test_job_rows_of_the_systems_are_as_the_cases_assume() -> None:
    assert job_of(traced("cores"), "a") == 2
    assert job_of(traced("server"), "served", 1) == 2
