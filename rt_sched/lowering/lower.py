"""Lowering: names become indices, decisions of the plan become rows of the scheduling machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from rt_sched import model
from rt_sched.lowering.changes import (
    fault_rows,
    first_tasks,
    frequency_rows,
    losses_of,
    mode_changes_of,
    mode_rows,
)
from rt_sched.lowering.clocks import clocks_in_run
from rt_sched.lowering.machine_input import (
    EdgeKind,
    EdgeRow,
    LinkRow,
    MachineInput,
    Overflow,
    Policy,
    ProcessorRow,
    Protocol,
    ResourceRow,
    Role,
    Samples,
    TableEntry,
    TaskRow,
    TimeSlice,
)
from rt_sched.lowering.nominal_samples import samples_under
from rt_sched.lowering.offsets import with_offsets
from rt_sched.lowering.routes import routed
from rt_sched.lowering.takeovers import RowOf, extra_arrival_rows, route_change_rows, task_change_rows
from rt_sched.lowering.task_rows import Execution, demands_with_overruns, task_row
from rt_sched.trace.records import SampleTable

_POLICIES = {policy: Policy[policy.name] for policy in model.Policy}
_KINDS = {kind: EdgeKind[kind.name] for kind in model.EdgeKind}
_OVERFLOWS = {rule: Overflow[rule.name] for rule in model.Overflow}
_PROTOCOLS = {protocol: Protocol[protocol.name] for protocol in model.Protocol}


def lower(
    system: model.System,
    plan: model.Plan,
    samples: SampleTable,
    *,
    horizon_ns: int,
    seed: int = 0,
    execution: Execution = Execution.PROFILE,
    faults: Sequence[model.Fault] = (),
    mode_changes: Sequence[model.ModeChange] = (),
    frequency_changes: Sequence[model.FrequencyChange] = (),
    scenario: model.FaultScenario | None = None,
    plan_changes: Sequence[model.PlanChange] = (),
) -> MachineInput:
    """The machine's input for one run from 0 to `horizon_ns`.

    `plan` has passed `check_plan`. `samples`: what the sensors deliver; its `sensor` column counts the system's
    sensors. Tasks, sensors, processors, resources and links keep their order; slot i of a task is its i-th input. A
    lost device takes its processors, and those sensors that are attached to no other device. Messages take the
    links that `routes` finds for the plan, and tasks have its offsets. `scenario` adds its own losses, overruns and
    change of mode to those given. `plan_changes`: when takeovers of the plan come into force.
    """
    route_changes = route_change_rows(system, plan, plan_changes)
    system = with_offsets(routed(system, plan), plan)
    if scenario is not None:
        faults = (*faults, *losses_of(system, scenario))
        mode_changes = (*mode_changes, *mode_changes_of(scenario))
        samples = samples_under(system, scenario, samples)
    sensor_of = {sensor.name: index for index, sensor in enumerate(system.sensors)}
    task_of = {task.name: index for index, task in enumerate(system.tasks)}
    link_of = {link.name: index for index, link in enumerate(system.links)}
    row_of = _row_maker(system, plan, execution, seed, scenario)
    return MachineInput(
        processors=tuple(_processor_rows(system, plan, task_of)),
        sensors=tuple(sensor_of),
        tasks=tuple(row_of(index, placement, None) for index, placement in enumerate(plan.placements)),
        edges=tuple(
            _edge_row(task, task_of[task.name], given, sensor_of, task_of, link_of)
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
        faults=fault_rows(system, plan, faults),
        resources=tuple(ResourceRow(one.name, _PROTOCOLS[one.protocol]) for one in system.resources),
        links=tuple(LinkRow(link.name, link.bandwidth_bytes_per_s, link.latency_ns) for link in system.links),
        mode_changes=mode_rows(system, mode_changes, plan_changes),
        frequency_changes=frequency_rows(system, plan, mode_changes, frequency_changes),
        task_changes=task_change_rows(system, plan, plan_changes, row_of),
        extra_arrivals=extra_arrival_rows(system, plan_changes),
        route_changes=route_changes,
    )


def uses_let(system: model.System, task: model.Task) -> bool:
    """Whether a task communicates by LET: by its own word, else when a chain through it does."""
    if task.communication is not None:
        return task.communication is model.Communication.LET
    return any(chain.communication is model.Communication.LET and task.name in chain.path for chain in system.chains)


def _elements(system: model.System) -> dict[tuple[str, str], model.ProcessingElement]:
    return {(device.name, pe.name): pe for device in system.devices for pe in device.processing_elements}


def _row_maker(
    system: model.System, plan: model.Plan, execution: Execution, seed: int, scenario: model.FaultScenario | None
) -> RowOf:
    """Makes the row of any task anywhere; the clock that drives it is that of its nominal device."""
    elements = _elements(system)
    clocks = clocks_in_run(system, seed)
    resource_of = {resource.name: index for index, resource in enumerate(system.resources)}
    present = first_tasks(system)

    def row_of(index: int, placement: model.Placement, variant: model.Variant | None) -> TaskRow:
        task = system.tasks[index]
        processor = plan.processors[placement.processor]
        row = task_row(
            task,
            placement,
            elements[processor.device, processor.pe],
            clocks[plan.processors[plan.placements[index].processor].device],
            execution=execution,
            let=uses_let(system, task),
            active=task.name in present,
            resource_of=resource_of,
            variant=variant,
        )
        overruns = scenario is not None and scenario.effect is model.FaultEffect.OVERRUN
        if scenario is None or not overruns or scenario.demand_ns is None or scenario.target != task.name:
            return row
        demands = demands_with_overruns(row, index, seed, scenario.jobs, scenario.demand_ns)
        return replace(row, explicit_demands_ns=demands)

    return row_of


def _processor_rows(system: model.System, plan: model.Plan, task_of: Mapping[str, int]) -> list[ProcessorRow]:
    elements = _elements(system)
    placed: dict[int, set[str]] = {}
    for placement in plan.placements:
        placed.setdefault(placement.processor, set()).add(placement.task)
    rows = []
    for index, processor in enumerate(plan.processors):
        element = elements[processor.device, processor.pe]
        here = placed.get(index, set())
        rows.append(
            ProcessorRow(
                processor.name,
                _POLICIES[processor.policy],
                processor.preemptive,
                cores=processor.cores,
                switch_ns=element.switch_cost_ns,
                migration_ns=element.migration_cost_ns,
                frequency_khz=1 if element.frequency_hz is None else element.frequency_hz // 1000,
                slices=tuple(
                    TimeSlice(
                        piece.length_ns,
                        tuple(sorted(task_of[name] for name in piece.tasks if name in here)),
                        piece.switch_cost_ns,
                    )
                    for piece in element.slices
                ),
                slack_sharing=element.slack_sharing,
                table=tuple(
                    TableEntry(entry.start_ns, entry.length_ns, task_of[entry.task])
                    for entry in element.table
                    if entry.task in here
                ),
                cycle_ns=element.table_cycle_ns,
            )
        )
    return rows


def input_role(activation: model.Activation, given: model.Input) -> Role:
    """What a message on this input does to its task."""
    if not isinstance(activation, model.OnMessage):
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
    link_of: Mapping[str, int],
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
        link=None if given.link is None else link_of[given.link],
        size_bytes=given.size_bytes or 1,
    )
