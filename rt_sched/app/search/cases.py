"""The worst cases that a search found, each run once more from its scenario and looked at with every record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from rt_sched.analysis.loads.resolve import ModeLoad
from rt_sched.analysis.measured.monitors import first_broken, monitor
from rt_sched.app.inputs.scenario_files import signed
from rt_sched.app.runs.bounds import TOLD_OTHERWISE
from rt_sched.app.runs.check_trace import check_document
from rt_sched.lowering.scenarios import lower_scenario
from rt_sched.model import Scenario, Shown
from rt_sched.search import Found, Goal
from rt_sched.search.candidates import scenario_of
from rt_sched.search.goals import seen_in
from rt_sched.search.simplify import simplified
from rt_sched.search.space import Space
from rt_sched.sim import Simulation
from rt_sched.trace.job_names import job_name
from rt_sched.trace.records import Trace
from rt_sched.units import format_ms


@dataclass(frozen=True, slots=True)
class WorstCase:
    """What was found of a goal. `job`: its name in the run of the scenario. `broken`: the assumption of the bounds that
    does not hold there, in words. `losses`: where messages are lost there, in words; chains are measured before that.
    """

    goal: Goal
    found: Found
    scenario: Scenario
    job: str
    broken: str | None
    losses: tuple[str, ...]

    @property
    def over_bound(self) -> bool:
        """Whether it takes longer than any legal run may."""
        return self.goal.bound_ns is not None and self.found.value_ns > self.goal.bound_ns


@dataclass(frozen=True, slots=True)
class Examined:
    """`cases`: in order of the goals. `violations`: rows of broken scheduling rules; `jobs`: that were looked at."""

    cases: tuple[WorstCase, ...]
    violations: tuple[dict[str, Any], ...]
    jobs: int


def examined(space: Space, load: ModeLoad, found: Sequence[Found | None], *, simplify: bool) -> Examined:
    """Every worst case as a scenario of its own; raises RuntimeError where that does not show the same time.

    `simplify`: leave out of the scenarios what does not matter.
    """
    cases, violations, jobs = [], [], 0
    for one in found:
        if one is None:
            continue
        case, trace = _case(space, load, one, simplify=simplify)
        cases.append(case)
        violations += check_document(trace)["violations"]
        jobs += len(trace.jobs)
    return Examined(tuple(cases), tuple(violations), jobs)


def _case(space: Space, load: ModeLoad, found: Found, *, simplify: bool) -> tuple[WorstCase, Trace]:
    goal = found.goal
    candidate, whole, seen = simplified(space, goal, found.candidate, most_runs=24 if simplify else 1)
    scenario = signed(scenario_of(space, candidate, whole, seen.end_ns + 1), space.system, space.plan)
    simulation = Simulation(lower_scenario(space.system, space.plan, scenario))
    simulation.run()
    trace = simulation.trace()
    again = seen_in(trace, [goal])[0]
    if again is None or again.value_ns != seen.value_ns or seen.value_ns < found.value_ns:
        shown = None if again is None else again.value_ns
        raise RuntimeError(f"{goal.name}: {goal.quantity} of {seen.value_ns} ns, in its scenario {shown} ns")
    found = replace(found, value_ns=seen.value_ns, end_ns=seen.end_ns, candidate=candidate)
    scenario = replace(scenario, shown=Shown(goal.name, goal.quantity, seen.value_ns))
    monitors = monitor(load, trace)
    broken = first_broken([one for one in monitors if one.key not in TOLD_OTHERWISE])
    losses = tuple(
        f"{one.key} at {one.first[0].who}" for one in monitors if one.key in TOLD_OTHERWISE and not one.holds
    )
    words = None
    if broken is not None:
        first = broken.first[0]
        where = f"{first.who} #{first.number} at {format_ms(first.time_ns)} ms"
        words = f"assumption {broken.key} broke {broken.broken} times, first {where}"
    return WorstCase(goal, found, scenario, job_name(trace, again.job), words, losses), trace
