"""Critical sections for random tasks: nested ones anywhere, and tasks that block each other in a chain."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

from rt_sched.lowering.machine_input import Policy, ProcessorRow, Protocol, ResourceRow, SectionRow, TaskRow

#: What sections without spinning are drawn from.
SECTION_PROTOCOLS = (
    Protocol.PRIORITY_INHERITANCE,
    Protocol.PRIORITY_INHERITANCE,
    Protocol.PRIORITY_CEILING,
    Protocol.NONE,
)


def with_sections(
    rng: random.Random, processors: list[ProcessorRow], tasks: list[TaskRow], kinds: list[Protocol]
) -> tuple[tuple[ResourceRow, ...], list[TaskRow]]:
    """Resources and, in most tasks, nested sections on those that a task may use where it is."""
    protocols = [rng.choice(kinds) for _ in range(rng.randint(1, 4))]
    chained = Protocol.PRIORITY_INHERITANCE in kinds and rng.random() < 0.6
    if chained:
        protocols = [Protocol.PRIORITY_INHERITANCE] * rng.randint(2, 4)
    homes = [rng.randrange(len(processors)) for _ in protocols]
    locking = []
    for task in tasks:
        processor = processors[task.processor]
        timetabled = processor.policy in {Policy.TIME_SLICED, Policy.TABLE}
        usable = []
        for number, protocol in enumerate(protocols):
            one_core = processor.policy in {Policy.FIXED_PRIORITY, Policy.EDF} and processor.cores == 1
            if protocol == Protocol.PRIORITY_CEILING and not (one_core and homes[number] == task.processor):
                continue
            if protocol == Protocol.MSRP and timetabled:
                continue
            usable.append(number)
        sections: list[SectionRow] = []
        if chained and len(usable) > 1:
            sections = _link_of_chain(rng, usable)
        elif rng.random() < 0.9:
            _nest(rng, sections, usable, rng.choice((0, 1)), rng.randint(4, 13))
        rng.shuffle(sections)
        locking.append(replace(task, sections=tuple(sections)))
    return tuple(ResourceRow(f"r{i}", protocol) for i, protocol in enumerate(protocols)), locking


def _link_of_chain(rng: random.Random, usable: list[int]) -> list[SectionRow]:
    """One resource inside its neighbour: tasks with neighbouring pairs block each other in a chain."""
    outer = rng.randrange(len(usable) - 1)
    start, inside = rng.choice((0, 0, 1)), rng.choice((1, 1, 2))
    end = start + inside + rng.randint(1, 6)
    return [SectionRow(usable[outer], start, end), SectionRow(usable[outer + 1], start + inside, end)]


def _nest(rng: random.Random, sections: list[SectionRow], usable: list[int], start: int, end: int) -> None:
    """Sections side by side in [start, end), each with more inside on other resources."""
    at = start + rng.choice((0, 0, 1, 2))
    while usable and at < end:
        stop = rng.randint(at + 1, end)
        resource = rng.choice(usable)
        sections.append(SectionRow(resource, at, stop))
        if rng.random() < 0.6:
            _nest(rng, sections, [other for other in usable if other != resource], at, stop)
        at = stop + rng.choice((0, 1, 2))


def block_in_chain(rng: random.Random, tasks: list[TaskRow]) -> tuple[tuple[ResourceRow, ...], list[TaskRow]]:
    """Four of the tasks as in the textbook: high waits for mid, mid for low, while a medium one wants to run."""
    resources = tuple(ResourceRow(f"r{i}", Protocol.PRIORITY_INHERITANCE) for i in range(2))
    inner = SectionRow(0, 1, rng.randint(3, 5))
    sections = {
        "low": (SectionRow(0, rng.randint(0, 1), rng.randint(5, 8)),),
        "mid": (SectionRow(1, 0, rng.randint(5, 6)), inner),
        "high": (SectionRow(1, rng.randint(0, 1), rng.randint(2, 4)),),
        "medium": (),
    }
    levels = {"low": 5, "mid": rng.choice((3, 4)), "high": 0, "medium": rng.choice((1, 2))}
    offsets = {"low": 0, "mid": rng.randint(2, 3), "high": rng.randint(4, 6), "medium": rng.randint(4, 8)}
    cast = dict(zip(rng.sample(range(len(tasks)), 4), sections, strict=True))
    chained = []
    for index, task in enumerate(tasks):
        part = cast.get(index)
        if part is None:
            chained.append(task)
            continue
        chained.append(
            replace(
                task,
                level=levels[part],
                deadline_ns=12 + 10 * levels[part],
                offset_ns=offsets[part],
                rate_hz=Fraction(10**9, 40),
                explicit_arrivals_ns=None,
                demand_ns=rng.randint(6, 9),
                explicit_demands_ns=(),
                sections=sections[part],
                preemption_points_ns=None,
            )
        )
    return resources, chained
