"""Known schedules stay what they are when all times are scaled by a prime, tasks are permuted, idle tasks are added."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from typing import Any

import pytest
from by_hand import cpu, finishes, run, system, task

from rt_sched.lowering.machine_input import (
    MachineInput,
    OverrunAction,
    Policy,
    Protocol,
    ResourceRow,
    SectionRow,
    SuspensionRow,
    TableEntry,
    TimeSlice,
)

PRIME = 7919


def periodic(name: str, demand: int, period: int, level: int, **more: Any) -> Any:
    return task(name, demand, period_ns=period, deadline_ns=more.pop("deadline_ns", 10**6), level=level, **more)


def _sharing(protocol: Protocol) -> MachineInput:
    section = (SectionRow(0, 1, 4),)
    tasks = (
        task("high", 5, 3, level=0, sections=section, deadline_ns=20),
        task("mid", 20, 4, level=1, deadline_ns=60),
        task("low", 6, 0, level=2, sections=section, deadline_ns=90),
    )
    return system(tasks, resources=(ResourceRow("r", protocol),))


KNOWN = {
    "four tasks": system(
        [periodic(f"t{i}", c, t, i) for i, (c, t) in enumerate(((1, 4), (1, 5), (3, 9), (3, 18)))], horizon_ns=180
    ),
    "arbitrary deadlines": system([periodic("a", 26, 70, 0), periodic("b", 62, 100, 1)], horizon_ns=700),
    "non-preemptive": system(
        [periodic(f"t{i}", 10, t, i) for i, t in enumerate((25, 35, 36))], cpu(preemptive=False), horizon_ns=350
    ),
    "edf": system(
        [periodic("a", 1, 5, 0, deadline_ns=5), periodic("b", 6, 10, 1, deadline_ns=9)], cpu(Policy.EDF), horizon_ns=50
    ),
    "inversion, none": _sharing(Protocol.NONE),
    "inversion, inheritance": _sharing(Protocol.PRIORITY_INHERITANCE),
    "inversion, ceiling": _sharing(Protocol.PRIORITY_CEILING),
    "spin": replace(
        _sharing(Protocol.MSRP),
        processors=(cpu(name="x"), cpu(name="y", switch_ns=1)),
        tasks=tuple(replace(one, processor=i % 2) for i, one in enumerate(_sharing(Protocol.MSRP).tasks)),
    ),
    "suspension": system(
        (
            periodic("t1", 1, 4, 0),
            periodic("t2", 5, 20, 1, suspensions=(SuspensionRow(2, 5, 5),)),
            periodic("t3", 1, 50, 2),
        )
    ),
    "criticality": system(
        (
            periodic("t1", 4, 10, 0, high_criticality=True, low_budget_ns=2),
            periodic("t2", 3, 12, 1),
            periodic("t3", 7, 30, 2, high_criticality=True, low_budget_ns=4),
        ),
        horizon_ns=120,
    ),
    "slices": system(
        [task(f"t{i}", 40, 0, level=i) for i in range(3)],
        cpu(Policy.TIME_SLICED, slices=(TimeSlice(12, (0,), 1), TimeSlice(6, (1,), 1), TimeSlice(2, (2,), 1))),
        horizon_ns=200,
    ),
    "table": system(
        [task("a", 3, 0, 10), task("b", 5, 0)],
        cpu(Policy.TABLE, table=(TableEntry(2, 3, 0), TableEntry(5, 4, 1)), cycle_ns=10),
    ),
    "server": system(
        (
            task("greedy", 9, 0, 10, 20, deadline_ns=10, budget_ns=3, separation_ns=10,
                 overrun_action=OverrunAction.THROTTLE),
            task("modest", 6, 1, 11, 21, deadline_ns=16),
        ),
        cpu(Policy.EDF),
    ),
}  # fmt: skip


def scaled(value: Any, name: str = "") -> Any:
    """All times multiplied by the prime, all rates divided by it."""
    if isinstance(value, tuple):
        return tuple(scaled(one, name) for one in value)
    if name == "rate_hz" and value is not None:
        return Fraction(value) / PRIME
    if name.endswith("_ns") and isinstance(value, int):
        return value * PRIME
    if is_dataclass(value) and not isinstance(value, type) and type(value).__name__ != "Samples":
        return replace(value, **{f.name: scaled(getattr(value, f.name), f.name) for f in fields(value)})  # type: ignore[type-var]
    return value


def permuted(given: MachineInput) -> MachineInput:
    """The same tasks in reverse order."""
    last = len(given.tasks) - 1
    processors = tuple(
        replace(
            one,
            slices=tuple(replace(piece, tasks=tuple(last - t for t in piece.tasks)) for piece in one.slices),
            table=tuple(replace(entry, task=last - entry.task) for entry in one.table),
        )
        for one in given.processors
    )
    return replace(given, tasks=given.tasks[::-1], processors=processors)


def padded(given: MachineInput) -> MachineInput:
    """One more task per processor, which never arrives."""
    idle = [task(f"idle{p}", 1, processor=p, explicit_arrivals_ns=()) for p in range(len(given.processors))]
    return replace(given, tasks=(*given.tasks, *idle))


def all_finishes(given: MachineInput) -> dict[str, list[int]]:
    trace = run(given)
    return {one.name: finishes(trace, one.name) for one in given.tasks if not one.name.startswith("idle")}


@pytest.mark.parametrize("name", KNOWN)
def test_schedules_scale(name: str) -> None:
    expected = {
        who: [time * PRIME if time >= 0 else time for time in times] for who, times in all_finishes(KNOWN[name]).items()
    }
    assert any(time > 0 for times in expected.values() for time in times)
    assert all_finishes(scaled(KNOWN[name])) == expected


@pytest.mark.parametrize("name", KNOWN)
def test_schedules_do_not_depend_on_the_order_of_tasks(name: str) -> None:
    assert all_finishes(permuted(KNOWN[name])) == all_finishes(KNOWN[name])


@pytest.mark.parametrize("name", KNOWN)
def test_schedules_do_not_change_with_idle_tasks(name: str) -> None:
    assert all_finishes(padded(KNOWN[name])) == all_finishes(KNOWN[name])
