"""Critical sections of a paced run beside what was declared of them, and the jobs that were to do less."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from rt_sched.analysis.measured.deviation import Deviation
from rt_sched.analysis.measured.monitors import Monitor, monitor_of
from rt_sched.runtime.paced.faults.injector import Landed
from rt_sched.runtime.paced.order import PacedOrder, PacedOutcome
from rt_sched.trace.records import Trace
from rt_sched.trace.setup import OverrunAction
from rt_sched.units import ceil_int


def sections_document(order: PacedOrder, outcome: PacedOutcome) -> dict[str, Any] | None:
    """None for a system in which no task holds a resource."""
    if not any(task.sections for task in order.setup.tasks):
        return None
    record, setup = outcome.sections, order.setup
    name = [task.name for task in setup.tasks]
    return {
        "resources": [
            {
                "resource": resource.name,
                "protocol": resource.protocol.name.lower(),
                "mechanism": mechanism,
                "abandoned": [
                    {
                        "task": None if one.task is None else name[one.task],
                        "pid": one.pid,
                        "found_by": None if one.found_by is None else name[one.found_by],
                        "found_ns": one.time_ns,
                    }
                    for one in record.abandoned
                    if one.resource == index
                ],
            }
            for index, (resource, mechanism) in enumerate(zip(setup.resources, record.mechanisms, strict=True))
        ],
        "held": [
            {
                "task": name[one.task],
                "resource": setup.resources[one.resource].name,
                "sections": one.entered,
                "declared_ns": declared_ns(order, one.task, one.resource),
                "executed_max_ns": one.executed_max_ns,
                "held_max_ns": one.held_max_ns,
                "wait_max_ns": one.wait_max_ns,
                "longer": one.longer,
                "long_waits": one.long_waits,
            }
            for one in record.taken
        ],
        "long_waits": [
            {
                "task": name[one.task],
                "job": one.job,
                "resource": setup.resources[one.resource].name,
                "time_ns": one.time_ns,
            }
            for one in record.long_waits
        ],
    }


def section_monitors(order: PacedOrder, outcome: PacedOutcome) -> tuple[Monitor, ...]:
    """Whether sections executed for as long as declared, and nobody else held their resources."""
    found = monitor_of("sections", "executed time inside a critical section", lambda: _looked(order, outcome))
    return () if found is None else (found,)


def declared_ns(order: PacedOrder, task: int, resource: int) -> int:
    """The longest section of a task on a resource."""
    sections = order.setup.tasks[task].sections
    return max(one.end_ns - one.start_ns for one in sections if one.resource == resource)


def _looked(order: PacedOrder, outcome: PacedOutcome) -> Iterator[tuple[int, list[Deviation]]]:
    for one in outcome.sections.taken:
        limit_ns = declared_ns(order, one.task, one.resource)
        name = order.setup.tasks[one.task].name
        found = [
            Deviation(name, longer.job, longer.time_ns, longer.executed_ns, limit_ns) for longer in one.first_longer
        ]
        yield one.entered, found
    for blow, landed in zip(order.blows, outcome.landed, strict=False):
        if blow.resource is not None and landed.time_ns is not None:
            yield 1, [_held_from_outside(order, blow.resource, blow.lasts_ns or 0, landed)]


def _held_from_outside(order: PacedOrder, resource: int, lasts_ns: int, landed: Landed) -> Deviation:
    return Deviation(order.setup.resources[resource].name, 0, landed.time_ns or 0, lasts_ns, 0)


def degraded_document(order: PacedOrder, outcome: PacedOutcome, trace: Trace) -> list[dict[str, Any]]:
    """Of every task whose jobs do less after an overrun: which did, and how long the longest of them took."""
    rows = []
    for index, (task, journal) in enumerate(zip(order.setup.tasks, outcome.journals, strict=True)):
        if task.budget_ns is None or task.overrun_action is not OverrunAction.DEGRADE:
            continue
        mine = np.flatnonzero(journal["degraded"])
        executed_ns = [ceil_int(int(one) * order.rate) for one in journal["executed_ns"][mine]]
        rows.append(
            {
                "task": task.name,
                "jobs": mine.tolist(),
                "overruns": int(np.count_nonzero(trace.jobs.overrun[trace.jobs.task == index])),
                "declared_ns": task.degraded_demand_ns,
                "executed_max_ns": max(executed_ns, default=None),
                "longer": sum(one > (task.degraded_demand_ns or 0) for one in executed_ns),
            }
        )
    return rows
