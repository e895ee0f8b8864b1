"""Demands of jobs as they were declared: given, drawn, or cut after an overrun (semantics 8, 17)."""

from __future__ import annotations

from bisect import bisect_left

import numpy as np

from rt_sched.trace.checker.draws import DEMAND, bits_of, demands_of
from rt_sched.trace.checker.history import History
from rt_sched.trace.records import Int64s
from rt_sched.trace.setup import OverrunAction


def declared_demands(history: History) -> Int64s:
    """int64[n jobs]: demands at the first frequencies."""
    jobs = history.trace.jobs
    declared = np.zeros(len(jobs), np.int64)
    for one in history.declared:
        index, task, mine = one.task, one.row, one.jobs
        if not len(mine):
            continue
        if isinstance(task.demand_ns, int):
            declared[mine] = task.demand_ns
        elif len(task.demand_ns) == 1:
            declared[mine] = task.demand_ns[0]
        else:
            declared[mine] = demands_of(task.demand_ns, bits_of(history.trace.seed, index, jobs.number[mine], DEMAND))
        first = int(jobs.number[mine[0]])
        given = np.array(task.explicit_demands_ns[first : first + len(mine)], np.int64)
        declared[mine[: len(given)]] = given
    for index, task in enumerate(history.setup.tasks):
        if task.overrun_action is OverrunAction.DEGRADE and task.degraded_demand_ns is not None:
            for job in degraded_jobs(history, index):
                declared[job] = min(int(declared[job]), task.degraded_demand_ns)
    return declared


def degraded_jobs(history: History, task: int) -> list[int]:
    """The next jobs to arrive after an overrun whose action is `degrade`."""
    return next_arrivals(
        history,
        task,
        [
            time_ns
            for job in history.jobs_of_task[task].tolist()
            for time_ns, _, action, _ in history.enforcements.get(job, ())
            if action == OverrunAction.DEGRADE
        ],
    )


def next_arrivals(history: History, task: int, instants_ns: list[int]) -> list[int]:
    """The first jobs of a task that arrive at or after each instant of phase 4; several may share one.

    A task that is removed or moves, in phase 1, forgets what was said to it before; what a lock owner that outlives the
    removal says later in that instant stays.
    """
    mine = history.jobs_of_task[task]
    arrivals = history.trace.jobs.arrival_ns[mine].tolist()
    forgets = history.forgets[task]
    found: set[int] = set()
    for time_ns in instants_ns:
        place = bisect_left(arrivals, time_ns)
        if place < len(arrivals) and not any(time_ns < at_ns <= arrivals[place] for at_ns in forgets):
            found.add(int(mine[place]))
    return sorted(found)
