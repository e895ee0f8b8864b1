"""A loss that the plan answers with a takeover, in one mode."""

from __future__ import annotations

from rt_sched import model
from rt_sched.analysis.faults.cases import Study
from rt_sched.analysis.faults.losses import Loss, passes
from rt_sched.analysis.faults.result import FaultCase, Handling, TakeoverCase, TakeoverTask
from rt_sched.analysis.faults.takeovers import TakeoverResult
from rt_sched.analysis.loads.resolve import ModeLoad
from rt_sched.analysis.result import TaskResult, Verdict
from rt_sched.errors import AnalysisNotApplicable
from rt_sched.lowering.changes import losses_of
from rt_sched.units import format_ns


def takeover_for(study: Study, scenario: model.FaultScenario) -> model.Takeover | None:
    """The plan's answer to a scenario; None where it has none, or a change of mode answers the scenario."""
    losses = tuple(sorted(str(fault) for fault in losses_of(study.system, scenario)))
    if not losses or scenario.mode is not None:
        return None
    plan = next(iter(study.modes.values())).plan
    return next((one for one in plan.takeovers if one.losses == losses), None)


def takeover_case(study: Study, scenario: model.FaultScenario, mode: ModeLoad, takeover: model.Takeover) -> FaultCase:
    """What a loss takes, what goes on under the takeover, and how long it takes until that has recovered."""
    try:
        found = study.takeovers.judge(mode.name, takeover)
    except AnalysisNotApplicable as refusal:
        return _not_analysed(mode, str(refusal))
    handling = _handling(scenario, found)
    problems = [*found.problems, *([handling.reason] if handling.verdict is not Verdict.SCHEDULABLE else [])]
    after, loss = found.crossing.after, found.crossing.lost_after
    stale = tuple((after.setup.tasks[index].name, inputs) for index, inputs in sorted(loss.stale.items()))
    return FaultCase(
        old=mode.name,
        new=mode.name,
        lost_sensors=tuple(sorted(loss.sensors)),
        lost_tasks=found.lost,
        stale_tasks=stale,
        lost_chains=_lost_chains(mode, found),
        tasks=tuple(_task(mode.name, one) for one in found.tasks),
        chains=found.chains,
        misses=(),
        transition=None,
        handling=handling,
        verdict=Verdict.INCONCLUSIVE if problems else Verdict.SCHEDULABLE,
        reason="; ".join(dict.fromkeys(problems)) or handling.reason,
        takeover=TakeoverCase(takeover, found.tasks, found.recoveries, found.recovered_ns, found.chains_across),
    )


def _lost_chains(mode: ModeLoad, found: TakeoverResult) -> tuple[str, ...]:
    """Chains of the mode that bring nothing new under the takeover."""
    nothing = Loss(frozenset(), frozenset(), frozenset(), {}, {})
    left = {one.chain for one in found.chains}
    usual = (chain.name for chain in mode.system.chains if passes(mode, nothing, chain.path))
    return tuple(name for name in usual if name not in left)


def _not_analysed(mode: ModeLoad, reason: str) -> FaultCase:
    return FaultCase(mode.name, mode.name, (), (), (), (), (), (), (), None, None, Verdict.INCONCLUSIVE, reason)


def _task(mode: str, one: TakeoverTask) -> TaskResult:
    verdict = Verdict.INCONCLUSIVE if one.late else Verdict.SCHEDULABLE
    in_time = one.bound is not None and one.bound.value_ns <= one.deadline_ns
    reason = one.late or ("the bound is within the deadline" if in_time else "as without the fault")
    return TaskResult(one.task, mode, one.processor, one.deadline_ns, one.bound, verdict, reason)


def _handling(scenario: model.FaultScenario, found: TakeoverResult) -> Handling:
    """Detection by signs of life or silence, then the decision, then the slowest path to which the limit applies."""
    detection, slowest = found.detection, found.slowest
    output_ns = 0 if slowest is None else slowest.value_ns
    reaction_ns = None if output_ns is None else found.decision_ns + output_ns
    limit_ns = found.limit_ns
    if scenario.margin_ns is not None:
        limit_ns = (scenario.detection_ns or 0) + (scenario.reaction_ns or 0) + scenario.margin_ns
    margin_ns = longest_ns = None
    if limit_ns is not None and reaction_ns is not None:
        margin_ns = limit_ns - detection.value_ns - reaction_ns
        longest_ns = max(0, limit_ns - reaction_ns) or None
    problems = []
    if scenario.detection_ns is not None and scenario.detection_ns < detection.value_ns:
        problems.append(
            f"a detection within {format_ns(scenario.detection_ns)} is declared, but {detection.by} is only known to "
            f"notice within {format_ns(detection.value_ns)}"
        )
    if scenario.reaction_ns is not None and reaction_ns is not None and scenario.reaction_ns < reaction_ns:
        problems.append(
            f"a reaction within {format_ns(scenario.reaction_ns)} is declared, its bound is {format_ns(reaction_ns)}"
        )
    if margin_ns is not None and margin_ns < 0:
        problems.append(
            f"detection and reaction are over the limit of {format_ns(limit_ns or 0)} by {format_ns(-margin_ns)}"
        )
    return Handling(
        scenario.detection_ns,
        detection,
        detection.value_ns,
        found.decision_ns,
        0,
        output_ns,
        None if slowest is None else f"{slowest.origin} -> {slowest.until}",
        reaction_ns,
        scenario.reaction_ns,
        limit_ns,
        margin_ns,
        longest_ns,
        Verdict.INCONCLUSIVE if problems else Verdict.SCHEDULABLE,
        "; ".join(problems) or ("recovered within its limit" if limit_ns is not None else "it has no limit"),
    )
