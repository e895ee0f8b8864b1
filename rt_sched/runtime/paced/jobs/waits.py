"""What jobs waited of their own accord, as one wait of each in the trace.

How long a job waited in all is measured; when is derived: it has executed as long as declared before its first wait, as
if nobody had preempted it, and waits at once for the whole time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from rt_sched.runtime.paced.devices.relocation import processors_of
from rt_sched.runtime.paced.jobs.journal import NONE
from rt_sched.trace.records import EventKind, JobStatus, JobTable
from rt_sched.trace.setup import Setup
from rt_sched.units import ceil_int


@dataclass(frozen=True, slots=True)
class Wait:
    """Of one job, half-open, in run time."""

    begin_ns: int
    end_ns: int


def waits_of(setup: Setup, journals: Sequence[npt.NDArray[np.void]], jobs: JobTable, rate: Fraction) -> dict[int, Wait]:
    """By row of `jobs`, of those that completed and waited. `rate`: run time per host time."""
    found = {}
    completed = jobs.status == JobStatus.COMPLETED
    for index, task in enumerate(setup.tasks):
        if not task.suspensions:
            continue
        for job in np.flatnonzero(completed & (jobs.task == index)).tolist():
            length_ns = ceil_int(int(journals[index]["waited_ns"][jobs.number[job]]) * rate)
            start_ns, finish_ns = int(jobs.start_ns[job]), int(jobs.finish_ns[job])
            length_ns = min(length_ns, finish_ns - start_ns)
            if length_ns > 0:
                begin_ns = min(start_ns + task.suspensions[0].offset_ns, finish_ns - length_ns)
                found[job] = Wait(begin_ns, begin_ns + length_ns)
    return found


def wait_events(setup: Setup, jobs: JobTable, waits: Mapping[int, Wait], horizon_ns: int) -> npt.NDArray[np.int64]:
    """Begin with its length, and end of each wait before the horizon, int64[n, 6], as rows of events."""
    rows = np.array(list(waits), np.int64)
    tasks = jobs.task[rows].astype(np.int64)
    places = processors_of(setup, tasks, jobs.arrival_ns[rows])
    found = [
        row
        for (job, one), task, place in zip(waits.items(), tasks.tolist(), places.tolist(), strict=True)
        for row in (
            (one.begin_ns, int(EventKind.SUSPEND), place, task, job, one.end_ns - one.begin_ns),
            (one.end_ns, int(EventKind.WAKE), place, task, job, NONE),
        )
        if row[0] < horizon_ns
    ]
    return np.array(found, np.int64).reshape(-1, 6)
