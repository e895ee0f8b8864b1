"""Random small systems for the comparison of kernel and oracle; one tick is one nanosecond.

Numbers are small, so that instants coincide. Each system has a random part of the features it may have, so that every
feature is met both nearly alone and together with many others.
"""

from __future__ import annotations

import random
from collections.abc import Set as AbstractSet
from dataclasses import replace
from enum import Enum
from fractions import Fraction

import numpy as np
from late_spins import late_spin_system
from locking_tasks import SECTION_PROTOCOLS, block_in_chain, with_sections

from rt_sched.lowering.machine_input import (
    DeadlineAction,
    EdgeKind,
    EdgeRow,
    FaultRow,
    FaultTarget,
    FrequencyChangeRow,
    LinkRow,
    MachineInput,
    ModeChangeRow,
    Overflow,
    OverrunAction,
    Policy,
    ProcessorRow,
    Protocol,
    ResourceRow,
    Role,
    Samples,
    SuspensionRow,
    TableEntry,
    TaskRow,
    TimeSlice,
)


class Feature(Enum):
    """What a system may have beyond tasks, edges, samples and losses of processors and sensors."""

    SWITCH_COSTS = "switch costs"
    CORES = "several cores"
    POINTS = "preemption points"
    JITTER = "jitter"
    SEPARATION = "sporadic and explicit arrivals"
    LET = "logical execution time"
    LINKS = "links"
    SECTIONS = "critical sections"
    MSRP = "spin locks"
    SUSPENSION = "suspension"
    BUDGETS = "overrun actions"
    DEADLINES = "deadline actions"
    CRITICALITY = "mixed criticality"
    MODES = "mode changes"
    FREQUENCY = "frequency changes"
    SLICES = "time slices"
    TABLES = "tables"


ALL_FEATURES = frozenset(Feature)
_POLICIES = (Policy.FIXED_PRIORITY, Policy.FIXED_PRIORITY, Policy.EDF, Policy.EDF, Policy.FIFO)


def random_system(seed: int, features: AbstractSet[Feature] = frozenset()) -> MachineInput:
    """A system of up to three processors, three sensors and seven tasks, often overloaded, with loops and faults.

    It has some of `features`: hardly any, a quarter or half of them. In a third of the systems timed tasks with long
    deadlines contend for one preemptive processor.
    """
    rng = random.Random(seed)  # noqa: S311 - reproducible test data
    each = rng.choice((0.12, 0.25, 0.25, 0.5))
    on = {feature for feature in Feature if rng.random() < each and feature in features}
    horizon = rng.randint(30, 140)
    contended = rng.random() < 0.35
    if contended:
        on -= {Feature.SLICES, Feature.TABLES}
    processors = [_processor(rng, i, on) for i in range(1 if contended else rng.choice((1, 1, 2, 3)))]
    if contended:
        policy = rng.choice((Policy.FIXED_PRIORITY, Policy.EDF))
        processors = [replace(row, policy=policy, preemptive=True) for row in processors]
    sensors = tuple(f"s{i}" for i in range(rng.randint(0, 3)))
    count = rng.choice((1, 2, 3, 4, 5, 5, 6, 6, 7))
    timed = [contended or (not sensors and i == 0) or rng.random() < 0.65 for i in range(count)]
    tasks = [_task(rng, i, len(processors), timed[i]) for i in range(count)]
    if contended:
        tasks = [_contending(rng, task) for task in tasks]
        if rng.random() < 0.35:
            tasks = [_twin(task, tasks[i - 1]) if i % 2 else task for i, task in enumerate(tasks)]
    tasks = [embellish(rng, task, processors[task.processor], on, horizon) for task in tasks]
    processors = [_with_schedule(rng, processor, i, tasks) for i, processor in enumerate(processors)]
    resources: tuple[ResourceRow, ...] = ()
    protocols = [*SECTION_PROTOCOLS] * (Feature.SECTIONS in on) + [Protocol.MSRP] * 2 * (Feature.MSRP in on)
    if contended and Feature.SECTIONS in on and count >= 4 and rng.random() < 0.5:
        resources, tasks = block_in_chain(rng, tasks)
    elif protocols:
        resources, tasks = with_sections(rng, processors, tasks, protocols)
    if Feature.SUSPENSION in on:
        tasks = [_suspensions(rng, task) for task in tasks]
    links = tuple(_link(rng, i) for i in range(rng.randint(1, 2))) if Feature.LINKS in on else ()
    modes: tuple[ModeChangeRow, ...] = ()
    if Feature.MODES in on:
        tasks, modes = _modes(rng, tasks, horizon)
    drawn = MachineInput(
        processors=tuple(processors),
        sensors=sensors,
        tasks=tuple(tasks),
        edges=_edges(rng, timed, len(sensors), len(links), 0.02 if contended else 0.2),
        horizon_ns=horizon,
        seed=rng.getrandbits(64),
        samples=_samples(rng, len(sensors), horizon),
        faults=_faults(rng, len(processors), len(sensors), len(links), horizon),
        resources=resources,
        links=links,
        mode_changes=modes,
        frequency_changes=_frequencies(rng, len(processors), horizon) if Feature.FREQUENCY in on else (),
    )
    if Feature.MSRP in on and Feature.FREQUENCY in features and rng.random() < 0.25:
        has = on | ({Feature.BUDGETS} & features if rng.random() < 0.5 else set())
        return late_spin_system(rng, lambda task, processor: embellish(rng, task, processor, has, horizon))
    return drawn


