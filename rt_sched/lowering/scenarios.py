"""A scenario as the machine's input, and what in it the system does not allow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from rt_sched import model
from rt_sched.lowering.clocks import with_exact_clocks
from rt_sched.lowering.freedoms import Freedoms, SensorFreedom, TaskFreedom, freedoms
from rt_sched.lowering.lower import lower
from rt_sched.lowering.machine_input import MachineInput, TaskRow
from rt_sched.lowering.task_rows import Execution
from rt_sched.model import JobChoice, SampleChoice, Scenario
from rt_sched.trace.records import SampleStatus, SampleTable
from rt_sched.units import format_ns


def lower_scenario(system: model.System, plan: model.Plan, scenario: Scenario) -> MachineInput:
    """The machine's input for exactly this run; the scenario has passed `scenario_problems`."""
    jobs, given_samples = dict(scenario.tasks), dict(scenario.samples)
    open_here = freedoms(system, plan)
    chosen = [
        given_samples.get(sensor.name) or nominal_choices(sensor, scenario.horizon_ns) for sensor in open_here.sensors
    ]
    given = lower(
        with_exact_clocks(system),
        plan,
        sample_table(chosen),
        horizon_ns=scenario.horizon_ns,
        execution=Execution.WCET,
    )
    late = dict(scenario.clocks)
    rows = []
    for row, freedom, placement in zip(given.tasks, open_here.tasks, plan.placements, strict=True):
        device = plan.processors[placement.processor].device
        rows.append(_row(row, freedom, jobs.get(row.name), late.get(device, 0)))
    return replace(given, tasks=tuple(rows))


def fixed_row(row: TaskRow, late_ns: int) -> TaskRow:
    """A task of which nothing is drawn: its longest times, no jitter, arrivals as dense as may be, its clock late."""
    return replace(
        row,
        offset_ns=row.offset_ns + late_ns if row.timed else row.offset_ns,
        demand_ns=row.demand_ns if isinstance(row.demand_ns, int) else row.demand_ns[-1],
        extra_separation_ns=0,
        jitter_ns=0,
        suspensions=tuple(replace(one, min_ns=one.max_ns) for one in row.suspensions),
    )


def _row(row: TaskRow, freedom: TaskFreedom, jobs: Sequence[JobChoice] | None, late_ns: int) -> TaskRow:
    row = fixed_row(row, late_ns)
    if jobs is None:
        return row
    longest = tuple(most_ns for _, most_ns in freedom.suspensions_ns)
    lengths = [longest if job.suspensions_ns is None else job.suspensions_ns for job in jobs]
    row = replace(
        row,
        explicit_jitters_ns=tuple(job.jitter_ns for job in jobs),
        explicit_demands_ns=tuple(freedom.longest_ns if job.demand_ns is None else job.demand_ns for job in jobs),
        suspensions=tuple(
            replace(one, explicit_ns=tuple(each[number] for each in lengths))
            for number, one in enumerate(row.suspensions)
        ),
    )
    if freedom.sporadic:
        row = replace(row, rate_hz=None, explicit_arrivals_ns=tuple(job.arrival_ns or 0 for job in jobs))
    return row


def nominal_choices(sensor: SensorFreedom, horizon_ns: int, phase_ns: int = 0) -> tuple[SampleChoice, ...]:
    """Every sample captured before the horizon, none of them early or late."""
    found: list[SampleChoice] = []
    while (capture_ns := phase_ns + sensor.nominal_ns(len(found))) < horizon_ns:
        found.append(SampleChoice(capture_ns, capture_ns + sensor.latency_ns))
    return tuple(found)


def sample_table(chosen: Sequence[Sequence[SampleChoice]]) -> SampleTable:
    """The samples of all sensors, in order of the system, as the machine takes them."""
    rows = [
        (one.arrival_ns, sensor, number, one.capture_ns)
        for sensor, samples in enumerate(chosen)
        for number, one in enumerate(samples)
    ]
    rows.sort()
    arrival, sensors, numbers, capture = np.array(rows, np.int64).reshape(-1, 4).T
    status = np.full(len(rows), SampleStatus.WAITING, np.int8)
    return SampleTable(sensors.astype(np.int32), numbers, arrival, capture, status)


