"""Compares a trace of the kernel with the oracle's result, table by table, with every column."""

from __future__ import annotations

from collections import Counter

from oracle import Result, simulate

from rt_sched.lowering.machine_input import MachineInput
from rt_sched.sim import Simulation
from rt_sched.trace import DropReason, JobStatus, SampleStatus, Trace, schedule_sha256
from rt_sched.trace.records import EventKind, SliceKind

TABLES = ("jobs", "slices", "drops", "samples", "transfers", "events")


def in_rows(trace: Trace) -> Result:
    """A trace in the oracle's form."""
    t = trace.transfers
    e = trace.events
    d = trace.drops
    return Result(
        jobs=_job_rows(trace),
        slices=_slice_rows(trace),
        drops=[
            (time, edge, message, DropReason(r).name)
            for time, edge, message, r in _zip(d.time_ns, d.edge, d.message, d.reason)
        ],
        samples=[SampleStatus(status).name for status in trace.samples.status],
        transfers=_zip(t.edge, t.message, t.queued_ns, t.start_ns, t.end_ns, t.delivered_ns),
        events=sorted(
            (time, EventKind(kind).name, *rest)
            for time, kind, *rest in _zip(e.time_ns, e.kind, e.processor, e.task, e.job, e.value)
        ),
    )


def _zip(*columns) -> list[tuple]:
    return list(zip(*(column.tolist() for column in columns), strict=True))


def _job_rows(trace: Trace) -> list[tuple]:
    j = trace.jobs
    numbers = _zip(
        j.task, j.number, j.arrival_ns, j.release_ns, j.start_ns, j.finish_ns, j.deadline_ns, j.demand_ns,
        j.executed_ns, j.capture_ns,
    )  # fmt: skip
    ends = zip(j.status.tolist(), j.missed.tolist(), j.overrun.tolist(), j.inputs.tolist(), strict=True)
    return [
        (*row, JobStatus(status).name, missed, overrun, tuple(inputs))
        for row, (status, missed, overrun, inputs) in zip(numbers, ends, strict=True)
    ]


def _slice_rows(trace: Trace) -> list[tuple]:
    """Slices by core and time; what touches and is alike is one."""
    s = trace.slices
    rows = _zip(s.processor, s.job, s.start_ns, s.end_ns, s.kind)
    merged: list[tuple] = []
    for core, job, start, end, kind in sorted(rows, key=lambda row: (row[0], row[2], row[3])):
        row = (core, job, start, end, SliceKind(kind).name)
        if merged and merged[-1][3] == start and merged[-1][:2] + merged[-1][4:] == row[:2] + row[4:]:
            row = (core, job, merged.pop()[2], end, row[4])
        merged.append(row)
    return sorted(merged, key=lambda row: (row[3], row[0], row[2]))


def bulk(given: MachineInput) -> Trace:
    simulation = Simulation(given)
    simulation.run()
    return simulation.trace()


def stepped(given: MachineInput) -> Trace:
    simulation = Simulation(given, rows=1)
    while simulation.step() is not None:
        pass
    return simulation.trace()


def difference(actual: Result, expected: Result) -> str | None:
    """The first rows that differ, in words; None when all tables are equal."""
    for table in TABLES:
        mine, theirs = getattr(actual, table), getattr(expected, table)
        for position in range(max(len(mine), len(theirs))):
            got, wanted = (rows[position] if position < len(rows) else None for rows in (mine, theirs))
            if got != wanted:
                return f"{table}[{position}]: kernel {got}, oracle {wanted}"
    return None


def disagreement(given: MachineInput, met: Counter[str] | None = None) -> str | None:
    """How the kernel, in bulk or stepped, differs from the oracle on a system; None when it does not.

    `met` counts what the system met.
    """
    expected = simulate(given)
    if met is not None:
        met.update(expected.met)
    in_bulk, in_steps = bulk(given), stepped(given)
    found = difference(in_rows(in_bulk), expected)
    if found is None and schedule_sha256(in_bulk) != schedule_sha256(in_steps):
        return "stepped: another schedule_sha256 than in bulk"
    if found is None and (found := difference(in_rows(in_steps), expected)) is not None:
        return f"stepped: {found}"
    return found
