"""A window of a bulk simulation as a Trace of its own, with what is new in it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rt_sched.lowering.machine_input import MachineInput
from rt_sched.sim.bulk import Window
from rt_sched.sim.traces import trace_of
from rt_sched.trace.records import JobStatus, SampleStatus, Trace

_COUNTED_NOW = 2


def finished_jobs(window: Window) -> npt.NDArray[np.int64]:
    """Rows of the jobs that have finished since the last window: int64[n], ascending."""
    count = int(window.machine.clock[0]["jobs"])
    return np.flatnonzero(window.bulk.rows["folded"][:count] == _COUNTED_NOW)


def window_trace(given: MachineInput, window: Window) -> Trace:
    """The window's rows, numbered from 0 on.

    Jobs and samples that other windows tell of are in it as far as slices and messages of this one name them; they are
    told neither as missed, overrun, skipped or ended nor as delivered."""
    trace = trace_of(given, window.machine)
    others = np.ones(len(trace.jobs), np.bool_)
    others[finished_jobs(window)] = False
    trace.jobs.missed[others] = False
    trace.jobs.overrun[others] = False
    ended = others & (trace.jobs.status != JobStatus.COMPLETED)
    trace.jobs.status[ended] = JobStatus.UNFINISHED
    trace.samples.status[: int(window.bulk.head[0]["old_samples"])] = SampleStatus.WAITING
    delivered = int(window.machine.clock[0]["next_sample"])
    trace.samples.number[:delivered] = window.bulk.samples["number"][:delivered]
    return trace
