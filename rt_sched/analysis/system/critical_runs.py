"""Legal runs that bring about the worst case of a task: arrivals that the system leaves open are put where it happens.

Arrivals of periodic tasks are what their offsets say. Those of sporadic tasks, and the jitter of all, are free.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from rt_sched.analysis.loads.load import LoadTask, ProcessorLoad
from rt_sched.analysis.result import Bound, TermKind
from rt_sched.lowering.machine_input import MachineInput, TaskRow
from rt_sched.model import Policy

#: Most arrivals of one task that are written down.
_MOST_ARRIVALS = 20_000


def critical_run(
    given: MachineInput,
    free: Sequence[bool],
    load: ProcessorLoad,
    task: LoadTask,
    bound: Bound | None,
    *,
    behind_ns: int = 0,
) -> MachineInput:
    """The run in which all tasks of one processor are released together, and what blocks `task` 1 ns before.

    `free[i]`: whether arrivals of task i are, but for their separation. Under EDF the job at stake arrives where
    `bound` found the worst, so that its busy period begins with the others. `behind_ns`: by how much later `task` is
    released, so that jobs of the same level or deadline go first.
    """
    by_deadline = load.policy is Policy.EDF
    late_ns, job = 0, 0
    if by_deadline and bound is not None:
        kinds = (TermKind.RELEASE_JITTER, TermKind.EARLIER_ARRIVAL)
        late_ns, job = -sum(term.value_ns for term in bound.terms if term.kind in kinds), bound.job
    blocker = _blocker(load, task, late_ns + task.deadline_ns if by_deadline else None)
    before_ns = 1 + (0 if blocker is None else _region_start_ns(given.tasks[blocker.index], load))
    rows = list(given.tasks)
    anchor_ns = _anchor_ns(rows, free, load, before_ns)
    for other in load.tasks:
        row = rows[other.index]
        arrival_ns = anchor_ns - row.jitter_ns
        if blocker is not None and other.index == blocker.index:
            rows[other.index] = _arriving(row, free[other.index], anchor_ns - before_ns, 0, given.horizon_ns)
            continue
        if other.index == task.index and by_deadline and bound is not None:
            arrival_ns = anchor_ns + late_ns - job * other.streams[0].period_ns
        more_ns = behind_ns if other.index == task.index else 0
        rows[other.index] = _arriving(
            row, free[other.index], arrival_ns + more_ns, anchor_ns + more_ns, given.horizon_ns
        )
    return replace(given, tasks=tuple(rows))


def latest_run(given: MachineInput, tasks: Sequence[int]) -> MachineInput:
    """The run in which the first jobs of these timed tasks are released as late as their jitter allows."""
    rows = list(given.tasks)
    for index in tasks:
        row = rows[index]
        if row.timed:
            count = min(_MOST_ARRIVALS, given.horizon_ns // (row.separation_ns or 1) + 1)
            rows[index] = replace(row, explicit_jitters_ns=(row.jitter_ns,) * count)
    return replace(given, tasks=tuple(rows))


def _blocker(load: ProcessorLoad, task: LoadTask, deadline_ns: int | None) -> LoadTask | None:
    """The less urgent task whose longest region blocks most; None when none can."""
    worse = [
        other
        for other in load.tasks
        if other.index != task.index
        and other.region_ns > 1
        and (other.level > task.level if deadline_ns is None else other.deadline_ns > deadline_ns)
    ]
    return max(worse, key=lambda other: (other.region_ns, other.name), default=None)


def _region_start_ns(row: TaskRow, load: ProcessorLoad) -> int:
    """Executed time before the longest region of a job."""
    if row.preemption_points_ns is None or not load.row.preemptive or not isinstance(row.demand_ns, int):
        return 0
    marks = [0, *(point for point in row.preemption_points_ns if 0 < point < row.demand_ns), row.demand_ns]
    return max(pairwise(marks), key=lambda part: part[1] - part[0])[0]


def _anchor_ns(rows: Sequence[TaskRow], free: Sequence[bool], load: ProcessorLoad, before_ns: int) -> int:
    """When all are released: as late as the jitter of the periodic ones allows, and late enough for the others."""
    fixed = [rows[task.index] for task in load.tasks if not free[task.index] and rows[task.index].timed]
    if fixed:
        return max(max(row.offset_ns for row in fixed), min(row.offset_ns + row.jitter_ns for row in fixed))
    return before_ns + max((rows[task.index].jitter_ns for task in load.tasks), default=0)


def _arriving(row: TaskRow, free: bool, arrival_ns: int, release_ns: int, horizon_ns: int) -> TaskRow:
    """The task with its first arrival at `arrival_ns`, if that is free, and its first release at `release_ns`.

    What jitter and the begin of the run do not allow is as near to that as may be; later jobs follow at once.
    """
    if not row.timed:
        return row
    first_ns = max(arrival_ns, 0) if free else row.offset_ns
    period_ns = row.separation_ns or 1
    count = min(_MOST_ARRIVALS, max(0, horizon_ns - first_ns) // period_ns + 1)
    late_ns = min(max(release_ns - first_ns, 0), row.jitter_ns)
    jitters = (late_ns, *[0] * count) if row.jitter_ns else ()
    row = replace(row, explicit_jitters_ns=jitters)
    if not free:
        return row
    arrivals = tuple(first_ns + number * period_ns for number in range(count))
    return replace(row, rate_hz=None, explicit_arrivals_ns=arrivals, extra_separation_ns=0)
