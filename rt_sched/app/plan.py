"""`plan`: the best plan for a system, as a file, and one document that says why it is as it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rt_sched.analysis.result import Verdict, worst_verdict
from rt_sched.app.schedule_tables import tables_section, write_fragment
from rt_sched.app.shipped import resolve
from rt_sched.app.stages import ImportedStages
from rt_sched.config import load_system
from rt_sched.config.plan_text import plan_text
from rt_sched.errors import AnalysisNotApplicable, DeploymentError
from rt_sched.model import Plan, System
from rt_sched.planner import POLICIES
from rt_sched.planner.energy import energy_model
from rt_sched.planner.explain import FrameFigures, frame_figures, loads_of_elements, reasons
from rt_sched.planner.failover import FailoverPlan
from rt_sched.planner.grouping import Grouping, GroupingScore
from rt_sched.planner.objectives import Costs, Objective
from rt_sched.planner.obstacles import obstacles
from rt_sched.planner.offsets import propose_offsets
from rt_sched.planner.optimise import Planned, Proposal, optimise
from rt_sched.planner.placing.cp import load_solver
from rt_sched.planner.placing.stopping import Stop, interruptible
from rt_sched.planner.recoverable import answered, with_takeovers
from rt_sched.units import NS_PER_S

PLAN_SCHEMA = "rt-sched/plan/1"
OBJECTIVES = tuple(one.value for one in Objective)
#: The share of the time limit that the search for offsets may take on top of it.
_OFFSET_SHARE = 0.5

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What the user asked for. `search`: solver and moves, not heuristics alone. `explain`: reasons, figures, offsets.

    `failover`: takeovers are planned, too. `output`: the plan file to write, None for none.
    `tables`: elements that get a time-triggered table, separated by commas, or all; `tables_output`: where they are
    written; `free_offsets`: whether they may move timed tasks.
    """

    system: str
    objective: str = Objective.LATENCY.value
    time_limit_s: float = 30.0
    policy: str | None = None
    search: bool = True
    explain: bool = False
    failover: bool = True
    output: Path | None = None
    force: bool = False
    tables: str | None = None
    tables_output: Path | None = None
    free_offsets: bool = False


def planned_document(request: PlanRequest, tell: Callable[[str], None]) -> Row:
    """Plans, writes the plan file, and says everything; raises ConfigError with every problem of the system file."""
    if request.policy is not None and request.policy not in POLICIES:
        raise AnalysisNotApplicable(f"unknown policy {request.policy!r}; valid: {', '.join(POLICIES)}")
    if request.objective not in OBJECTIVES:
        raise AnalysisNotApplicable(f"unknown objective {request.objective!r}; valid: {', '.join(OBJECTIVES)}")
    if request.output is not None and request.output.exists() and not request.force:
        raise DeploymentError(f"{request.output} exists already; give another name, or --force")
    path = resolve(request.system)
    system = load_system(path, stages=ImportedStages())
    if request.search:
        load_solver()
    stop = Stop(request.time_limit_s)
    with interruptible(stop):
        found = optimise(
            system, Objective(request.objective), stop, policy=request.policy, search=request.search, tell=tell
        )
    failover = None
    if request.failover and found.verdict is Verdict.SCHEDULABLE:
        tell("planning takeovers")
        found, failover = with_takeovers(system, found, tell)
    plan = found.best.plan if failover is None and found.best is not None else failover.plan if failover else None
    document = _document(system, str(path), found, plan)
    if failover is not None:
        document["failover"] = _failover(failover)
    if request.explain and plan is not None:
        document |= _explained(system, found, plan, request, tell)
    if request.tables is not None and plan is not None:
        tell("making tables")
        limit_ns = round(request.time_limit_s * NS_PER_S)
        document["tables"] = tables_section(system, plan, request.tables, limit_ns, free_offsets=request.free_offsets)
        verdicts = (Verdict(document["verdict"]), Verdict(document["tables"]["verdict"]))
        document["verdict"] = worst_verdict(verdicts).value
        if request.tables_output is not None and document["tables"]["reason"] is None:
            write_fragment(document["tables"], request.tables_output)
    if request.output is not None and plan is not None:
        _write(plan_text(system, plan), request.output)
        document["plan_file"] = str(request.output)
    return document


