"""An interval of a run, collected window by window, is that of the whole trace."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_systems import ALL_FEATURES, random_system

from rt_sched.lowering.machine_input import MachineInput
from rt_sched.sim import Simulation
from rt_sched.sim.bulk import BulkSimulation, Window
from rt_sched.sim.bulk_tables import Questions
from rt_sched.sim.sample_feeds import GivenSamples
from rt_sched.sim.traces import trace_of
from rt_sched.trace.interval import OF_LOCKS, Interval, interval_of
from rt_sched.trace.records import EventKind, JobStatus, Trace

COLUMNS = ("jobs", "slices", "events")


def whole(system: MachineInput) -> Trace:
    simulation = Simulation(system)
    simulation.run()
    return simulation.trace()


def in_windows(system: MachineInput, start_ns: int, end_ns: int, rows: int) -> Trace:
    """As `simulate` does it, in windows that are as small as they may be."""
    interval, parts = Interval(start_ns, end_ns), []

    def see(window: Window) -> None:
        parts.append(trace_of(system, window.machine))
        interval.add(parts[-1], int(window.machine.clock[0]["now_ns"]))

    BulkSimulation(system, Questions(), rows, rows).run(0, system.seed, GivenSamples(system), see=see)
    return interval.trace(parts[-1])


def plain(trace: Trace) -> dict[str, list[tuple[int, ...]]]:
    """The tables as rows; jobs in place of their rows by task and number."""
    jobs, found = trace.jobs, {}
    names = [(int(task), int(number)) for task, number in zip(jobs.task, jobs.number, strict=True)]
    for table_name in COLUMNS:
        table = getattr(trace, table_name)
        columns = {one.name: getattr(table, one.name).tolist() for one in fields(table) if one.name != "inputs"}
        if "job" in columns:
            columns["job"] = [names[job] if job >= 0 else -1 for job in columns["job"]]
        found[table_name] = list(zip(*columns.values(), strict=True))
    return found


def naive(trace: Trace, start_ns: int, end_ns: int) -> dict[str, set[int]]:
    """Rows of a whole trace that are in the interval, said as plainly as can be."""
    jobs, slices, events = trace.jobs, trace.slices, trace.events
    inside = {s for s in range(len(slices)) if slices.start_ns[s] < end_ns and slices.end_ns[s] > start_ns}
    ran = {int(slices.job[s]) for s in inside}
    there = set()
    for job in range(len(jobs)):
        lasts = jobs.status[job] == JobStatus.UNFINISHED or jobs.finish_ns[job] >= start_ns
        if jobs.arrival_ns[job] < end_ns and (jobs.arrival_ns[job] >= start_ns or lasts or job in ran):
            there.add(job)
    told = set()
    for event in range(len(events)):
        of, time_ns, kind = int(events.job[event]), int(events.time_ns[event]), int(events.kind[event])
        if time_ns >= end_ns or (of >= 0 and of not in there):
            continue
        if time_ns >= start_ns or kind == EventKind.FREQUENCY or (of >= 0 and kind in OF_LOCKS):
            told.add(event)
    return {"jobs": there, "slices": inside, "events": told}


def shares(trace: Trace, first: float, last: float) -> tuple[int, int]:
    low, high = sorted((int(first * trace.horizon_ns), int(last * trace.horizon_ns)))
    return low, max(high, low + 1)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), first=st.floats(0, 1), last=st.floats(0, 1))
def test_an_interval_has_what_was_there(seed: int, first: float, last: float) -> None:
    trace = whole(random_system(seed, ALL_FEATURES))
    start_ns, end_ns = shares(trace, first, last)
    part, wanted = interval_of(trace, start_ns, end_ns), naive(trace, start_ns, end_ns)
    everything = plain(trace)
    for table in COLUMNS:
        assert sorted(map(repr, plain(part)[table])) == sorted(repr(everything[table][row]) for row in wanted[table])
    assert (np.diff(part.jobs.arrival_ns) >= 0).all()


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), first=st.floats(0, 1), last=st.floats(0, 1), rows=st.sampled_from([1, 8, 64]))
def test_windows_tell_the_same_as_the_whole_trace(seed: int, first: float, last: float, rows: int) -> None:
    system = random_system(seed, ALL_FEATURES)
    trace = whole(system)
    start_ns, end_ns = shares(trace, first, last)
    assert plain(in_windows(system, start_ns, end_ns, rows)) == plain(interval_of(trace, start_ns, end_ns))


def test_an_interval_behind_the_run_is_empty() -> None:
    trace = whole(random_system(1, ALL_FEATURES))
    part = interval_of(trace, 2 * trace.horizon_ns, 3 * trace.horizon_ns)
    assert len(part.slices) == 0
    assert set(part.jobs.status.tolist()) <= {int(JobStatus.UNFINISHED)}


@pytest.mark.parametrize("rows", [1, 16])
def test_an_interval_is_forgotten_as_it_goes(rows: int) -> None:
    """What windows before the interval leave behind is the jobs that are still there."""
    system = random_system(3, ALL_FEATURES)
    interval, most = Interval(system.horizon_ns - 1, system.horizon_ns), 0

    def see(window: Window) -> None:
        nonlocal most
        interval.add(trace_of(system, window.machine), int(window.machine.clock[0]["now_ns"]))
        most = max(most, interval.jobs_kept)

    BulkSimulation(system, Questions(), rows, rows).run(0, system.seed, GivenSamples(system), see=see)
    unfinished = int((whole(system).jobs.status == JobStatus.UNFINISHED).sum())
    assert most <= len(system.tasks) * 8 + unfinished
