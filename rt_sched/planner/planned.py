"""What a search for a plan has found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rt_sched.analysis.result import AnalysisReport, Verdict
from rt_sched.model import Plan
from rt_sched.planner.fusion import Fusion
from rt_sched.planner.grouping import Grouping
from rt_sched.planner.objectives import Costs, Objective
from rt_sched.planner.placing.cp import Solved
from rt_sched.planner.placing.problem import PlacementProblem

Place = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Proposal:
    """A placement by `method`, the plan it makes and what that costs; `refused`: why it makes no plan.

    `solved`: what the solver said of it.
    """

    method: str
    place: Place
    plan: Plan | None
    costs: Costs | None
    refused: str = ""
    solved: Solved | None = None


@dataclass(frozen=True)
class Planned:
    """The best plan found, with the analysis of it; None where no method made any.

    `proposals`: everything that was looked at, in order. `moves`: improvements of the best placement, one task or
    bundle each. `complete`: whether no further move is better. `interrupted`: whether somebody ended the search.
    `beside`: by task and place, what moving just that task, or its bundle, there would give, where it was looked at.
    `proved`: why no plan can be accepted, where that is proved.
    """

    objective: Objective
    problem: PlacementProblem
    best: Proposal | None
    report: AnalysisReport | None
    proposals: tuple[Proposal, ...]
    grouping: Grouping | None
    fused: tuple[Fusion, ...] = ()
    moves: int = 0
    complete: bool = False
    interrupted: bool = False
    policy: str = ""
    elements: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    beside: Mapping[tuple[int, int], Proposal] = field(default_factory=dict)
    proved: tuple[str, ...] = ()

    def elements_of(self, place: Place) -> dict[str, tuple[str, str]]:
        """Task -> where a placement puts it."""
        names = [(device, pe) for device, _, pe in (name.partition(".") for name in self.problem.places)]
        return {task: names[p] for task, p in zip(self.problem.tasks, place, strict=True)}

    @property
    def verdict(self) -> Verdict:
        """SCHEDULABLE where the analysis accepts the best plan; else UNSCHEDULABLE only where no plan can be accepted.

        That one plan misses a deadline says nothing of others.
        """
        if self.report is not None and self.report.verdict is Verdict.SCHEDULABLE:
            return Verdict.SCHEDULABLE
        return Verdict.UNSCHEDULABLE if self.proved else Verdict.INCONCLUSIVE
