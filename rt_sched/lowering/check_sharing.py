"""Whether shared resources, links and modes can work as a plan places their tasks."""

from __future__ import annotations

from rt_sched import model

_ONE_CORE = (model.Policy.FIXED_PRIORITY, model.Policy.EDF)
_BY_CYCLE = (model.Policy.TIME_SLICED, model.Policy.TABLE)


def check_sharing(system: model.System, plan: model.Plan) -> list[str]:
    """Every resource that its protocol cannot protect under `plan`, and every name that leads nowhere."""
    processor_of = {placement.task: plan.processors[placement.processor] for placement in plan.placements}
    problems = []
    known = {resource.name for resource in system.resources}
    for task in system.tasks:
        problems += [
            f"task {task.name} holds {section.resource}, which is no resource of the system"
            for section in task.sections
            if section.resource not in known
        ]
    for resource in system.resources:
        users = [task for task in system.tasks if any(one.resource == resource.name for one in task.sections)]
        places = {processor_of[task.name].name: processor_of[task.name] for task in users}
        if resource.protocol is model.Protocol.PRIORITY_CEILING:
            if len(places) > 1 or any(place.cores > 1 for place in places.values()):
                problems.append(
                    f"resource {resource.name}: priority_ceiling works on one core, but its users are on "
                    f"{', '.join(places)}; bind them to one core, or use msrp"
                )
            problems += [
                f"resource {resource.name}: priority_ceiling needs fixed_priority or edf; "
                f"{place.name} is {place.policy.value}"
                for place in places.values()
                if place.policy not in _ONE_CORE
            ]
        if resource.protocol is model.Protocol.MSRP:
            problems += [
                f"resource {resource.name}: msrp spins without preemption, which {place.name} does not allow"
                for place in places.values()
                if place.policy in _BY_CYCLE
            ]
    links = {link.name for link in system.links}
    problems += [
        f"task {task.name}: input {given.name} comes over {given.link}, which is no link of the system"
        for task in system.tasks
        for given in task.inputs
        if given.link is not None and given.link not in links
    ]
    return problems
