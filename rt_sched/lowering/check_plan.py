"""The one structural gate: whether a plan, whoever made it, can be run on its system."""

from __future__ import annotations

from collections import Counter

from rt_sched import model
from rt_sched.lowering.check_cycles import check_cycles
from rt_sched.lowering.check_memory import check_memory
from rt_sched.lowering.check_sharing import check_sharing
from rt_sched.lowering.check_takeovers import check_takeovers
from rt_sched.lowering.lower import input_role
from rt_sched.lowering.machine_input import Role
from rt_sched.lowering.offsets import check_offsets
from rt_sched.lowering.routes import check_routes

#: Elements with these policies cannot be planned otherwise.
_FIXED = (model.Policy.FIFO, model.Policy.TIME_SLICED, model.Policy.TABLE)


def check_plan(system: model.System, plan: model.Plan) -> list[str]:
    """Every reason why `plan` does not fit `system`, in words that name the offender; empty when it fits."""
    problems = []
    if plan.system != system.name:
        problems.append(f"the plan was made for system {plan.system}, not for {system.name}")
    problems += _check_processors(system, plan)
    placement_problems = _check_placements(system, plan)
    problems += placement_problems
    if not problems:
        problems += check_cycles(system, plan)
        problems += check_sharing(system, plan)
        problems += check_memory(system, plan)
        problems += check_routes(system, plan)
        problems += check_offsets(system, plan)
    problems += _check_activations(system)
    return problems or check_takeovers(system, plan)


def _check_processors(system: model.System, plan: model.Plan) -> list[str]:
    problems = []
    elements = {(device.name, pe.name): pe for device in system.devices for pe in device.processing_elements}
    for processor in plan.processors:
        element = elements.get((processor.device, processor.pe))
        if element is None:
            known = ", ".join(".".join(names) for names in elements)
            problems.append(f"processor {processor.name} is on no processing element of the system; there are: {known}")
            continue
        problems += _check_cores(processor, element)
        if processor.preemptive and not element.preemptive:
            problems.append(f"processor {processor.name} is planned as preemptive, but the element is not")
        fixed = element.policy in _FIXED or processor.policy in _FIXED
        if fixed and processor.policy is not element.policy:
            problems.append(
                f"processor {processor.name} is planned as {processor.policy.value}, but it is {element.policy.value}"
            )
    for name, count in Counter(processor.name for processor in plan.processors).items():
        if count > 1:
            problems.append(f"processor {name} stands in the plan {count} times")
    return problems


def _check_cores(processor: model.Processor, element: model.ProcessingElement) -> list[str]:
    name = f"{processor.device}.{processor.pe}"
    if not 0 <= processor.core <= element.cores - processor.cores:
        return [f"processor {processor.name}: {name} has cores 0 ... {element.cores - 1}"]
    if processor.cores != element.queue_cores or processor.core % element.queue_cores:
        share = (
            f"{element.queue_cores} cores share a ready queue" if element.queue_cores > 1 else "each core has its own"
        )
        return [f"processor {processor.name}: {name} is {element.scheduling.value}, {share}"]
    return []


def _check_placements(system: model.System, plan: model.Plan) -> list[str]:
    planned = [placement.task for placement in plan.placements]
    expected = [task.name for task in system.tasks]
    if planned != expected:
        missing = [name for name in expected if name not in planned]
        surplus = [name for name in planned if name not in expected]
        if missing or surplus:
            return [f"not placed: {', '.join(missing) or 'none'}; unknown: {', '.join(surplus) or 'none'}"]
        return ["placements do not stand in the order of the system's tasks, one each"]
    problems = []
    urgency: dict[tuple[int, int], str] = {}
    for task, placement in zip(system.tasks, plan.placements, strict=True):
        if not 0 <= placement.processor < len(plan.processors):
            problems.append(f"task {task.name} is on processor {placement.processor} of {len(plan.processors)}")
            continue
        processor = plan.processors[placement.processor]
        if (processor.device, processor.pe) not in (task.pe, *task.candidates):
            places = " or ".join(".".join(pe) for pe in (task.pe, *task.candidates))
            problems.append(f"task {task.name} belongs on {places}, not on {processor.name}")
        elif (processor.device, processor.pe) == task.pe and not _holds_core(processor, task.core):
            problems.append(f"task {task.name} is bound to core {task.core}, not to {processor.name}")
        if placement.level < 0:
            problems.append(f"task {task.name} has the level {placement.level}; levels count from 0")
        other = urgency.setdefault((placement.processor, placement.level), task.name)
        if other != task.name:
            problems.append(f"tasks {other} and {task.name} share level {placement.level} on {processor.name}")
    return problems


def _holds_core(processor: model.Processor, core: int | None) -> bool:
    return core is None or processor.core <= core < processor.core + processor.cores


def _check_activations(system: model.System) -> list[str]:
    problems = []
    sources = {sensor.name for sensor in system.sensors} | {task.name for task in system.tasks}
    for task in system.tasks:
        problems += [
            f"task {task.name}: input {given.name} comes from {given.source}, which does not exist"
            for given in task.inputs
            if given.source not in sources
        ]
        if not task.is_timed and all(input_role(task.activation, given) is Role.READ for given in task.inputs):
            problems.append(f"task {task.name} is activated by messages, but none of its inputs activates it")
    return problems
