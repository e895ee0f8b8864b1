"""Every fault scenario of a system, and every change of mode: the state before, the transition, the state after."""

from __future__ import annotations

from collections.abc import Sequence

from rt_sched import model
from rt_sched.analysis.faults.cases import Study, lost_case, overrun_case
from rt_sched.analysis.faults.detection import Watches
from rt_sched.analysis.faults.overrun import overrun_of
from rt_sched.analysis.faults.result import FaultReport, ScenarioResult
from rt_sched.analysis.faults.takeover_case import takeover_case, takeover_for
from rt_sched.analysis.faults.takeovers import Takeovers
from rt_sched.analysis.faults.transitions.results import Transitions
from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.analysis.methods import METHODS, Method
from rt_sched.analysis.result import AnalysisReport, Verdict, worst_verdict
from rt_sched.analysis.system.engine import Known, mode_bounds
from rt_sched.errors import AnalysisNotApplicable

#: Asks for everything that a system declares.
ALL = "all"


def analyze_faults(
    system: model.System,
    plan: model.Plan,
    report: AnalysisReport,
    *,
    names: Sequence[str] = (ALL,),
    watches: Watches | None = None,
    methods: Sequence[Method] = METHODS,
) -> FaultReport:
    """The scenarios `names` with the changes of mode that they need; `all`: every scenario and every change.

    A loss that `plan` has a takeover for, and that changes no mode, is answered by that.
    `report`: the analysis of the modes themselves, whose verdicts stand where a fault only takes something away.
    `watches`: what the stages say that they watch over.

    Raises AnalysisNotApplicable for an unknown scenario, and for `all` of a system that declares nothing of the kind.
    """
    chosen = chosen_scenarios(system, names)
    modes = {mode.name: mode for mode in mode_loads(system, plan)}
    known: Known = {}
    bounds = {name: mode_bounds(mode, methods, known) for name, mode in modes.items()}
    verdicts = {(one.mode, one.task): one.verdict for mode in report.modes for one in mode.tasks}
    transitions = Transitions(system, modes, bounds, methods)
    judge = Takeovers(system, modes, bounds, verdicts, methods, known)
    study = Study(system, modes, bounds, verdicts, transitions, watches or {}, methods, known, judge)
    scenarios = tuple(_scenario(study, one) for one in chosen)
    if ALL in names:
        for old in modes:
            for new in modes:
                if old != new:
                    transitions.result(old, new)
    changes = transitions.found()
    misses = tuple((mode.name, one.misses) for mode in report.modes for one in mode.tasks if one.misses is not None)
    found = [
        *(one.verdict for one in scenarios),
        *(one.verdict for one in changes),
        *(one.verdict for _, one in misses),
    ]
    return FaultReport(worst_verdict(found), scenarios, changes, misses)


def chosen_scenarios(system: model.System, names: Sequence[str]) -> tuple[model.FaultScenario, ...]:
    """The scenarios of these names; raises as `analyze_faults` does."""
    if ALL in names:
        constrained = any(task.miss_limit is not None for task in system.tasks)
        if not system.fault_scenarios and len(system.modes) < 2 and not constrained:
            raise AnalysisNotApplicable(
                f"{system.name} declares no faults, no second mode and no miss_limit: there is nothing to analyse"
            )
        return system.fault_scenarios
    known = {one.name: one for one in system.fault_scenarios}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise AnalysisNotApplicable(f"unknown fault {', '.join(unknown)}; there are: {', '.join([ALL, *known])}")
    return tuple(known[name] for name in dict.fromkeys(names))


def _scenario(study: Study, scenario: model.FaultScenario) -> ScenarioResult:
    """A scenario in every mode in which it may strike."""
    if scenario.effect is model.FaultEffect.OVERRUN:
        cases = tuple(
            overrun_case(study, scenario, mode, overrun)
            for mode in study.modes.values()
            if (overrun := overrun_of(mode, scenario)) is not None
        )
    elif (takeover := takeover_for(study, scenario)) is not None:
        cases = tuple(takeover_case(study, scenario, mode, takeover) for mode in study.modes.values())
    else:
        cases = tuple(lost_case(study, scenario, mode) for mode in study.modes.values())
    verdict = worst_verdict([case.verdict for case in cases])
    reason = next((case.reason for case in cases if case.verdict is verdict), "no mode has its task")
    where = next((case.old for case in cases if case.verdict is verdict), "")
    if len(cases) > 1 and verdict is not Verdict.SCHEDULABLE:
        reason = f"in mode {where}: {reason}"
    return ScenarioResult(scenario.name, scenario.effect.value, scenario.target, cases, verdict, reason)
