"""Small systems that together use every rule, simulated once each, and ways to corrupt their traces."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from rt_sched.lowering.machine_input import (
    DeadlineAction,
    EdgeKind,
    EdgeRow,
    ExtraArrivalRow,
    FaultRow,
    FaultTarget,
    FrequencyChangeRow,
    LinkRow,
    MachineInput,
    ModeChangeRow,
    OverrunAction,
    Policy,
    ProcessorRow,
    Protocol,
    ResourceRow,
    Role,
    Samples,
    SectionRow,
    SuspensionRow,
    TableEntry,
    TaskChangeRow,
    TaskRow,
    TimeSlice,
)
from rt_sched.sim import Simulation
from rt_sched.trace import EventKind, Trace

FIXED, EDF = Policy.FIXED_PRIORITY, Policy.EDF


def task(name: str, demand: Any, arrivals: tuple[int, ...] | None = None, **more: Any) -> TaskRow:
    """A task on processor 0 with given arrivals and a deadline of 50 ns."""
    return TaskRow(
        name, **({"processor": 0, "deadline_ns": 50, "demand_ns": demand, "explicit_arrivals_ns": arrivals} | more)
    )


def periodic(name: str, demand: Any, period: int, **more: Any) -> TaskRow:
    """A task with a rate."""
    return task(name, demand, None, rate_hz=Fraction(10**9, period), **more)


def samples(*rows: tuple[int, int, int]) -> Samples:
    """Samples as (arrival, sensor, capture)."""
    return Samples(*(np.array(column, np.int64) for column in zip(*rows, strict=True)))


def one(policy: Policy = FIXED, **more: Any) -> tuple[ProcessorRow, ...]:
    """A single preemptive processor."""
    return (ProcessorRow("cpu", policy, **({"preemptive": True} | more)),)


def _given(processors: tuple[ProcessorRow, ...], *tasks: TaskRow, horizon: int = 60, **more: Any) -> MachineInput:
    given = {"processors": processors, "sensors": (), "tasks": tasks, "edges": (), "horizon_ns": horizon}
    return MachineInput(**(given | more))


SYSTEMS = {
    # "low" is preempted at 10 and 20.
    "preemption": _given(one(), periodic("high", 2, 10), task("low", 22, (1,), level=1)),
    "edf": _given(one(EDF), task("late", 9, (0,)), task("soon", 3, (2,), deadline_ns=10)),
    "fifo": _given(one(Policy.FIFO), task("first", 9, (0,)), task("second", 3, (2,)), task("third", 3, (1,))),
    "points": _given(
        one(switch_ns=1), task("high", 2, (3, 12)), task("low", 12, (0,), level=1, preemption_points_ns=(4, 8))
    ),
    "cores": _given(
        one(cores=2, switch_ns=1, migration_ns=1),
        task("a", 4, (2, 12)),
        task("b", 6, (0, 11), level=1),
        task("c", 9, (0, 10), level=2),
    ),
    "slices": _given(
        one(
            Policy.TIME_SLICED,
            slices=(TimeSlice(6, (0,), 1), TimeSlice(4, (1,), 1)),
        ),
        task("left", 7, (0,)),
        task("right", 5, (0,)),
    ),
    "table": _given(
        one(Policy.TABLE, table=(TableEntry(1, 4, 0), TableEntry(6, 3, 1)), cycle_ns=10),
        task("left", 6, (0,)),
        task("right", 2, (0, 12)),
    ),
    # "low" locks, "high" waits, "middle" must not run meanwhile.
    "inheritance": _given(
        one(),
        task("high", 4, (3,), sections=(SectionRow(0, 1, 3),)),
        task("middle", 6, (4,), level=1),
        task("low", 8, (0,), level=2, sections=(SectionRow(0, 1, 6),)),
        resources=(ResourceRow("bus", Protocol.PRIORITY_INHERITANCE),),
    ),
    "ceiling": _given(
        one(EDF),
        task("short", 3, (3,), deadline_ns=12, sections=(SectionRow(0, 0, 2),)),
        task("long", 8, (0,), sections=(SectionRow(0, 1, 6),)),
        resources=(ResourceRow("bus", Protocol.PRIORITY_CEILING),),
    ),
    "spin": _given(
        (ProcessorRow("p", FIXED, True), ProcessorRow("q", FIXED, True), ProcessorRow("r", FIXED, True)),
        task("x", 8, (0,), sections=(SectionRow(0, 1, 6),)),
        task("y", 6, (1,), processor=1, sections=(SectionRow(0, 1, 3),)),
        task("z", 6, (2,), processor=2, sections=(SectionRow(0, 2, 4),)),
        resources=(ResourceRow("shared", Protocol.MSRP),),
    ),
    "budget": _given(
        one(),
        task("greedy", 9, (0, 20), budget_ns=4, overrun_action=OverrunAction.ABORT, budget_granularity_ns=3),
        task("modest", 5, (0, 20), level=1, budget_ns=3, overrun_action=OverrunAction.SKIP_NEXT),
        task("eager", 9, (0,), level=2, deadline_ns=20, deadline_action=DeadlineAction.ABORT),
    ),
    "server": _given(
        one(EDF),
        task(
            "served",
            9,
            (0, 30),
            deadline_ns=20,
            separation_ns=20,
            budget_ns=3,
            overrun_action=OverrunAction.THROTTLE,
        ),
        task("other", 5, (0, 30), deadline_ns=25),
    ),
    "throttle": _given(
        one(),
        task("served", 5, (0, 12, 24), budget_ns=3, overrun_action=OverrunAction.THROTTLE),
        task("other", 4, (0,), level=1),
    ),
    "criticality": _given(
        one(),
        task("brake", 6, (0, 30), high_criticality=True, low_budget_ns=3),
        task("music", 3, (0, 5, 30), level=1),
        task("steer", 4, (1,), level=2, high_criticality=True),
    ),
    "suspension": _given(
        one(), task("camera", 6, (0, 20), suspensions=(SuspensionRow(2, 3, 9),)), task("low", 8, (0,), level=1)
    ),
    "drawn": _given(
        one(),
        periodic("profile", tuple(range(2, 35)), 40, jitter_ns=5),
        periodic("sporadic", 2, 12, level=1, extra_separation_ns=6, separation_ns=14),
        horizon=200,
        seed=7,
    ),
    "let": _given(
        one(),
        periodic("reader", 3, 20, deadline_ns=12, let=True, level=1),
        periodic("writer", 2, 10, deadline_ns=6, let=True),
        edges=(EdgeRow(0, "in", EdgeKind.LATEST, Role.READ, task=1, required=False),),
        horizon=100,
    ),
    "link": _given(
        one(),
        task("source", 2, (0, 5, 10)),
        task("sink", 1, level=1),
        edges=(EdgeRow(1, "in", EdgeKind.QUEUE, Role.EACH, task=0, link=0, size_bytes=6),),
        links=(LinkRow("wire", Fraction(10**9), 2),),
        faults=(FaultRow(24, FaultTarget.LINK, 0),),
    ),
    "queue": _given(
        one(),
        task("reader", 1, (9, 19, 29)),
        sensors=("imu",),
        edges=(EdgeRow(0, "in", EdgeKind.QUEUE, Role.READ, sensor=0, depth=2, required=True),),
        samples=samples((1, 0, 0), (2, 0, 1), (3, 0, 2)),
    ),
    "pairs": _given(
        one(),
        task("fusion", 2, tolerance_ns=3),
        sensors=("left", "right"),
        edges=(
            EdgeRow(0, "left", EdgeKind.QUEUE, Role.PAIRED, sensor=0, depth=2),
            EdgeRow(0, "right", EdgeKind.QUEUE, Role.PAIRED, sensor=1, depth=2),
        ),
        samples=samples((5, 0, 1), (6, 1, 3), (10, 0, 9), (20, 0, 19), (21, 1, 20)),
    ),
    "chain": _given(
        one(),
        task("detect", 3, deadline_ns=9),
        task("act", 2, (4, 14, 24), level=1),
        sensors=("camera",),
        edges=(
            EdgeRow(0, "image", EdgeKind.LATEST, Role.EACH, sensor=0),
            EdgeRow(1, "objects", EdgeKind.LATEST, Role.READ, task=0),
        ),
        samples=samples((6, 0, 5), (16, 0, 15), (26, 0, 24), (70, 0, 69)),
        faults=(FaultRow(20, FaultTarget.SENSOR, 0),),
    ),
    # "seen" moves while it runs, is done once more, and then does one of two jobs.
    "takeover": _given(
        (ProcessorRow("here", FIXED, True), ProcessorRow("there", FIXED, True)),
        (_SEEN := task("seen", 6, (0, 10, 20, 30, 40, 50))),
        task("other", 3, (12,), level=1, processor=1),
        task_changes=(
            TaskChangeRow(4, 0, replace(_SEEN, processor=1, demand_ns=4), moved=True),
            TaskChangeRow(28, 0, replace(_SEEN, processor=1, demand_ns=4, every=2), moved=False),
        ),
        extra_arrivals=(ExtraArrivalRow(6, 0),),
    ),
    "loss": _given(
        (ProcessorRow("p", FIXED, True), ProcessorRow("q", FIXED, True)),
        task("here", 9, (0, 20)),
        task("there", 9, (0, 20), processor=1),
        faults=(FaultRow(5, FaultTarget.PROCESSOR, 0),),
    ),
    "modes": _given(
        one(),
        periodic("day", 3, 10),
        periodic("night", 3, 10, active=False, start_latency_ns=4, level=1),
        mode_changes=(ModeChangeRow(21, removed=(0,), added=(1,)),),
    ),
    "frequency": _given(
        one(frequency_khz=4),
        task("work", 8, (0, 20), memory_ns=2),
        frequency_changes=(FrequencyChangeRow(4, 0, 2),),
    ),
    "horizon": _given(one(), periodic("work", 4, 10), horizon=32),
}


@cache
def traced(name: str) -> Trace:
    """The trace of one of the systems."""
    simulation = Simulation(SYSTEMS[name])
    simulation.run()
    return simulation.trace()


def edited(trace: Trace, table: str, row: int, **columns: Any) -> Trace:
    """The trace with some columns of one record changed; a callable gets the old value."""
    rows = getattr(trace, table)
    changed = {}
    for name, value in columns.items():
        column = getattr(rows, name).copy()
        column[row] = value(column[row]) if callable(value) else value
        changed[name] = column
    return replace(trace, **{table: replace(rows, **changed)})


def without(trace: Trace, table: str, row: int) -> Trace:
    """The trace without one record."""
    rows = getattr(trace, table)
    kept = {name: np.delete(getattr(rows, name), row, axis=0) for name in rows.__dataclass_fields__}
    return replace(trace, **{table: type(rows)(**kept)})


def declared(trace: Trace, group: str, index: int, **fields: Any) -> Trace:
    """The trace as if its run had been declared otherwise in one row of the setup."""
    assert trace.setup is not None
    rows = list(getattr(trace.setup, group))
    rows[index] = replace(rows[index], **fields)
    return replace(trace, setup=replace(trace.setup, **{group: tuple(rows)}))


def event(trace: Trace, kind: EventKind, number: int = 0) -> int:
    """Row of the so-manieth event of a kind."""
    return int(np.flatnonzero(trace.events.kind == kind)[number])


def slice_of(trace: Trace, job: int, number: int = 0, kind: int = 0) -> int:
    """Row of the so-manieth slice of a job of a kind."""
    return int(np.flatnonzero((trace.slices.job == job) & (trace.slices.kind == kind))[number])


def job_of(trace: Trace, name: str, number: int = 0) -> int:
    """Row of a job."""
    index = trace.task_names.index(name)
    return int(np.flatnonzero((trace.jobs.task == index) & (trace.jobs.number == number))[0])
