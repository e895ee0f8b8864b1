"""Systems of a few tasks, written down by hand, and the responses that a legal run of theirs shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from rt_sched import model
from rt_sched.analysis.analyze import analyze
from rt_sched.lowering import lower
from rt_sched.lowering.nominal_samples import nominal_samples
from rt_sched.lowering.task_rows import Execution
from rt_sched.model import Device, PEKind, Plan, Policy, ProcessingElement, Scheduling, SharedResource, System, Task
from rt_sched.sim import Simulation
from rt_sched.trace.records import SampleStatus, SampleTable

Ints = Sequence[int]


def element(
    name: str = "p", policy: Policy = Policy.FIXED_PRIORITY, *, preemptive: bool = True, cores: int = 1, **more: object
) -> ProcessingElement:
    """One CPU; several cores share one queue."""
    scheduling = Scheduling.GLOBAL if cores > 1 else Scheduling.PARTITIONED
    return ProcessingElement(name, PEKind.CPU, cores, policy, preemptive, scheduling, **more)  # type: ignore[arg-type]


def task(name: str, wcet: int, period: int, deadline: int | None = None, *, pe: str = "p", **more: object) -> Task:
    """A sporadic task with an implicit deadline, unless `more` says otherwise."""
    execution = model.ExecutionTime(wcet, wcet, (wcet, wcet))
    own: dict[str, object] = {
        "activation": model.Sporadic(period),
        "inputs": (),
        "deadline_ns": deadline or period,
        "separation_ns": period,
        "level": model.CriticalityLevel.LO,
    }
    return Task(name, "none:None", (), ("d", pe), execution=execution, **(own | more))  # type: ignore[arg-type]


def section(start: int, end: int, resource: str = "r") -> model.CriticalSection:
    """On resource `r` unless another is named."""
    return model.CriticalSection(resource, start, end)


def planned(
    elements: Sequence[ProcessingElement],
    tasks: Sequence[Task],
    protocols: Mapping[str, model.Protocol] | None = None,
    *,
    sensors: Sequence[model.Sensor] = (),
    levels: Mapping[str, int] | None = None,
) -> tuple[System, Plan]:
    """All on one device; levels in the order of `tasks` unless given."""
    resources = tuple(SharedResource(name, protocol) for name, protocol in (protocols or {}).items())
    system = System(
        "by_hand", (Device("d", tuple(elements)),), tuple(sensors), tuple(tasks), (), None, "dm", ".", resources
    )
    place = {one.name: number for number, one in enumerate(elements)}
    processors = tuple(model.Processor("d", e.name, 0, e.policy, e.preemptive, e.cores) for e in elements)
    placements = tuple(
        model.Placement(one.name, place[one.pe[1]], (levels or {}).get(one.name, level))
        for level, one in enumerate(tasks)
    )
    return system, Plan("by_hand", "dm", processors, placements)


def samples(*rows: tuple[int, int, int]) -> SampleTable:
    """Samples (sensor, capture, arrival), in order of arrival."""
    counts: dict[int, int] = {}
    numbers = []
    for sensor, _, _ in rows:
        numbers.append(counts.get(sensor, 0))
        counts[sensor] = numbers[-1] + 1
    columns = np.array(rows, np.int64).T
    status = np.full(len(rows), SampleStatus.WAITING, np.int8)
    return SampleTable(columns[0].astype(np.int32), np.array(numbers, np.int64), columns[2], columns[1], status)


def jobs_of(
    system: System,
    plan: Plan,
    horizon: int = 200,
    *,
    arrivals: Mapping[str, Ints] | None = None,
    jitters: Mapping[str, Ints] | None = None,
    demands: Mapping[str, Ints] | None = None,
    given: SampleTable | None = None,
    mode: str | None = None,
) -> dict[str, list[tuple[int, int]]]:
    """(arrival, response) of every job by task; one that does not end counts as long as it is seen.

    `arrivals`, `jitters` and `demands` of the first jobs, where they are not what the system says by itself; tasks that
    are not named in `arrivals`, although some are, do not arrive. `mode`: entered at the begin.
    """
    changes = () if mode is None else (model.ModeChange(0, mode),)
    delivered = given or nominal_samples(system, horizon)
    rows = lower(system, plan, delivered, horizon_ns=horizon, execution=Execution.WCET, mode_changes=changes)
    changed = []
    for row in rows.tasks:
        if arrivals is not None and row.timed:
            row = replace(row, rate_hz=None, explicit_arrivals_ns=tuple(arrivals.get(row.name, ())))
        changed.append(
            replace(
                row,
                explicit_jitters_ns=tuple((jitters or {}).get(row.name, ())),
                explicit_demands_ns=tuple((demands or {}).get(row.name, ())),
            )
        )
    simulation = Simulation(replace(rows, tasks=tuple(changed)))
    simulation.run()
    jobs = simulation.trace().jobs
    end = np.where(jobs.finish_ns >= 0, jobs.finish_ns, horizon)
    return {
        row.name: [(int(jobs.arrival_ns[j]), int(end[j] - jobs.arrival_ns[j])) for j in np.flatnonzero(jobs.task == i)]
        for i, row in enumerate(changed)
    }


def worst(jobs: Mapping[str, Sequence[tuple[int, int]]], name: str) -> int:
    """Largest response of a task in a run."""
    return max(response for _, response in jobs[name])


def bound(system: System, plan: Plan, name: str, *methods: str, mode: str | None = None) -> int | None:
    """What the analysis says of a task, by all methods unless some are named, in the first mode unless one is."""
    found = analyze(system, plan, methods=methods or None).task(name, mode).bound
    return None if found is None else found.value_ns
