"""Candidates in which everything that is open is drawn."""

from __future__ import annotations

import numpy as np

from rt_sched.search.candidates import Candidate, longest, period_ns
from rt_sched.search.space import Space
from rt_sched.trace.records import Int64s

Generator = np.random.Generator


def random_candidate(space: Space, rng: Generator) -> Candidate:
    """Every kind of choice in one of several manners, task by task: as a whole, evenly, at the ends."""
    start = longest(space)
    tasks = space.freedoms.tasks
    return Candidate(
        arrivals=tuple(
            None if mine is None else _arrivals(space, index, rng) for index, mine in enumerate(start.arrivals)
        ),
        jitters=tuple(
            None if mine is None else values_between(rng, len(mine), 0, task.jitter_ns)
            for mine, task in zip(start.jitters, tasks, strict=True)
        ),
        demands=tuple(
            None if mine is None else values_between(rng, len(mine), task.shortest_ns, task.longest_ns)
            for mine, task in zip(start.demands, tasks, strict=True)
        ),
        waits=tuple(
            None
            if mine is None
            else np.stack([values_between(rng, len(mine), *ends) for ends in task.suspensions_ns], axis=1)
            for mine, task in zip(start.waits, tasks, strict=True)
        ),
        off=tuple(
            np.stack(
                [
                    values_between(rng, len(mine), -sensor.capture_jitter_ns, sensor.capture_jitter_ns),
                    values_between(rng, len(mine), -sensor.jitter_ns, sensor.jitter_ns),
                ],
                axis=1,
            )
            for mine, sensor in zip(start.off, space.freedoms.sensors, strict=True)
        ),
        phases=random_phases(space, rng),
        clocks=tuple(int(rng.integers(least, most, endpoint=True)) for _, least, most in space.freedoms.clocks),
    )


def random_phases(space: Space, rng: Generator) -> tuple[tuple[str, int], ...]:
    """Every group of sensors anywhere in its period."""
    periods = {sensor.group: period_ns(sensor) for sensor in space.freedoms.sensors}
    return tuple((group, int(rng.integers(0, max(length_ns, 1)))) for group, length_ns in periods.items())


def values_between(rng: Generator, count: int, least: int, most: int) -> Int64s:
    """Evenly, all at an end, each at an end, mostly at the upper one, or at the upper one until somewhere."""
    if least == most:
        return np.full(count, most, np.int64)
    manner = rng.integers(0, 6)
    even = rng.integers(least, most, size=count, endpoint=True, dtype=np.int64)
    if manner == 0:
        return even
    if manner == 1:
        return np.full(count, most, np.int64)
    if manner == 2:
        return np.full(count, least, np.int64)
    if manner == 3:
        return np.where(rng.random(count) < 0.5, least, most).astype(np.int64)
    if manner == 4:
        return np.where(rng.random(count) < 0.9, most, even).astype(np.int64)
    return np.where(np.arange(count) <= rng.integers(0, count + 1), most, least).astype(np.int64)


def _arrivals(space: Space, index: int, rng: Generator) -> Int64s:
    """First anywhere in the first period, then densely, with pauses, or with distances drawn evenly."""
    task = space.freedoms.tasks[index]
    least, most = task.separation_ns, task.most_separation_ns
    count, ceiling = space.jobs[index], 2 * least if most is None else most
    pause = rng.choice((0.0, 0.0, 0.1, 1.0))
    paused = rng.random(count) < pause
    gaps = np.where(paused, rng.integers(least, ceiling, size=count, endpoint=True, dtype=np.int64), least)
    times = int(rng.integers(0, least)) + np.concatenate(([0], np.cumsum(gaps)))
    return times[times < space.horizon_ns].astype(np.int64)
