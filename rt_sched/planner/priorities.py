"""Priority assignment on each processor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rt_sched.errors import AnalysisNotApplicable
from rt_sched.model import Plan, Policy, System, Task


def urgency_levels(tasks: Sequence[Task], processor_of: Sequence[int], policy: str) -> tuple[int, ...]:
    """For each task its level on its processor, 0 the most urgent, unique there.

    `rms`: shorter separation first (Liu, Layland 1973); all others: shorter relative deadline first (Leung, Whitehead
    1982). A declared priority goes before every task without one; ties keep the file's order.
    """

    def urgency(index: int) -> tuple[int, int, int, int]:
        task = tasks[index]
        explicit = (1, 0) if task.priority is None else (0, task.priority)
        return (*explicit, task.separation_ns if policy == "rms" else task.deadline_ns, index)

    levels = [0] * len(tasks)
    next_level: dict[int, int] = {}
    for index in sorted(range(len(tasks)), key=urgency):
        processor = processor_of[index]
        levels[index] = next_level.get(processor, 0)
        next_level[processor] = levels[index] + 1
    return tuple(levels)


def directly_behind(
    tasks: Sequence[Task], processor_of: Sequence[int], levels: Sequence[int], beside: Mapping[str, str]
) -> tuple[int, ...]:
    """`levels` with each task of `beside` directly behind the other one, where both are on one processor.

    Then nothing comes between the end of the one job and the begin of the next but what is more urgent than both.
    """
    orders: dict[int, list[int]] = {}
    for index in sorted(range(len(tasks)), key=levels.__getitem__):
        orders.setdefault(processor_of[index], []).append(index)
    index_of = {task.name: index for index, task in enumerate(tasks)}

    def depth(name: str) -> int:
        return 1 + depth(beside[name]) if name in beside else 0

    # What others come behind is put in its own place first.
    for name in sorted(beside, key=lambda one: (depth(one), levels[index_of[one]])):
        first, second = index_of[beside[name]], index_of[name]
        order = orders[processor_of[first]]
        if processor_of[first] == processor_of[second] and tasks[first].priority == tasks[second].priority:
            order.remove(second)
            order.insert(order.index(first) + 1, second)
    placed = {index: level for order in orders.values() for level, index in enumerate(order)}
    return tuple(placed[index] for index in range(len(tasks)))


def with_optimal_levels(system: System, plan: Plan) -> Plan:
    """`plan` with Audsley's order on every fixed-priority core where one meets all deadlines; others stay as they are.

    Declared priorities stay first. Jitter of message-activated tasks is taken as it is under `plan`, so the order is
    optimal where arrivals come from the clock, and a proposal elsewhere. With modes the order is that of the first.
    """
    from rt_sched.analysis.loads.priority_assignment import audsley
    from rt_sched.analysis.loads.resolve import mode_loads
    from rt_sched.analysis.methods import METHODS
    from rt_sched.analysis.system.engine import loads_with_arrivals

    levels: dict[int, int] = {}
    for load in loads_with_arrivals(mode_loads(system, plan)[0], METHODS):
        if load.policy is not Policy.FIXED_PRIORITY or not load.tasks:
            continue
        fixed = [place for place, task in enumerate(load.tasks) if system.tasks[task.index].priority is not None]
        try:
            order = audsley(load, fixed)
        except AnalysisNotApplicable:
            continue
        if order is not None:
            used = sorted(task.level for task in load.tasks)
            levels |= {load.tasks[place].index: level for place, level in zip(order, used, strict=True)}
    return _at_levels(plan, levels)


def _at_levels(plan: Plan, levels: Mapping[int, int]) -> Plan:
    placements = tuple(
        replace(placement, level=levels.get(index, placement.level)) for index, placement in enumerate(plan.placements)
    )
    return replace(plan, placements=placements)
