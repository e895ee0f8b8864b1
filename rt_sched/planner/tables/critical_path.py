"""What depends on what, and the longest way through it."""

from __future__ import annotations

from collections.abc import Sequence

from rt_sched.planner.tables.problem import TableProblem


def in_order(problem: TableProblem) -> list[int]:
    """The jobs, each after all that it comes after; raises ValueError when they wait for each other in a circle."""
    waits = [0] * len(problem.jobs)
    following: list[list[int]] = [[] for _ in problem.jobs]
    for lag in problem.orders:
        waits[lag.after] += 1
        following[lag.before].append(lag.after)
    ready = [job for job, count in enumerate(waits) if not count]
    for job in ready:
        for after in following[job]:
            waits[after] -= 1
            if not waits[after]:
                ready.append(after)
    if len(ready) < len(problem.jobs):
        names = sorted({one.task for one, count in zip(problem.jobs, waits, strict=True) if count})
        raise ValueError(f"these tasks wait for each other in a circle: {', '.join(names)}")
    return ready


def longest_to_sink_ns(problem: TableProblem) -> list[int]:
    """For every job the longest time from its start to the end of what comes after it: its level, as list scheduling
    by critical path orders jobs (Kwok, Ahmad 1999, the b-level).
    """
    levels = [job.length_ns for job in problem.jobs]
    after: list[list[tuple[int, int]]] = [[] for _ in problem.jobs]
    for lag in problem.orders:
        after[lag.before].append((lag.after, lag.ns))
    for job in reversed(in_order(problem)):
        levels[job] = max([levels[job], *(ns + levels[follower] for follower, ns in after[job])])
    return levels


def critical_path(problem: TableProblem, levels: Sequence[int] | None = None) -> tuple[int, ...]:
    """The jobs of the longest path, from its first to its last."""
    if not problem.jobs:
        return ()
    longest = longest_to_sink_ns(problem) if levels is None else levels
    after: list[list[tuple[int, int]]] = [[] for _ in problem.jobs]
    for lag in problem.orders:
        after[lag.before].append((lag.after, lag.ns))
    path = [max(range(len(problem.jobs)), key=lambda job: (longest[job], -job))]
    while True:
        here = path[-1]
        step = next((job for job, ns in after[here] if ns + longest[job] == longest[here]), None)
        if step is None:
            return tuple(path)
        path.append(step)
