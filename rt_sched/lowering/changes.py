"""What changes during a run, by index: losses, modes, frequencies, and the fault scenarios that bring them about."""

from __future__ import annotations

from collections.abc import Sequence

from rt_sched import model
from rt_sched.lowering.machine_input import FaultRow, FaultTarget, FrequencyChangeRow, ModeChangeRow
from rt_sched.lowering.outages import device_outages, link_outages, sensor_outages


def fault_rows(system: model.System, plan: model.Plan, faults: Sequence[model.Fault]) -> tuple[FaultRow, ...]:
    """Outages of processors with their device, of sensors and of links."""
    devices = device_outages(faults)
    sensor_of = {sensor.name: index for index, sensor in enumerate(system.sensors)}
    link_of = {link.name: index for index, link in enumerate(system.links)}
    lost = [
        (FaultTarget.PROCESSOR, index, devices.get(processor.device, ()))
        for index, processor in enumerate(plan.processors)
    ]
    lost += [(FaultTarget.SENSOR, sensor_of[name], spans) for name, spans in sensor_outages(system, faults).items()]
    lost += [(FaultTarget.LINK, link_of[name], spans) for name, spans in link_outages(faults).items()]
    return tuple(
        FaultRow(begin_ns, kind, target, end_ns) for kind, target, outages in lost for begin_ns, end_ns in outages
    )


def first_tasks(system: model.System) -> frozenset[str]:
    """The tasks that exist when a run begins."""
    return frozenset(system.modes[0].tasks if system.modes else (task.name for task in system.tasks))


def mode_rows(
    system: model.System, changes: Sequence[model.ModeChange], plan_changes: Sequence[model.PlanChange] = ()
) -> tuple[ModeChangeRow, ...]:
    """Which tasks go and come at each change of mode or plan, in order of time. Raises KeyError for an unknown mode.

    A task is there when its mode has it and the takeover in force does not drop it.
    """
    modes = {mode.name: mode for mode in system.modes}
    present = in_mode = first_tasks(system)
    dropped: frozenset[str] = frozenset()
    rows = []
    every: list[model.ModeChange | model.PlanChange] = [*changes, *plan_changes]
    for change in sorted(every, key=lambda one: one.time_ns):
        if isinstance(change, model.ModeChange):
            in_mode = frozenset(modes[change.mode].tasks)
        else:
            dropped = frozenset(() if change.takeover is None else change.takeover.dropped)
        wanted = in_mode - dropped
        if isinstance(change, model.PlanChange) and wanted == present:
            continue
        removed = tuple(i for i, task in enumerate(system.tasks) if task.name in present - wanted)
        added = tuple(i for i, task in enumerate(system.tasks) if task.name in wanted - present)
        rows.append(ModeChangeRow(change.time_ns, removed, added))
        present = wanted
    return tuple(rows)


def frequency_rows(
    system: model.System,
    plan: model.Plan,
    mode_changes: Sequence[model.ModeChange],
    frequency_changes: Sequence[model.FrequencyChange],
) -> tuple[FrequencyChangeRow, ...]:
    """New frequencies of processors, in order of time: those of each mode, and single ones, which a mode replaces."""
    modes = {mode.name: {(f.device, f.pe): f.frequency_hz for f in mode.frequencies} for mode in system.modes}
    start = {
        (device.name, pe.name): pe.frequency_hz
        for device in system.devices
        for pe in device.processing_elements
        if pe.frequency_hz is not None
    }
    begin = modes[system.modes[0].name] if system.modes else {}
    now = dict(start)
    steps = [(0, {**start, **begin})]
    steps += [(change.time_ns, {**start, **modes[change.mode]}) for change in mode_changes]
    steps += [
        (change.time_ns, {(change.frequency.device, change.frequency.pe): change.frequency.frequency_hz})
        for change in frequency_changes
    ]
    rows = []
    for time_ns, wanted in sorted(steps, key=lambda step: step[0]):
        for place, hertz in wanted.items():
            if now.get(place) != hertz:
                rows += [
                    FrequencyChangeRow(time_ns, index, hertz // 1000)
                    for index, processor in enumerate(plan.processors)
                    if (processor.device, processor.pe) == place
                ]
                now[place] = hertz
    return tuple(rows)


def losses_of(system: model.System, scenario: model.FaultScenario) -> tuple[model.Fault, ...]:
    """What a scenario takes away; nothing for one that only damages or delays."""
    if scenario.effect is not model.FaultEffect.LOSE:
        return ()
    for sensor in system.sensors:
        if sensor.name == scenario.target:
            return (model.Fault(model.FaultKind(sensor.kind.value), sensor.name, scenario.time_ns),)
    is_device = any(device.name == scenario.target for device in system.devices)
    kind = model.FaultKind.DEVICE if is_device else model.FaultKind.LINK
    return (model.Fault(kind, scenario.target, scenario.time_ns),)


def mode_changes_of(scenario: model.FaultScenario) -> tuple[model.ModeChange, ...]:
    """The change of mode that answers a scenario, if any."""
    if scenario.mode is None:
        return ()
    return (model.ModeChange(scenario.time_ns + scenario.mode_after_ns, scenario.mode),)
