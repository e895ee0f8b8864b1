"""The jobs of a task by the row that declared it when they arrived: a takeover may have put it elsewhere meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from rt_sched.trace.checker.declared import terms_of
from rt_sched.trace.records import Int64s, Trace
from rt_sched.trace.setup import Setup, TaskRow


def with_changes(setup: Setup, trace: Trace) -> Setup:
    """What a mode declares, with the changes of tasks and links that a run had."""
    run = trace.setup
    return setup if run is None else replace(setup, task_changes=run.task_changes, route_changes=run.route_changes)


def declared_jobs(setup: Setup, trace: Trace, task: int) -> Iterator[tuple[TaskRow, Int64s]]:
    """Every row of a task over a run with its jobs, the first one that of `setup`."""
    rows = np.flatnonzero(trace.jobs.task == task)
    arrival_ns = trace.jobs.arrival_ns[rows]
    for term in terms_of(with_changes(setup, trace), task):
        yield term.row, rows[(arrival_ns >= term.begin_ns) & (arrival_ns < term.end_ns)]
