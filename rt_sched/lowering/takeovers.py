"""Takeovers as the machine sees them: tasks that change, and arrivals beside those of their activation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

from rt_sched import model
from rt_sched.lowering.machine_input import (
    LIMIT_NS,
    ExtraArrivalRow,
    RouteChangeRow,
    TaskChangeRow,
    TaskRow,
)
from rt_sched.lowering.routes import routed

#: The row of a task, by its index, at a placement and in a variant (None: none).
RowOf = Callable[[int, model.Placement, model.Variant | None], TaskRow]


def takeovers_in_force(changes: Sequence[model.PlanChange]) -> list[tuple[int, model.Takeover | None]]:
    """When which takeover comes into force, in order; of several changes at one instant the last one lasts."""
    in_force = {change.time_ns: change.takeover for change in sorted(changes, key=lambda one: one.time_ns)}
    return sorted(in_force.items(), key=lambda one: one[0])


def task_change_rows(
    system: model.System, plan: model.Plan, changes: Sequence[model.PlanChange], row_of: RowOf
) -> tuple[TaskChangeRow, ...]:
    """Which tasks go on elsewhere, at another level or in another variant, compared with before."""
    rows = []
    now: list[tuple[model.Placement, model.Variant | None]] = [(placement, None) for placement in plan.placements]
    for time_ns, takeover in takeovers_in_force(changes):
        for index, task in enumerate(system.tasks):
            placement, variant = now[index]
            wanted = placement_under(takeover, plan.placements[index]), variant_under(takeover, task)
            if wanted != (placement, variant):
                rows.append(TaskChangeRow(time_ns, index, row_of(index, *wanted), moved=wanted[0] != placement))
            now[index] = wanted
    return tuple(rows)


def route_change_rows(
    system: model.System, plan: model.Plan, changes: Sequence[model.PlanChange]
) -> tuple[RouteChangeRow, ...]:
    """Which edges get another link because their sender or their reader is on another device."""
    link_of = {link.name: index for index, link in enumerate(system.links)}
    rows = []
    now = _links(system, plan)
    for time_ns, takeover in takeovers_in_force(changes):
        wanted = _links(system, plan_under(takeover, plan))
        rows += [
            RouteChangeRow(time_ns, edge, None if link is None else link_of[link])
            for edge, link in enumerate(wanted)
            if link != now[edge]
        ]
        now = wanted
    return tuple(rows)


def _links(system: model.System, plan: model.Plan) -> list[str | None]:
    return [given.link for task in routed(system, plan).tasks for given in task.inputs]


def plan_under(takeover: model.Takeover | None, plan: model.Plan) -> model.Plan:
    """The plan with the placements that hold while a takeover is in force."""
    return replace(plan, placements=tuple(placement_under(takeover, placement) for placement in plan.placements))


def placement_under(takeover: model.Takeover | None, nominal: model.Placement) -> model.Placement:
    """Where a task is while a takeover is in force."""
    moves = () if takeover is None else takeover.moves
    return next((placement for placement in moves if placement.task == nominal.task), nominal)


def variant_under(takeover: model.Takeover | None, task: model.Task) -> model.Variant | None:
    """The variant of a task while a takeover is in force."""
    names = {} if takeover is None else dict(takeover.variants)
    return next((variant for variant in task.variants if variant.name == names.get(task.name)), None)


def extra_arrival_rows(system: model.System, changes: Sequence[model.PlanChange]) -> tuple[ExtraArrivalRow, ...]:
    """Kept frames at each change, and arrivals at once, as far as they come before the next change."""
    task_of = {task.name: index for index, task in enumerate(system.tasks)}
    found = set()
    end: tuple[int, model.Takeover | None] = (2 * LIMIT_NS, None)
    for (time_ns, takeover), (until_ns, _) in pairwise([*takeovers_in_force(changes), end]):
        if takeover is not None:
            found |= {ExtraArrivalRow(time_ns, task_of[name]) for name in takeover.redone}
            found |= {
                ExtraArrivalRow(time_ns + delay_ns, task_of[name])
                for name, delay_ns in takeover.at_once
                if time_ns + delay_ns < until_ns
            }
    return tuple(sorted(found, key=lambda one: (one.time_ns, one.task)))
