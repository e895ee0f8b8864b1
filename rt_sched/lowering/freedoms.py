"""What a system leaves open of a run: arrivals of sporadic tasks, jitter, demands, waits, samples, clock errors."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from rt_sched import model
from rt_sched.lowering.changes import first_tasks
from rt_sched.lowering.clocks import with_exact_clocks
from rt_sched.lowering.lower import lower
from rt_sched.lowering.machine_input import MachineInput
from rt_sched.lowering.task_rows import Execution
from rt_sched.trace.records import SampleTable
from rt_sched.units import NS_PER_S


@dataclass(frozen=True, slots=True)
class TaskFreedom:
    """Of one task. Arrivals are open where `sporadic`, `separation_ns` to `most_separation_ns` apart (None: any more).

    Demands lie in [shortest, longest], at the first frequency of the element; `suspensions_ns`: least and largest
    length of each. `active`: whether it is there in the first mode.
    """

    name: str
    sporadic: bool
    separation_ns: int
    most_separation_ns: int | None
    jitter_ns: int
    shortest_ns: int
    longest_ns: int
    suspensions_ns: tuple[tuple[int, int], ...]
    active: bool


@dataclass(frozen=True, slots=True)
class SensorFreedom:
    """Of one sensor: captures at a phase + offset + floor(k / rate), within the capture jitter, ascending.

    The phase is open; it is the same for all sensors of a `group`, those of one trigger.
    """

    name: str
    group: str
    rate_hz: Fraction
    offset_ns: int
    capture_jitter_ns: int
    latency_ns: int
    jitter_ns: int

    def nominal_ns(self, number: int) -> int:
        """Capture of a sample at phase 0."""
        return self.offset_ns + number * NS_PER_S * self.rate_hz.denominator // self.rate_hz.numerator


@dataclass(frozen=True, slots=True)
class Freedoms:
    """Of a whole system. `clocks`: device -> least and largest lateness of its clock, where it has an error."""

    tasks: tuple[TaskFreedom, ...]
    sensors: tuple[SensorFreedom, ...]
    clocks: tuple[tuple[str, int, int], ...]


def without_samples() -> SampleTable:
    """No samples at all."""
    none = np.zeros(0, np.int64)
    return SampleTable(none.astype(np.int32), none, none, none, none.astype(np.int8))


def freedoms(system: model.System, plan: model.Plan) -> Freedoms:
    """What is open under this plan."""
    given = lower(with_exact_clocks(system), plan, without_samples(), horizon_ns=1, execution=Execution.UNIFORM)
    return freedoms_of(system, given)


def freedoms_of(system: model.System, given: MachineInput) -> Freedoms:
    """The same, from what the system was lowered to, demands drawn evenly."""
    present = first_tasks(system)
    tasks = []
    for task, row in zip(system.tasks, given.tasks, strict=True):
        demands = (row.demand_ns,) if isinstance(row.demand_ns, int) else row.demand_ns
        activation = task.activation
        sporadic = isinstance(activation, model.Sporadic)
        limited = isinstance(activation, model.Sporadic) and activation.max_separation_ns is not None
        separation_ns = row.separation_ns or task.separation_ns
        tasks.append(
            TaskFreedom(
                name=task.name,
                sporadic=sporadic,
                separation_ns=separation_ns,
                most_separation_ns=separation_ns + row.extra_separation_ns if limited else None,
                jitter_ns=row.jitter_ns,
                shortest_ns=demands[0],
                longest_ns=demands[-1],
                suspensions_ns=tuple((one.min_ns, one.max_ns) for one in row.suspensions),
                active=task.name in present,
            )
        )
    sensors = tuple(
        SensorFreedom(
            one.name,
            one.name if one.trigger is None else f"trigger {one.trigger}",
            one.rate_hz * (1 + one.drift_ppm / Fraction(10**6)),
            one.offset_ns,
            one.capture_jitter_ns,
            one.latency_ns,
            one.jitter_ns,
        )
        for one in system.sensors
    )
    clocks = tuple(
        (device.name, -min(device.clock.sync_error_ns, device.clock.offset_ns), device.clock.sync_error_ns)
        for device in system.devices
        if device.clock.sync_error_ns
    )
    return Freedoms(tuple(tasks), sensors, clocks)
