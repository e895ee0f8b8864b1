"""The tables of a machine, read out as a Trace."""

from __future__ import annotations

import numpy as np

from rt_sched.kernels.tables import Machine
from rt_sched.lowering.machine_input import EdgeRow, MachineInput, edge_slots
from rt_sched.trace.records import (
    DropTable,
    EdgeName,
    EventTable,
    JobTable,
    SampleTable,
    SliceTable,
    Trace,
    TransferTable,
)


def trace_of(given: MachineInput, machine: Machine) -> Trace:
    """What stands in the tables of a machine that was built from `given`, copied."""
    return Trace(
        task_names=tuple(task.name for task in given.tasks),
        processor_names=given.setup.core_names(),
        sensor_names=given.sensors,
        edges=tuple(
            EdgeName(_source_name(given, edge), given.tasks[edge.target].name, edge.input, slot)
            for edge, slot in zip(given.edges, edge_slots(given.edges), strict=True)
        ),
        jobs=_job_table(machine),
        slices=_slice_table(machine),
        drops=_drop_table(machine),
        samples=_sample_table(machine, len(given.sensors)),
        horizon_ns=given.horizon_ns,
        seed=given.seed,
        transfers=_transfer_table(machine),
        events=_event_table(machine),
        setup=given.setup,
    )


def _job_table(machine: Machine) -> JobTable:
    count = int(machine.clock[0]["jobs"])
    jobs = machine.jobs[:count]
    return JobTable(
        task=jobs["task"].astype(np.int32),
        number=jobs["number"].copy(),
        arrival_ns=jobs["arrival_ns"].copy(),
        release_ns=jobs["release_ns"].copy(),
        start_ns=jobs["start_ns"].copy(),
        finish_ns=jobs["finish_ns"].copy(),
        deadline_ns=jobs["deadline_ns"].copy(),
        demand_ns=jobs["demand_ns"].copy(),
        executed_ns=jobs["executed_ns"].copy(),
        capture_ns=jobs["capture_ns"].copy(),
        status=jobs["status"].astype(np.int8),
        missed=jobs["missed"].astype(np.bool_),
        overrun=jobs["overrun"].astype(np.bool_),
        inputs=machine.inputs[:count].copy(),
    )


def _slice_table(machine: Machine) -> SliceTable:
    rows = machine.slices[: int(machine.clock[0]["slices"])]
    return SliceTable(
        processor=rows["processor"].astype(np.int32),
        job=rows["job"].copy(),
        start_ns=rows["start_ns"].copy(),
        end_ns=rows["end_ns"].copy(),
        kind=rows["kind"].astype(np.int8),
    )


def _transfer_table(machine: Machine) -> TransferTable:
    rows = machine.transfers[: int(machine.clock[0]["transfers"])]
    return TransferTable(
        edge=rows["edge"].astype(np.int32),
        message=rows["message"].copy(),
        queued_ns=rows["queued_ns"].copy(),
        start_ns=rows["start_ns"].copy(),
        end_ns=rows["end_ns"].copy(),
        delivered_ns=rows["delivered_ns"].copy(),
    )


def _event_table(machine: Machine) -> EventTable:
    rows = machine.log[: int(machine.clock[0]["log"])]
    return EventTable(
        time_ns=rows["time_ns"].copy(),
        kind=rows["kind"].astype(np.int8),
        processor=rows["processor"].astype(np.int32),
        task=rows["task"].astype(np.int32),
        job=rows["job"].copy(),
        value=rows["value"].copy(),
    )


def _drop_table(machine: Machine) -> DropTable:
    rows = machine.drops[: int(machine.clock[0]["drops"])]
    return DropTable(
        time_ns=rows["time_ns"].copy(),
        edge=rows["edge"].astype(np.int32),
        message=rows["message"].copy(),
        reason=rows["reason"].astype(np.int8),
    )


def _sample_table(machine: Machine, sensors: int) -> SampleTable:
    rows = machine.samples
    number = np.zeros(len(rows), np.int64)
    for sensor in range(sensors):
        mine = rows["sensor"] == sensor
        number[mine] = np.arange(np.count_nonzero(mine))
    return SampleTable(
        sensor=rows["sensor"].astype(np.int32),
        number=number,
        arrival_ns=rows["arrival_ns"].copy(),
        capture_ns=rows["capture_ns"].copy(),
        status=rows["status"].astype(np.int8),
    )


def _source_name(given: MachineInput, edge: EdgeRow) -> str:
    return given.sensors[edge.sensor] if edge.sensor is not None else given.tasks[edge.task or 0].name
