"""Host cores that stand for several elements: what is said of them, and when nothing bounds what happens on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rt_sched.model import Placement, Plan, System
from rt_sched.runtime.paced.deployment import host_cores


def shared_cores(system: System) -> str:
    """The host cores that stand for several elements, in words."""
    users: dict[int, list[str]] = {}
    for one in system.deployments:
        for core in one.cores:
            users.setdefault(core, []).append(".".join(one.pe))
    return ", ".join(f"core {core} for {' and '.join(names)}" for core, names in users.items() if len(names) > 1)


def why_core_is_contended(system: System, plan: Plan) -> str | None:
    """Why no bound holds: jobs of several processors run on one host core at a time. None where they never do.

    Processors of devices that a takeover stands in for run nothing while it is in force.
    """
    cores = host_cores(system, plan)
    for lost, placements in _in_force(plan):
        users: dict[int, set[int]] = {}
        for one in placements:
            if f"device:{plan.processors[one.processor].device}" not in lost:
                users.setdefault(cores[one.processor], set()).add(one.processor)
        for core, several in users.items():
            if len(several) > 1:
                names = " and ".join(plan.processors[index].name for index in sorted(several))
                return (
                    f"host core {core} runs the jobs of {names}, and how long these delay one another is not analysed"
                )
    return None


def _in_force(plan: Plan) -> Iterator[tuple[Sequence[str], Sequence[Placement]]]:
    """What is lost and where tasks are: nominally, and under each takeover for lost devices alone."""
    yield (), plan.placements
    for takeover in plan.takeovers:
        if all(one.startswith("device:") for one in takeover.losses):
            moved = {one.task: one for one in takeover.moves}
            yield takeover.losses, [moved.get(one.task, one) for one in plan.placements]
