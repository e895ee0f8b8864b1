"""The nominal plan of a system: a core for every task and, on each core, an order of urgency."""

from __future__ import annotations

from rt_sched.model import Placement, Plan, Policy, Processor, System
from rt_sched.planner.placement import place_on_cores
from rt_sched.planner.priorities import urgency_levels

#: What `--policy` accepts: rate-monotonic, deadline-monotonic, earliest deadline first.
POLICIES = ("rms", "dm", "edf")


def make_plan(system: System, policy: str | None = None) -> Plan:
    """The plan under `policy` (default: the system file's own).

    `edf` applies to every processing element that is not `fifo`; `rms` and `dm` turn those into fixed priority.
    Levels are also set under EDF, where they do not order anything, so that plans stay comparable.
    Raises ValueError for an unknown policy.
    """
    chosen = policy or system.policy
    if chosen not in POLICIES:
        raise ValueError(f"unknown policy {chosen!r}; valid: {', '.join(POLICIES)}")
    processors = _processors(system, chosen)
    core_of = place_on_cores(system, processors)
    levels = urgency_levels(system.tasks, core_of, chosen)
    placements = tuple(
        Placement(task.name, core, level) for task, core, level in zip(system.tasks, core_of, levels, strict=True)
    )
    return Plan(system.name, chosen, processors, placements)


def _processors(system: System, policy: str) -> tuple[Processor, ...]:
    ordering = Policy.EDF if policy == "edf" else Policy.FIXED_PRIORITY
    return tuple(
        Processor(device.name, pe.name, core, Policy.FIFO if pe.policy is Policy.FIFO else ordering, pe.preemptive)
        for device in system.devices
        for pe in device.processing_elements
        for core in range(pe.cores)
    )