def _processor(rng: random.Random, number: int, on: set[Feature]) -> ProcessorRow:
    policy = rng.choice(_POLICIES)
    special = [
        kind
        for feature, kind in ((Feature.SLICES, Policy.TIME_SLICED), (Feature.TABLES, Policy.TABLE))
        if feature in on and rng.random() < 0.7
    ]
    if special:
        policy = rng.choice(special)
    cores = rng.choice((1, 2, 2, 3)) if Feature.CORES in on and not special else 1
    costs = Feature.SWITCH_COSTS in on
    return ProcessorRow(
        f"p{number}",
        policy,
        rng.random() < 0.8,
        cores=cores,
        switch_ns=rng.randint(0, 2) if costs else 0,
        migration_ns=rng.randint(0, 2) if costs else 0,
        frequency_khz=rng.randint(1, 4) if Feature.FREQUENCY in on else 1,
    )


def _with_schedule(rng: random.Random, processor: ProcessorRow, number: int, tasks: list[TaskRow]) -> ProcessorRow:
    """The cycle of a time-sliced or table processor, now that its tasks are known."""
    placed = [index for index, task in enumerate(tasks) if task.processor == number]
    if processor.policy == Policy.TIME_SLICED:
        slices = []
        for _ in range(rng.randint(1, 4)):
            length = rng.randint(1, 8)
            members = tuple(task for task in placed if rng.random() < 0.5)
            slices.append(TimeSlice(length, members, min(rng.choice((0, 0, 1, 2)), length - 1)))
        return replace(processor, slices=tuple(slices), slack_sharing=rng.random() < 0.5)
    if processor.policy == Policy.TABLE:
        entries, at = [], rng.randint(0, 3)
        while placed and len(entries) < 8 and rng.random() < 0.85:
            length = rng.randint(1, 7)
            entries.append(TableEntry(at, length, rng.choice(placed)))
            at += length + rng.choice((0, 0, 1, 3))
        return replace(processor, table=tuple(entries), cycle_ns=max(1, at + rng.choice((0, 0, 2))))
    return processor


def _task(rng: random.Random, number: int, processors: int, timed: bool) -> TaskRow:
    demand: int | tuple[int, ...] = rng.choice((rng.randint(1, 4), rng.randint(3, 12)))
    if rng.random() < 0.3:
        demand = tuple(sorted(rng.randint(1, 9) for _ in range(33)))
    parts = rng.choice((1, 1, 1, 2, 3, 7))
    rate = Fraction(10**9 * parts, rng.randint(5 * parts, 30 * parts)) if timed else None
    return TaskRow(
        name=f"t{number}",
        processor=rng.randrange(processors),
        deadline_ns=rng.choice((rng.randint(2, 12), rng.randint(10, 60))),
        demand_ns=demand,
        level=rng.randint(0, 5),
        rate_hz=rate,
        offset_ns=rng.choice((0, 0, rng.randint(0, 12))),
        budget_ns=rng.choice((None, rng.randint(1, 6))),
        deadline_action=rng.choice((DeadlineAction.CONTINUE, DeadlineAction.CONTINUE, DeadlineAction.ABORT)),
        tolerance_ns=rng.randint(0, 6),
        explicit_demands_ns=tuple(rng.randint(1, 6) for _ in range(rng.choice((0, 0, 2, 9)))),
    )