def _document(system: System, file: str, found: Planned, plan: Plan | None) -> Row:
    best = found.best
    as_in_file = next((one for one in found.proposals if one.method == "as in the file"), None)
    energy = energy_model(system)
    return {
        "schema": PLAN_SCHEMA,
        "system": system.name,
        "file": file,
        "objective": found.objective.value,
        "verdict": found.verdict.value,
        "policy": found.policy,
        "method": None if best is None else best.method,
        "moves": found.moves,
        "no_better_move": found.complete,
        "interrupted": found.interrupted,
        "plan_file": None,
        "costs": None if best is None else _costs(best.costs),
        "costs_as_in_file": None if as_in_file is None else _costs(as_in_file.costs),
        "energy_model": {"name": energy.name, "text": energy.text},
        "placements": [] if plan is None else _placements(system, plan),
        "elements": []
        if plan is None
        else [{"name": n, "load": v} for n, v in loads_of_elements(system, plan).items()],
        "proposals": [_proposal(one) for one in found.proposals],
        "cameras": None if found.grouping is None else _cameras(found.grouping),
        "fused": [
            {"first": one.first, "second": one.second, "saved_ns": one.saved_ns, "share": float(one.share)}
            for one in found.fused
        ],
        "obstacles": list(obstacles(found)),
    }


def _costs(costs: Costs | None) -> Row | None:
    if costs is None:
        return None
    return {
        "accepted": costs.accepted,
        "latency_ns": costs.latency_ns,
        "margin": float(costs.margin),
        "mean_margin": float(costs.mean_margin),
        "power_mw": costs.power_mw,
        "peak_load": costs.peak / 1e6,
    }


def _placements(system: System, plan: Plan) -> list[Row]:
    rows = []
    for task, placement in zip(system.tasks, plan.placements, strict=True):
        processor = plan.processors[placement.processor]
        pe = f"{processor.device}.{processor.pe}"
        rows.append(
            {
                "task": task.name,
                "pe": pe,
                "processor": processor.name,
                "level": placement.level,
                "moved": (processor.device, processor.pe) != task.pe,
            }
        )
    return rows


def _proposal(one: Proposal) -> Row:
    solved = one.solved
    return {
        "method": one.method,
        "refused": one.refused or None,
        "costs": _costs(one.costs),
        "solver": None
        if solved is None
        else {
            "status": solved.status.value,
            "value": solved.value if solved.place else None,
            "bound": solved.bound if solved.place else None,
            "gap": solved.gap if solved.place else None,
        },
    }


def _cameras(grouping: Grouping) -> Row:
    return {
        "cameras": [
            {"name": camera, "device": device, "second_device": grouping.second_of[camera]}
            for camera, device in grouping.device_of.items()
        ],
        "score": _score(grouping.score),
        "score_as_in_file": _score(grouping.as_in_file),
    }


def _score(score: GroupingScore) -> Row:
    return {
        "peak_load": score.peak / 1e6,
        "peak_load_after_loss": score.peak_after_loss / 1e6,
        "shared_view_mrad": score.shared_mrad,
        "not_on_first_device": score.not_first,
    }


def _failover(failover: FailoverPlan) -> Row:
    return {
        "verdict": failover.verdict.value,
        "answered": answered(failover),
        "losses": len(failover.outcomes),
        "takeovers": [
            {
                "losses": list(one.losses),
                "verdict": one.verdict.value,
                "moves": None if one.takeover is None else len(one.takeover.moves),
                "reason": one.reason or None,
                "unmoved": [{"task": task, "reason": reason} for task, reason in one.unmoved],
            }
            for one in failover.outcomes
        ],
    }


def _explained(system: System, found: Planned, plan: Plan, request: PlanRequest, tell: Callable[[str], None]) -> Row:
    figures = frame_figures(system, found)
    tell("looking for better offsets")
    stop = Stop(request.time_limit_s * _OFFSET_SHARE)
    with interruptible(stop):
        offsets = propose_offsets(system, plan, stop)
    return {
        "reasons": [
            {
                "task": one.task,
                "processor": one.processor,
                "why": one.why,
                "instead": [{"pe": place, "why_not": why} for place, why in one.instead],
            }
            for one in reasons(system, found)
        ],
        "frame": None if figures is None else _frame(figures),
        "offsets": [
            {
                "task": one.task,
                "declared_ns": one.declared_ns,
                "offset_ns": one.offset_ns,
                "latency_before_ns": one.before_ns,
                "latency_after_ns": one.after_ns,
            }
            for one in offsets
        ],
    }


def _frame(figures: FrameFigures) -> Row:
    return {
        "critical_path": list(figures.path),
        "critical_path_ns": figures.path_ns,
        "makespan_ns": figures.makespan_ns,
        "work_ns": figures.work_ns,
        "speed_up": figures.speed_up,
        "efficiency": figures.efficiency,
        "load_imbalance": figures.imbalance,
        "period_ns": figures.period_ns,
        "frames_at_once": figures.frames_at_once,
        "fullest_core": figures.fullest,
        "throughput_hz": figures.throughput_hz,
        "bubbles": figures.bubbles,
        "bubbles_of_fullest_core": figures.bubbles_fullest,
    }


def _write(text: str, path: Path) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise DeploymentError(f"{path}: cannot be written ({error.strerror})") from error
