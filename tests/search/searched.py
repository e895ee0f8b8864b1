"""A system file as a search sees it: its space, its goals with their bounds, and what runs of it show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rt_sched.analysis.analyze import analyze_mode
from rt_sched.analysis.loads.resolve import ModeLoad, mode_loads
from rt_sched.analysis.measured.monitors import first_broken, monitor
from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.app.runs.bounds import TOLD_OTHERWISE
from rt_sched.app.search.document import bounds_of
from rt_sched.config import load_system_text
from rt_sched.lowering import lower, nominal_samples
from rt_sched.lowering.task_rows import Execution
from rt_sched.model import Plan, System
from rt_sched.planner import make_plan
from rt_sched.search import Campaign, Found, Goal, goals_of, search
from rt_sched.search.goals import seen_in
from rt_sched.search.space import Space, space_of
from rt_sched.sim import Simulation
from rt_sched.trace.records import Trace


@dataclass(frozen=True)
class Searched:
    """`goals`: all of the system."""

    space: Space
    load: ModeLoad
    goals: tuple[Goal, ...]

    def goal(self, name: str, quantity: str = "response") -> Goal:
        """The one with this name."""
        return next(one for one in self.goals if (one.name, one.quantity) == (name, quantity))

    def search(self, runs: int, seed: int = 0, **more: object) -> Campaign:
        """For so many runs."""
        return search(self.space, self.goals, seed=seed, runs=runs, **more)  # type: ignore[arg-type]

    def with_longest_times(self, seed: int = 0) -> dict[tuple[str, str], int]:
        """Largest values of a simulation as declared in which every job needs its worst case."""
        system, plan, horizon_ns = self.space.system, self.space.plan, 4 * self.space.horizon_ns
        samples = nominal_samples(system, horizon_ns, seed)
        given = lower(system, plan, samples, horizon_ns=horizon_ns, seed=seed, execution=Execution.WCET)
        seen = zip(self.goals, seen_in(traced(given), self.goals), strict=True)
        return {(goal.name, goal.quantity): -1 if one is None else one.value_ns for goal, one in seen}

    def broken(self, trace: Trace) -> str | None:
        """The assumption of the bounds that a run does not keep."""
        one = first_broken([row for row in monitor(self.load, trace) if row.key not in TOLD_OTHERWISE])
        return None if one is None else f"{one.key}: {one.first}"


def traced(given: object) -> Trace:
    """A whole run."""
    simulation = Simulation(given)  # type: ignore[arg-type]
    simulation.run()
    return simulation.trace()


def system_of(text: str) -> System:
    """A system file without its head."""
    head = "rt_sched: 1\nname: searched\n"
    return load_system_text(head + text, file_name="x.yaml", base_dir=Path(), stages=ImportedStages())


def searched(given: str | System, plan: Plan | None = None) -> Searched:
    """The system, analysed."""
    system = system_of(given) if isinstance(given, str) else given
    plan = make_plan(system, None) if plan is None else plan
    load = mode_loads(system, plan)[0]
    bounds = {
        key: None if one is None else one.value_ns
        for key, one in bounds_of(analyze_mode(load, search_witnesses=False)).items()
    }
    space = space_of(system, plan, max((value for value in bounds.values() if value is not None), default=0))
    return Searched(space, load, goals_of(space, bounds))


def values(found: Sequence[Found | None]) -> list[tuple[int, str, int] | None]:
    """What two searches must agree on."""
    return [None if one is None else (one.value_ns, one.strategy, one.run) for one in found]


def same_choices(one: Found, other: Found) -> bool:
    """Whether two candidates are equal, choice by choice."""
    names = ("arrivals", "jitters", "demands", "waits", "off", "phases", "clocks")
    return all(
        np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b
        for name in names
        for a, b in zip(getattr(one.candidate, name), getattr(other.candidate, name), strict=True)
    )
