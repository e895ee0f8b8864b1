"""A plan and what was found on the way to it, as rows for programs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from rt_sched.config.plan_file import Groups
from rt_sched.lowering.routes import crossings_without_link
from rt_sched.model import Plan, System
from rt_sched.planner.energy import energy_model
from rt_sched.planner.explain import FrameFigures, loads_of_elements
from rt_sched.planner.failover import FailoverPlan
from rt_sched.planner.failover.search import Outcome
from rt_sched.planner.fusion import THRESHOLD
from rt_sched.planner.grouping import Grouping, GroupingScore
from rt_sched.planner.merging import Merge
from rt_sched.planner.objectives import Costs
from rt_sched.planner.obstacles import obstacles
from rt_sched.planner.offsets import OffsetProposal
from rt_sched.planner.planned import Planned, Proposal
from rt_sched.planner.recoverable import answered

PLAN_SCHEMA = "rt-sched/plan/1"
Row = dict[str, Any]


def plan_row(system: System, file: str, found: Planned, plan: Plan | None) -> Row:
    """The document on a plan, without takeovers and reasons."""
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
        "proved": list(found.proved),
        "unlinked": _unlinked(system, plan),
        "obstacles": list(obstacles(system, found)),
    }


def _unlinked(system: System, plan: Plan | None) -> list[Row]:
    """Where a system has links, the inputs from other devices that come at once all the same."""
    found = [] if plan is None or not system.links else crossings_without_link(system, plan)
    return [{"task": task, "source": source} for task, source in found]


def _costs(costs: Costs | None) -> Row | None:
    if costs is None:
        return None
    return {
        "accepted": costs.accepted,
        "unbounded": costs.is_unbounded,
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


def failover_row(failover: FailoverPlan) -> Row:
    """What was found for each loss."""
    return {
        "verdict": failover.verdict.value,
        "answered": answered(failover),
        "losses": len(failover.outcomes),
        "takeovers": [
            {
                "losses": list(one.losses),
                "verdict": one.verdict.value,
                "moves": None if one.takeover is None else len(one.takeover.moves),
                "recovered_ns": _recovered_ns(one),
                "reason": one.reason or None,
                "unmoved": [{"task": task, "reason": reason} for task, reason in one.unmoved],
                "on_another": [
                    {
                        "in_force": list(step.in_force),
                        "verdict": step.verdict.value,
                        "recovered_ns": step.recovered_ns,
                        "reason": step.reason or None,
                    }
                    for step in failover.steps.get(one.losses, ())
                ],
            }
            for one in failover.outcomes
        ],
    }


def _recovered_ns(one: Outcome) -> int | None:
    """From the losses until all has recovered to which the limit applies, in the slowest mode.

    None: no bound, or nothing that the limit applies to.
    """
    if one.takeover is None or one.unmoved or all(result.slowest is None for result in one.results):
        return None
    found = [result.recovered_ns for result in one.results]
    known = [value_ns for value_ns in found if value_ns is not None]
    return max(known) if len(known) == len(found) else None


def offset_rows(proposals: Sequence[OffsetProposal], plan: Plan | None) -> list[Row]:
    """Better offsets; `applied`: whether the plan has them."""
    planned = {} if plan is None else dict(plan.offsets)
    return [
        {
            "task": one.task,
            "declared_ns": one.before_offset_ns,
            "offset_ns": one.offset_ns,
            "latency_before_ns": one.before_ns,
            "latency_after_ns": one.after_ns,
            "applied": planned.get(one.task) == one.offset_ns,
        }
        for one in proposals
    ]


def merge_rows(merges: Sequence[Merge], groups: Groups) -> list[Row]:
    """What merging each pair saves; `applied`: whether the plan has the two as one task, or as parts of one."""
    return [
        {
            "first": one.first,
            "second": one.second,
            "threshold": float(THRESHOLD),
            "hand_over_ns": one.hand_over_ns,
            "share": float(one.share),
            "possible": not one.reason,
            "reason": one.reason or None,
            "switches": None if one.reason else float(one.switches),
            "switches_merged": None if one.reason else float(one.switches_merged),
            "saved_ns": None if one.reason else one.saved_ns,
            "bound_ns": one.bound_ns,
            "bound_merged_ns": one.bound_merged_ns,
            "applied": any((one.first, one.second) in pairwise(group) for group in groups),
        }
        for one in merges
    ]


def frame_row(figures: FrameFigures) -> Row:
    """The figures of one frame."""
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
