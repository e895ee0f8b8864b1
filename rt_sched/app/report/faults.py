"""Faults in a schedulability report: every single fault with what it takes, and the handling time of the worst."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rt_sched.analysis.result import AnalysisReport
from rt_sched.app.analyze.arbiter_loss import arbiter_loss
from rt_sched.app.analyze.faults import fault_section
from rt_sched.model import FaultEffect, FaultScenario, Plan, System
from rt_sched.units import format_ns

Row = dict[str, Any]

_TAKEOVER_KEYS = ("losses", "moves", "dropped", "redone", "at_once", "variants", "weights", "recoveries")
_WEIGHT_DIGITS = 6
#: In systems with more tasks only declared losses are analysed: each asks for the bounds of all that goes on.
MOST_TASKS = 60


def faults_of(system: System, plan: Plan, report: AnalysisReport, declared: Row | None) -> Row:
    """The matrix of single faults. `declared`: the section `faults` of the analysis document, None where it has none.

    Losses of sensors, devices and links that the file declares no scenario for are analysed, too, and told apart: they
    are no part of the verdict. In systems of more than `MOST_TASKS` tasks they are named only.
    """
    arbiter = arbiter_loss(system, plan, report) if declared is None else declared["arbiter"]
    rows = [] if declared is None else _rows(system, declared["scenarios"], arbiter, stated=True)
    more = undeclared_losses(system)
    looked_at = len(system.tasks) <= MOST_TASKS
    if more and looked_at:
        other = replace(system, fault_scenarios=more)
        found = fault_section(other, plan, report, None, [one.name for one in more])
        rows += _rows(system, found["scenarios"], arbiter, stated=False)
    return {
        "verdict": None if declared is None else declared["verdict"],
        "rows": rows,
        "not_analysed": [] if looked_at else [one.name for one in more],
        "worst": _worst(rows),
        "planned": any(row["takeover"] is not None for row in rows),
        "arbiter": arbiter,
        "injected": [],
        "instants": None,
        "transitions": [] if declared is None else [_transition(one) for one in declared["transitions"]],
        "misses": [] if declared is None else declared["misses"],
    }


def undeclared_losses(system: System) -> tuple[FaultScenario, ...]:
    """The loss of every sensor, device and link that no scenario of the system loses, each named as its target."""
    covered = {one.target for one in system.fault_scenarios if one.effect is FaultEffect.LOSE}
    names = [one.name for part in (system.sensors, system.devices, system.links) for one in part]
    unique = [name for name in dict.fromkeys(names) if names.count(name) == 1]
    return tuple(FaultScenario(name, FaultEffect.LOSE, name) for name in unique if name not in covered)


def _rows(system: System, scenarios: Sequence[Row], arbiter: Row | None, *, stated: bool) -> list[Row]:
    rows = [_row(system, scenario, case, stated=stated) for scenario in scenarios for case in scenario["cases"]]
    return rows if arbiter is None else [_with_arbiter(row, arbiter) for row in rows]


def _with_arbiter(row: Row, arbiter: Row) -> Row:
    """Where the fault takes the arbiter away, what bounds that answers for it, whoever notices the fault itself."""
    if row["effect"] != FaultEffect.LOSE.value or arbiter["task"] not in {one["name"] for one in row["lost_tasks"]}:
        return row
    bound = (
        f"the actuators' side is in MINIMAL_RISK within {format_ns(arbiter['bound_ns'])} of the arbiter's last command"
    )
    reason = f"{row['reason']}; {bound}" if row["declared"] and row["reason"] else bound
    return {**row, "reason": reason, "minimal_risk_ns": arbiter["bound_ns"]}


def _row(system: System, scenario: Row, case: Row, *, stated: bool) -> Row:
    handling = case["handling"]
    lost = set(case["lost_chains"])
    bad = [one for one in case["tasks"] if one["verdict"] != "schedulable"]
    return {
        "fault": scenario["name"],
        "declared": stated,
        "effect": scenario["effect"],
        "target": scenario["target"],
        "mode": case["mode"],
        "mode_after": case["mode_after"],
        "verdict": case["verdict"],
        "reason": case["reason"],
        "chains_kept": [chain.name for chain in system.chains if chain.name not in lost],
        "chains_lost": list(case["lost_chains"]),
        "lost_sensors": list(case["lost_sensors"]),
        "lost_tasks": [dict(one) for one in case["lost_tasks"]],
        "stale_tasks": [{"name": one["name"], "inputs": list(one["inputs"])} for one in case["stale_tasks"]],
        "late_tasks": [
            {key: one[key] for key in ("name", "response_bound_ns", "deadline_ns", "verdict", "reason")} for one in bad
        ],
        "handling": handling,
        "recovered_ns": None if handling is None else _recovered_ns(handling),
        "takeover": _takeover(case["takeover"]),
        "minimal_risk_ns": None,
    }


def _takeover(found: Row | None) -> Row | None:
    """What the plan answers the loss with, and how soon every path that the loss had cut is back."""
    if found is None:
        return None
    weights = [{**one, "factor": round(one["factor"], _WEIGHT_DIGITS)} for one in found["weights"]]
    return {**{key: found[key] for key in _TAKEOVER_KEYS}, "move_count": len(found["moves"]), "weights": weights}


def _recovered_ns(handling: Row) -> int | None:
    """From the fault to the first command of what goes on."""
    parts = (handling["detection_ns"], handling["reaction_ns"])
    return None if None in parts else sum(parts)


def _worst(rows: Sequence[Row]) -> Row | None:
    """The declared fault whose handling leaves the least of its limit, with that time split."""
    limited = [
        row
        for row in rows
        if row["declared"]
        and row["handling"] is not None
        and row["handling"]["limit_ns"] is not None
        and row["recovered_ns"] is not None
    ]
    if not limited:
        return None
    row = min(limited, key=_margin_ns)
    handling = row["handling"]
    return {
        "fault": row["fault"],
        "mode": row["mode"],
        "path": handling["path"],
        "detection_ns": handling["detection_ns"],
        "reaction_ns": handling["reaction_ns"],
        "recovered_ns": row["recovered_ns"],
        "limit_ns": handling["limit_ns"],
        "margin_ns": handling["limit_ns"] - row["recovered_ns"],
        "ties": sum(_margin_ns(one) == _margin_ns(row) for one in limited) - 1,
        "parts": _parts(row),
        "detection_declared_ns": handling["detection_declared_ns"],
        "detection_derived_ns": handling["detection_derived_ns"],
        "detection_parts": _detection_parts(handling["detection_derived"]),
    }


def _margin_ns(row: Row) -> int:
    return int(row["handling"]["limit_ns"] - row["recovered_ns"])


def _detection_parts(derived: Row | None) -> list[Row]:
    """What the watcher of the lost source takes until it has noticed."""
    if derived is None or derived["by"] == "":
        return []
    parts = (
        ("age_allowed", derived["watched"], derived["age_limit_ns"]),
        ("until_the_next_look", derived["by"], derived["gap_ns"]),
        ("response", derived["by"], derived["response_ns"]),
        ("clock_error", derived["by"], derived["clock_ns"]),
    )
    return [{"kind": kind, "by": by, "value_ns": value_ns} for kind, by, value_ns in parts if value_ns]


def _parts(row: Row) -> list[Row]:
    """What the time until the recovery consists of; under a takeover the steps of its slowest path, too."""
    handling = row["handling"]
    derived = handling["detection_derived"]
    by = derived["by"] if derived is not None and derived["by"] != "" else None
    parts = [{"kind": "detection", "by": by, "value_ns": handling["detection_ns"]}]
    parts.append({"kind": "decision", "by": None, "value_ns": handling["decision_ns"]})
    parts.append({"kind": "start", "by": None, "value_ns": handling["start_latency_ns"]})
    slowest = _slowest(row["takeover"])
    if slowest is None:
        parts.append({"kind": "first_output", "by": handling["path"], "value_ns": handling["first_output_ns"] or 0})
    else:
        parts += [{key: term[key] for key in ("kind", "by", "value_ns")} for term in slowest["terms"]]
    return [one for one in parts if one["value_ns"]]


def _slowest(takeover: Row | None) -> Row | None:
    """The path with the longest recovery of those to which a limit applies."""
    counted = [one for one in (takeover or {}).get("recoveries", ()) if one["counted"] and one["terms"] is not None]
    return max(counted, key=lambda one: int(one["recovered_ns"]), default=None)


def _transition(one: Row) -> Row:
    return {
        "name": one["name"],
        "mode": one["mode"],
        "mode_after": one["mode_after"],
        "verdict": one["verdict"],
        "tasks": [
            {
                key: task[key]
                for key in ("name", "presence", "response_bound_ns", "deadline_ns", "verdict", "reason", "method")
            }
            for task in one["tasks"]
        ],
    }
