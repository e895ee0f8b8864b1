"""Lowering: names become indices, decisions of the plan become rows of the scheduling machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum

import numpy as np

from rt_sched import model
from rt_sched.kernels.tables import QUANTILES
from rt_sched.lowering.losses import lost_devices, lost_sensors
from rt_sched.lowering.machine_input import (
    DeadlineAction,
    EdgeKind,
    EdgeRow,
    FaultRow,
    FaultTarget,
    MachineInput,
    Overflow,
    Policy,
    ProcessorRow,
    Role,
    Samples,
    TaskRow,
)
from rt_sched.trace.records import SampleTable

_POLICIES = {
    model.Policy.FIXED_PRIORITY: Policy.FIXED_PRIORITY,
    model.Policy.EDF: Policy.EDF,
    model.Policy.FIFO: Policy.FIFO,
}
_KINDS = {model.EdgeKind.LATEST: EdgeKind.LATEST, model.EdgeKind.QUEUE: EdgeKind.QUEUE}
_OVERFLOWS = {
    model.Overflow.DROP_OLDEST: Overflow.DROP_OLDEST,
    model.Overflow.DROP_NEWEST: Overflow.DROP_NEWEST,
}
_ACTIONS = {
    model.DeadlineAction.CONTINUE: DeadlineAction.CONTINUE,
    model.DeadlineAction.ABORT: DeadlineAction.ABORT,
}


class Execution(str, Enum):
    """Where demands come from: drawn from the profile, or the same bound for every job."""

    PROFILE = "profile"
    WCET = "wcet"
    BCET = "bcet"


def lower(
    system: model.System,
    plan: model.Plan,
    samples: SampleTable,
    *,
    horizon_ns: int,
    seed: int = 0,
    execution: Execution = Execution.PROFILE,
    faults: Sequence[model.Fault] = (),
) -> MachineInput:
    """The machine's input for one run from 0 to `horizon_ns`.

    `plan` has passed `check_plan`. `samples`: what the sensors deliver; its `sensor` column counts the system's
    sensors. Tasks, sensors and processors keep their order; slot i of a task is its i-th input. A lost device takes
    its processors, and those sensors that are attached to no other device.
    """
    sensor_of = {sensor.name: index for index, sensor in enumerate(system.sensors)}
    task_of = {task.name: index for index, task in enumerate(system.tasks)}
    return MachineInput(
        processors=tuple(
            ProcessorRow(processor.name, _POLICIES[processor.policy], processor.preemptive)
            for processor in plan.processors
        ),
        sensors=tuple(sensor_of),
        tasks=tuple(
            _task_row(task, placement, execution) for task, placement in zip(system.tasks, plan.placements, strict=True)
        ),
        edges=tuple(
            _edge_row(task, task_of[task.name], given, sensor_of, task_of)
            for task in system.tasks
            for given in task.inputs
        ),
        horizon_ns=horizon_ns,
        seed=seed,
        samples=Samples(
            samples.arrival_ns.astype(np.int64),
            samples.sensor.astype(np.int64),
            samples.capture_ns.astype(np.int64),
        ),
        faults=tuple(_fault_rows(system, plan, faults, sensor_of)),
    )


def _task_row(task: model.Task, placement: model.Placement, execution: Execution) -> TaskRow:
    timed = task.activation if isinstance(task.activation, model.Periodic) else None
    joined = task.activation if isinstance(task.activation, model.OnMessage) else None
    return TaskRow(
        name=task.name,
        processor=placement.processor,
        deadline_ns=task.deadline_ns,
        demand_ns=_demand(task.execution, execution),
        level=placement.level,
        rate_hz=timed.rate_hz if timed else None,
        offset_ns=timed.offset_ns if timed else 0,
        budget_ns=task.budget_ns,
        deadline_action=_ACTIONS[task.deadline_action],
        tolerance_ns=joined.tolerance_ns if joined else 0,
    )


def _demand(times: model.ExecutionTime, execution: Execution) -> int | tuple[int, ...]:
    if execution is Execution.WCET:
        return times.wcet_ns
    if execution is Execution.BCET:
        return times.bcet_ns
    return resample_quantiles(times.profile_ns or (times.bcet_ns, times.wcet_ns))


def resample_quantiles(profile_ns: Sequence[int]) -> tuple[int, ...]:
    """A profile of any number of quantiles at equal steps as the machine's 33, interpolated and rounded down."""
    steps = len(profile_ns) - 1
    quantiles = []
    for point in range(QUANTILES):
        index, part = divmod(point * steps, QUANTILES - 1)
        following = profile_ns[min(index + 1, steps)]
        quantiles.append(profile_ns[index] + (following - profile_ns[index]) * part // (QUANTILES - 1))
    return tuple(quantiles)


def input_role(activation: model.Periodic | model.OnMessage, given: model.Input) -> Role:
    """What a message on this input does to its task."""
    if isinstance(activation, model.Periodic):
        return Role.READ
    if activation.join is model.Join.LATEST:
        return Role.EACH if given.name == activation.primary else Role.READ
    if given.edge.kind is model.EdgeKind.LATEST:
        return Role.READ
    return Role.EACH if activation.join is model.Join.ANY else Role.PAIRED


def _edge_row(
    task: model.Task,
    target: int,
    given: model.Input,
    sensor_of: Mapping[str, int],
    task_of: Mapping[str, int],
) -> EdgeRow:
    return EdgeRow(
        target=target,
        input=given.name,
        kind=_KINDS[given.edge.kind],
        role=input_role(task.activation, given),
        sensor=sensor_of.get(given.source),
        task=task_of.get(given.source),
        depth=given.edge.depth,
        overflow=_OVERFLOWS[given.edge.overflow],
        required=given.required,
    )


def _fault_rows(
    system: model.System,
    plan: model.Plan,
    faults: Sequence[model.Fault],
    sensor_of: Mapping[str, int],
) -> list[FaultRow]:
    devices = lost_devices(faults)
    rows = [
        FaultRow(devices[processor.device], FaultTarget.PROCESSOR, index)
        for index, processor in enumerate(plan.processors)
        if processor.device in devices
    ]
    sensors = lost_sensors(system, faults)
    rows.extend(FaultRow(time_ns, FaultTarget.SENSOR, sensor_of[sensor]) for sensor, time_ns in sensors.items())
    return rows
