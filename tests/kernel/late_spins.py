"""Random systems in which a spinning job gets its lock from a job that is dispatched, and may release it at once.

A raised frequency makes sections so short that their begin and end fall on one executed time. On one processor `low`
holds a lock that `high` asks for inside a spin lock; when `low` unlocks, `high` is dispatched and releases both, while
jobs on other processors spin for the outer one.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from rt_sched.lowering.machine_input import (
    FaultRow,
    FaultTarget,
    FrequencyChangeRow,
    MachineInput,
    Policy,
    ProcessorRow,
    Protocol,
    ResourceRow,
    SectionRow,
    SuspensionRow,
    TaskRow,
)

#: Two spin locks and the lock that `low` holds.
_OUTER, _INNER, _OTHER = 0, 1, 2

#: Adds what a task may have beside its sections.
Embellish = Callable[[TaskRow, ProcessorRow], TaskRow]


def late_spin_system(rng: random.Random, embellish: Embellish) -> MachineInput:
    """Two to four processors: one with `low`, `high` and perhaps more, the others with jobs that spin."""
    shrink, period = rng.randint(4, 7), rng.randint(18, 40)
    processors = [_processor(rng, index) for index in range(rng.randint(2, 4))]
    processors[0] = replace(processors[0], policy=rng.choice((Policy.FIXED_PRIORITY, Policy.EDF)), preemptive=True)
    roles = ["low", "high", *rng.choices(("spinning", "other"), (3, 1), k=rng.randint(1, 4))]
    rng.shuffle(roles)
    tasks = []
    for index, role in enumerate(roles):
        where = 0 if role in {"low", "high"} else rng.randrange(role == "spinning", len(processors))
        task = TaskRow(
            name=f"t{index}",
            processor=where,
            deadline_ns=rng.choice((40, 40, 40, 4, 6)),
            demand_ns=rng.randint(shrink + 1, 4 * shrink),
            level=rng.randint(1, 4),
            rate_hz=Fraction(10**9, period),
            offset_ns=rng.choice((0, 1, 1, 2)),
        )
        task = replace(embellish(task, processors[where]), rate_hz=task.rate_hz, explicit_arrivals_ns=None, let=False)
        if role == "low":
            task = _low(rng, task, shrink)
        elif role == "high":
            task = _high(rng, task, shrink)
        elif role == "spinning":
            task = _spinning(rng, task, shrink)
        tasks.append(task)
    inner = rng.choice((Protocol.PRIORITY_INHERITANCE, Protocol.NONE))
    faults = [FaultRow(rng.randint(0, 80), FaultTarget.PROCESSOR, rng.randrange(len(processors)))]
    return MachineInput(
        processors=tuple(processors),
        sensors=(),
        tasks=tuple(tasks),
        edges=(),
        horizon_ns=rng.randint(30, 100),
        seed=rng.getrandbits(64),
        faults=tuple(faults) if rng.random() < 0.2 else (),
        resources=tuple(
            ResourceRow(f"r{i}", protocol) for i, protocol in enumerate((Protocol.MSRP, inner, Protocol.MSRP))
        ),
        frequency_changes=tuple(
            FrequencyChangeRow(rng.choice((0, 0, 0, period)), index, shrink * row.frequency_khz)
            for index, row in enumerate(processors)
        ),
    )


def _processor(rng: random.Random, number: int) -> ProcessorRow:
    policy = rng.choice((Policy.FIXED_PRIORITY, Policy.EDF, Policy.FIFO))
    return ProcessorRow(f"p{number}", policy, rng.random() < 0.8, cores=rng.choice((1, 1, 2)))


def _low(rng: random.Random, task: TaskRow, shrink: int) -> TaskRow:
    length = shrink * rng.randint(2, 4)
    return replace(
        task,
        level=5,
        deadline_ns=50,
        offset_ns=0,
        jitter_ns=0,
        demand_ns=length + rng.randint(1, shrink),
        sections=(SectionRow(_INNER, 0, length),),
    )


def _high(rng: random.Random, task: TaskRow, shrink: int) -> TaskRow:
    begin, end = sorted(rng.sample(range(2, shrink + 1), 2))
    return replace(
        task,
        level=0,
        deadline_ns=min(task.deadline_ns, 45),
        offset_ns=1,
        sections=(SectionRow(_OUTER, 1, rng.choice((shrink, shrink, 3 * shrink))), SectionRow(_INNER, begin, end)),
    )


def _spinning(rng: random.Random, task: TaskRow, shrink: int) -> TaskRow:
    """Sections on both spin locks, nested and one after the other, most of them at one executed time."""
    sections: list[SectionRow] = []
    at = 1
    while at < shrink and len(sections) < 4:
        end = rng.choice((rng.randint(at + 1, shrink), shrink + rng.randint(0, 2 * shrink)))
        resource = rng.choice((_OUTER, _OUTER, _OTHER))
        sections.append(SectionRow(resource, at, end))
        if end - at > 1 and rng.random() < 0.5:
            inside = rng.randint(at, end - 1)
            sections.append(SectionRow(_OTHER - resource, inside, rng.randint(inside + 1, end)))
        at = end + rng.choice((0, 0, 1))
    last = max(section.end_ns for section in sections)
    waits = (SuspensionRow(last, 1, 3),) if rng.random() < 0.25 else ()
    budget = 1 if task.budget_ns is not None and rng.random() < 0.6 else task.budget_ns
    return replace(task, sections=tuple(sections), suspensions=waits, budget_ns=budget)
