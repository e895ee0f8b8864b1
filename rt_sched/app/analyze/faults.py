"""The section `faults` of an analysis: every scenario and change of mode, as rows for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rt_sched.analysis.faults.analyze import ALL, analyze_faults, chosen_scenarios
from rt_sched.analysis.faults.detection import Watches
from rt_sched.analysis.faults.result import (
    FaultCase,
    FaultReport,
    Handling,
    ScenarioResult,
    TransitionResult,
    TransitionTask,
)
from rt_sched.analysis.methods import METHODS
from rt_sched.analysis.result import AnalysisReport, Bound, ChainResult, Misses, TaskResult, Verdict, worst_verdict
from rt_sched.app.analyze.arbiter_loss import arbiter_loss
from rt_sched.app.analyze.rows import chain_limit_columns, misses_row, terms_rows, witness_row
from rt_sched.app.analyze.takeovers import takeover_row
from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.app.inputs.systems import stage_context
from rt_sched.errors import AnalysisNotApplicable
from rt_sched.model import Plan, System

Row = dict[str, Any]


def scenario_names(system: System, wanted: str) -> tuple[str, ...]:
    """The names of scenarios in a list separated by commas, or all; none where only the loss of an arbiter is left.

    Raises AnalysisNotApplicable for an empty list, an unknown name, or all of a system without faults, modes, arbiter.
    """
    names = tuple(name.strip() for name in wanted.split(",") if name.strip())
    if not names:
        raise AnalysisNotApplicable("--faults names no scenario; write all, or names separated by commas")
    try:
        chosen_scenarios(system, names)
    except AnalysisNotApplicable:
        if ALL not in names or system.safety is None:
            raise
        return ()
    return names


def fault_section(
    system: System, plan: Plan, report: AnalysisReport, methods: Sequence[str] | None, names: Sequence[str]
) -> Row:
    """The scenarios that `scenario_names` found. `methods`: names, None for all."""
    chosen = tuple(method for method in METHODS if methods is None or method.name in methods)
    found = analyze_faults(system, plan, report, names=names, watches=_watches(system), methods=chosen)
    return _section(found, arbiter_loss(system, plan, report))


def _watches(system: System) -> Watches:
    """What every stage of the system says that it watches over."""
    stages = ImportedStages()
    found = {}
    for task in system.tasks:
        stage = stages.create(task) if task.stage else None
        told = getattr(stage, "watches", None)
        if told is not None:
            found[task.name] = tuple(told(stage_context(system, task, authenticator=None)))
    return found


def _section(report: FaultReport, arbiter: Row | None) -> Row:
    verdicts = [report.verdict, *([] if arbiter is None else [Verdict(arbiter["verdict"])])]
    return {
        "verdict": worst_verdict(verdicts).value,
        "arbiter": arbiter,
        "scenarios": [_scenario(one) for one in report.scenarios],
        "transitions": [_transition(one) for one in report.transitions],
        "misses": [{"mode": mode, **_misses(one)} for mode, one in report.misses],
    }


def _scenario(one: ScenarioResult) -> Row:
    return {
        "name": one.name,
        "effect": one.effect,
        "target": one.target,
        "verdict": one.verdict.value,
        "reason": one.reason,
        "cases": [_case(case) for case in one.cases],
    }


def _case(one: FaultCase) -> Row:
    return {
        "mode": one.old,
        "mode_after": one.new,
        "verdict": one.verdict.value,
        "reason": one.reason,
        "lost_sensors": list(one.lost_sensors),
        "lost_tasks": [{"name": name, "reason": reason} for name, reason in one.lost_tasks],
        "stale_tasks": [{"name": name, "inputs": list(inputs)} for name, inputs in one.stale_tasks],
        "lost_chains": list(one.lost_chains),
        "transition": one.transition,
        "tasks": [_task(task) for task in one.tasks],
        "chains": [_chain(chain) for chain in one.chains],
        "misses": [_misses(misses) for misses in one.misses],
        "handling": None if one.handling is None else _handling(one.handling),
        "takeover": takeover_row(one.takeover),
    }


def _handling(one: Handling) -> Row:
    derived = one.derived
    return {
        "detection_declared_ns": one.detection_declared_ns,
        "detection_derived_ns": None if derived is None else derived.value_ns,
        "detection_derived": None
        if derived is None
        else {
            "by": derived.by,
            "watched": derived.watched,
            "age_limit_ns": derived.age_limit_ns,
            "gap_ns": derived.gap_ns,
            "response_ns": derived.response_ns,
            "clock_ns": derived.clock_ns,
        },
        "detection_ns": one.detection_ns,
        "reaction_declared_ns": one.reaction_declared_ns,
        "reaction_ns": one.reaction_ns,
        "decision_ns": one.decision_ns,
        "start_latency_ns": one.start_latency_ns,
        "first_output_ns": one.first_output_ns,
        "path": one.path,
        "limit_ns": one.limit_ns,
        "margin_ns": one.margin_ns,
        "longest_detection_ns": one.longest_detection_ns,
        "verdict": one.verdict.value,
        "reason": one.reason,
    }


def _transition(one: TransitionResult) -> Row:
    return {
        "name": one.name,
        "mode": one.old,
        "mode_after": one.new,
        "verdict": one.verdict.value,
        "tasks": [_transition_task(task) for task in one.tasks],
        "chains": [_chain(chain) for chain in one.chains],
        "waits": [asdict(wait) | {"verdict": wait.verdict.value} for wait in one.waits],
    }


def _transition_task(one: TransitionTask) -> Row:
    return {
        "name": one.task,
        "presence": one.presence.value,
        **_bound(one.bound),
        "deadline_ns": one.deadline_ns,
        "bound_before_ns": one.before_ns,
        "bound_after_ns": one.after_ns,
        "verdict": one.verdict.value,
        "reason": one.reason,
        "witness": witness_row(one.witness),
        "miss_limit": None if one.misses is None else misses_row(one.misses),
    }


def _task(one: TaskResult) -> Row:
    return {
        "name": one.task,
        **_bound(one.bound),
        "deadline_ns": one.deadline_ns,
        "verdict": one.verdict.value,
        "reason": one.reason,
        "witness": witness_row(one.witness),
    }


def _bound(bound: Bound | None) -> Row:
    """A response bound; the `value_ns` of its terms add up to it."""
    return {
        "response_bound_ns": None if bound is None else bound.value_ns,
        "method": None if bound is None else bound.method,
        "source": None if bound is None else bound.source,
        "terms": terms_rows(bound),
    }


def _chain(one: ChainResult) -> Row:
    return {"name": one.chain, "verdict": one.verdict.value, "reason": one.reason, **chain_limit_columns(one)}


def _misses(one: Misses) -> Row:
    return {"task": one.task, **misses_row(one)}
