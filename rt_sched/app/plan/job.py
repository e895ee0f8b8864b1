"""`plan`: the best plan for a system, as a file, and one document that says why it is as it is."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rt_sched.analysis.result import Verdict, worst_verdict
from rt_sched.app.inputs.loss_args import parse_losses
from rt_sched.app.inputs.shipped import resolve
from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.app.plan.rows import Row, failover_row, frame_row, merge_rows, offset_rows, plan_row
from rt_sched.app.plan.schedule_tables import tables_section, write_fragment
from rt_sched.config import load_system
from rt_sched.config.plan_text import plan_text
from rt_sched.errors import AnalysisNotApplicable, DeploymentError
from rt_sched.lowering.merging import merged_name, with_merged
from rt_sched.lowering.offsets import with_offsets
from rt_sched.model import System
from rt_sched.planner import POLICIES
from rt_sched.planner.better_offsets import with_better_offsets
from rt_sched.planner.explain import frame_figures, reasons
from rt_sched.planner.failover import FailoverPlan
from rt_sched.planner.failover.losses import Losses, single_losses
from rt_sched.planner.merging import NO_GROUPS, groups_of, is_better, merges_of
from rt_sched.planner.objectives import Objective
from rt_sched.planner.offsets import OffsetProposal, propose_offsets
from rt_sched.planner.optimise import optimise
from rt_sched.planner.placing.cp import load_solver
from rt_sched.planner.placing.stopping import Stop, interruptible
from rt_sched.planner.planned import Planned
from rt_sched.planner.recoverable import with_takeovers
from rt_sched.planner.switches import switches_of
from rt_sched.units import NS_PER_S

OBJECTIVES = tuple(one.value for one in Objective)
#: The share of the time limit that the search for offsets may take on top of it.
_OFFSET_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What the user asked for. `search`: solver and moves, not heuristics alone. `explain`: reasons, figures, offsets.

    `stay`: tasks stay where the file has them.

    `failover`: takeovers are planned, too. `pairs`: what is lost at one time, beside every single loss.
    `offsets`: the plan sets those of timed tasks, where bounds get better. `merge`: small tasks of one chain may become
    one task. `output`: the plan file to write, or None.
    `tables`: elements that get a time-triggered table, separated by commas, or all; `tables_output`: where they are
    written; `free_offsets`: whether they may move timed tasks.
    """

    system: str
    objective: str = Objective.LATENCY.value
    time_limit_s: float = 30.0
    policy: str | None = None
    search: bool = True
    stay: bool = False
    explain: bool = False
    failover: bool = True
    pairs: tuple[str, ...] = ()
    offsets: bool = False
    merge: bool = False
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
    for file in (request.output, request.tables_output):
        _refuse_unwritable(file, force=request.force or file is request.tables_output)
    path = resolve(request.system)
    system = load_system(path, stages=ImportedStages())
    losses = (*single_losses(system), *parse_losses(request.pairs, system))
    if request.search and not request.stay:
        load_solver()
    of_file, groups = system, NO_GROUPS
    found, failover = plain = _searched(system, request, losses, tell)
    if request.merge and (wanted := groups_of(system, found.fused)):
        tell(f"with {', '.join(map(merged_name, wanted))} as one task each")
        one = with_merged(system, wanted)
        better = _searched(one, request, losses, tell)
        if is_better(better, plain):
            (found, failover), system, groups = better, one, wanted
        else:
            tell("the tasks of the file stay apart: merged, the plan is no better, or fewer losses have an answer")
    offsets = _offsets(system, found, request, tell)
    if request.offsets:
        found, failover = with_better_offsets(system, found, failover, offsets, tell, losses)
    plan = failover.plan if failover is not None else None if found.best is None else found.best.plan
    document = plan_row(system, str(path), found, plan) | {"stay": request.stay}
    if request.offsets or request.explain:
        document["offsets"] = offset_rows(offsets, plan)
    document["merged"] = [list(group) for group in groups]
    if request.merge or request.explain:
        document["merges"] = merge_rows(merges_of(of_file, plain[0].elements, plain[0].policy, plain[0].fused), groups)
    if failover is not None:
        document["failover"] = failover_row(failover)
    if request.explain and plan is not None:
        document |= _explained(system, found)
    if request.tables is not None and plan is not None:
        tell("making tables")
        limit_ns = round(request.time_limit_s * NS_PER_S)
        timed, nominal = with_offsets(system, plan), replace(plan, offsets=())
        document["tables"] = tables_section(timed, nominal, request.tables, limit_ns, free_offsets=request.free_offsets)
        verdicts = (Verdict(document["verdict"]), Verdict(document["tables"]["verdict"]))
        document["verdict"] = worst_verdict(verdicts).value
        if request.tables_output is not None and document["tables"]["reason"] is None:
            write_fragment(document["tables"], request.tables_output)
    if request.output is not None and plan is not None:
        _write(plan_text(of_file, replace(plan, merged=groups)), request.output)
        document["plan_file"] = str(request.output)
    return document


def _searched(
    system: System, request: PlanRequest, losses: Sequence[Losses], tell: Callable[[str], None]
) -> tuple[Planned, FailoverPlan | None]:
    """The best plan, and takeovers where they are asked for."""
    stop = Stop(request.time_limit_s)
    with interruptible(stop):
        found = optimise(
            system,
            Objective(request.objective),
            stop,
            policy=request.policy,
            search=request.search,
            stay=request.stay,
            tell=tell,
        )
    failover = None
    if request.failover and found.verdict is Verdict.SCHEDULABLE:
        tell("planning takeovers")
        asked = Stop(math.inf)
        with interruptible(asked):
            found, failover = with_takeovers(system, found, tell, losses, asked)
        found = replace(found, interrupted=found.interrupted or asked.asked)
    return found, failover


def _offsets(
    system: System, found: Planned, request: PlanRequest, tell: Callable[[str], None]
) -> tuple[OffsetProposal, ...]:
    if found.best is None or found.best.plan is None or not (request.offsets or request.explain):
        return ()
    tell("looking for better offsets")
    stop = Stop(request.time_limit_s * _OFFSET_SHARE)
    with interruptible(stop):
        return propose_offsets(system, found.best.plan, stop)


def _explained(system: System, found: Planned) -> Row:
    figures = frame_figures(system, found)
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
        "frame": None if figures is None else frame_row(figures),
        "switches": [
            {
                "first": one.first,
                "second": one.second,
                "on_one_core": float(one.together),
                "apart": float(one.apart),
            }
            for one in switches_of(system, found.elements, found.policy, found.fused)
        ],
    }


def _refuse_unwritable(file: Path | None, *, force: bool) -> None:
    """Before any search: what cannot be written, or would be overwritten."""
    if file is None:
        return
    if file.exists() and not force:
        raise DeploymentError(f"{file} exists already; give another name, or --force")
    if file.is_dir() or not os.access(file if file.exists() else file.parent, os.W_OK):
        what = (
            "is a folder"
            if file.is_dir()
            else "is read-only"
            if file.exists()
            else f"{file.parent} is no folder to write to"
        )
        raise DeploymentError(f"{file}: cannot be written ({what})")


def _write(text: str, path: Path) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise DeploymentError(f"{path}: cannot be written ({error.strerror})") from error
