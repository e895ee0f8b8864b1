"""Chains of periodic tasks by brute force, from instants alone: an independent reference for bounds and simulation.

Tasks are (execution time, period, offset) in ticks, on one core by fixed priority in the order given for `implicit`,
where every job executes for its whole time; LET tasks read at their release and publish a period later. What is
published at an instant is read at that instant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import lcm

Task = tuple[int, int, int]


@dataclass(frozen=True)
class Times:
    """Largest values over a hyperperiod after the start. `age_until_replaced`: until the next output that differs."""

    reaction: int
    latency: int
    data_age: int
    age_until_replaced: int


def let_jobs(task: Task, end: int) -> list[tuple[int, int]]:
    """Read and publication of every job."""
    _, period, offset = task
    return [(at, at + period) for at in range(offset, end, period)]


def implicit_jobs(tasks: Sequence[Task], end: int) -> list[list[tuple[int, int]]]:
    """Start and end of every job of every task, tick by tick, the first task being the most urgent."""
    waiting: list[list[int]] = [[] for _ in tasks]
    found: list[list[tuple[int, int]]] = [[] for _ in tasks]
    left, start = [0] * len(tasks), [0] * len(tasks)
    for now in range(end):
        for place, (_, period, offset) in enumerate(tasks):
            if now >= offset and (now - offset) % period == 0:
                waiting[place].append(now)
        running = next((place for place in range(len(tasks)) if waiting[place]), None)
        if running is None:
            continue
        if left[running] == 0:
            left[running], start[running] = tasks[running][0], now
        left[running] -= 1
        if left[running] == 0:
            waiting[running].pop(0)
            found[running].append((start[running], now + 1))
    return found


def chain_times(jobs: Sequence[Sequence[tuple[int, int]]], tasks: Sequence[Task], chain: Sequence[int]) -> Times:
    """Times of the chain of tasks `chain`; `jobs`: read and publication of the jobs of each task."""
    periods = [tasks[place][1] for place in chain]
    cycle = lcm(*periods)
    first = max(offset for _, _, offset in tasks) + 2 * sum(2 * period for period in periods)
    reaction = latency = 0
    head = jobs[chain[0]]
    for number, (read, visible) in enumerate(head):
        if number and first <= read < first + cycle:
            at = visible
            for place in chain[1:]:
                at = next(published for begun, published in jobs[place] if begun >= at)
            latency = max(latency, at - read)
            reaction = max(reaction, at - head[number - 1][0])
    outputs = [(published, _behind(jobs, chain, begun)) for begun, published in jobs[chain[-1]] if begun >= first]
    age = max(published - read for published, read in outputs if published < first + 2 * cycle)
    replaced = 0
    for (_, read), (published, newer) in pairwise(outputs):
        if newer != read and published < first + 3 * cycle:
            replaced = max(replaced, published - read)
    return Times(reaction, latency, age, replaced)


def _behind(jobs: Sequence[Sequence[tuple[int, int]]], chain: Sequence[int], begun: int) -> int:
    """The first task's read behind what is read at `begun` by the last."""
    for place in reversed(chain[:-1]):
        begun = max((start for start, published in jobs[place] if published <= begun), default=0)
    return begun
