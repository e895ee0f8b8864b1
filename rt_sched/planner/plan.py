"""The nominal plan of a system: a core for every task and, on each core, an order of urgency."""

from __future__ import annotations

from collections.abc import Mapping

from rt_sched.lowering import check_plan
from rt_sched.model import Placement, Plan, Policy, ProcessingElement, Processor, System
from rt_sched.planner.placement import place_on_cores
from rt_sched.planner.priorities import directly_behind, urgency_levels, with_optimal_levels

#: What `--policy` accepts: rate-monotonic, deadline-monotonic, Audsley's optimal order, earliest deadline first.
POLICIES = ("rms", "dm", "opa", "edf")


def make_plan(
    system: System,
    policy: str | None = None,
    *,
    elements: Mapping[str, tuple[str, str]] | None = None,
    beside: Mapping[str, str] | None = None,
) -> Plan:
    """The plan under `policy` (default: the system file's own).

    `elements`: task -> (device, processing element), default where the file puts it. `beside`: task -> another of its
    element whose core it takes, and behind which it comes directly in the order of urgency.

    Elements that declare `fifo`, `time_sliced` or `table` keep it. Of the others, a `policy` that is given decides:
    `edf`, or fixed priority for `rms`, `dm` and `opa`. Otherwise an element's own `edf` stands, and the file's policy
    decides the rest.
    Levels are also set under EDF, where they do not order anything, so that plans stay comparable.
    Raises ValueError for an unknown policy.
    """
    chosen = policy or system.policy
    if chosen not in POLICIES:
        raise ValueError(f"unknown policy {chosen!r}; valid: {', '.join(POLICIES)}")
    processors = _processors(system, chosen, forced=policy is not None)
    core_of = place_on_cores(system, processors, elements, beside)
    levels = directly_behind(system.tasks, core_of, urgency_levels(system.tasks, core_of, chosen), beside or {})
    placements = tuple(
        Placement(task.name, core, level) for task, core, level in zip(system.tasks, core_of, levels, strict=True)
    )
    plan = Plan(system.name, chosen, processors, placements)
    return with_optimal_levels(system, plan) if chosen == "opa" and not check_plan(system, plan) else plan


def _processors(system: System, policy: str, forced: bool) -> tuple[Processor, ...]:
    """One per ready queue of every processing element."""
    return tuple(
        Processor(device.name, pe.name, core, _ordering(pe, policy, forced), pe.preemptive, pe.queue_cores)
        for device in system.devices
        for pe in device.processing_elements
        for core in range(0, pe.cores, pe.queue_cores)
    )


def _ordering(element: ProcessingElement, policy: str, forced: bool) -> Policy:
    if element.policy in (Policy.FIFO, Policy.TIME_SLICED, Policy.TABLE):
        return element.policy
    if policy == "edf" or (element.policy is Policy.EDF and not forced):
        return Policy.EDF
    return Policy.FIXED_PRIORITY
