"""Whether any bound of any method is exceeded in legal runs of a random system, and what the methods said of it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

import numpy as np
from random_cases import random_case

from rt_sched.analysis.analyze import analyze
from rt_sched.analysis.loads.resolve import ModeLoad, mode_loads
from rt_sched.analysis.methods import METHODS
from rt_sched.analysis.result import TaskResult, Verdict
from rt_sched.analysis.system.engine import TaskBound, mode_bounds
from rt_sched.lowering import check_plan, lower
from rt_sched.lowering.machine_input import MachineInput, TaskRow
from rt_sched.lowering.nominal_samples import nominal_samples
from rt_sched.lowering.task_rows import Execution
from rt_sched.model import ModeChange, Sporadic, System
from rt_sched.sim import Simulation
from rt_sched.trace.records import JobStatus, Trace

_JOBS = 150


@dataclass
class Outcome:
    """What one system showed. `worst`: largest share of its bound that a response reached, by method."""

    violations: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    tightness: dict[str, list[float]] = field(default_factory=dict)


def check(seed: int, runs: int = 4, *, verdicts: bool = True) -> Outcome:
    """Analyse system `seed`, run it in several legal ways, compare; with `verdicts` those of the whole analysis too."""
    outcome = Outcome()
    system, plan = random_case(seed)
    if check_plan(system, plan):
        outcome.counts["no plan"] += 1
        return outcome
    rng = random.Random(seed ^ 0x5EED)  # noqa: S311 - reproducible test data
    report = analyze(system, plan) if verdicts else None
    for number, mode in enumerate(mode_loads(system, plan)):
        seen, missed = [0] * len(system.tasks), [False] * len(system.tasks)
        for given in _legal_runs(system, mode, rng, runs):
            observe(given, seen, missed)
        if report is not None:
            _check_verdicts(f"system {seed}", system, report.modes[number].tasks, seen, missed, outcome)
        check_bounds(f"system {seed}", mode, seen, outcome)
    return outcome


def check_bounds(
    who: str, mode: ModeLoad, seen: Sequence[int], outcome: Outcome, found: Mapping[int, TaskBound] | None = None
) -> None:
    """Every method by itself, on the arrivals that follow from the best bounds, which `found` may give."""
    found = mode_bounds(mode, METHODS) if found is None else found
    for load in mode.loads:
        present = replace(load, tasks=tuple(found[t.index].task for t in load.tasks if found[t.index].task.streams))
        if any(found[t.index].lost for t in load.tasks) or not present.tasks:
            continue
        for method in METHODS:
            if load.policy not in method.policies:
                continue
            if method.refuse(present) is not None:
                outcome.counts[f"{method.name} refused"] += 1
                continue
            for task, one in zip(present.tasks, method.find(present), strict=True):
                if one.bound is None:
                    outcome.counts[f"{method.name} inconclusive"] += 1
                    continue
                outcome.counts[f"{method.name} accepted"] += 1
                outcome.counts[f"{method.name} later job"] += one.bound.job > 0
                outcome.tightness.setdefault(method.name, []).append(seen[task.index] / one.bound.value_ns)
                if seen[task.index] > one.bound.value_ns:
                    took = f"{who}: {task.name} in {mode.name} took {seen[task.index]} ns"
                    outcome.violations.append(f"{took}, {method.name} says {one.bound.value_ns}")


def _check_verdicts(
    who: str,
    system: System,
    results: Sequence[TaskResult],
    seen: Sequence[int],
    missed: Sequence[bool],
    outcome: Outcome,
) -> None:
    place = {task.name: index for index, task in enumerate(system.tasks)}
    for result in results:
        response_ns, late = seen[place[result.task]], missed[place[result.task]]
        outcome.counts[f"verdict {result.verdict.value}"] += 1
        if result.verdict is Verdict.SCHEDULABLE and late:
            outcome.violations.append(f"{who}: {result.task} misses, but is said to be schedulable")
        if result.bound is not None and response_ns > result.bound.value_ns:
            says = f"{result.bound.method} says {result.bound.value_ns}"
            outcome.violations.append(f"{who}: {result.task} took {response_ns} ns, {says}")


def observe(given: MachineInput, seen: list[int], missed: list[bool]) -> Trace:
    """Raise `seen` to the responses of a run; a job that does not end counts as long as it was seen."""
    simulation = Simulation(given)
    simulation.run()
    trace = simulation.trace()
    jobs = trace.jobs
    judged = (jobs.status == JobStatus.COMPLETED) | (jobs.status == JobStatus.UNFINISHED)
    end = np.where(jobs.finish_ns >= 0, jobs.finish_ns, given.horizon_ns)
    for index in range(len(seen)):
        mine = judged & (jobs.task == index)
        seen[index] = max(seen[index], int((end - jobs.arrival_ns)[mine].max(initial=0)))
        late = mine & (end > jobs.deadline_ns) & (jobs.deadline_ns <= given.horizon_ns)
        missed[index] = missed[index] or bool(late.any())
    return trace


def _legal_runs(system: System, mode: ModeLoad, rng: random.Random, runs: int) -> Iterator[MachineInput]:
    """Worst-case demands at once, then any demands, arrivals, releases and samples that the system allows.

    A mode that is not the first is entered at the begin, so that its bounds hold for all that is seen.
    """
    first = not system.modes or mode.name == system.modes[0].name
    rate = sum(1 / task.separation_ns for task in system.tasks)
    horizon_ns = int(_JOBS / rate) + 50
    for run in range(runs):
        execution = Execution.WCET if run % 2 == 0 else Execution.PROFILE
        seed = rng.getrandbits(60)
        samples = nominal_samples(system, horizon_ns, seed)
        given = lower(
            system,
            mode.plan,
            samples,
            horizon_ns=horizon_ns,
            seed=seed,
            execution=execution,
            mode_changes=() if first else (ModeChange(0, mode.name),),
        )
        gap = max((task.separation_ns for task in system.tasks), default=1)
        tasks = tuple(
            adversarial(rng, row, first and isinstance(task.activation, Sporadic), run, gap, horizon_ns)
            for row, task in zip(given.tasks, system.tasks, strict=True)
        )
        yield replace(given, tasks=tasks)


def adversarial(rng: random.Random, row: TaskRow, sporadic: bool, run: int, gap_ns: int, horizon_ns: int) -> TaskRow:
    quantiles = (row.demand_ns,) if isinstance(row.demand_ns, int) else row.demand_ns
    shortest_ns, longest_ns = quantiles[0], quantiles[-1]
    if run % 2:
        share = rng.choice((0.5, 0.8, 0.95))
        demands = tuple(
            longest_ns if rng.random() < share else rng.randint(shortest_ns, longest_ns) for _ in range(_JOBS)
        )
        row = replace(row, explicit_demands_ns=demands)
    if row.jitter_ns and rng.random() < 0.7:
        late = rng.randint(0, 3)
        row = replace(row, explicit_jitters_ns=(*[0] * late, row.jitter_ns, *[0] * rng.randint(0, 100)))
    if sporadic and row.separation_ns is not None:
        first = rng.choice((0, 1, 1, rng.randint(0, gap_ns))) + (gap_ns if run > 1 else 0)
        pause = rng.choice((0.0, 0.0, 0.1))
        gaps = [row.separation_ns + (rng.randint(1, gap_ns) if rng.random() < pause else 0) for _ in range(3 * _JOBS)]
        arrivals = tuple(at for at in accumulate(gaps, initial=first) if at < horizon_ns)
        row = replace(row, rate_hz=None, explicit_arrivals_ns=arrivals, extra_separation_ns=0)
    return row
