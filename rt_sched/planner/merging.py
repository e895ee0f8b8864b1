"""Small tasks of one chain as one task: what that saves, where a plan may do it, and the plan that does.

A pair is worth merging where the switches of its hand-over cost more than `fusion.THRESHOLD` of the smaller one. On one
core, one directly behind the other, the two still cost a switch each, and bounds count two for every job of either.
Merged they are one job with one release, and the hand-over is a call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from rt_sched.analysis.analyze import analyze_mode
from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.analysis.result import ModeResult, Verdict
from rt_sched.config.plan_file import Groups
from rt_sched.lowering import check_plan
from rt_sched.lowering.merging import check_merged, merged_name, with_merged
from rt_sched.model import Plan, System
from rt_sched.planner.failover import FailoverPlan
from rt_sched.planner.fusion import Fusion
from rt_sched.planner.plan import make_plan
from rt_sched.planner.planned import Planned
from rt_sched.planner.recoverable import answered
from rt_sched.planner.switches import switches_for_each_job

NO_GROUPS: Groups = ()


@dataclass(frozen=True, slots=True)
class Merge:
    """What merging a pair alone would do to a plan; `reason`: why it cannot be, else empty.

    `hand_over_ns`: what a hand-over costs; `share`: that of the smaller one's worst case. `switches`,
    `switches_merged`: of all cores for each job of the pair, in a run of either plan with worst cases. `saved_ns`: the
    time of those saved, for each job. `bound_ns`: sum of the response bounds of both; `bound_merged_ns`: that of the
    merged task; None: no bound.
    """

    first: str
    second: str
    hand_over_ns: int
    share: Fraction
    reason: str
    switches: Fraction = Fraction(0)
    switches_merged: Fraction = Fraction(0)
    saved_ns: int = 0
    bound_ns: int | None = None
    bound_merged_ns: int | None = None


def groups_of(system: System, fused: Sequence[Fusion]) -> Groups:
    """The pairs that can be merged, those that follow each other as one group, in the order of the system."""
    groups: list[tuple[str, ...]] = []
    for one in fused:
        if check_merged(system, ((one.first, one.second),)):
            continue
        before = next((group for group in groups if group[-1] == one.first), None)
        behind = next((group for group in groups if group[0] == one.second), None)
        groups = [group for group in groups if group not in (before, behind)]
        groups.append((*(before or (one.first,)), *(behind or (one.second,))))
    return tuple(group for group in groups if not check_merged(system, (group,)))


def merges_of(
    system: System, elements: Mapping[str, tuple[str, str]], policy: str, fused: Sequence[Fusion]
) -> tuple[Merge, ...]:
    """What merging each pair alone would do to the plan that has every task on `elements`, pairs on one core."""
    if not fused:
        return ()
    beside = {one.second: one.first for one in fused}
    plan = make_plan(system, policy, elements=elements, beside=beside)
    return tuple(_merge(system, plan, elements, one, beside) for one in fused)


def _merge(
    system: System, plan: Plan, elements: Mapping[str, tuple[str, str]], one: Fusion, beside: Mapping[str, str]
) -> Merge:
    group = (one.first, one.second)
    reasons = check_merged(system, (group,))
    if reasons:
        return Merge(*group, one.saved_ns, one.share, "; ".join(reason.partition(": ")[2] for reason in reasons))
    merged, name = with_merged(system, (group,)), merged_name(group)
    renamed = {second: first for second, first in beside.items() if second != one.second}
    renamed = {
        name if second in group else second: name if first in group else first for second, first in renamed.items()
    }
    places = {task: place for task, place in elements.items() if task not in group} | {name: elements[one.first]}
    then = make_plan(merged, plan.policy, elements=places, beside=renamed)
    if check_plan(system, plan) or (reasons := check_plan(merged, then)):
        return Merge(
            *group,
            one.saved_ns,
            one.share,
            "; ".join(reasons) or "the plan with both on one core cannot be carried out",
        )
    before = switches_for_each_job(system, plan, one.second)
    after = switches_for_each_job(merged, then, name)
    element = next(
        pe for d in system.devices for pe in d.processing_elements if (d.name, pe.name) == elements[one.first]
    )
    return Merge(
        *group,
        one.saved_ns,
        one.share,
        "",
        before,
        after,
        int((before - after) * element.switch_cost_ns),
        _sum_ns(_modes(system, plan), group),
        _sum_ns(_modes(merged, then), (name,)),
    )


def _modes(system: System, plan: Plan) -> list[ModeResult]:
    return [analyze_mode(mode, search_witnesses=False) for mode in mode_loads(system, plan)]


def _sum_ns(modes: Sequence[ModeResult], names: Sequence[str]) -> int | None:
    """Of the response bounds of these tasks, in the mode where it is largest."""
    sums = []
    for mode in modes:
        bounds = [task.bound for task in mode.tasks if task.task in names]
        if any(bound is None for bound in bounds):
            return None
        sums.append(sum(bound.value_ns for bound in bounds if bound is not None))
    return max(sums, default=None)


def is_better(merged: tuple[Planned, FailoverPlan | None], plain: tuple[Planned, FailoverPlan | None]) -> bool:
    """Whether what was found with merged tasks is better than without, and answers no fewer losses."""
    costs = [None if found.best is None else found.best.costs for found, _ in (merged, plain)]
    if costs[0] is None or merged[0].verdict is not Verdict.SCHEDULABLE:
        return False
    answers = [0 if failover is None else answered(failover) for _, failover in (merged, plain)]
    objective = plain[0].objective
    return answers[0] >= answers[1] and (costs[1] is None or costs[0].key(objective) < costs[1].key(objective))
