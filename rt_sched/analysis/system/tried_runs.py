"""The runs in which misses are looked for, with draws that go by names.

A run draws jitter, samples and errors of clocks by the place of a task, a sensor or a device in its file. A
search that did so would find a miss in one file and none in the same file written in another order. Here every draw
goes by the name of what it is for. What is left to the order of the file is which of equal keys goes first, which is
part of what a schedule is.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rt_sched import model
from rt_sched.lowering import lower
from rt_sched.lowering.clocks import clocks_in_run
from rt_sched.lowering.machine_input import MachineInput, TaskRow
from rt_sched.lowering.nominal_samples import nominal_samples
from rt_sched.lowering.task_rows import Execution
from rt_sched.trace.checker.draws import JITTER, bits_of, up_to
from rt_sched.trace.records import SampleStatus, SampleTable

#: Jobs of one task whose jitter is drawn, and as many where it is not known how many will arrive.
_MOST_DRAWN, _USUAL_DRAWN = 20_000, 4096


def worst_case_run(
    system: model.System,
    plan: model.Plan,
    horizon_ns: int,
    *,
    mode_changes: Sequence[model.ModeChange] = (),
    scenario: model.FaultScenario | None = None,
) -> MachineInput:
    """All jobs need their worst case, wait longest and arrive as densely as they may; sensors deliver nominally."""
    given = lower(
        _with_clocks(system),
        plan,
        _samples(system, horizon_ns),
        horizon_ns=horizon_ns,
        execution=Execution.WCET,
        mode_changes=mode_changes,
        scenario=scenario,
    )
    return replace(given, tasks=tuple(_longest(row) for row in given.tasks))


def _longest(row: TaskRow) -> TaskRow:
    waits = tuple(replace(wait, min_ns=wait.max_ns) for wait in row.suspensions)
    return replace(row, extra_separation_ns=0, suspensions=waits)


def drawn_by_name(given: MachineInput) -> MachineInput:
    """The run with the jitter of every task drawn by its name, for its first jobs; later ones, if any, have none."""
    return replace(given, tasks=tuple(_drawn(row, given.horizon_ns) for row in given.tasks))


def _drawn(row: TaskRow, horizon_ns: int) -> TaskRow:
    if not row.jitter_ns:
        return row
    if row.explicit_jitters_ns:
        return replace(row, jitter_ns=0)
    known = None if row.separation_ns is None or not row.timed else horizon_ns // row.separation_ns + 2
    numbers = np.arange(_USUAL_DRAWN if known is None else min(known, _MOST_DRAWN), dtype=np.int64)
    jitters_ns = up_to(row.jitter_ns, bits_of(0, _stream(row.name), numbers, JITTER)).tolist()
    return replace(row, jitter_ns=0, explicit_jitters_ns=tuple(jitters_ns))


def _stream(name: str) -> int:
    return zlib.crc32(name.encode())


def _with_clocks(system: model.System) -> model.System:
    devices = []
    for device in system.devices:
        alone = clocks_in_run(replace(system, devices=(device,)), _stream(device.name))
        devices.append(replace(device, clock=replace(alone[device.name], sync_error_ns=0)))
    return replace(system, devices=tuple(devices))


def _samples(system: model.System, horizon_ns: int) -> SampleTable:
    each = [
        nominal_samples(replace(system, sensors=(sensor,)), horizon_ns, _stream(sensor.name))
        for sensor in system.sensors
    ]
    none = np.zeros(0, np.int64)
    number, arrival, capture = (
        np.concatenate([none, *(getattr(one, column) for one in each)])
        for column in ("number", "arrival_ns", "capture_ns")
    )
    sensor = np.repeat(np.arange(len(each), dtype=np.int32), [len(one.number) for one in each])
    order = np.lexsort((number, sensor, arrival))
    status = np.full(len(order), SampleStatus.WAITING, np.int8)
    return SampleTable(sensor[order], number[order], arrival[order], capture[order], status)