def scenario_problems(given: Freedoms, scenario: Scenario) -> list[tuple[str, str]]:
    """Everything in a scenario that the system does not allow: where, such as `tasks.t1[2].jitter`, and why."""
    tasks = {task.name: task for task in given.tasks}
    sensors = {sensor.name: sensor for sensor in given.sensors}
    clocks = {name: (least_ns, most_ns) for name, least_ns, most_ns in given.clocks}
    found: list[tuple[str, str]] = []
    for device, late_ns in scenario.clocks:
        least_ns, most_ns = clocks.get(device, (0, 0))
        found += _outside(f"clocks.{device}", late_ns, least_ns, most_ns, "the error of the clock")
    for name, samples in scenario.samples:
        found += _of_samples(sensors[name], samples)
    found += _of_groups(sensors, dict(scenario.samples))
    for name, jobs in scenario.tasks:
        found += _of_jobs(tasks[name], jobs)
    return found


def _outside(where: str, value_ns: int, least_ns: int, most_ns: int, what: str) -> Iterator[tuple[str, str]]:
    if not least_ns <= value_ns <= most_ns:
        shown = f"{format_ns(least_ns)} to {format_ns(most_ns)}"
        yield where, f"{format_ns(value_ns)} is outside of what the system declares for {what}: {shown}"


def _of_jobs(task: TaskFreedom, jobs: Sequence[JobChoice]) -> Iterator[tuple[str, str]]:
    before_ns: int | None = None
    for number, job in enumerate(jobs):
        where = f"tasks.{task.name}[{number}]"
        if task.sporadic:
            if job.arrival_ns is None:
                yield where, f"{task.name} is sporadic, so each of its jobs needs an arrival"
            elif before_ns is not None:
                distance_ns = job.arrival_ns - before_ns
                least_ns, most_ns = task.separation_ns, task.most_separation_ns
                if distance_ns < least_ns:
                    short = f"{format_ns(distance_ns)} after the one before, the least separation is"
                    yield f"{where}.arrival", f"{short} {format_ns(least_ns)}"
                elif most_ns is not None and distance_ns > most_ns:
                    long = f"{format_ns(distance_ns)} after the one before, the largest separation is"
                    yield f"{where}.arrival", f"{long} {format_ns(most_ns)}"
            before_ns = job.arrival_ns
        elif job.arrival_ns is not None:
            yield f"{where}.arrival", f"{task.name} is not sporadic: its clock or its messages say when it arrives"
        yield from _outside(f"{where}.jitter", job.jitter_ns, 0, task.jitter_ns, "release jitter")
        if job.demand_ns is not None:
            yield from _outside(f"{where}.demand", job.demand_ns, task.shortest_ns, task.longest_ns, "execution")
        if job.suspensions_ns is not None:
            if len(job.suspensions_ns) != len(task.suspensions_ns):
                counts = f"{len(job.suspensions_ns)} lengths for {len(task.suspensions_ns)} suspensions"
                yield f"{where}.suspensions", counts
                continue
            for length_ns, (least_ns, most_ns) in zip(job.suspensions_ns, task.suspensions_ns, strict=True):
                yield from _outside(f"{where}.suspensions", length_ns, least_ns, most_ns, "the suspension")


def _of_samples(sensor: SensorFreedom, samples: Sequence[SampleChoice]) -> Iterator[tuple[str, str]]:
    """Samples in order, each within latency and jitter."""
    for number, one in enumerate(samples):
        least_ns = max(0, sensor.latency_ns - sensor.jitter_ns)
        late_ns, where = one.arrival_ns - one.capture_ns, f"samples.{sensor.name}[{number}]"
        yield from _outside(where, late_ns, least_ns, sensor.latency_ns + sensor.jitter_ns, "latency and jitter")
    for number, (one, following) in enumerate(pairwise(samples)):
        where = f"samples.{sensor.name}[{number + 1}]"
        if following.capture_ns < one.capture_ns or following.arrival_ns < one.arrival_ns:
            yield where, "samples of a sensor are captured, and arrive, in order"


def _of_groups(
    sensors: Mapping[str, SensorFreedom], chosen: Mapping[str, Sequence[SampleChoice]]
) -> Iterator[tuple[str, str]]:
    """Captures keep to their rate, so that none is missing, those of one trigger together."""
    phases: dict[str, tuple[int, int]] = {}
    for name, samples in chosen.items():
        sensor = sensors[name]
        least_ns, most_ns = phases.get(sensor.group, (-(2**62), 2**62))
        for number, one in enumerate(samples):
            off_ns = one.capture_ns - sensor.nominal_ns(number)
            # A capture at 0 may have been earlier, but for the begin of the run.
            if one.capture_ns > 0:
                least_ns = max(least_ns, off_ns - sensor.capture_jitter_ns)
            most_ns = min(most_ns, off_ns + sensor.capture_jitter_ns)
            if least_ns > most_ns:
                yield f"samples.{name}[{number}]", "captured too early or too late for its rate beside the others"
                break
        else:
            phases[sensor.group] = (least_ns, most_ns)
