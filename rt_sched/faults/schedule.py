"""Faults of a script that the schedule carries out: what is lost, which tasks stop, which jobs need more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from rt_sched.faults.script import Injection, Strike
from rt_sched.lowering.machine_input import MachineInput, ModeChangeRow
from rt_sched.lowering.task_rows import demands_with_overruns
from rt_sched.model import Fault, FaultKind
from rt_sched.trace.records import Trace

#: Kinds that are losses, as `--fault` of a replay knows them.
_LOSSES = {
    "camera.loss": FaultKind.CAMERA,
    "lidar.loss": FaultKind.LIDAR,
    "imu.loss": FaultKind.IMU,
    "device.loss": FaultKind.DEVICE,
    "link.loss": FaultKind.LINK,
}
_KILLS = frozenset({"process.kill", "arbiter.kill"})


def losses(strikes: Sequence[Strike], shift_ns: int = 0) -> tuple[Fault, ...]:
    """The faults that are losses, `shift_ns` later."""
    return tuple(
        Fault(
            _LOSSES[one.fault.kind_name],
            one.fault.target,
            one.begin_ns + shift_ns,
            None if one.end_ns is None else one.end_ns + shift_ns,
        )
        for one in strikes
        if one.fault.kind_name in _LOSSES
    )


def restarts(strikes: Sequence[Strike], task_names: Sequence[str], shift_ns: int = 0) -> dict[int, tuple[int, ...]]:
    """By the index of a task, when a process that was killed is there again, without a past."""
    found: dict[int, list[int]] = {}
    for one in strikes:
        if one.fault.kind_name in _KILLS and one.end_ns is not None:
            found.setdefault(task_names.index(one.fault.target), []).append(one.end_ns + shift_ns)
    return {task: tuple(times) for task, times in found.items()}


def with_faults(
    machine: MachineInput,
    strikes: Sequence[Strike],
    task_names: Sequence[str],
    without: Trace | None,
    shift_ns: int = 0,
) -> MachineInput:
    """The run with its kills, stalls and overruns; `without`: the same run without faults, where a stall needs it."""
    changes = list(machine.mode_changes)
    demands: dict[int, dict[int, int]] = {}
    for strike in strikes:
        fault = strike.fault
        task = task_names.index(fault.target) if fault.target in task_names else -1
        if fault.kind_name in _KILLS:
            changes.append(ModeChangeRow(strike.begin_ns + shift_ns, removed=(task,)))
            if strike.end_ns is not None:
                changes.append(ModeChangeRow(strike.end_ns + shift_ns, added=(task,)))
        elif fault.kind_name == "overrun":
            demands.setdefault(task, {}).update(dict.fromkeys(fault.jobs, fault.demand_ns))
        elif fault.kind_name == "process.stall" and without is not None:
            demands.setdefault(task, {}).update(_stalled(fault, task, strike.begin_ns, without))
    tasks = tuple(
        replace(row, explicit_demands_ns=_demands(machine, index, demands[index])) if demands.get(index) else row
        for index, row in enumerate(machine.tasks)
    )
    return replace(machine, tasks=tasks, mode_changes=tuple(sorted(changes, key=lambda row: row.time_ns)))


def _stalled(fault: Injection, task: int, begin_ns: int, without: Trace) -> dict[int, int]:
    """Number and demand of the first job that has not ended, or not arrived, when the fault strikes."""
    jobs = without.jobs
    of_task = jobs.task == task
    open_then = of_task & ((jobs.finish_ns > begin_ns) | (jobs.finish_ns < 0)) & (jobs.demand_ns > 0)
    rows = np.flatnonzero(open_then)
    if not len(rows):
        return {}
    first = rows[np.argmin(jobs.number[rows])]
    return {int(jobs.number[first]): int(jobs.demand_ns[first]) + fault.stall_ns}


def _demands(machine: MachineInput, index: int, wanted: Mapping[int, int]) -> tuple[int, ...]:
    """Demands of the first jobs of a task: those wanted, and for all others what they draw anyway."""
    usual = demands_with_overruns(machine.tasks[index], index, machine.seed, sorted(wanted), 1)
    return tuple(wanted.get(number, demand_ns) for number, demand_ns in enumerate(usual))
