"""Tasks as they are under a takeover: on other elements, in cheaper variants, at lower rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from rt_sched import model
from rt_sched.errors import AnalysisNotApplicable
from rt_sched.lowering.lower import input_role
from rt_sched.lowering.machine_input import Role
from rt_sched.units import NS_PER_S, ceil_int, floor_int

_MILLION = 10**6


def under_takeover(system: model.System, plan: model.Plan, takeover: model.Takeover) -> model.System:
    """The system with its tasks as they are under a takeover, still at home where the file puts them.

    Moved timed tasks become sporadic: their distances stay, whichever of the two clocks runs them; nothing more is
    known of their phase. A variant with `every` sees each n-th arrival of a clock or sensor.

    Raises AnalysisNotApplicable for a variant with `every` of a task that neither a clock nor one sensor activates.
    """
    variants = {
        task.name: next(one for one in task.variants if one.name == wanted)
        for task in system.tasks
        if (wanted := dict(takeover.variants).get(task.name)) is not None
    }
    moved = {placement.task: placement for placement in takeover.moves}
    sensors = list(system.sensors)
    tasks, chains = [], system.chains
    for task, nominal in zip(system.tasks, plan.placements, strict=True):
        if task.name in moved:
            task = _moved(system, plan, task, nominal, moved[task.name])
        variant = variants.get(task.name)
        if variant is not None:
            task = _in_variant(task, variant)
        if variant is not None and variant.every > 1 and not task.is_timed:
            port, sensor = _activating_sensor(system, task, variant)
            thinned = _every(sensor, variant.every)
            if thinned.name not in {one.name for one in sensors}:
                sensors.append(thinned)
            inputs = tuple(replace(one, source=thinned.name) if one is port else one for one in task.inputs)
            task = replace(task, inputs=inputs)
            chains = tuple(
                replace(chain, path=(thinned.name, *chain.path[1:]))
                if chain.path[:2] == (sensor.name, task.name)
                else chain
                for chain in chains
            )
        tasks.append(task)
    return replace(system, tasks=tuple(tasks), sensors=tuple(sensors), chains=chains)


def _moved(
    system: model.System, plan: model.Plan, task: model.Task, nominal: model.Placement, there: model.Placement
) -> model.Task:
    """A task that keeps its cycle on another device."""
    activation = task.activation
    if not isinstance(activation, model.Periodic):
        return task
    speeds = [_speed(system, plan.processors[place.processor].device) for place in (nominal, there)]
    ratio = speeds[1] / speeds[0]
    period = NS_PER_S / activation.rate_hz
    longest_ns = ceil_int(period * max(ratio, Fraction(1))) + (1 if ratio != 1 else 0)
    shortest_ns = max(1, floor_int(period * min(ratio, Fraction(1))))
    return replace(task, activation=model.Sporadic(shortest_ns, longest_ns, 0, activation.jitter_ns))


def _speed(system: model.System, device: str) -> Fraction:
    clock = next(one.clock for one in system.devices if one.name == device)
    return 1 + clock.drift_ppm / _MILLION


def _in_variant(task: model.Task, variant: model.Variant) -> model.Task:
    # C_LO is that of the task in all its variants.
    by_kind = dict(task.execution_by_kind)
    task = replace(
        task,
        execution=_with_low(variant.execution, task.execution),
        execution_by_kind=tuple(
            (kind, _with_low(times, by_kind.get(kind, task.execution))) for kind, times in variant.execution_by_kind
        ),
    )
    activation = task.activation
    if isinstance(activation, model.Periodic):
        period = NS_PER_S / activation.rate_hz * variant.every
        if variant.every == 1:
            return task
        return replace(
            task,
            activation=model.Sporadic(max(1, floor_int(period)), ceil_int(period), 0, activation.jitter_ns),
        )
    if isinstance(activation, model.Sporadic):
        longest_ns = activation.max_separation_ns
        return replace(
            task,
            activation=replace(
                activation,
                min_separation_ns=activation.min_separation_ns * variant.every,
                max_separation_ns=None if longest_ns is None else longest_ns * variant.every,
            ),
        )
    return task


def _with_low(times: model.ExecutionTime, usual: model.ExecutionTime) -> model.ExecutionTime:
    low_ns = usual.wcet_lo_ns
    return replace(times, wcet_lo_ns=None if low_ns is None else min(low_ns, times.wcet_ns))


def _activating_sensor(
    system: model.System, task: model.Task, variant: model.Variant
) -> tuple[model.Input, model.Sensor]:
    """The one input that activates a task, and its sensor."""
    ports = [one for one in task.inputs if input_role(task.activation, one) is not Role.READ]
    sensors = {sensor.name: sensor for sensor in system.sensors}
    if len(ports) != 1 or ports[0].source not in sensors:
        raise AnalysisNotApplicable(
            f"variant {variant.name} of {task.name} leaves out arrivals, but neither a clock nor one sensor makes them"
        )
    return ports[0], sensors[ports[0].source]


_PART = ", 1 of "


def _every(sensor: model.Sensor, every: int) -> model.Sensor:
    """Every n-th message of a sensor; which ones is not known."""
    rate_hz = sensor.rate_hz / every
    return replace(sensor, name=f"{sensor.name}{_PART}{every}", rate_hz=rate_hz, trigger=None)


def with_parts(system: model.System, faults: Sequence[model.Fault]) -> tuple[model.Fault, ...]:
    """Losses, with those of what stands for every n-th message of a lost sensor."""
    parts = (
        replace(fault, target=sensor.name)
        for fault in faults
        for sensor in system.sensors
        if sensor.name.startswith(f"{fault.target}{_PART}")
    )
    return (*faults, *parts)
