"""Tasks of one chain that a plan merges: they run as one job, with one release, one switch and no hand-over.

The merged task stands in the system in place of its parts: it is activated as the first one is, needs what they need
together, publishes what the last one publishes, and has the sum of their deadlines, which is what the file grants them
one after the other. Whatever takes the system and the plan then sees one task, whose name is those of its parts with +
between.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from rt_sched import model
from rt_sched.lowering.lower import input_role
from rt_sched.lowering.machine_input import Role

#: The stage that runs the stages of merged tasks, and its one parameter.
MERGED_STAGE, PARTS = "rt_sched.runtime.merged_stage:MergedStage", "parts"
_BY_CYCLE = (model.Policy.TIME_SLICED, model.Policy.TABLE)


def merged_name(group: Sequence[str]) -> str:
    """Such as grab+scale."""
    return "+".join(group)


def with_merged(system: model.System, groups: Sequence[tuple[str, ...]]) -> model.System:
    """`system` with each of `groups`, which have passed `check_merged`, as one task."""
    for group in groups:
        system = _merged(system, group)
    return system


def merged_if_possible(system: model.System, groups: Sequence[tuple[str, ...]]) -> tuple[model.System, list[str]]:
    """`system` with groups as one task each; as it is, with the reasons of `check_merged`, where that cannot be."""
    reasons = check_merged(system, groups)
    return (system, reasons) if reasons else (with_merged(system, groups), [])


def check_merged(system: model.System, groups: Sequence[tuple[str, ...]]) -> list[str]:
    """Every reason why groups cannot be merged, each beginning with the name of what would be the merged task."""
    tasks = {task.name: task for task in system.tasks}
    problems = []
    for group in groups:
        known = [name for name in group if name in tasks]
        reasons = [f"there is no task {name}" for name in group if name not in tasks]
        reasons += ["it takes two tasks to merge"] if len(group) < 2 else []
        reasons += [f"task {name} is merged twice" for name in group if sum(other.count(name) for other in groups) > 1]
        reasons = reasons or [why for name in known if (why := _why_alone(system, tasks[name]))]
        reasons = reasons or [why for a, b in pairwise(group) if (why := _why_apart(system, tasks[a], tasks[b]))]
        problems += [f"merged {merged_name(group)}: {reason}" for reason in dict.fromkeys(reasons)]
    return problems


def _why_alone(system: model.System, task: model.Task) -> str | None:
    """What of a task has no place in a merged one."""
    element = next(pe for d in system.devices for pe in d.processing_elements if (d.name, pe.name) == task.pe)
    let = any(one.communication is model.Communication.LET and task.name in one.path for one in system.chains)
    held = {
        "a budget": task.budget_ns is not None,
        "critical sections": bool(task.sections),
        "suspensions": bool(task.suspensions),
        "preemption points": bool(task.preemption_points_ns),
        "a miss limit": task.miss_limit is not None,
        "variants": bool(task.variants),
        "an own action at its deadline": task.deadline_action is not model.DeadlineAction.CONTINUE,
        "logical execution time": task.communication is model.Communication.LET or let,
        "a wcet in LO mode": task.execution.wcet_lo_ns is not None,
        "a limit on the disparity of its inputs": task.max_disparity_ns is not None,
        "an element whose cycle names it": element.policy in _BY_CYCLE,
    }
    for what, has in held.items():
        if has:
            return f"task {task.name} has {what}"
    safety = system.safety
    if safety is not None and task.name in (safety.arbiter, safety.primary, safety.backup):
        return f"task {task.name} has a role in the safety concept"
    named = [f"fault {one.name}" for one in system.fault_scenarios if one.target == task.name]
    named += [
        f"requirement {one.name}"
        for one in system.requirements
        if any(limit.section == "tasks" and limit.owner == task.name for limit in one.limits)
    ]
    return f"{named[0]} is about task {task.name}" if named else None


def _why_apart(system: model.System, first: model.Task, second: model.Task) -> str | None:
    """Why `second` is not what only follows `first`."""
    given = second.inputs[0] if len(second.inputs) == 1 else None
    activated = given is not None and input_role(second.activation, given) is not Role.READ
    if given is None or not activated or given.source != first.name or given.link is not None:
        return f"{second.name} does not follow {first.name} alone, on its device"
    if not isinstance(second.activation, model.OnMessage) or second.activation.jitter_ns or second.start_latency_ns:
        return f"{second.name} is not released at once by {first.name}"
    if any(one.source == first.name for task in system.tasks if task.name != second.name for one in task.inputs):
        return f"others than {second.name} read {first.name}"
    for what in ("pe", "core", "priority", "criticality", "level"):
        if getattr(first, what) != getattr(second, what):
            return f"{first.name} and {second.name} differ in {what}"
    if set(first.candidates) != set(second.candidates):
        return f"{first.name} and {second.name} differ in candidates"
    if any((first.name in mode.tasks) != (second.name in mode.tasks) for mode in system.modes):
        return f"{first.name} and {second.name} are not in the same modes"
    parts = [(a, b) for a, b in ((first.execution, second.execution), *_by_kind(first, second).values())]
    if any(a.frequency_hz != b.frequency_hz for a, b in parts):
        return f"the execution times of {first.name} and {second.name} are for different frequencies"
    for chain in system.chains:
        there = [name in chain.path for name in (first.name, second.name)]
        if any(there) and (first.name, second.name) not in pairwise(chain.path):
            return f"chain {chain.name} begins or ends between {first.name} and {second.name}"
    return None


def _by_kind(
    first: model.Task, second: model.Task
) -> dict[model.PEKind, tuple[model.ExecutionTime, model.ExecutionTime]]:
    """Times of both on the kinds of element that both declare."""
    there = dict(second.execution_by_kind)
    return {kind: (times, there[kind]) for kind, times in first.execution_by_kind if kind in there}


def _merged(system: model.System, group: tuple[str, ...]) -> model.System:
    tasks = {task.name: task for task in system.tasks}
    name, parts = merged_name(group), [tasks[one] for one in group]
    whole = _whole(name, parts)
    following = [
        replace(task, inputs=tuple(_from(given, group[-1], name) for given in task.inputs)) for task in system.tasks
    ]
    placed = [
        replace(whole, inputs=one.inputs) if one.name == group[0] else one
        for one in following
        if one.name not in group[1:]
    ]
    return replace(
        system,
        tasks=tuple(placed),
        chains=tuple(replace(one, path=_shorter(one.path, group, name)) for one in system.chains),
        modes=tuple(replace(one, tasks=_shorter(one.tasks, group, name)) for one in system.modes),
    )


def _whole(name: str, parts: Sequence[model.Task]) -> model.Task:
    first, last = parts[0], parts[-1]
    whole, by_kind = first.execution, dict(first.execution_by_kind)
    for part in parts[1:]:
        whole = _sum(whole, part.execution)
        there = dict(part.execution_by_kind)
        by_kind = {kind: _sum(times, there[kind]) for kind, times in by_kind.items() if kind in there}
    memory = [part.memory_bytes for part in parts if part.memory_bytes is not None]
    stages = all(part.stage for part in parts)
    return replace(
        first,
        name=name,
        stage=MERGED_STAGE if stages else "",
        parameters=((PARTS, tuple(map(_described, parts))),) if stages else (),
        execution=whole,
        execution_by_kind=tuple(by_kind.items()),
        deadline_ns=sum(part.deadline_ns for part in parts),
        memory_bytes=sum(memory) if memory else None,
        candidates=last.candidates,
    )


def _described(part: model.Task) -> Mapping[str, Any]:
    """What `MergedStage` needs to know of a part: with its only input, and the port that this one comes from."""
    given = part.inputs[0] if part.inputs else None
    return {
        "task": part.name,
        "stage": part.stage,
        "parameters": dict(part.parameters),
        "input": None if given is None else given.name,
        "port": None if given is None else given.port,
    }


def _sum(first: model.ExecutionTime, second: model.ExecutionTime) -> model.ExecutionTime:
    """One after the other; profiles as if both were slow together, without steps of their own where they differ."""
    bcet_ns, wcet_ns = first.bcet_ns + second.bcet_ns, first.wcet_ns + second.wcet_ns
    alike = len(first.profile_ns) == len(second.profile_ns)
    profile_ns = tuple(a + b for a, b in zip(first.profile_ns, second.profile_ns, strict=True)) if alike else ()
    return replace(
        first,
        bcet_ns=bcet_ns,
        wcet_ns=wcet_ns,
        profile_ns=profile_ns or (bcet_ns, wcet_ns),
        memory_ns=first.memory_ns + second.memory_ns,
        origin=first.origin if first.origin == second.origin else f"{first.origin} + {second.origin}",
    )


def _from(given: model.Input, last: str, name: str) -> model.Input:
    return replace(given, source=name) if given.source == last else given


def _shorter(path: tuple[str, ...], group: tuple[str, ...], name: str) -> tuple[str, ...]:
    return tuple(name if one == group[0] else one for one in path if one not in group[1:])
