"""Offsets of timed tasks that a plan sets in place of those of the system file."""

from __future__ import annotations

from dataclasses import replace

from rt_sched import model
from rt_sched.units import NS_PER_S, floor_int, format_ns


def with_offsets(system: model.System, plan: model.Plan) -> model.System:
    """`system` with the offsets of `plan`, which has passed `check_plan`."""
    offset_ns = dict(plan.offsets)
    if not offset_ns:
        return system
    return replace(system, tasks=tuple(_with_offset(task, offset_ns.get(task.name)) for task in system.tasks))


def _with_offset(task: model.Task, offset_ns: int | None) -> model.Task:
    if offset_ns is None or not isinstance(task.activation, model.Periodic):
        return task
    return replace(task, activation=replace(task.activation, offset_ns=offset_ns))


def check_offsets(system: model.System, plan: model.Plan) -> list[str]:
    """Every offset that its task cannot have: only periodic tasks have one, within a period, and outside of tables."""
    problems = []
    tasks = {task.name: task for task in system.tasks}
    processor_of = {one.task: plan.processors[one.processor] for one in plan.placements}
    for name, offset_ns in plan.offsets:
        task = tasks.get(name)
        if task is None:
            problems.append(f"offset of {name}: there is no such task")
        elif not isinstance(task.activation, model.Periodic):
            problems.append(f"offset of {name}: only a task with a rate has an offset")
        elif not 0 <= offset_ns < (period_ns := floor_int(NS_PER_S / task.activation.rate_hz)):
            problems.append(
                f"offset of {name}: {format_ns(offset_ns)} is not within its period of {format_ns(period_ns)}"
            )
        elif processor_of[name].policy is model.Policy.TABLE:
            problems.append(f"offset of {name}: the table of {processor_of[name].name} is made for that of the file")
    return problems
