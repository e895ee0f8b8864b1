"""Time disparity of inputs: how far the capture stamps of what one job read lie apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rt_sched.trace.records import Int64s, Trace, sample_of
from rt_sched.trace.statistics import Spread, spread_of

_NONE = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True, eq=False)
class DisparityMeasurement:
    """Of the jobs of a task that began and read two inputs or more: row, instant of the read, and largest difference
    of the capture stamps read, in ns; int64[n] each, in order of arrival.
    """

    job: Int64s
    read_ns: Int64s
    disparity_ns: Int64s
    spread: Spread


def measure_disparity(trace: Trace, task: str) -> DisparityMeasurement:
    """Disparities of all jobs of `task`. Raises ValueError for an unknown task."""
    jobs = trace.jobs
    if task not in trace.task_names:
        raise ValueError(f"{task!r} is not a task; known: {list(trace.task_names)}")
    index = trace.task_names.index(task)
    rows = np.flatnonzero((jobs.task == index) & (jobs.start_ns >= 0)).astype(np.int64)
    messages = jobs.inputs[rows]
    of_job, of_sample = messages >= 0, messages < -1
    stamps = np.full(messages.shape, _NONE, np.int64)
    stamps[of_job] = jobs.capture_ns[messages[of_job]]
    stamps[of_sample] = trace.samples.capture_ns[sample_of(messages[of_sample])]
    read = of_job | of_sample
    several = np.count_nonzero(read, axis=1) > 1
    rows, stamps, read = rows[several], stamps[several], read[several]
    youngest_ns = np.where(read, stamps, -_NONE).max(axis=1, initial=-_NONE)
    oldest_ns = stamps.min(axis=1, initial=_NONE)
    disparity_ns = youngest_ns - oldest_ns
    let = trace.setup is not None and trace.setup.tasks[index].let
    read_ns = (jobs.arrival_ns if let else jobs.start_ns)[rows]
    return DisparityMeasurement(rows, read_ns, disparity_ns, spread_of(disparity_ns))
