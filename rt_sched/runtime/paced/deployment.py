"""Which core of this host stands for which processor of a plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from rt_sched.errors import DeploymentError
from rt_sched.model import Plan, System
from rt_sched.runtime.host.affinity import allowed_cores


def host_cores(system: System, plan: Plan) -> list[int]:
    """The host core of each processor of the plan. Raises DeploymentError where the file deploys it nowhere."""
    deployed = {one.pe: one.cores for one in system.deployments}
    lacking = Counter(f"{p.device}.{p.pe}" for p in plan.processors if (p.device, p.pe) not in deployed)
    if lacking:
        listed = ", ".join(name if count == 1 else f"{name} ({count} cores)" for name, count in sorted(lacking.items()))
        example = min(lacking, key=lambda name: (lacking[name], name))
        raise DeploymentError(
            f"system {system.name} does not say which host cores stand for {listed}; add them to its section deploy, "
            f"one for each core, such as deploy: {{{example}: {list(range(lacking[example]))}}}, "
            f"or let rt-sched init --host write a system for this host"
        )
    cores = [deployed[p.device, p.pe][p.core] for p in plan.processors]
    strange = sorted(set(cores) - allowed_cores())
    if strange:
        there = ", ".join(map(str, sorted(allowed_cores())))
        raise DeploymentError(f"this host has no core {', '.join(map(str, strange))} for this process; it has {there}")
    return cores


def core_mates(system: System, plan: Plan) -> list[tuple[int, ...]]:
    """For each processor of the plan all that run on its host core, itself among them, by their indices.

    One that is deployed nowhere is alone.
    """
    deployed = {one.pe: one.cores for one in system.deployments}
    users: dict[int, list[int]] = {}
    for index, one in enumerate(plan.processors):
        if (one.device, one.pe) in deployed:
            users.setdefault(deployed[one.device, one.pe][one.core], []).append(index)
    mates = {index: tuple(mine) for mine in users.values() for index in mine}
    return [mates.get(index, (index,)) for index in range(len(plan.processors))]


def free_core(cores: Collection[int]) -> int | None:
    """A core of this host that this process may use and no task runs on. `cores`: of all processors."""
    return max(allowed_cores() - set(cores), default=None)
