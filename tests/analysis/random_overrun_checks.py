"""Whether jobs that overrun make any job of a random system exceed the bounds for that."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from random_cases import random_case
from random_checks import Outcome, adversarial, observe
from random_transition_checks import at_start, transition_case

from rt_sched.analysis.faults.overrun import overrun_bounds, overrun_of
from rt_sched.analysis.loads.resolve import ModeLoad, mode_loads
from rt_sched.analysis.methods import METHODS
from rt_sched.lowering import check_plan, lower
from rt_sched.lowering.machine_input import MachineInput
from rt_sched.lowering.nominal_samples import nominal_samples
from rt_sched.lowering.task_rows import Execution, demands_with_overruns
from rt_sched.model import FaultEffect, FaultScenario, ModeChange, Sporadic

_JOBS = 100


def check_overruns(seed: int, runs: int = 6) -> Outcome:
    """One overrun of one to three jobs of one task of system `seed`, in its first mode."""
    outcome = Outcome()
    system, plan = random_case(seed)
    if check_plan(system, plan):
        outcome.counts["no plan"] += 1
        return outcome
    rng = random.Random(seed ^ 0x0FE4)  # noqa: S311 - reproducible test data
    _check(seed, mode_loads(system, plan)[0], rng, runs, outcome)
    return outcome


def check_overruns_in_modes(seed: int, runs: int = 4) -> Outcome:
    """The same in every mode of system `seed`, many of which have frequencies of their own."""
    outcome = Outcome()
    system, plan = transition_case(seed)
    if check_plan(system, plan):
        outcome.counts["no plan"] += 1
        return outcome
    rng = random.Random(seed ^ 0x0FE4)  # noqa: S311 - reproducible test data
    for mode in mode_loads(system, plan):
        if any(mode.active):
            _check(seed, mode, rng, runs, outcome)
    return outcome


def _check(seed: int, mode: ModeLoad, rng: random.Random, runs: int, outcome: Outcome) -> None:
    """One overrun in one mode, in which all runs are from their begin on."""
    system = mode.system
    task = rng.choice([task for index, task in enumerate(system.tasks) if mode.active[index]])
    jobs = tuple(sorted(rng.sample(range(8), rng.choice((1, 1, 1, 2, 3)))))
    demand_ns = task.execution.wcet_ns + rng.randint(1, 2 * task.separation_ns)
    scenario = FaultScenario("o", FaultEffect.OVERRUN, task.name, jobs=jobs, demand_ns=demand_ns)
    overrun = overrun_of(mode, scenario)
    if overrun is None:
        return
    bounds = overrun_bounds(mode, overrun, METHODS)
    seen, missed = [0] * len(system.tasks), [False] * len(system.tasks)
    for given in _legal_runs(mode, scenario, rng, runs):
        observe(given, seen, missed)
    for index, one in bounds.items():
        if one.bound is None:
            outcome.counts["no bound"] += 1
            continue
        grows = any(term.kind.value == "overrun" for term in one.bound.terms)
        outcome.counts[f"{one.bound.method}{', with overrun' if grows else ''}"] += 1
        outcome.tightness.setdefault(one.bound.method, []).append(seen[index] / one.bound.value_ns)
        if seen[index] > one.bound.value_ns:
            took = f"system {seed}, {task.name} overruns in {mode.name}: {one.task.name} took {seen[index]} ns"
            outcome.violations.append(f"{took}, {one.bound.method} says {one.bound.value_ns}")


def _legal_runs(mode: ModeLoad, scenario: FaultScenario, rng: random.Random, runs: int) -> Iterator[MachineInput]:
    system = mode.system
    first = not system.modes or mode.name == system.modes[0].name
    rate = sum(1 / task.separation_ns for task in system.tasks)
    horizon_ns = int(_JOBS / rate) + 50
    gap_ns = max((task.separation_ns for task in system.tasks), default=1)
    # The run begins at the declared frequencies, and what is declared for those is moved to the mode.
    declared = replace(system, devices=at_start(system))
    for run in range(runs):
        seed = rng.getrandbits(60)
        given = lower(
            declared,
            mode.plan,
            nominal_samples(system, horizon_ns, seed),
            horizon_ns=horizon_ns,
            seed=seed,
            execution=Execution.WCET if run % 2 == 0 else Execution.PROFILE,
            mode_changes=() if first else (ModeChange(0, mode.name),),
        )
        tasks = []
        for index, (row, task) in enumerate(zip(given.tasks, system.tasks, strict=True)):
            changed = adversarial(rng, row, first and isinstance(task.activation, Sporadic), run, gap_ns, horizon_ns)
            if task.name == scenario.target:
                usual = changed.explicit_demands_ns or demands_with_overruns(
                    row, index, seed, (max(scenario.jobs),), scenario.demand_ns or 1
                )
                demands = [scenario.demand_ns if job in scenario.jobs else one for job, one in enumerate(usual)]
                changed = replace(changed, explicit_demands_ns=tuple(demands))
            tasks.append(changed)
        yield replace(given, tasks=tuple(tasks))
