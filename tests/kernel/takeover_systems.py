"""Takeovers for random systems: tasks that move and vary, additional arrivals, lost things that return."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from kernel_systems import ALL_FEATURES, random_system

from rt_sched.lowering.machine_input import (
    ExtraArrivalRow,
    FaultRow,
    FaultTarget,
    MachineInput,
    OverrunAction,
    Policy,
    ProcessorRow,
    Protocol,
    RouteChangeRow,
    SectionRow,
    SuspensionRow,
    TaskChangeRow,
    TaskRow,
)

#: What a task can come from and go to.
_QUEUES = (Policy.FIXED_PRIORITY, Policy.EDF, Policy.FIFO)


def takeover_system(seed: int) -> MachineInput:
    """A random system with every feature, in which things return and tasks change."""
    return with_takeovers(random.Random(~seed), random_system(seed, ALL_FEATURES))  # noqa: S311


def with_takeovers(rng: random.Random, given: MachineInput) -> MachineInput:
    """The system with one or more of: another processor, outages, changes of tasks, additional arrivals.

    Most instants are those at which something is lost or a mode changes, so that what has an order there coincides.
    """
    if rng.random() < 0.5:
        given = replace(given, processors=(*given.processors, _more(rng, given)))
    given = replace(given, faults=_outages(rng, given))
    instants = [fault.time_ns for fault in given.faults]
    instants += [fault.until_ns for fault in given.faults if fault.until_ns is not None]
    instants += [change.time_ns for change in (*given.mode_changes, *given.frequency_changes)]
    instants += [rng.randint(0, given.horizon_ns) for _ in range(rng.randint(1, 4))]
    changes: list[TaskChangeRow] = []
    present = list(given.tasks)
    for time_ns in sorted(set(rng.sample(instants, min(len(instants), rng.randint(1, 6))))):
        for task in range(len(present)):
            if rng.random() < 0.5:
                moved = rng.random() < 0.7 and _movable(given, present[task])
                row = _moved(rng, given, present[task]) if moved else present[task]
                present[task] = _varied(rng, row)
                changes.append(TaskChangeRow(time_ns, task, present[task], moved))
    by_message = [index for index, task in enumerate(present) if not task.timed]
    extras = {
        ExtraArrivalRow(
            rng.choice((*instants, rng.randint(0, given.horizon_ns))),
            rng.choice(by_message) if by_message and rng.random() < 0.6 else rng.randrange(len(present)),
        )
        for _ in range(rng.choice((0, 2, 4, 8)))
    }
    rng.shuffle(changes)
    tasks = tuple(replace(task, every=rng.randint(2, 3)) if rng.random() < 0.1 else task for task in given.tasks)
    return replace(
        given,
        tasks=tasks,
        task_changes=tuple(changes),
        extra_arrivals=tuple(sorted(extras, key=lambda one: (one.task, one.time_ns))),
        route_changes=_routes(rng, given, instants),
    )


def _routes(rng: random.Random, given: MachineInput, instants: list[int]) -> tuple[RouteChangeRow, ...]:
    """Edges that get another link, or lose or get one."""
    if not given.links:
        return ()
    places = {
        (rng.choice(instants), rng.randrange(len(given.edges)))
        for _ in range(rng.choice((0, 3, 9)) if given.edges else 0)
    }
    return tuple(RouteChangeRow(at, edge, rng.choice((None, *range(len(given.links))))) for at, edge in sorted(places))


def _more(rng: random.Random, given: MachineInput) -> ProcessorRow:
    cores = rng.choice((1, 1, 2, 3))
    return ProcessorRow(
        f"p{len(given.processors)}",
        rng.choice(_QUEUES),
        rng.random() < 0.8,
        cores=cores,
        switch_ns=rng.choice((0, 0, 0, 1, 2)),
        migration_ns=rng.choice((0, 1)),
        frequency_khz=max(processor.frequency_khz for processor in given.processors),
    )


def _outages(rng: random.Random, given: MachineInput) -> tuple[FaultRow, ...]:
    """The faults, some of them only for a time, and others before and after them."""
    counts = (
        (FaultTarget.PROCESSOR, len(given.processors)),
        (FaultTarget.SENSOR, len(given.sensors)),
        (FaultTarget.LINK, len(given.links)),
    )
    rows = {(fault.kind, fault.target): [fault] for fault in given.faults}
    for kind, count in counts:
        for target in range(count):
            if rng.random() < 0.3:
                rows[kind, target] = list(_some_outages(rng, kind, target, given.horizon_ns))
    return tuple(fault for faults in rows.values() for fault in faults)


def _some_outages(rng: random.Random, kind: FaultTarget, target: int, horizon_ns: int) -> Iterator[FaultRow]:
    at_ns = rng.randint(0, horizon_ns)
    for _ in range(rng.randint(1, 3)):
        until_ns = None if rng.random() < 0.2 else at_ns + rng.choice((1, rng.randint(1, 9), rng.randint(5, 40)))
        yield FaultRow(at_ns, kind, target, until_ns)
        if until_ns is None:
            return
        at_ns = until_ns + rng.randint(1, 20)


def _movable(given: MachineInput, task: TaskRow) -> bool:
    ceilings = {i for i, one in enumerate(given.resources) if one.protocol is Protocol.PRIORITY_CEILING}
    return (
        given.processors[task.processor].policy in _QUEUES
        and not any(section.resource in ceilings for section in task.sections)
        and bool(_places(given, task))
    )


def _places(given: MachineInput, task: TaskRow) -> list[int]:
    """Where the task can be: throttling under edf needs a separation, spin locks any queue."""
    served = task.overrun_action is OverrunAction.THROTTLE and task.separation_ns is None
    return [
        index
        for index, processor in enumerate(given.processors)
        if processor.policy in _QUEUES and not (served and processor.policy is Policy.EDF)
    ]


def _moved(rng: random.Random, given: MachineInput, task: TaskRow) -> TaskRow:
    """The task elsewhere, now and then where it is; what lies inside a job is longer by a factor."""
    factor = rng.choice((1, 1, 2))
    points = task.preemption_points_ns
    if rng.random() < 0.3:
        points = None if points is not None else (rng.randint(1, 4),)
    return replace(
        task,
        processor=rng.choice(_places(given, task)),
        level=rng.randint(0, 5),
        sections=tuple(SectionRow(one.resource, factor * one.start_ns, factor * one.end_ns) for one in task.sections),
        suspensions=tuple(SuspensionRow(factor * one.offset_ns, one.min_ns, one.max_ns) for one in task.suspensions),
        preemption_points_ns=points,
        low_budget_ns=rng.choice((None, *range(1, 7))) if task.high_criticality else None,
    )


def _varied(rng: random.Random, task: TaskRow) -> TaskRow:
    """The task with other demands, perhaps for a part of its arrivals only."""
    demand: int | tuple[int, ...] = rng.randint(1, 8)
    if rng.random() < 0.4:
        demand = tuple(sorted(rng.randint(1, 9) for _ in range(33)))
    return replace(
        task,
        demand_ns=demand,
        explicit_demands_ns=tuple(rng.randint(1, 6) for _ in range(rng.choice((0, 0, len(task.explicit_demands_ns))))),
        memory_ns=rng.choice((task.memory_ns, rng.randint(0, 6))),
        every=rng.choice((1, 1, 1, 2, 3)),
    )
