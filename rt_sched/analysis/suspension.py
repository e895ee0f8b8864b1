"""Responses of tasks that suspend themselves, for instance a CPU job that waits for the GPU."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from rt_sched.analysis.fixed_points import Timing, fixed_point_within, require_constrained

#: Suspending tasks above a level for which every choice is tried.
_MOST_CHOICES = 10


def suspending_response_times(tasks: Sequence[Timing], suspension_ns: Sequence[int]) -> list[int | None]:
    """Bounds on the responses of dynamic self-suspending tasks under preemptive fixed priorities, highest first.

    A job of task i executes for at most its wcet and waits for at most `suspension_ns[i]` in total, at any points. Each
    suspending higher task counts either with the jitter R - C or with its suspension as delay of the tasks above it,
    whichever choice gives the least bound; all choices for up to ten such tasks, else the two uniform ones. Waiting in
    the queue of another processor is part of the suspension. Suspension as jitter S would be unsafe.

    Assumes deadline <= period, no release jitter, no suspension inside critical sections; a bound above its deadline
    ends the reasoning for the tasks below, which get None. Sufficient.
    Source: Chen, Nelissen, Huang 2016, theorem 1.

    Raises AnalysisNotApplicable for other tasks.
    """
    require_constrained(tasks, "the suspension analysis", "Lower the deadline to the period.")
    responses: list[int | None] = []
    known: list[int] = []
    for own, mine in enumerate(tasks):
        if len(known) < own:
            responses.append(None)
            continue
        bounds = [
            bound_ns
            for choice in _choices(suspension_ns[:own])
            if (bound_ns := _bound(mine, suspension_ns[own], tasks[:own], suspension_ns, known, choice)) is not None
        ]
        responses.append(min(bounds, default=None))
        if bounds and min(bounds) <= mine.deadline_ns:
            known.append(min(bounds))
    return responses


def suspension_as_blocking(tasks: Sequence[Timing], suspension_ns: Sequence[int]) -> list[int | None]:
    """Bounds as in Liu 2000: own suspension, and min(C, S) of every higher task, count as blocking.

    Assumptions as for `suspending_response_times`, whose bounds are never above these. None above the deadline.
    Source: Liu 2000, page 164, proven by Chen, Nelissen, Huang 2016.
    """
    require_constrained(tasks, "suspension as blocking", "Lower the deadline to the period.")
    responses: list[int | None] = []
    for own, mine in enumerate(tasks):
        if any(response is None for response in responses):
            responses.append(None)
            continue
        higher = tasks[:own]
        waits = zip(higher, suspension_ns, strict=False)
        blocking_ns = suspension_ns[own] + sum(min(task.wcet_ns, wait_ns) for task, wait_ns in waits)
        responses.append(_within(mine, blocking_ns, [(task, 0) for task in higher]))
    return responses


def _choices(suspension_ns: Sequence[int]) -> list[tuple[bool, ...]]:
    """Which higher tasks count by delay; those that never suspend always do, which costs nothing."""
    suspending = [wait_ns > 0 for wait_ns in suspension_ns]
    if sum(suspending) > _MOST_CHOICES:
        return [tuple(not waits for waits in suspending), tuple(True for _ in suspending)]
    return list(product(*((False, True) if waits else (True,) for waits in suspending)))


def _bound(
    mine: Timing,
    own_wait_ns: int,
    higher: Sequence[Timing],
    suspension_ns: Sequence[int],
    known_ns: Sequence[int],
    by_delay: Sequence[bool],
) -> int | None:
    jitters: list[tuple[Timing, int]] = []
    delay_ns = 0
    for position in reversed(range(len(higher))):
        delay_ns += suspension_ns[position] if by_delay[position] else 0
        carried_ns = 0 if by_delay[position] else known_ns[position] - higher[position].wcet_ns
        jitters.append((higher[position], delay_ns + carried_ns))
    return _within(mine, own_wait_ns, jitters)


def _within(mine: Timing, waits_ns: int, higher: Sequence[tuple[Timing, int]]) -> int | None:
    """Least fixed point up to the deadline, None when there is none."""
    own_ns = mine.wcet_ns + mine.blocking_ns + waits_ns
    return fixed_point_within(
        lambda w: own_ns + sum(-(-(w + jitter_ns) // task.period_ns) * task.wcet_ns for task, jitter_ns in higher),
        own_ns,
        mine.deadline_ns,
    )
