"""Random systems with two or three modes, and whether a change of mode makes any job exceed the bounds across it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from random_cases import random_case
from random_checks import adversarial

from rt_sched.analysis.faults.transitions.loads import Presence, Transition, transition
from rt_sched.analysis.faults.transitions.methods import split_methods
from rt_sched.analysis.faults.transitions.results import transition_bounds
from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.analysis.system.engine import TaskBound
from rt_sched.lowering import check_plan, lower
from rt_sched.lowering.machine_input import MachineInput
from rt_sched.lowering.nominal_samples import nominal_samples
from rt_sched.lowering.task_rows import Execution
from rt_sched.model import Frequency, Mode, ModeChange, OperatingPoint, Plan, Sporadic, System
from rt_sched.sim import Simulation
from rt_sched.trace.records import JobStatus

_FAST, _MIDDLE, _SLOW = 2 * 10**9, 1_300_000_000, 10**9
#: A frequency at which no element runs, but for which execution times may be declared.
_OTHER = 3 * 10**9
_JOBS = 60


@dataclass
class TransitionOutcome:
    """What the changes of one system showed. `tightness`: by method, largest share of a bound that was reached."""

    violations: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    tightness: dict[str, list[float]] = field(default_factory=dict)


def transition_case(seed: int) -> tuple[System, Plan]:
    """A random system whose modes leave out some tasks, half of them with other frequencies, and its plan."""
    rng = random.Random(seed ^ 0xC0DE)  # noqa: S311 - reproducible test data
    system, plan = random_case(seed)
    scaled = rng.random() < 0.5
    (device,) = system.devices
    points = tuple(OperatingPoint(hertz) for hertz in (_SLOW, _MIDDLE, _FAST))
    elements = tuple(
        replace(one, frequency_hz=_FAST if scaled else None, operating_points=points if scaled else ())
        for one in device.processing_elements
    )
    tasks = tuple(
        replace(
            task,
            start_latency_ns=rng.choice((0, 0, rng.randint(1, 2 * task.separation_ns))),
            execution=replace(
                task.execution,
                frequency_hz=rng.choice((None, _FAST, _OTHER)) if scaled else None,
                memory_ns=rng.choice((0, rng.randint(0, task.execution.bcet_ns))),
            ),
        )
        for task in system.tasks
    )
    share = rng.choice((0.4, 0.6, 0.8))
    modes = tuple(
        Mode(
            f"m{number}",
            tuple(task.name for task in tasks if rng.random() < share),
            tuple(Frequency("d", one.name, rng.choice((_FAST, _MIDDLE, _SLOW))) for one in elements) if scaled else (),
        )
        for number in range(rng.choice((2, 2, 3)))
    )
    device = replace(device, processing_elements=elements)
    return replace(system, devices=(device,), tasks=tasks, modes=modes), plan


def check_transitions(seed: int, runs: int = 6) -> TransitionOutcome:
    """Every change between two modes of system `seed`, in runs with changes at any instant."""
    outcome = TransitionOutcome()
    system, plan = transition_case(seed)
    if check_plan(system, plan):
        outcome.counts["no plan"] += 1
        return outcome
    rng = random.Random(seed ^ 0x5EED)  # noqa: S311 - reproducible test data
    modes = mode_loads(system, plan)
    for old in modes:
        for new in modes:
            if old is not new:
                _check(seed, transition(old, new), rng, runs, outcome)
    return outcome


def _check(seed: int, change: Transition, rng: random.Random, runs: int, outcome: TransitionOutcome) -> None:
    bounds = transition_bounds(change)
    seen = dict.fromkeys(bounds, 0)
    for given, at_ns in _legal_runs(change, rng, runs):
        simulation = Simulation(given)
        simulation.run()
        jobs = simulation.trace().jobs
        end = np.where(jobs.finish_ns >= 0, jobs.finish_ns, given.horizon_ns)
        judged = np.isin(jobs.status, (JobStatus.COMPLETED, JobStatus.UNFINISHED))
        for index in bounds:
            mine = judged & (jobs.task == index) & (end <= given.horizon_ns)
            if change.presence[index] is Presence.ADDED:
                mine &= jobs.arrival_ns >= at_ns
            seen[index] = max(seen[index], int((end - jobs.arrival_ns)[mine].max(initial=0)))
    _check_split(seed, change, bounds, seen, outcome)
    for index, one in bounds.items():
        if one.bound is None:
            outcome.counts["no bound"] += 1
            continue
        outcome.counts[f"{one.bound.method} {change.presence[index].value}"] += 1
        outcome.tightness.setdefault(one.bound.method, []).append(seen[index] / one.bound.value_ns)
        if seen[index] > one.bound.value_ns:
            took = f"system {seed}, {change.name}: {one.task.name} took {seen[index]} ns"
            outcome.violations.append(f"{took}, {one.bound.method} says {one.bound.value_ns}")


def _check_split(
    seed: int,
    change: Transition,
    bounds: Mapping[int, TaskBound],
    seen: Mapping[int, int],
    outcome: TransitionOutcome,
) -> None:
    """What the methods that know of the position of the change say by themselves, on the same arrivals."""
    for load in change.load.loads:
        found = [bounds[task.index] for task in load.tasks]
        if any(one.lost or not one.streams for one in found) or not found:
            continue
        present = replace(load, tasks=tuple(one.task for one in found))
        for method in split_methods(change):
            if load.policy not in method.policies or method.refuse(present) is not None:
                continue
            for task, one in zip(present.tasks, method.find(present), strict=True):
                if one.bound is None:
                    outcome.counts[f"{method.name} inconclusive"] += 1
                    continue
                outcome.counts[f"{method.name} by itself"] += 1
                outcome.tightness.setdefault(f"{method.name} by itself", []).append(
                    seen[task.index] / one.bound.value_ns
                )
                if seen[task.index] > one.bound.value_ns:
                    took = f"system {seed}, {change.name}: {task.name} took {seen[task.index]} ns"
                    outcome.violations.append(f"{took}, {method.name} says {one.bound.value_ns}")


def _legal_runs(change: Transition, rng: random.Random, runs: int) -> Iterator[tuple[MachineInput, int]]:
    """The old mode from the begin, then the change, often where many jobs are released at once."""
    system, first = change.old.system, change.old.name == change.old.system.modes[0].name
    rate = sum(1 / task.separation_ns for task in system.tasks)
    horizon_ns = int(_JOBS / rate) + 50
    gap_ns = max((task.separation_ns for task in system.tasks), default=1)
    base = replace(system, devices=at_start(system))
    for run in range(runs):
        at_ns = rng.randint(1, max(2, min(3 * gap_ns, horizon_ns // 2)))
        before = () if first else (ModeChange(0, change.old.name),)
        seed = rng.getrandbits(60)
        given = lower(
            base,
            change.old.plan,
            nominal_samples(system, horizon_ns, seed),
            horizon_ns=horizon_ns,
            seed=seed,
            execution=Execution.WCET if run % 2 == 0 else Execution.PROFILE,
            mode_changes=(*before, ModeChange(at_ns, change.new.name)),
        )
        tasks = []
        for index, (row, task) in enumerate(zip(given.tasks, system.tasks, strict=True)):
            free = isinstance(task.activation, Sporadic) and change.presence.get(index) is Presence.KEPT and first
            tasks.append(adversarial(rng, row, free, run, gap_ns, horizon_ns))
        yield replace(given, tasks=tuple(tasks)), at_ns


def at_start(system: System) -> tuple:  # type: ignore[type-arg]
    """Devices with the frequencies of the start, which those of a mode's load are not."""
    return tuple(
        replace(
            device,
            processing_elements=tuple(
                replace(one, frequency_hz=None if one.frequency_hz is None else _FAST)
                for one in device.processing_elements
            ),
        )
        for device in system.devices
    )
