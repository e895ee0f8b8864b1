"""Whether time slices and schedule tables can be followed."""

from __future__ import annotations

from rt_sched import model
from rt_sched.units import format_ns


def check_cycles(system: model.System, plan: model.Plan) -> list[str]:
    """Every reason why a cycle of a `time_sliced` or `table` element cannot be followed under `plan`."""
    elements = {(device.name, pe.name): pe for device in system.devices for pe in device.processing_elements}
    problems = []
    for index, processor in enumerate(plan.processors):
        element = elements[processor.device, processor.pe]
        here = [placement.task for placement in plan.placements if placement.processor == index]
        if element.policy in (model.Policy.TIME_SLICED, model.Policy.TABLE) and processor.cores > 1:
            problems.append(f"processor {processor.name}: policy {element.policy.value} schedules one core")
        if element.policy is model.Policy.TIME_SLICED:
            problems += _check_slices(processor.name, element, here)
        elif element.policy is model.Policy.TABLE:
            of_element = {p.task for p in plan.placements if _same_element(plan.processors[p.processor], processor)}
            problems += _check_table(processor.name, element, here, of_element)
    return problems


def _check_slices(name: str, element: model.ProcessingElement, here: list[str]) -> list[str]:
    problems = [] if element.slices else [f"processor {name} is time_sliced, but has no slice"]
    for number, piece in enumerate(element.slices):
        if not 0 <= piece.switch_cost_ns < piece.length_ns:
            cost, length = format_ns(piece.switch_cost_ns), format_ns(piece.length_ns)
            problems.append(f"processor {name}: slice {number} of {length} has a switch cost of {cost}")
        problems += [
            f"processor {name}: slice {number} is for task {task}, which runs elsewhere"
            for task in piece.tasks
            if task not in here
        ]
    served = {task for piece in element.slices for task in piece.tasks}
    if not element.slack_sharing:
        problems += [f"task {task} is in no slice of {name}, so it never runs" for task in here if task not in served]
    return problems


def _same_element(one: model.Processor, other: model.Processor) -> bool:
    return (one.device, one.pe) == (other.device, other.pe)


def _check_table(name: str, element: model.ProcessingElement, here: list[str], of_element: set[str]) -> list[str]:
    """An entry is for the core of its task, one of those `here`; others may be for another core of the element."""
    problems = []
    end_ns = 0
    for number, entry in enumerate(element.table):
        if entry.task in of_element and entry.task not in here:
            continue
        if entry.length_ns < 1 or entry.start_ns < end_ns:
            problems.append(f"processor {name}: table entry {number} begins before entry {number - 1} has ended")
        end_ns = max(end_ns, entry.start_ns + entry.length_ns)
        if entry.task not in here:
            problems.append(f"processor {name}: table entry {number} is for task {entry.task}, which runs elsewhere")
    if end_ns > element.table_cycle_ns:
        cycle = format_ns(element.table_cycle_ns)
        problems.append(f"processor {name}: the table ends at {format_ns(end_ns)}, after its cycle of {cycle}")
    served = {entry.task for entry in element.table}
    problems += [f"task {task} is in no table entry of {name}, so it never runs" for task in here if task not in served]
    return problems
