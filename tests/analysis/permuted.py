"""One system, written down in another order: the same tasks, devices, sensors, links and chains by their names."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from rt_sched.model import Plan, System

_One = TypeVar("_One")


def permuted(system: System, plan: Plan, seed: int) -> tuple[System, Plan]:
    """The system with everything that has a name in another order, and the same plan for it.

    The first mode stays the first, as a run begins in it; inputs of a task keep their order, as paths do.
    """
    rng = random.Random(seed)  # noqa: S311 - reproducible test data

    def other(items: Sequence[_One]) -> tuple[_One, ...]:
        return tuple(rng.sample(items, len(items)))

    tasks = list(zip(system.tasks, plan.placements, strict=True))
    rng.shuffle(tasks)
    processors = other(plan.processors)
    place = {number: processors.index(one) for number, one in enumerate(plan.processors)}
    devices = (
        replace(device, processing_elements=other(device.processing_elements)) for device in other(system.devices)
    )
    changed = replace(
        system,
        devices=tuple(devices),
        sensors=other(system.sensors),
        tasks=tuple(task for task, _ in tasks),
        chains=other(system.chains),
        resources=other(system.resources),
        links=other(system.links),
        modes=tuple(replace(mode, tasks=other(mode.tasks)) for mode in (*system.modes[:1], *other(system.modes[1:]))),
        fault_scenarios=other(system.fault_scenarios),
    )
    placements = tuple(replace(placement, processor=place[placement.processor]) for _, placement in tasks)
    takeovers = tuple(
        replace(one, moves=tuple(replace(move, processor=place[move.processor]) for move in one.moves))
        for one in plan.takeovers
    )
    return changed, replace(plan, processors=processors, placements=placements, takeovers=takeovers)
