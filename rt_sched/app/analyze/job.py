"""`analyze`: the verdict on a system file or a task set, as one document with every bound and what it rests on."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rt_sched.analysis.analyze import analyze
from rt_sched.analysis.result import (
    AnalysisReport,
    ChainResult,
    DisparityResult,
    ModeResult,
    ProcessorResult,
    TaskResult,
    Verdict,
    worst_verdict,
)
from rt_sched.analysis.task_sets import analyze_task_set
from rt_sched.app.analyze.rows import (
    chain_bounds,
    chain_limit_columns,
    misses_row,
    reads_rows,
    refusal_rows,
    terms_rows,
    witness_row,
)
from rt_sched.app.inputs.plan_files import plan_for
from rt_sched.app.inputs.shipped import resolve
from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.config import load_system, load_task_set
from rt_sched.errors import AnalysisNotApplicable, DeploymentError
from rt_sched.lowering.merging import with_merged
from rt_sched.model import Plan, System, TaskSet
from rt_sched.planner import POLICIES, make_plan
from rt_sched.record.job_set import write_job_set
from rt_sched.units import TIME_UNITS

__all__ = [
    "ANALYSIS_SCHEMA",
    "Analysed",
    "TaskSetRequest",
    "analysed_system",
    "analysed_task_set",
    "analysis_document",
    "load_and_plan",
    "method_names",
    "write_document",
    "write_job_set",
]

ANALYSIS_SCHEMA = "rt-sched/analysis/1"
#: What numbers without a unit may count in.
UNITS = ("ns", "us", "ms", "s")
#: Loads with longer denominators are told as a number only.
_LONGEST = 10**60


@dataclass(frozen=True, slots=True)
class Analysed:
    """A report, the file that it is on, and the processing element of every processor.

    `margins`: by how much jobs may execute longer, mode by mode; None where nobody asked. `ground`: file, system and
    plan of a system file.
    """

    report: AnalysisReport
    file: str
    element_of: Mapping[str, str]
    margins: list[dict[str, Any]] | None = None
    faults: dict[str, Any] | None = None
    ground: tuple[Path, System, Plan] | None = None


def analysed_system(
    argument: str,
    policy: str | None,
    methods: str | None,
    search_margins: Callable[[int, int], None] | None = None,
    faults: str | None = None,
    plan_file: Path | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Analysed:
    """The report on the system that the user named. `methods`: names separated by commas, None for all.

    `search_margins`: margins are searched, too; it is told how many searches of a mode are done. `faults`: names of
    scenarios separated by commas, or all, which are analysed, too. `plan_file`: of a plan in place of the one that
    `policy` makes; `tell`: is told when that is older than the system.

    Raises ConfigError with every problem of both files, AnalysisNotApplicable for an unknown policy, method, scenario.
    """
    path, system, plan = load_and_plan(argument, policy, plan_file, tell)
    names = method_names(methods)
    # Loaded for those who ask for it, as it brings much with it.
    if faults is not None:
        from rt_sched.app.analyze.faults import fault_section, scenario_names
    if search_margins is not None:
        from rt_sched.app.analyze.margins import margin_rows
    scenarios = None if faults is None else scenario_names(system, faults)
    report = analyze(system, plan, methods=names)
    margins = None if search_margins is None else margin_rows(system, plan, names, search_margins)
    section = None if scenarios is None else fault_section(system, plan, report, names, scenarios)
    return Analysed(report, str(path), _elements(plan), margins, section, (path, system, plan))


def load_and_plan(
    argument: str, policy: str | None, plan_file: Path | None = None, tell: Callable[[str], None] = lambda _: None
) -> tuple[Path, System, Plan]:
    """The file that the user named, its system, and the plan of `plan_file` or under `policy`.

    Raises as `analysed_system` does.
    """
    if policy is not None and policy not in POLICIES:
        raise AnalysisNotApplicable(f"unknown policy {policy!r}; valid: {', '.join(POLICIES)}")
    path = resolve(argument)
    system = load_system(path, stages=ImportedStages())
    if plan_file is None:
        return path, system, make_plan(system, policy)
    plan, note = plan_for(system, plan_file, policy)
    if note is not None:
        tell(note)
    return path, with_merged(system, plan.merged), plan


@dataclass(frozen=True, slots=True)
class TaskSetRequest:
    """A task set file and what is said beside it: see `config.task_sets.load_task_set`."""

    file: str
    policy: str | None = None
    preemption: str | None = None
    unit: str = "ns"
    most_urgent: str = "highest"

    def load(self) -> TaskSet:
        """Raises ConfigError with every problem of the file, AnalysisNotApplicable for a wrong word."""
        if self.unit not in UNITS:
            raise AnalysisNotApplicable(f"unknown unit {self.unit!r}; valid: {', '.join(UNITS)}")
        if self.most_urgent not in ("highest", "lowest"):
            raise AnalysisNotApplicable(f"the most urgent priority is highest or lowest, not {self.most_urgent!r}")
        return load_task_set(
            self.file,
            policy=self.policy,
            preemption=self.preemption,
            unit_ns=TIME_UNITS[self.unit],
            lowest_first=self.most_urgent == "lowest",
        )


def analysed_task_set(request: TaskSetRequest, task_set: TaskSet, methods: str | None) -> Analysed:
    """The report on a task set; raises AnalysisNotApplicable for an unknown method."""
    report = analyze_task_set(task_set, methods=method_names(methods))
    processors = {one.processor: one.processor for mode in report.modes for one in mode.processors}
    return Analysed(report, request.file, processors)


def method_names(text: str | None) -> tuple[str, ...] | None:
    """The names in a list separated by commas; raises AnalysisNotApplicable for an empty list."""
    if text is None:
        return None
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise AnalysisNotApplicable("--methods names no method; leave it out to use all")
    return names


def _elements(plan: Plan) -> dict[str, str]:
    return {one.name: f"{one.device}.{one.pe}" for one in plan.processors}


def analysis_document(analysed: Analysed) -> dict[str, Any]:
    """Everything that was found, for `--json`."""
    report = analysed.report
    assumed = [(one.key, frozenset(one.tasks)) for one in report.assumptions]
    document: dict[str, Any] = {
        "schema": ANALYSIS_SCHEMA,
        "system": report.system,
        "file": analysed.file,
        "policy": report.policy,
        "verdict": report.verdict.value,
        "modes": [{"name": mode.name, "verdict": mode.verdict.value} for mode in report.modes],
        "processors": [_processor(one, mode, analysed) for mode in report.modes for one in mode.processors],
        "tasks": [_task(one, analysed, assumed) for mode in report.modes for one in mode.tasks],
        "chains": [_chain(one) for mode in report.modes for one in mode.chains],
        "disparities": [_disparity(one) for mode in report.modes for one in mode.disparities],
        "waits": [asdict(one) | {"verdict": one.verdict.value} for mode in report.modes for one in mode.waits],
        "assumptions": [
            {"key": one.key, "text": one.text, "tasks": list(one.tasks), "check": one.check}
            for one in report.assumptions
        ],
    }
    if analysed.margins is not None:
        document["margins"] = analysed.margins
    if analysed.faults is not None:
        document["faults"] = analysed.faults
        document["verdict"] = worst_verdict([report.verdict, Verdict(analysed.faults["verdict"])]).value
    return document


def write_document(document: Mapping[str, Any], path: Path) -> None:
    """The document as a file; raises DeploymentError when it cannot be written."""
    try:
        path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise DeploymentError(f"{path}: cannot be written ({error.strerror})") from error


def _processor(one: ProcessorResult, mode: ModeResult, analysed: Analysed) -> dict[str, Any]:
    numerator, denominator = one.load
    refusals = next((task.refusals for task in mode.tasks if task.processor == one.processor), ())
    return {
        "name": one.processor,
        "mode": one.mode,
        "pe": analysed.element_of[one.processor],
        "policy": one.policy,
        "load": numerator / denominator,
        "load_exact": f"{numerator}/{denominator}" if denominator < _LONGEST else None,
        "refusals": refusal_rows(refusals),
        "tests": [{"name": name, "verdict": verdict.value, "reason": reason} for name, verdict, reason in one.tests],
    }


def _task(one: TaskResult, analysed: Analysed, assumed: Sequence[tuple[str, frozenset[str]]]) -> dict[str, Any]:
    bound = one.bound
    return {
        "name": one.task,
        "mode": one.mode,
        "pe": analysed.element_of[one.processor],
        "processor": one.processor,
        "response_bound_ns": None if bound is None else bound.value_ns,
        "deadline_ns": one.deadline_ns,
        "slack_ns": None if bound is None else one.deadline_ns - bound.value_ns,
        "verdict": one.verdict.value,
        "reason": one.reason,
        "lost_work": one.lost_work,
        "miss_limit": None if one.misses is None else misses_row(one.misses),
        "method": None if bound is None else bound.method,
        "source": None if bound is None else bound.source,
        "exact": None if bound is None else bound.exact,
        "worst_job": None if bound is None else bound.job,
        "window_ns": None if bound is None else bound.window_ns,
        "terms": terms_rows(bound),
        "refusals": refusal_rows(one.refusals) if bound is None else [],
        "witness": witness_row(one.witness),
        "assumptions": [key for key, tasks in assumed if one.task in tasks],
    }


def _chain(one: ChainResult) -> dict[str, Any]:
    document: dict[str, Any] = {"name": one.chain, "mode": one.mode, "path": list(one.path)}
    bounds = chain_bounds(one)
    return (
        document
        | chain_limit_columns(one)
        | {
            "verdict": one.verdict.value,
            "reason": one.reason,
            "counts": bool(one.limits_ns),
            "methods": {quantity.value: bound.method for quantity, bound in bounds if bound is not None},
            "terms": {quantity.value: terms_rows(bound) for quantity, bound in bounds},
            "reads": {quantity.value: reads_rows(bound) for quantity, bound in bounds},
        }
    )


def _disparity(one: DisparityResult) -> dict[str, Any]:
    return {
        "name": one.task,
        "mode": one.mode,
        "disparity_bound_ns": None if one.bound is None else one.bound.value_ns,
        "disparity_limit_ns": one.limit_ns,
        "older": one.older,
        "younger": one.younger,
        "verdict": one.verdict.value,
        "reason": one.reason,
        "counts": one.limit_ns is not None,
        "method": None if one.bound is None else one.bound.method,
        "source": None if one.bound is None else one.bound.source,
        "terms": terms_rows(one.bound),
    }
