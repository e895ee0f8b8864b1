"""Which core of its processing element a task runs on."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from rt_sched.model import Processor, Protocol, System, Task


def place_on_cores(system: System, processors: Sequence[Processor]) -> tuple[int, ...]:
    """For each task the index of its processor: that of the declared core, else worst-fit decreasing by utilisation.

    Worst fit spreads load, which leaves the largest margin on every core (Coffman, Garey, Johnson 1996 survey the
    bounds of the fit heuristics). Ties go to the lower core, then to the task that stands first. Tasks of one element
    that share a resource by a protocol for one core go to the same one.
    Raises ValueError when a declared core does not exist.
    """
    index_of = {(p.device, p.pe, p.core + core): index for index, p in enumerate(processors) for core in range(p.cores)}
    queues_of: dict[tuple[str, str], list[int]] = {}
    for index, processor in enumerate(processors):
        queues_of.setdefault((processor.device, processor.pe), []).append(index)
    together = _tasks_that_stay_together(system)
    load = [Fraction(0)] * len(processors)
    placed: dict[str, int] = {}
    for task in system.tasks:
        if task.core is None:
            continue
        fixed = index_of.get((*task.pe, task.core))
        if fixed is None:
            raise ValueError(f"task {task.name}: {'.'.join(task.pe)} has no core {task.core}")
        placed[task.name] = fixed
        load[fixed] += _load(task, processors[fixed])
    open_tasks = [task for task in system.tasks if task.core is None]
    for task in sorted(open_tasks, key=lambda t: -Fraction(t.execution.wcet_ns, t.separation_ns)):
        companions = [placed[name] for name in together[task.name] if name in placed]
        index = companions[0] if companions else min(queues_of[task.pe], key=lambda i: (load[i], i))
        placed[task.name] = index
        load[index] += _load(task, processors[index])
    return tuple(placed[task.name] for task in system.tasks)


def _tasks_that_stay_together(system: System) -> dict[str, list[str]]:
    """For each task the others of its element with which it shares a resource whose protocol is not `msrp`."""
    local = {resource.name for resource in system.resources if resource.protocol is not Protocol.MSRP}
    used = {task.name: {section.resource for section in task.sections} & local for task in system.tasks}
    pe_of = {task.name: task.pe for task in system.tasks}
    sharing = [name for name, resources in used.items() if resources]
    return {
        name: [other for other in sharing if other != name and pe_of[other] == pe_of[name] and used[other] & resources]
        for name, resources in used.items()
    }


def _load(task: Task, processor: Processor) -> Fraction:
    """Share of the time of each of the processor's cores that the task needs."""
    return Fraction(task.execution.wcet_ns, task.separation_ns * processor.cores)
