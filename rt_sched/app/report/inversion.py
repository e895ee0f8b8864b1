"""Priority inversion in a schedulability report: who may wait for a resource, with its protocol and without.

The example is played by the scheduling kernel, once under the declared protocol and once under none: a less urgent user
has just locked the resource when a more urgent user and all tasks between the two are released, once each. Whether the
system lets releases fall so is not examined, which the report says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rt_sched.app.report.played import played_row
from rt_sched.lowering import lower
from rt_sched.lowering.machine_input import MachineInput
from rt_sched.lowering.nominal_samples import nominal_samples
from rt_sched.lowering.task_rows import Execution
from rt_sched.model import CriticalSection, Plan, Policy, Processor, Protocol, SharedResource, Sporadic, System, Task
from rt_sched.sim import Simulation
from rt_sched.trace.statistics import response_ns

Row = dict[str, Any]

#: Examples that a report shows.
MOST_EXAMPLES = 8


@dataclass(frozen=True, slots=True)
class Contest:
    """`user` may wait for `holder`, which is less urgent; `between`: tasks in between that do not use the resource."""

    resource: SharedResource
    user: Task
    holder: Task
    between: tuple[Task, ...]
    processor: Processor


def contests(system: System, plan: Plan, resource: SharedResource) -> list[Contest]:
    """For every user that shares its preemptive core with a less urgent one: the holder with the longest section."""
    level = {one.task: one.level for one in plan.placements}
    place = {one.task: one.processor for one in plan.placements}
    users = [task for task in system.tasks if _longest(task, resource.name) is not None]
    found = []
    for user in users:
        processor = plan.processors[place[user.name]]
        here = [task for task in system.tasks if place[task.name] == place[user.name]]
        below = [task for task in here if task in users and level[task.name] > level[user.name]]
        if not below or not _is_preemptive_core(processor):
            continue
        holder = max(below, key=lambda task: _length_ns(task, resource.name))
        between = tuple(
            task for task in here if task not in users and level[user.name] < level[task.name] < level[holder.name]
        )
        found.append(Contest(resource, user, holder, between, processor))
    return found


def waits(system: System, plan: Plan, resource: SharedResource, tasks: Sequence[Mapping[str, Any]]) -> list[Row]:
    """For every contest the wait in the bound, and how long it may get without the protocol: None for not bounded.

    That in the bound is for all resources together: protocols bound how often a job is blocked. `tasks`: of the report.
    """
    rows = []
    for one in contests(system, plan, resource):
        for task in tasks:
            if task["name"] != one.user.name:
                continue
            locks = [term for term in task["terms"] if term["kind"] == "blocking"]
            bounded = resource.protocol is not Protocol.NONE and task["response_bound_ns"] is not None
            rows.append(
                {
                    "mode": task["mode"],
                    "task": one.user.name,
                    "holder": one.holder.name,
                    "with_ns": sum(int(term["value_ns"]) for term in locks) if bounded else None,
                    "without_ns": None if one.between else _length_ns(one.holder, resource.name),
                    "between": [task.name for task in one.between],
                }
            )
    return rows


def inversion_examples(system: System, plan: Plan) -> list[Row]:
    """A run with and one without the protocol for every contest with tasks in between, as far as there is room."""
    found = [one for resource in system.resources for one in contests(system, plan, resource) if one.between]
    return [_example(system, plan, one) for one in found[:MOST_EXAMPLES]]


def _example(system: System, plan: Plan, one: Contest) -> Row:
    declared = one.resource.protocol
    kept = [declared] if declared is Protocol.NONE else [declared, Protocol.NONE]
    return {
        "resource": one.resource.name,
        "task": one.user.name,
        "holder": one.holder.name,
        "between": [task.name for task in one.between],
        "runs": [{"protocol": protocol.value, "run": _played(system, plan, one, protocol)} for protocol in kept],
    }


def _played(system: System, plan: Plan, one: Contest, protocol: Protocol) -> Row:
    given = _contest_input(system, plan, one, protocol)
    simulation = Simulation(given)
    simulation.run()
    trace = simulation.trace()
    responses, _ = response_ns(trace)
    (job,) = np.flatnonzero(trace.jobs.task == trace.task_names.index(one.user.name))
    how = f"{one.holder.name} has just locked {one.resource.name} when all others are released"
    mode = system.modes[0].name if system.modes else "nominal"
    return played_row(trace, int(job), int(responses[job]), one.user.name, mode, one.processor, how, None)


def _contest_input(system: System, plan: Plan, one: Contest, protocol: Protocol) -> MachineInput:
    """The tasks of a contest alone, each with one job, and the resource under `protocol`."""
    names = {task.name for task in (one.user, one.holder, *one.between)}
    tasks = tuple(_alone(task, one.resource.name) for task in system.tasks if task.name in names)
    alone = System(
        name=system.name,
        devices=system.devices,
        sensors=(),
        tasks=tasks,
        chains=(),
        safety=None,
        policy=system.policy,
        base_dir=system.base_dir,
        resources=(SharedResource(one.resource.name, protocol),),
    )
    placements = tuple(place for place in plan.placements if place.task in names)
    small = replace(plan, placements=placements, takeovers=())
    horizon_ns = 1 + 4 * sum(task.execution.wcet_ns for task in tasks) + max(task.deadline_ns for task in tasks)
    samples = nominal_samples(alone, horizon_ns)
    given = lower(alone, small, samples, horizon_ns=horizon_ns, execution=Execution.WCET)
    cost_ns = given.processors[plan.processors.index(one.processor)].switch_ns
    section = _longest(one.holder, one.resource.name)
    locked_ns = 1 + cost_ns + (0 if section is None else section.start_ns)
    rows = tuple(
        replace(
            row,
            rate_hz=None,
            explicit_arrivals_ns=(0 if row.name == one.holder.name else locked_ns,),
            extra_separation_ns=0,
            separation_ns=None,
        )
        for row in given.tasks
    )
    return replace(given, tasks=rows)


def _alone(task: Task, resource: str) -> Task:
    """The task with no inputs and no other resource, released when somebody wants."""
    return replace(
        task,
        activation=Sporadic(task.separation_ns),
        inputs=(),
        sections=tuple(one for one in task.sections if one.resource == resource),
        suspensions=(),
        communication=None,
        max_disparity_ns=None,
        variants=(),
    )


def _is_preemptive_core(processor: Processor) -> bool:
    return processor.policy is Policy.FIXED_PRIORITY and processor.preemptive and processor.cores == 1


def _longest(task: Task, resource: str) -> CriticalSection | None:
    mine = [one for one in task.sections if one.resource == resource]
    return max(mine, key=lambda one: one.end_ns - one.start_ns, default=None)


def _length_ns(task: Task, resource: str) -> int:
    section = _longest(task, resource)
    return 0 if section is None else section.end_ns - section.start_ns
