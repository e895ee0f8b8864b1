"""Where the jobs of a paced run were, and what became of them, when tasks moved and devices were lost on the way."""

from __future__ import annotations

import numpy as np

from rt_sched.trace.records import Bools, EventKind, Int64s, JobStatus
from rt_sched.trace.setup import FaultTarget, Setup
from rt_sched.units import MAX_TIME_NS

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
    """The jobs that were lost with their processor or as their task moved, bool[n_jobs]: they say nothing about
    deadlines.

    They arrived while it was lost and the task not served there again, or were the last of their task before; or they
    were in time yet when their task left a processor that lives.
    """
    processor = processors_of(setup, task, arrival_ns)
    lost = np.zeros(1 + processor.max(initial=0), np.bool_)
    found = np.zeros(len(task), np.bool_)
    for fault in setup.faults:
        if fault.kind is not FaultTarget.PROCESSOR:
            continue
        lost[fault.target : fault.target + 1] = True
        there = (processor == fault.target) & (status == JobStatus.LOST)
        for one in np.unique(task[there]).tolist():
            mine = there & (task == one)
            back = (task == one) & (processor == fault.target) & (status == JobStatus.COMPLETED)
            back &= arrival_ns >= (MAX_TIME_NS if fault.until_ns is None else fault.until_ns)
            found |= mine & (arrival_ns >= fault.time_ns) & (arrival_ns < arrival_ns[back].min(initial=MAX_TIME_NS))
            before = np.flatnonzero((task == one) & (arrival_ns < fault.time_ns))
            if len(before):
                last = before[np.argmax(arrival_ns[before])]
                found[last] |= there[last]
    for change in setup.task_changes:
        here = change.moved & (task == change.task) & (arrival_ns < change.time_ns)
        due_ns = arrival_ns + setup.tasks[change.task].deadline_ns
        found |= here & ~lost[processor] & (status == JobStatus.LOST) & (due_ns >= change.time_ns)
    return np.asarray(found, np.bool_)


def moves(setup: Setup, horizon_ns: int) -> list[EventRow]:
    """The moves of tasks as events."""
    return [
        (change.time_ns, int(EventKind.TASK_MOVED), change.row.processor, change.task, _NO_JOB, number)
        for number, change in enumerate(setup.task_changes)
        if change.moved and change.time_ns <= horizon_ns
    ]
