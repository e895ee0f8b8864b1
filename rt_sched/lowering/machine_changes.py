"""Range checks of takeovers: what may change of a task during a run, and when one more job of it may arrive."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields

from rt_sched.lowering.machine_input import (
    LIMIT_NS,
    MachineInput,
    Policy,
    Protocol,
    TaskChangeRow,
    TaskRow,
)
from rt_sched.lowering.machine_problems import MachineProblems

#: Fields of a task's row that may differ when jobs that have arrived before go on, and those that may when none does.
_OF_LATER_JOBS = frozenset({"demand_ns", "explicit_demands_ns", "memory_ns", "every"})
_OF_A_PLACE = _OF_LATER_JOBS | {
    "processor",
    "level",
    "sections",
    "suspensions",
    "preemption_points_ns",
    "low_budget_ns",
}
_BY_CYCLE = (Policy.TIME_SLICED, Policy.TABLE)

CheckTask = Callable[[MachineProblems, str, TaskRow, MachineInput], None]


def check_task_changes(problems: MachineProblems, given: MachineInput, check_task: CheckTask) -> None:
    """Note every change of a task that the kernel could not make. `check_task`: the checks of any task's row."""
    present = list(given.tasks)
    ceilings = {number for number, one in enumerate(given.resources) if one.protocol is Protocol.PRIORITY_CEILING}
    seen: set[tuple[int, int]] = set()
    for number, change in sorted(enumerate(given.task_changes), key=lambda one: (one[1].time_ns, one[0])):
        path = f"task_changes[{number}]"
        problems.within(f"{path}.time_ns", change.time_ns, 0, LIMIT_NS)
        if not problems.index(f"{path}.task", change.task, len(given.tasks)):
            continue
        check_task(problems, f"{path}.row ({change.row.name})", change.row, given)
        _check_difference(problems, path, change, present[change.task])
        if (change.time_ns, change.task) in seen:
            problems.say(path, "the task changes twice at one instant")
        seen.add((change.time_ns, change.task))
        places = (present[change.task].processor, change.row.processor)
        if change.moved and any(
            given.processors[place].policy in _BY_CYCLE for place in places if 0 <= place < len(given.processors)
        ):
            problems.say(f"{path}.row.processor", "slices and tables are fixed: no task comes to or leaves them")
        if change.moved and any(section.resource in ceilings for section in change.row.sections):
            problems.say(f"{path}.row.sections", "the users of a priority_ceiling resource stay where they are")
        present[change.task] = change.row
    for number, extra in enumerate(given.extra_arrivals):
        path = f"extra_arrivals[{number}]"
        problems.within(f"{path}.time_ns", extra.time_ns, 0, LIMIT_NS)
        problems.index(f"{path}.task", extra.task, len(given.tasks))
        if extra in given.extra_arrivals[:number]:
            problems.say(path, "there is one at this instant already")


def _check_difference(problems: MachineProblems, path: str, change: TaskChangeRow, before: TaskRow) -> None:
    allowed = _OF_A_PLACE if change.moved else _OF_LATER_JOBS
    for field in fields(TaskRow):
        if field.name not in allowed and getattr(change.row, field.name) != getattr(before, field.name):
            when = "by no change" if field.name not in _OF_A_PLACE else "only when the task moves"
            problems.say(f"{path}.row.{field.name}", f"it changes {when}")
    used, uses = ([section.resource for section in row.sections] for row in (before, change.row))
    if used != uses:
        problems.say(f"{path}.row.sections", f"the resources {used} stay the same, and so does their order")
