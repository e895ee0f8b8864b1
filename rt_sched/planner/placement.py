"""Which core of its processing element a task runs on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from rt_sched.lowering.task_rows import longest_demand_ns
from rt_sched.model import ProcessingElement, Processor, Protocol, System, Task


def place_on_cores(
    system: System,
    processors: Sequence[Processor],
    elements: Mapping[str, tuple[str, str]] | None = None,
    beside: Mapping[str, str] | None = None,
) -> tuple[int, ...]:
    """For each task the index of its processor: that of the declared core, else worst-fit decreasing by utilisation.

    Worst fit spreads load, which leaves the largest margin on every core (Coffman, Garey, Johnson 1996 survey the
    bounds of the fit heuristics). Ties go to the lower core, then to the task that stands first. Tasks of one element
    that share a resource by a protocol for one core go to the same one. `elements`, `beside`: see `make_plan`.
    Raises ValueError when a declared core does not exist.
    """
    place_of = {task.name: (elements or {}).get(task.name, task.pe) for task in system.tasks}
    element_of = {(device.name, pe.name): pe for device in system.devices for pe in device.processing_elements}
    index_of = {(p.device, p.pe, p.core + core): index for index, p in enumerate(processors) for core in range(p.cores)}
    queues_of: dict[tuple[str, str], list[int]] = {}
    for index, processor in enumerate(processors):
        queues_of.setdefault((processor.device, processor.pe), []).append(index)
    together = _tasks_that_stay_together(system, place_of)
    for task_name, other in (beside or {}).items():
        if place_of[task_name] == place_of[other]:
            together[task_name].append(other)
            together[other].append(task_name)
    load = [Fraction(0)] * len(processors)
    placed: dict[str, int] = {}

    def put(task: Task, index: int) -> None:
        placed[task.name] = index
        load[index] += _load(task, element_of[place_of[task.name]], processors[index])

    for task in system.tasks:
        if task.core is None or place_of[task.name] != task.pe:
            continue
        fixed = index_of.get((*task.pe, task.core))
        if fixed is None:
            raise ValueError(f"task {task.name}: {'.'.join(task.pe)} has no core {task.core}")
        put(task, fixed)
    open_tasks = [task for task in system.tasks if task.name not in placed]
    for task in sorted(open_tasks, key=lambda t: -Fraction(t.execution.wcet_ns, t.separation_ns)):
        companions = [placed[name] for name in together[task.name] if name in placed]
        put(task, companions[0] if companions else min(queues_of[place_of[task.name]], key=lambda i: (load[i], i)))
    return tuple(placed[task.name] for task in system.tasks)


def _tasks_that_stay_together(system: System, place_of: Mapping[str, tuple[str, str]]) -> dict[str, list[str]]:
    """For each task the others of its element with which it shares a resource whose protocol is not `msrp`."""
    local = {resource.name for resource in system.resources if resource.protocol is not Protocol.MSRP}
    used = {task.name: {section.resource for section in task.sections} & local for task in system.tasks}
    sharing = [name for name, resources in used.items() if resources]
    return {
        name: [
            other
            for other in sharing
            if other != name and place_of[other] == place_of[name] and used[other] & resources
        ]
        for name, resources in used.items()
    }


def _load(task: Task, element: ProcessingElement, processor: Processor) -> Fraction:
    """Share of the time of each of the processor's cores that the task needs."""
    return Fraction(longest_demand_ns(task, element), task.separation_ns * processor.cores)
