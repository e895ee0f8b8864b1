"""Host cores that stand for several elements: what is said of them, and when nothing bounds what happens on them."""

from __future__ import annotations

from collections.abc import Sequence

from rt_sched.model import Placement, Plan, System, Takeover
from rt_sched.runtime.paced.deployment import host_cores


def shared_cores(system: System) -> str:
    """The host cores that stand for several elements, in words."""
    users: dict[int, list[str]] = {}
    for one in system.deployments:
        for core in one.cores:
            users.setdefault(core, []).append(".".join(one.pe))
    return ", ".join(f"core {core} for {' and '.join(names)}" for core, names in users.items() if len(names) > 1)


def why_core_is_contended(system: System, plan: Plan) -> str | None:
    """Why no bound holds: jobs of several processors run on one host core at a time, nominally or under a takeover for
    lost devices alone. None where they never do.
    """
    takeovers = [one for one in plan.takeovers if all(loss.startswith("device:") for loss in one.losses)]
    under = [why_contended_under(system, plan, one) for one in takeovers]
    return next((why for why in (_contention(system, plan, (), plan.placements), *under) if why is not None), None)


def why_contended_under(system: System, plan: Plan, takeover: Takeover) -> str | None:
    """The same of one takeover, which need not stand in the plan."""
    moved = {one.task: one for one in takeover.moves}
    return _contention(system, plan, takeover.losses, [moved.get(one.task, one) for one in plan.placements])


def _contention(system: System, plan: Plan, lost: Sequence[str], placements: Sequence[Placement]) -> str | None:
    """Processors of lost devices run nothing."""
    cores = host_cores(system, plan)
    users: dict[int, set[int]] = {}
    for one in placements:
        if f"device:{plan.processors[one.processor].device}" not in lost:
            users.setdefault(cores[one.processor], set()).add(one.processor)
    for core, several in users.items():
        if len(several) > 1:
            names = " and ".join(plan.processors[index].name for index in sorted(several))
            return f"host core {core} runs the jobs of {names}, and how long these delay one another is not analysed"
    return None
