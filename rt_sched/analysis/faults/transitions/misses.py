"""How many of some consecutive jobs may miss their deadline because of a change of mode among them.

Where both modes keep a task in time, only jobs that the change may touch are late. On a processor that orders its jobs
by fixed priorities these lie in one busy period of the task, if whatever lives through the change blocks no longer than
in the mode after it, and if no arrival is later than in either mode: messages that the change delays elsewhere come
more densely for a while, and so may touch many busy periods. The number of late jobs of that one period, for the worst
position of the change, bounds the misses.

Source: Tindell, Burns, Wellings 1992 (position of the change); Xu, Hammadeh, Kroeller, Ernst, Quinton 2015 (misses of
one busy period).
"""

from __future__ import annotations

from collections.abc import Mapping

from rt_sched.analysis.faults.transitions.loads import Presence, Transition
from rt_sched.analysis.faults.transitions.methods import responses_across
from rt_sched.analysis.loads.load import LoadTask
from rt_sched.analysis.result import Misses
from rt_sched.analysis.system.engine import TaskBound
from rt_sched.analysis.system.misses import ends_otherwise, in_time, judged, load_of
from rt_sched.trace.setup import DeadlineAction

Bounds = Mapping[int, TaskBound]


def misses_across(change: Transition, before: Bounds, after: Bounds, across: Bounds) -> dict[int, Misses]:
    """Of every task with a weakly-hard deadline that goes on or comes, by its index.

    `before`, `after`: bounds of the two modes; `across`: while the mode changes.
    """
    found = {}
    for index, one in across.items():
        constraint = change.load.setup.tasks[index].weakly_hard
        if constraint is None or change.presence[index] is Presence.REMOVED:
            continue
        m, k = constraint
        at_most, reason = _at_most(change, before, after, across, index)
        found[index] = judged(one.task.name, None if at_most is None else min(k, at_most), k, k - m, reason)
    return found


def _at_most(change: Transition, before: Bounds, after: Bounds, across: Bounds, index: int) -> tuple[int | None, str]:
    row = change.load.setup.tasks[index]
    reason = ends_otherwise(change.load, index)
    if reason is not None:
        return None, reason
    if in_time(across[index]):
        return 0, "no job is late"
    for bounds in (before, after):
        if index in bounds and not in_time(bounds[index]):
            return None, "it may be late without the change, too"
    if row.deadline_action is DeadlineAction.SKIP_NEXT:
        return None, "a late job suppresses the next one, which is not followed"
    load = load_of(change.load, across, index)
    if load is None:
        return None, "arrivals have no bound"
    reason = _reaches_further(change, before, after, across, [task.index for task in load.tasks])
    if reason is not None:
        return None, reason
    responses = responses_across(change, load, index)
    if isinstance(responses, str):
        return None, responses
    late = max(sum(one > row.deadline_ns for one in each) for each in responses)
    return late, f"one busy period with the change makes {late} of its jobs late"


def _reaches_further(
    change: Transition, before: Bounds, after: Bounds, across: Bounds, indices: list[int]
) -> str | None:
    """Why a change may touch more than one busy period of a processor with these tasks; None where it cannot."""
    for index in indices:
        name = across[index].task.name
        if any(index in bounds and bounds[index].streams != across[index].streams for bounds in (before, after)):
            return f"jobs of {name} may arrive otherwise for a while, and how many are late then is not known"
        if change.presence[index] is Presence.REMOVED:
            if across[index].task.locks:
                return f"a job of {name} goes on until it holds no lock, and how many it makes late is not known"
        elif _blocks(across[index].task) != _blocks(after[index].task):
            return f"a job of {name} that lives through the change may block longer, and how often is not known"
    return None


def _blocks(task: LoadTask) -> tuple[object, ...]:
    """What a job can do to others beside its execution."""
    return task.region_ns, task.last_region_ns, task.blocking, task.spin_ns, task.overhead_ns