def _contending(rng: random.Random, task: TaskRow) -> TaskRow:
    """The task with time to be preempted in: the more urgent ones tend to come later."""
    return replace(
        task,
        demand_ns=rng.randint(2, 8),
        deadline_ns=rng.randint(10, 60),
        deadline_action=DeadlineAction.CONTINUE,
        rate_hz=Fraction(10**9, rng.randint(14, 50)),
        offset_ns=rng.randint(0, 3) + 2 * (5 - task.level),
    )


def _twin(task: TaskRow, other: TaskRow) -> TaskRow:
    """The task with the arrivals, deadlines and level of another, so that all their keys are equal."""
    return replace(
        task, level=other.level, deadline_ns=other.deadline_ns, rate_hz=other.rate_hz, offset_ns=other.offset_ns
    )


def embellish(rng: random.Random, task: TaskRow, on: ProcessorRow, has: AbstractSet[Feature], horizon: int) -> TaskRow:
    """The task with what single tasks may have of the features."""
    if Feature.POINTS in has and rng.random() < 0.6:
        points = sorted(rng.sample(range(1, 10), rng.randint(0, 3)))
        task = replace(task, preemption_points_ns=tuple(points))
    if Feature.JITTER in has and rng.random() < 0.7:
        given = tuple(rng.randint(0, 9) for _ in range(rng.choice((0, 0, 3))))
        task = replace(task, jitter_ns=rng.choice((0, 2, 6, 15)), explicit_jitters_ns=given)
    if Feature.SEPARATION in has and rng.random() < 0.7:
        task = replace(task, separation_ns=rng.randint(1, 25), extra_separation_ns=rng.choice((0, 3, 10)))
        if task.timed and rng.random() < 0.4:
            times = tuple(sorted(rng.choices(range(horizon + 2), k=rng.randint(0, 9))))
            task = replace(task, rate_hz=None, explicit_arrivals_ns=times)
    if Feature.LET in has and rng.random() < 0.6:
        task = replace(task, let=True)
    if Feature.FREQUENCY in has and rng.random() < 0.5:
        task = replace(task, memory_ns=rng.randint(0, 6))
    if Feature.DEADLINES in has:
        task = replace(task, deadline_action=rng.choice(list(DeadlineAction)), weakly_hard=(1, rng.randint(1, 4)))
    if Feature.BUDGETS in has and rng.random() < 0.8:
        task = _budget(rng, task, on)
    if Feature.CRITICALITY in has and rng.random() < 0.6:
        task = replace(task, high_criticality=True, low_budget_ns=rng.choice((None, *range(1, 7))))
    return task


def _budget(rng: random.Random, task: TaskRow, on: ProcessorRow) -> TaskRow:
    action = rng.choice((*OverrunAction, OverrunAction.THROTTLE, OverrunAction.THROTTLE))
    optional = action == OverrunAction.LOG or on.policy == Policy.TABLE
    budget = None if optional and rng.random() < 0.3 else rng.randint(1, 6)
    separation = task.separation_ns
    if action == OverrunAction.THROTTLE and on.policy == Policy.EDF and separation is None:
        separation = rng.randint(3, 25)
    return replace(
        task,
        overrun_action=action,
        budget_ns=budget,
        budget_granularity_ns=rng.choice((1, 1, 2, 3)),
        degraded_demand_ns=rng.randint(1, 4) if action == OverrunAction.DEGRADE else None,
        separation_ns=separation,
    )


def _suspensions(rng: random.Random, task: TaskRow) -> TaskRow:
    offsets = sorted(rng.sample(range(1, 9), rng.randint(0, 2)))
    waits = []
    for offset in offsets:
        if not any(section.start_ns < offset < section.end_ns for section in task.sections):
            least = rng.choice((0, 0, 1, 4))
            row = SuspensionRow(offset, least, max(1, least + rng.choice((0, 0, 1, 5))))
            # Draws of its own, so that everything else stays as it was drawn.
            own = random.Random(f"{task.name} {row}")  # noqa: S311 - reproducible test data
            given = tuple(own.randint(0, 6) for _ in range(own.choice((0, 0, 1, 3))))
            waits.append(replace(row, explicit_ns=given))
    return replace(task, suspensions=tuple(waits))


