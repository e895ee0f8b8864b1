"""Of several accepted plans the best one that losses leave as well off as the plan of the file would be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from rt_sched.analysis.analyze import analyze
from rt_sched.analysis.result import Verdict
from rt_sched.model import System
from rt_sched.planner.failover import FailoverPlan, failover_plan
from rt_sched.planner.failover.losses import Losses
from rt_sched.planner.fusion import fusions
from rt_sched.planner.placing.stopping import Stop
from rt_sched.planner.planned import Planned, Proposal

#: Plans whose takeovers are planned at most, that of the file not counted.
_MOST_PLANS = 3


def answered(failover: FailoverPlan) -> int:
    """How many losses have a takeover that keeps every limit."""
    return sum(1 for one in failover.outcomes if one.verdict is Verdict.SCHEDULABLE)


def with_takeovers(
    system: System,
    planned: Planned,
    tell: Callable[[str], None],
    losses: Sequence[Losses] | None = None,
    stop: Stop | None = None,
) -> tuple[Planned, FailoverPlan | None]:
    """`planned` with the best of its proposals that answers no fewer losses than the file's plan, and its takeovers.

    `losses`: what they are planned for, by default every single loss. `stop`: once somebody asks it to end, the rest of
    the losses have no takeover, and no further plan is looked at.

    A placement that leaves standbys no room may be the better one while nothing is lost; it is passed over for the
    next one, in the end for the file's.
    """
    accepted = _accepted(planned)
    if not accepted:
        return planned, None
    home = next((one for one in accepted if one.method == "as in the file"), None)
    at_home = None if home is None or home.plan is None else failover_plan(system, home.plan, losses, stop=stop)
    least = 0 if at_home is None else answered(at_home)
    fallback: tuple[Proposal, FailoverPlan] | None = None if at_home is None or home is None else (home, at_home)
    for one in accepted[:_MOST_PLANS]:
        if one.plan is None:
            continue
        found = at_home if one is home and at_home is not None else failover_plan(system, one.plan, losses, stop=stop)
        if answered(found) >= least or (stop is not None and stop.asked):
            return _with(system, planned, one), found
        tell(f"{one.method}: {answered(found)} losses have an answer, with the file's plan {least}; the next one")
        fallback = fallback or (one, found)
    if fallback is None:
        return planned, None
    return _with(system, planned, fallback[0]), fallback[1]


def _accepted(planned: Planned) -> list[Proposal]:
    """Accepted proposals with different placements, that of `planned` first, then by the objective."""
    found: dict[tuple[int, ...], Proposal] = {}
    for one in (planned.best, *planned.proposals):
        if one is not None and one.costs is not None and one.costs.accepted:
            found.setdefault(one.place, one)
    first, *rest = found.values() or (None,)
    if first is None:
        return []
    return [first, *sorted(rest, key=lambda one: one.costs.key(planned.objective) if one.costs else ())]


def _with(system: System, planned: Planned, one: Proposal) -> Planned:
    if one is planned.best or one.plan is None:
        return planned
    elements = planned.elements_of(one.place)
    return replace(
        planned,
        best=one,
        report=analyze(system, one.plan),
        fused=fusions(system, elements),
        moves=0,
        complete=False,
        policy=one.plan.policy,
        elements=elements,
        beside={},
    )
