"""Random small systems for the comparison of kernel and oracle; one tick is one nanosecond."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np

from rt_sched.lowering.machine_input import (
    DeadlineAction,
    EdgeKind,
    EdgeRow,
    FaultRow,
    FaultTarget,
    MachineInput,
    Overflow,
    Policy,
    ProcessorRow,
    Role,
    Samples,
    TaskRow,
)

_POLICIES = (Policy.FIXED_PRIORITY, Policy.FIXED_PRIORITY, Policy.EDF, Policy.EDF, Policy.FIFO)


def random_system(seed: int) -> MachineInput:
    """A system of up to three processors, three sensors and seven tasks, often overloaded, with loops and faults."""
    rng = random.Random(seed)  # noqa: S311 - reproducible test data
    horizon = rng.randint(20, 100)
    processors = tuple(
        ProcessorRow(f"p{i}", rng.choice(_POLICIES), rng.random() < 0.8) for i in range(rng.choice((1, 1, 2, 3)))
    )
    sensors = tuple(f"s{i}" for i in range(rng.randint(0, 3)))
    count = rng.randint(1, 7)
    timed = [(not sensors and i == 0) or rng.random() < 0.55 for i in range(count)]
    tasks = tuple(_task(rng, i, len(processors), timed[i]) for i in range(count))
    return MachineInput(
        processors=processors,
        sensors=sensors,
        tasks=tasks,
        edges=_edges(rng, timed, len(sensors)),
        horizon_ns=horizon,
        seed=rng.getrandbits(64),
        samples=_samples(rng, len(sensors), horizon),
        faults=_faults(rng, len(processors), len(sensors), horizon),
    )


def _task(rng: random.Random, number: int, processors: int, timed: bool) -> TaskRow:
    demand: int | tuple[int, ...] = rng.choice((rng.randint(1, 4), rng.randint(3, 12)))
    if rng.random() < 0.3:
        demand = tuple(sorted(rng.randint(1, 9) for _ in range(33)))
    parts = rng.choice((1, 1, 1, 2, 3, 7))
    rate = Fraction(10**9 * parts, rng.randint(5 * parts, 40 * parts)) if timed else None
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


def _edges(rng: random.Random, timed: list[bool], sensors: int) -> tuple[EdgeRow, ...]:
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
                    required=rng.random() < 0.3,
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


def _faults(rng: random.Random, processors: int, sensors: int, horizon: int) -> tuple[FaultRow, ...]:
    faults = []
    if rng.random() < 0.25:
        faults.append(FaultRow(rng.randint(0, horizon), FaultTarget.PROCESSOR, rng.randrange(processors)))
    if sensors and rng.random() < 0.25:
        faults.append(FaultRow(rng.randint(0, horizon), FaultTarget.SENSOR, rng.randrange(sensors)))
    return tuple(faults)
