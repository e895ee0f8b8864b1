"""Where the jobs of a paced run were, and what became of them, when tasks moved and devices were lost on the way."""

from __future__ import annotations

import numpy as np

from rt_sched.trace.records import Bools, EventKind, Int64s, JobStatus
from rt_sched.trace.setup import FaultTarget, Setup

#: An event as a row: time, kind, processor, task, job, value.
EventRow = tuple[int, int, int, int, int, int]
_NO_JOB = -1


def processors_of(setup: Setup, task: Int64s, arrival_ns: Int64s) -> Int64s:
    """The processor of each job, by its task and arrival: where its task was then."""
    found = np.array([row.processor for row in setup.tasks], np.int64)[task]
    for change in sorted(setup.task_changes, key=lambda one: one.time_ns):
        found[(task == change.task) & (arrival_ns >= change.time_ns)] = change.row.processor
    return found


def lost_with_processor(setup: Setup, task: Int64s, arrival_ns: Int64s, status: Int64s) -> Bools:
    """The jobs that were lost with their processor, bool[n_jobs]: they say nothing about deadlines.

    They arrived while it was lost, or were the last of their task before.
    """
    processor = processors_of(setup, task, arrival_ns)
    found = np.zeros(len(task), np.bool_)
    for fault in setup.faults:
        if fault.kind is not FaultTarget.PROCESSOR:
            continue
        there = (processor == fault.target) & (status == JobStatus.LOST)
        found |= there & (arrival_ns >= fault.time_ns)
        for one in np.unique(task[there]).tolist():
            before = np.flatnonzero((task == one) & (arrival_ns < fault.time_ns))
            if len(before):
                last = before[np.argmax(arrival_ns[before])]
                found[last] |= there[last]
    return np.asarray(found, np.bool_)


def moves(setup: Setup, horizon_ns: int) -> list[EventRow]:
    """The moves of tasks as events."""
    return [
        (change.time_ns, int(EventKind.TASK_MOVED), change.row.processor, change.task, _NO_JOB, number)
        for number, change in enumerate(setup.task_changes)
        if change.moved and change.time_ns <= horizon_ns
    ]
