"""Bounds where levels do not order all that runs on a core: what stands above the tasks interrupts them all the same.

Under EDF, jobs of the processes above the tasks have deadlines as near as can be. As long as every job of a task is in
time, whoever comes while it is there has the earlier deadline then, so that this is the very schedule; and by the
bounds for it every job is.

Where nothing preempts, a job that has started goes on until it ends, but for the processes above. It is as long as it
may be with all of them that come meanwhile (least fixed point), and when it ends, none of them is there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from rt_sched.analysis.loads.load import LoadTask, ProcessorLoad
from rt_sched.analysis.methods import Found, Method
from rt_sched.analysis.result import Bound, Term, TermKind
from rt_sched.analysis.theory.fixed_points import NotConverged, least_fixed_point
from rt_sched.model import Plan, Policy, Processor

#: Relative deadline of what goes before all others.
_AT_ONCE_NS = 1


def by_levels(processor: Processor) -> bool:
    """Whether levels order its jobs at any time, so that what stands above is one more level."""
    return processor.policy is Policy.FIXED_PRIORITY and processor.preemptive


def interrupted_methods(methods: Sequence[Method], plan: Plan, first: int) -> Sequence[Method]:
    """`methods` for a system whose tasks from the index `first` on stand above all others, whatever the policy."""
    if all(by_levels(one) for one in plan.processors):
        return methods
    return tuple(_interrupted(one, first) for one in methods)


def _interrupted(method: Method, first: int) -> Method:
    def respond(load: ProcessorLoad) -> list[Found]:
        above = [task for task in load.tasks if task.index >= first]
        if not above or by_levels(load.processor):
            return method.respond(load)
        if load.processor.preemptive and load.policy is Policy.EDF:
            return _by_deadlines(method, load, first)
        return _one_at_a_time(method, load, above)

    return dataclasses.replace(method, respond=respond)


def _by_deadlines(method: Method, load: ProcessorLoad, first: int) -> list[Found]:
    near = [dataclasses.replace(t, deadline_ns=_AT_ONCE_NS) if t.index >= first else t for t in load.tasks]
    found = method.respond(dataclasses.replace(load, tasks=tuple(near)))
    for task, one in zip(load.tasks, found, strict=True):
        if task.index < first and (one.bound is None or one.bound.value_ns > task.deadline_ns):
            why = one.reason or f"{task.name} may be late, and for late jobs it is not analysed what stands above them"
            return [Found(None, why) for _ in load.tasks]
    return [_not_exact(one) for one in found]


def _one_at_a_time(method: Method, load: ProcessorLoad, above: Sequence[LoadTask]) -> list[Found]:
    switch_ns = load.row.switch_ns
    longer = tuple(_longer(task, above, switch_ns) for task in load.tasks if task not in above)
    found = iter(method.respond(dataclasses.replace(load, tasks=longer)) if longer else ())
    return [
        Found(_bound_above(task, above, switch_ns, method)) if task in above else _not_exact(next(found))
        for task in load.tasks
    ]


def _longer(task: LoadTask, above: Sequence[LoadTask], switch_ns: int) -> LoadTask:
    more_ns = _with_all(task.cost_ns, above, switch_ns) - task.cost_ns
    return dataclasses.replace(
        task,
        overhead_ns=task.overhead_ns + more_ns,
        region_ns=task.region_ns + more_ns,
        last_region_ns=task.last_region_ns + more_ns,
    )


def _with_all(cost_ns: int, above: Sequence[LoadTask], switch_ns: int) -> int:
    """How long `cost_ns` of execution may take with all jobs of `above`, each with the switch to what it interrupts."""
    flows = [
        (task.cost_ns + switch_ns, one.period_ns, one.jitter_ns + task.release_jitter_ns)
        for task in above
        for one in task.streams
    ]
    if sum(cost / period for cost, period, _ in flows) >= 1:
        raise NotConverged("what stands above the tasks asks for the whole core")

    def needed_ns(window_ns: int) -> int:
        return cost_ns + sum(each_ns * -(-(window_ns + late_ns) // period_ns) for each_ns, period_ns, late_ns in flows)

    return least_fixed_point(needed_ns, max(cost_ns, 1))


def _bound_above(task: LoadTask, above: Sequence[LoadTask], switch_ns: int, method: Method) -> Bound:
    """All of them may come at one time."""
    value_ns = _with_all(0, above, switch_ns) + task.release_jitter_ns
    term = Term(TermKind.INTERFERENCE, value_ns, "all that stands above the tasks")
    return Bound(value_ns, (term,), method.name, method.source, exact=False)


def _not_exact(one: Found) -> Found:
    return one if one.bound is None else dataclasses.replace(one, bound=dataclasses.replace(one.bound, exact=False))
