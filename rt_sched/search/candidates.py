"""A candidate: every choice that the system leaves open, as arrays; run by the kernel, or told as a scenario."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from rt_sched.lowering.freedoms import SensorFreedom, TaskFreedom
from rt_sched.lowering.machine_input import MachineInput, Samples
from rt_sched.model import JobChoice, SampleChoice, Scenario
from rt_sched.search.space import Space
from rt_sched.sim import Simulation
from rt_sched.trace.records import Int64s, Trace
from rt_sched.units import NS_PER_S

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Candidate:
    """Arrays are never changed in place; what a candidate shares with the one it was made from stays shared.

    By task: `arrivals` int64[n] (None unless it is sporadic), `jitters`, `demands` int64[jobs] (None where nothing is
    open), `waits` int64[jobs, suspensions] (likewise). By sensor: `off` int64[samples, 2], what its captures and
    latencies are off. `phases`: by group of sensors; `clocks`: lateness, as in the freedoms.
    """

    arrivals: tuple[Int64s | None, ...]
    jitters: tuple[Int64s | None, ...]
    demands: tuple[Int64s | None, ...]
    waits: tuple[Int64s | None, ...]
    off: tuple[Int64s, ...]
    phases: tuple[tuple[str, int], ...]
    clocks: tuple[int, ...]

    def phase_ns(self, group: str) -> int:
        """Of the sensors of a group."""
        return dict(self.phases)[group]


def put(values: tuple[T, ...], place: int, value: T) -> tuple[T, ...]:
    """The same with another value at one place."""
    return (*values[:place], value, *values[place + 1 :])


def longest(space: Space) -> Candidate:
    """All jobs need the longest times, arrive as densely as may be and are released at once; sensors are nominal."""
    tasks = space.freedoms.tasks
    return Candidate(
        arrivals=tuple(
            np.arange(0, space.horizon_ns, task.separation_ns, dtype=np.int64) if task.sporadic else None
            for task in tasks
        ),
        jitters=tuple(
            np.zeros(jobs, np.int64) if task.jitter_ns else None for task, jobs in zip(tasks, space.jobs, strict=True)
        ),
        demands=tuple(
            np.full(jobs, task.longest_ns, np.int64) if task.shortest_ns < task.longest_ns else None
            for task, jobs in zip(tasks, space.jobs, strict=True)
        ),
        waits=tuple(
            np.tile(np.array([most_ns for _, most_ns in task.suspensions_ns], np.int64), (jobs, 1))
            if any(least_ns < most_ns for least_ns, most_ns in task.suspensions_ns)
            else None
            for task, jobs in zip(tasks, space.jobs, strict=True)
        ),
        off=tuple(np.zeros((samples_of(space, sensor), 2), np.int64) for sensor in space.freedoms.sensors),
        phases=tuple((group, 0) for group in dict.fromkeys(sensor.group for sensor in space.freedoms.sensors)),
        clocks=(0,) * len(space.freedoms.clocks),
    )


def samples_of(space: Space, sensor: SensorFreedom) -> int:
    """How many samples of a sensor a run may have."""
    return int(max(0, space.horizon_ns - sensor.offset_ns) * sensor.rate_hz / NS_PER_S) + 2


def period_ns(sensor: SensorFreedom) -> int:
    """Distance of two nominal captures, at most."""
    return sensor.nominal_ns(1) - sensor.nominal_ns(0)


def samples(space: Space, candidate: Candidate, index: int) -> tuple[Int64s, Int64s]:
    """Captures and arrivals of a sensor's samples, those before the horizon: in order, none before the run."""
    sensor, off = space.freedoms.sensors[index], candidate.off[index]
    numerator, denominator = sensor.rate_hz.numerator, NS_PER_S * sensor.rate_hz.denominator
    grid = np.array([number * denominator // numerator for number in range(len(off))], np.int64)
    nominal_ns = grid + sensor.offset_ns + candidate.phase_ns(sensor.group)
    captures = np.maximum.accumulate(np.maximum(nominal_ns + off[:, 0], 0))
    arrivals = np.maximum.accumulate(np.maximum(captures + sensor.latency_ns + off[:, 1], captures))
    here = nominal_ns < space.horizon_ns
    return captures[here], arrivals[here]


def machine_input(space: Space, candidate: Candidate) -> MachineInput:
    """What the kernel runs."""
    late = dict(zip((name for name, *_ in space.freedoms.clocks), candidate.clocks, strict=True))
    rows = []
    for index, row in enumerate(space.given.tasks):
        changes: dict[str, object] = {}
        arrivals, waits = candidate.arrivals[index], candidate.waits[index]
        if arrivals is not None:
            changes |= {"rate_hz": None, "explicit_arrivals_ns": tuple(arrivals.tolist())}
        elif row.timed and late.get(space.device[index]):
            changes["offset_ns"] = row.offset_ns + late[space.device[index]]
        for name, values in (("jitters", candidate.jitters[index]), ("demands", candidate.demands[index])):
            if values is not None:
                changes[f"explicit_{name}_ns"] = tuple(values.tolist())
        if waits is not None:
            columns = zip(row.suspensions, waits.T.tolist(), strict=True)
            changes["suspensions"] = tuple(replace(one, explicit_ns=tuple(lengths)) for one, lengths in columns)
        rows.append(replace(row, **changes) if changes else row)  # type: ignore[arg-type]
    drawn = [samples(space, candidate, index) for index in range(len(space.freedoms.sensors))]
    counts = [len(captures) for captures, _ in drawn]
    none = np.zeros(0, np.int64)
    return replace(
        space.given,
        tasks=tuple(rows),
        samples=Samples(
            np.concatenate([none, *(arrivals for _, arrivals in drawn)]),
            np.repeat(np.arange(len(drawn), dtype=np.int64), counts),
            np.concatenate([none, *(captures for captures, _ in drawn)]),
        ),
    )


def run(space: Space, candidate: Candidate) -> Trace:
    """Everything that happens."""
    simulation = Simulation(machine_input(space, candidate))
    simulation.run()
    return simulation.trace()


def scenario_of(space: Space, candidate: Candidate, trace: Trace, horizon_ns: int) -> Scenario:
    """The run until `horizon_ns` as a scenario, in which what is usual is left out."""
    tasks = []
    for index, freedom in enumerate(space.freedoms.tasks):
        arrived = trace.jobs.arrival_ns[trace.jobs.task == index]
        choices = _jobs_of(candidate, index, int(np.count_nonzero(arrived < horizon_ns)), freedom)
        if choices or freedom.sporadic:
            tasks.append((freedom.name, choices))
    shown = []
    for index, sensor in enumerate(space.freedoms.sensors):
        captures, arrivals = samples(space, candidate, index)
        here = arrivals < horizon_ns
        pairs = zip(captures[here].tolist(), arrivals[here].tolist(), strict=True)
        shown.append((sensor.name, tuple(SampleChoice(*pair) for pair in pairs)))
    late = zip((name for name, *_ in space.freedoms.clocks), candidate.clocks, strict=True)
    return Scenario(
        system=space.system.name,
        horizon_ns=horizon_ns,
        clocks=tuple((device, late_ns) for device, late_ns in late if late_ns),
        samples=tuple(shown),
        tasks=tuple(tasks),
    )


def _jobs_of(candidate: Candidate, index: int, count: int, freedom: TaskFreedom) -> tuple[JobChoice, ...]:
    """The first `count` jobs of a task, without usual ones at the end of those that need no arrival."""
    arrivals, jitters = candidate.arrivals[index], candidate.jitters[index]
    demands, waits = candidate.demands[index], candidate.waits[index]
    longest = tuple(most_ns for _, most_ns in freedom.suspensions_ns)
    choices: list[JobChoice] = []
    for number in range(count):
        demand_ns = _at(demands, number)
        lengths = tuple(waits[number].tolist()) if waits is not None and number < len(waits) else longest
        choices.append(
            JobChoice(
                arrival_ns=None if arrivals is None else int(arrivals[number]),
                jitter_ns=_at(jitters, number) or 0,
                demand_ns=None if demand_ns == freedom.longest_ns else demand_ns,
                suspensions_ns=None if lengths == longest else lengths,
            )
        )
    while choices and choices[-1] == JobChoice():
        choices.pop()
    return tuple(choices)


def _at(values: Int64s | None, number: int) -> int | None:
    return None if values is None or number >= len(values) else int(values[number])


def shortened(values: Sequence[Int64s | None], index: int, dropped: int) -> Int64s | None:
    """The choices of a task's jobs when its first `dropped` ones are gone; the last ones repeat."""
    mine = values[index]
    if mine is None or dropped <= 0:
        return mine
    return np.concatenate((mine[dropped:], np.repeat(mine[-1:], min(dropped, len(mine)), axis=0)))[: len(mine)]
