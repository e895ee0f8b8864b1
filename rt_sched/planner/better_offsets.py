"""A plan that has been found, with better offsets of timed tasks, where losses are answered as well as before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from rt_sched.analysis.analyze import analyze
from rt_sched.analysis.result import Verdict
from rt_sched.model import Plan, System
from rt_sched.planner.failover import FailoverPlan, failover_plan
from rt_sched.planner.failover.losses import Losses
from rt_sched.planner.objectives import costs_of
from rt_sched.planner.offsets import OffsetProposal, with_offset
from rt_sched.planner.planned import Planned
from rt_sched.planner.recoverable import answered


def with_better_offsets(
    system: System,
    planned: Planned,
    failover: FailoverPlan | None,
    proposals: Sequence[OffsetProposal],
    tell: Callable[[str], None],
    losses: Sequence[Losses] | None = None,
) -> tuple[Planned, FailoverPlan | None]:
    """`planned` and its takeovers with all of `proposals`, of `propose_offsets`; as they were where that would make the
    plan one that the analysis does not accept, or worse for its objective, or leave a loss without its answer.
    `losses`: as of `with_takeovers`.
    """
    best = planned.best
    if best is None or best.plan is None or not proposals:
        return planned, failover
    plan = _with_all(best.plan, proposals)
    report = analyze(system, plan)
    if report.verdict is not Verdict.SCHEDULABLE:
        tell("offsets stay as in the file: the analysis does not accept the better ones together")
        return planned, failover
    costs = costs_of(system, plan, report.modes)
    if best.costs is not None and best.costs.key(planned.objective) < costs.key(planned.objective):
        tell(f"offsets stay as in the file: the better ones for latency are worse for {planned.objective.value}")
        return planned, failover
    found = replace(planned, best=replace(best, plan=plan, costs=costs), report=report)
    if failover is None:
        return found, None
    tell("planning takeovers with better offsets")
    now = failover_plan(system, plan, losses)
    if answered(now) < answered(failover):
        tell(f"offsets stay as in the file: with the better ones {answered(now)} losses have an answer")
        return planned, failover
    return found, now


def _with_all(plan: Plan, proposals: Sequence[OffsetProposal]) -> Plan:
    for one in proposals:
        plan = with_offset(plan, one.task, one.offset_ns)
    return plan
