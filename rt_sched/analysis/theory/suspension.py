"""Responses of tasks that suspend themselves, for instance a CPU job that waits for the GPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from rt_sched.analysis.theory.fixed_points import Timing, fixed_point_within, require_constrained

#: Suspending tasks above a level for which every choice is tried.
_MOST_CHOICES = 10


def suspending_response_times(tasks: Sequence[Timing], suspension_ns: Sequence[int]) -> list[int | None]:
    """Bounds on the responses of dynamic self-suspending tasks under preemptive fixed priorities, highest first.

    As `suspending_worst_cases`, which says what is counted, for tasks without release jitter. None above the deadline
    and below a task whose bound is.

    Raises AnalysisNotApplicable for other tasks.
    """
    require_constrained(tasks, "the suspension analysis", "Lower the deadline to the period.")
    found = suspending_worst_cases(tasks, suspension_ns)
    missed = [i for i, (task, one) in enumerate(zip(tasks, found, strict=True)) if _misses(task, one)]
    first = missed[0] if missed else len(tasks)
    return [one.window_ns if one is not None and i < first else None for i, one in enumerate(found)]


def _misses(task: Timing, one: SuspendedCase | None) -> bool:
    return one is None or one.window_ns > task.deadline_ns


@dataclass(frozen=True, slots=True)
class SuspendedCase:
    """A job that ends at most `window_ns` after its release, and how many jobs of each higher task that counts."""

    window_ns: int
    jobs: tuple[int, ...]


def suspending_worst_cases(
    tasks: Sequence[Timing],
    suspension_ns: Sequence[int],
    *,
    late_ns: int = 0,
) -> list[SuspendedCase | None]:
    """What bounds each of some self-suspending tasks under fixed priorities, highest first; None where nothing does.

    A job of task i executes for at most its wcet, waits for at most `suspension_ns[i]` in total, at any points, and is
    blocked for at most its blocking. Jobs of a higher task count that can execute between the release of a job and its
    end: those released within it, and those that a response R - C lets reach into it. Where nothing jitters and nothing
    blocks, each suspending higher task may instead count with its suspension as a delay of the tasks above it,
    whichever choice gives the least bound; all choices for up to ten such tasks, else the two uniform ones. Waiting in
    the queue of another processor is part of the suspension. Suspension as jitter S would be unsafe.

    A task has a bound as long as its jobs end before the next arrives: window + jitter <= period. `late_ns`: by how
    much work that is counted with a job, such as the switch back from it, may follow its end.
    Source: Chen, Nelissen, Huang 2016.
    """
    free = not late_ns and not any(t.jitter_ns or t.blocking_ns for t in tasks)
    cases: list[SuspendedCase | None] = []
    for own, mine in enumerate(tasks):
        windows = [one.window_ns for one in cases if one is not None]
        if len(windows) < own:
            cases.append(None)
            continue
        own_ns = mine.wcet_ns + mine.blocking_ns + suspension_ns[own]
        found = []
        for choice in _choices(suspension_ns[:own]) if free else [(False,) * own]:
            extra_ns = _extra(tasks[:own], suspension_ns, windows, choice, late_ns)
            window_ns = _within(own_ns, list(zip(tasks[:own], extra_ns, strict=True)), mine.period_ns - mine.jitter_ns)
            if window_ns is not None:
                jobs = tuple(
                    -(-(window_ns + more_ns) // task.period_ns) for task, more_ns in zip(tasks, extra_ns, strict=False)
                )
                found.append(SuspendedCase(window_ns, jobs))
        cases.append(min(found, key=lambda one: one.window_ns, default=None))
    return cases


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
        own_ns = mine.wcet_ns + mine.blocking_ns + blocking_ns
        responses.append(_within(own_ns, [(task, 0) for task in higher], mine.deadline_ns))
    return responses


def _choices(suspension_ns: Sequence[int]) -> list[tuple[bool, ...]]:
    """Which higher tasks count by delay; those that never suspend always do, which costs nothing."""
    suspending = [wait_ns > 0 for wait_ns in suspension_ns]
    if sum(suspending) > _MOST_CHOICES:
        return [tuple(not waits for waits in suspending), tuple(True for _ in suspending)]
    return list(product(*((False, True) if waits else (True,) for waits in suspending)))


def _extra(
    higher: Sequence[Timing],
    suspension_ns: Sequence[int],
    windows_ns: Sequence[int],
    by_delay: Sequence[bool],
    late_ns: int,
) -> list[int]:
    """By how much the window of each higher task is longer than that of the job at stake."""
    extra_ns: list[int] = []
    delay_ns = 0
    for position in reversed(range(len(higher))):
        delay_ns += suspension_ns[position] if by_delay[position] else 0
        task = higher[position]
        carried_ns = 0 if by_delay[position] else max(0, windows_ns[position] - task.wcet_ns) + late_ns
        extra_ns.append(delay_ns + carried_ns + task.jitter_ns)
    return extra_ns[::-1]


def _within(own_ns: int, higher: Sequence[tuple[Timing, int]], limit_ns: int) -> int | None:
    """Least fixed point up to the limit, None when there is none."""
    return fixed_point_within(
        lambda w: own_ns + sum(-(-(w + extra_ns) // task.period_ns) * task.wcet_ns for task, extra_ns in higher),
        own_ns,
        limit_ns,
    )
