"""The failover plan: a takeover for every loss that has one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from rt_sched.analysis.methods import METHODS, Method
from rt_sched.analysis.result import Verdict, worst_verdict
from rt_sched.errors import AnalysisNotApplicable
from rt_sched.lowering import check_plan
from rt_sched.model import Plan, System
from rt_sched.planner.failover.ground import Ground
from rt_sched.planner.failover.levels import closed_up
from rt_sched.planner.failover.losses import Losses, checked, places_in, single_losses
from rt_sched.planner.failover.memory import Memory
from rt_sched.planner.failover.search import Outcome, Search
from rt_sched.planner.failover.steps import Step, steps_to, with_longer_waits
from rt_sched.planner.placing.stopping import Stop


@dataclass(frozen=True, slots=True)
class FailoverPlan:
    """`plan`: with the takeovers that were found, and room between its levels where standbys come.

    `outcomes`: what was found for each set of losses, in the order asked for. `steps`: by losses, what is known of the
    takeover when it follows on another one, which answers a part of them.
    """

    plan: Plan
    outcomes: tuple[Outcome, ...]
    steps: Mapping[Losses, tuple[Step, ...]] = field(default_factory=dict)

    @property
    def verdict(self) -> Verdict:
        """Whether every loss is answered within all limits."""
        return worst_verdict([one.verdict for one in self.outcomes])


def failover_plan(
    system: System,
    plan: Plan,
    losses: Sequence[Collection[str]] | None = None,
    *,
    methods: Sequence[Method] = METHODS,
    progress: Callable[[int, int], None] | None = None,
    stop: Stop | None = None,
) -> FailoverPlan:
    """Takeovers for each of `losses`, such as ("device:orin-1",); by default every single sensor, device and link.

    `plan`: nominal; takeovers that it has are replaced. `progress`: is told how many of how many losses are done.
    `stop`: losses that are not begun when somebody asks it to end have no takeover.

    Raises AnalysisNotApplicable for a plan that does not fit the system, ValueError for an unknown loss.
    """
    problems = check_plan(system, plan)
    if problems:
        raise AnalysisNotApplicable("the plan does not fit the system: " + "; ".join(problems))
    wanted: tuple[Losses, ...] = (
        single_losses(system) if losses is None else tuple(dict.fromkeys(checked(system, one) for one in losses))
    )
    ground = Ground(system, plan, methods)
    memory = Memory(system, plan)
    outcomes: list[Outcome] = []
    for number, one in enumerate(wanted):
        if progress is not None:
            progress(number, len(wanted))
        if stop is not None and stop.asked:
            outcomes.append(Outcome(one, None, (), (), "not looked at: the search was interrupted"))
            continue
        table = {found.losses: found.takeover for found in outcomes if found.takeover is not None}
        outcome = with_longer_waits(ground, Search(ground, one, memory, places_in(table.values(), one)).run(), table)
        for move in () if outcome.takeover is None else outcome.takeover.moves:
            memory.keep(move.task, ground.device_of(move.processor))
        outcomes.append(outcome)
    if progress is not None:
        progress(len(wanted), len(wanted))
    found = [one.takeover for one in outcomes if one.takeover is not None]
    closed = closed_up(ground.plan, found)
    by_losses = {one.losses: one for one in closed.takeovers}
    steps = {one.losses: steps_to(ground, one, {other.losses: other for other in found}) for one in found}
    return FailoverPlan(closed, tuple(replace(one, takeover=by_losses.get(one.losses)) for one in outcomes), steps)


def plan_takeovers(system: System, plan: Plan, losses: Sequence[Collection[str]] | None = None) -> Plan:
    """The plan with its takeovers, as `failover_plan` finds them; raises as that does."""
    return failover_plan(system, plan, losses).plan
