"""How many of some consecutive jobs may miss their deadline because of an overrun.

Sources: Quinton, Hanke, Ernst 2012 and Xu, Hammadeh, Kroeller, Ernst, Quinton 2015 (misses due to rare overload).
"""

from __future__ import annotations

from collections.abc import Mapping

from rt_sched.analysis.faults.overrun import Overrun, with_extra_job
from rt_sched.analysis.faults.transitions.methods import responses_of_busy_period
from rt_sched.analysis.loads.resolve import ModeLoad
from rt_sched.analysis.methods import METHODS
from rt_sched.analysis.result import Misses
from rt_sched.analysis.system.engine import TaskBound, mode_bounds
from rt_sched.analysis.system.misses import ends_otherwise, in_time, judged, load_of
from rt_sched.trace.setup import DeadlineAction, OverrunAction

#: Consecutive jobs that are looked at for a task without a weakly-hard deadline of its own.
USUAL_K = 10


def overrun_misses(
    mode: ModeLoad, overrun: Overrun, usual: Mapping[int, TaskBound], bounds: Mapping[int, TaskBound]
) -> list[Misses]:
    """Of every task with a weakly-hard deadline, and of every one that the overrun may make late.

    `usual`, `bounds`: bounds without and with the overrun.
    """
    found = []
    extended = with_extra_job(mode, overrun)
    once: dict[int, TaskBound] | None = None
    for index, one in sorted(bounds.items()):
        row = mode.setup.tasks[index]
        own = overrun.cut and index == overrun.index
        if row.weakly_hard is None and in_time(one) and not own:
            continue
        m, k = row.weakly_hard or (USUAL_K, USUAL_K)
        at_most: int | None = None
        ended = ends_otherwise(mode, index) or _aborted_in_high_mode(mode, overrun, index)
        if ended is not None:
            reason = ended
        elif not in_time(usual[index]):
            reason = "it may be late without the overrun, too"
        elif in_time(one):
            at_most, reason = 0, "no job is late"
        else:
            if once is None:
                once = mode_bounds(extended, METHODS)
            at_most, reason = _late_at_once(extended, overrun, usual, once, index, k)
        if at_most is not None and index == overrun.index:
            at_most, reason = _with_own(mode, overrun, at_most, reason, k)
        found.append(judged(one.task.name, at_most, k, None if row.weakly_hard is None else k - m, reason))
    return found


def _aborted_in_high_mode(mode: ModeLoad, overrun: Overrun, index: int) -> str | None:
    """Why jobs of a task may miss although they are not late: what overruns switches their processor."""
    row, source = mode.setup.tasks[index], mode.setup.tasks[overrun.index]
    switches = source.high_criticality and source.low_budget_ns is not None and row.processor == source.processor
    if not switches or row.high_criticality:
        return None
    return "its jobs are aborted and suppressed while its processor is in HI mode, and how often is not known"


def _with_own(mode: ModeLoad, overrun: Overrun, at_most: int, reason: str, k: int) -> tuple[int, str]:
    """Jobs of the task that its budget ends, and those that are suppressed after one that overran."""
    suppresses = mode.setup.tasks[overrun.index].overrun_action is OverrunAction.SKIP_NEXT
    if not overrun.cut and not suppresses:
        return at_most, reason
    hit = most_listed(overrun.jobs, k)
    ends = f"its budget {'ends' if overrun.cut else 'costs the next of'} {hit} of them"
    return min(k, at_most + hit), ends if not at_most else f"{reason}; {ends}"


def most_listed(jobs: tuple[int, ...], k: int) -> int:
    """Most of the numbers `jobs` among any k consecutive numbers."""
    return max((sum(first <= job < first + k for job in jobs) for first in jobs), default=0)


def _late_at_once(
    mode: ModeLoad,
    overrun: Overrun,
    usual: Mapping[int, TaskBound],
    once: Mapping[int, TaskBound],
    index: int,
    k: int,
) -> tuple[int | None, str]:
    """All that overruns falls into one busy period, which makes so many of its jobs late; with several overruns each
    may have a busy period of its own. Messages that an overrun delays elsewhere come more densely for a while, and so
    may reach many.
    """
    row = mode.setup.tasks[index]
    if row.deadline_action is DeadlineAction.SKIP_NEXT:
        return None, "a late job suppresses the next one, which is not followed"
    load = load_of(mode, once, index)
    if load is None:
        return None, "arrivals have no bound"
    delayed = [
        task.name
        for task in load.tasks
        if task.index in usual and usual[task.index].streams != once[task.index].streams
    ]
    if delayed:
        return None, f"jobs of {delayed[0]} may arrive otherwise for a while, and how many are late then is not known"
    responses = responses_of_busy_period(load, index)
    if isinstance(responses, str):
        return None, responses
    late = sum(response_ns > row.deadline_ns for response_ns in responses)
    windows = len(overrun.jobs)
    text = f"one busy period with the overrun makes {late} of its {len(responses)} jobs late"
    return min(k, late * windows), text if windows == 1 else f"{text}, and there are up to {windows} of them"
