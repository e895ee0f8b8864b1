"""What bounds take for granted of devices and their processing elements: clocks, cycles and the cost of switches."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate

import numpy as np

from rt_sched import model
from rt_sched.analysis.loads.resolve import ModeLoad
from rt_sched.analysis.measured.declared_jobs import declared_jobs
from rt_sched.analysis.measured.deviation import Looked, compared
from rt_sched.trace.records import Bools, EventKind, Int64s, SliceKind, Trace
from rt_sched.trace.setup import Policy, ProcessorRow
from rt_sched.units import NS_PER_S


def on_the_clock(mode: ModeLoad, task: model.Task) -> bool:
    """Whether the arrivals of a task are known instants of its device's clock."""
    return isinstance(task.activation, model.Periodic) and not mode.system.modes


def clock_errors(mode: ModeLoad, trace: Trace) -> Looked:
    """Distance of periodic arrivals from where the clock of their device puts them: at most its declared error.

    The error is the same throughout a run: what tasks of one device are off beyond their first job counts in full.
    Additional arrivals, which a takeover asks for, are not the clock's, and a task that it had stopped begins anew when
    it is added again.
    """
    first: dict[str, int] = {}
    for index, task in enumerate(mode.system.tasks):
        row = mode.setup.tasks[index]
        if not on_the_clock(mode, task) or not mode.active[index] or row.rate_hz is None:
            continue
        device = mode.plan.processors[row.processor].device
        rows = np.flatnonzero((trace.jobs.task == index) & (trace.jobs.arrival_ns < _added_ns(trace, index)))
        additional = _additional(trace, index, rows)
        rows, of_clock = rows[~additional], trace.jobs.number[rows] - np.cumsum(additional)
        numbers, arrivals = trace.jobs.number[rows], trace.jobs.arrival_ns[rows]
        off = arrivals - row.offset_ns - _grid_ns(of_clock[~additional], row.rate_hz)
        if not len(off):
            continue
        shift = first.setdefault(device, int(off[0]))
        limit_ns = next(one.clock.sync_error_ns for one in mode.system.devices if one.name == device)
        # A whole clock that is off by too much, or one that moves within its limit.
        values = np.where(off == shift, np.abs(off), limit_ns + np.abs(off - shift))
        yield compared(row.name, numbers, arrivals, values, limit_ns)


def _added_ns(trace: Trace, task: int) -> int:
    """When a task was added for the first time; after the end where it never was."""
    events = trace.events
    times_ns = events.time_ns[(events.kind == EventKind.TASK_ADDED) & (events.task == task)]
    return int(times_ns.min(initial=trace.horizon_ns + 1))


def _additional(trace: Trace, task: int, rows: Int64s) -> Bools:
    """Which of the jobs of a task are additional arrivals: the last one at each such instant."""
    found = np.zeros(len(rows), np.bool_)
    extra = () if trace.setup is None else trace.setup.extra_arrivals
    for time_ns in {one.time_ns for one in extra if one.task == task}:
        found[np.flatnonzero(trace.jobs.arrival_ns[rows] == time_ns)[-1:]] = True
    return found


def _grid_ns(numbers: Int64s, rate_hz: Fraction) -> Int64s:
    numerator, denominator = NS_PER_S * rate_hz.denominator, rate_hz.numerator
    return np.array([number * numerator // denominator for number in numbers.tolist()], np.int64)


def supply_errors(mode: ModeLoad, trace: Trace) -> Looked:
    """Distance of the begin of slices and table entries from their place in the cycle; another one than that of the
    cycle is off by a whole cycle."""
    for number, row in enumerate(mode.setup.processors):
        starts, cycle_ns = _cycle(row)
        if not starts:
            continue
        kind = EventKind.SLICE if row.policy is Policy.TIME_SLICED else EventKind.ENTRY
        events = trace.events
        rows = np.flatnonzero((events.kind == kind) & (events.processor == number))
        places = np.arange(len(rows), dtype=np.int64)
        expected = places // len(starts) * cycle_ns + np.array(starts, np.int64)[places % len(starts)]
        off = np.abs(events.time_ns[rows] - expected)
        off = np.where(events.value[rows] == places % len(starts), off, cycle_ns)
        yield compared(row.name, places, events.time_ns[rows], off, 0)


def _cycle(row: ProcessorRow) -> tuple[list[int], int]:
    """Where the slices or entries of a processor begin, and the length of their cycle; nothing for other policies."""
    if row.policy is Policy.TIME_SLICED:
        ends = list(accumulate(one.length_ns for one in row.slices))
        return [0, *ends[:-1]], ends[-1]
    if row.policy is Policy.TABLE:
        return [one.start_ns for one in row.table], row.cycle_ns
    return [], 0


def switch_costs(mode: ModeLoad, trace: Trace) -> Looked:
    """Length of every switch before a start or resume, migration included."""
    slices, jobs = trace.slices, trace.jobs
    switches = np.flatnonzero(slices.kind == SliceKind.SWITCH)
    for index in range(len(mode.setup.tasks)):
        for task, rows in declared_jobs(mode.setup, trace, index):
            row = mode.setup.processors[task.processor]
            mine = switches[np.isin(slices.job[switches], rows)]
            spent = slices.end_ns[mine] - slices.start_ns[mine]
            limit_ns = row.switch_ns + (row.migration_ns if row.cores > 1 else 0)
            yield compared(task.name, jobs.number[slices.job[mine]], slices.start_ns[mine], spent, limit_ns)