def _link(rng: random.Random, number: int) -> LinkRow:
    return LinkRow(f"l{number}", Fraction(10**9, rng.randint(1, 3)), rng.choice((0, 0, 1, 4)))


def _modes(rng: random.Random, tasks: list[TaskRow], horizon: int) -> tuple[list[TaskRow], tuple[ModeChangeRow, ...]]:
    tasks = [replace(task, active=rng.random() < 0.7, start_latency_ns=rng.choice((0, 0, 1, 3, 9))) for task in tasks]
    there = {index for index, task in enumerate(tasks) if task.active}
    changes = []
    for time in sorted(rng.sample(range(horizon + 2), rng.randint(1, 4))):
        removed = {index for index in there if rng.random() < 0.5}
        absent = set(range(len(tasks))) - (there - removed)
        added = {index for index in absent if rng.random() < 0.6}
        there = (there - removed) | added
        changes.append(ModeChangeRow(time, tuple(sorted(removed)), tuple(sorted(added))))
    return tasks, tuple(changes)


def _frequencies(rng: random.Random, processors: int, horizon: int) -> tuple[FrequencyChangeRow, ...]:
    times = [rng.randint(0, horizon) for _ in range(rng.randint(1, 5))]
    return tuple(FrequencyChangeRow(time, rng.randrange(processors), rng.randint(1, 5)) for time in times)


def _edges(rng: random.Random, timed: list[bool], sensors: int, links: int, required: float) -> tuple[EdgeRow, ...]:
    edges: list[EdgeRow] = []
    for target, is_timed in enumerate(timed):
        join = "none" if is_timed else rng.choice(("any", "all", "primary"))
        inputs = rng.randint(0, 3) if is_timed else rng.randint(1, 4)
        for number in range(inputs):
            if join == "any":
                role = Role.EACH if number == 0 or rng.random() < 0.6 else Role.READ
            elif join == "all":
                role = Role.PAIRED if number < 2 or rng.random() < 0.5 else Role.READ
            else:
                role = Role.EACH if join == "primary" and number == 0 else Role.READ
            from_sensor = sensors > 0 and rng.random() < 0.6
            edges.append(
                EdgeRow(
                    target=target,
                    input=f"in{number}",
                    kind=EdgeKind.QUEUE if role == Role.PAIRED else rng.choice(list(EdgeKind)),
                    role=role,
                    sensor=rng.randrange(sensors) if from_sensor else None,
                    task=None if from_sensor else rng.randrange(len(timed)),
                    depth=rng.randint(1, 3),
                    overflow=rng.choice(list(Overflow)),
                    required=rng.random() < required,
                    link=rng.randrange(links) if links and rng.random() < 0.6 else None,
                    size_bytes=rng.randint(1, 4),
                )
            )
    rng.shuffle(edges)
    return tuple(edges)


def _samples(rng: random.Random, sensors: int, horizon: int) -> Samples:
    arrivals, sensor, captures = [], [], []
    for index in range(sensors):
        period, at = rng.randint(3, 15), rng.randint(0, 8)
        while at <= horizon:
            arrivals.append(at)
            sensor.append(index)
            captures.append(at - rng.randint(0, 5))
            at += 0 if rng.random() < 0.1 else max(1, period + rng.randint(-3, 3))
    order = list(range(len(arrivals)))
    rng.shuffle(order)
    return Samples(*(np.array([values[i] for i in order], np.int64) for values in (arrivals, sensor, captures)))


def _faults(rng: random.Random, processors: int, sensors: int, links: int, horizon: int) -> tuple[FaultRow, ...]:
    faults = []
    for kind, count in ((FaultTarget.PROCESSOR, processors), (FaultTarget.SENSOR, sensors), (FaultTarget.LINK, links)):
        if count and rng.random() < 0.25:
            faults.append(FaultRow(rng.randint(0, horizon), kind, rng.randrange(count)))
    return tuple(faults)
