"""Requirements in a schedulability report: from each to its limits, bounds and evidence, and back."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any

from rt_sched.analysis.braking import time_to_command_ns
from rt_sched.model import BrakingCase, Criticality, Requirement, System

Row = dict[str, Any]

_CHAIN_KEYS = {"max_reaction": "reaction", "max_latency": "latency", "max_data_age": "data_age"}
#: From the lowest on.
_LEVELS = tuple(Criticality)
#: Limits of the time to a command.
_BRAKING_KEYS = ("max_reaction", "max_latency", "command_deadline")
COLUMNS = (
    "requirement",
    "asil",
    "source",
    "rationale",
    "limit",
    "mode",
    "limit_ns",
    "bound_ns",
    "margin_ns",
    "observed_ns",
    "derived_limit_ns",
    "verdict",
    "evidence",
)


def requirement_section(system: System, document: Mapping[str, Any]) -> Row:
    """The table of limits, and what has no partner. `document`: the report with tasks, chains, disparities, faults."""
    limits = _limits(system, document)
    by_name: dict[str, list[Row]] = {}
    for limit in limits:
        by_name.setdefault(limit["limit"], []).append(limit)
    traced = [
        {
            "requirement": one.name,
            "asil": one.asil,
            "source": one.source,
            "rationale": one.rationale,
            "braking": None if one.braking is None else _braking(one.braking),
            "limits": [_judged(system, row, one) for name in one.limits for row in by_name.get(str(name), ())],
        }
        for one in system.requirements
    ]
    asked = {str(name) for one in system.requirements for name in one.limits}
    return {
        "requirements": traced,
        "limits": [
            {**row, "requirements": [one.name for one in system.requirements if row["limit"] in map(str, one.limits)]}
            for row in limits
        ],
        "limit_count": len(by_name),
        "orphan_count": sum(name not in asked for name in by_name),
        "requirements_without_limit": [one["requirement"] for one in traced if not one["limits"]],
        "limits_without_requirement": [name for name in by_name if name not in asked],
    }


def _limits(system: System, document: Mapping[str, Any]) -> list[Row]:
    """Every limit that the system states, with its bound and what runs showed, mode by mode."""
    rows = [
        _limit(
            f"tasks.{task['name']}.deadline",
            task["mode"],
            task["deadline_ns"],
            task["response_bound_ns"],
            task["observed_ns"],
            task["verdict"],
            task["method"],
            f"task-{task['name']}",
        )
        for task in document["tasks"]
    ]
    for one in document["disparities"]:
        if one["disparity_limit_ns"] is not None:
            value_ns, limit_ns = one["disparity_bound_ns"], one["disparity_limit_ns"]
            name = f"tasks.{one['name']}.max_disparity"
            rows.append(_limit(name, one["mode"], limit_ns, value_ns, None, one["verdict"], one["method"], ""))
    for chain in document["chains"]:
        for key, quantity in _CHAIN_KEYS.items():
            limit_ns, bound_ns = chain[f"{quantity}_limit_ns"], chain[f"{quantity}_bound_ns"]
            if limit_ns is None:
                continue
            rows.append(
                _limit(
                    f"chains.{chain['name']}.{key}",
                    chain["mode"],
                    limit_ns,
                    bound_ns,
                    chain[f"{quantity}_observed_ns"],
                    _verdict_of(bound_ns, limit_ns),
                    chain["methods"].get(quantity),
                    f"chain-{chain['name']}",
                )
            )
    return rows + _fault_limits(system, document) + _safety_limits(system, document)


def _fault_limits(system: System, document: Mapping[str, Any]) -> list[Row]:
    rows = []
    for row in document["faults"]["rows"]:
        handling = row["handling"]
        scenario = next((one for one in system.fault_scenarios if one.name == row["fault"]), None)
        if not row["declared"] or handling is None or scenario is None:
            continue
        for key, limit_ns, bound_ns in (
            ("detection", scenario.detection_ns, handling["detection_derived_ns"]),
            ("reaction", scenario.reaction_ns, handling["reaction_ns"]),
        ):
            if limit_ns is not None:
                name = f"faults.{row['fault']}.{key}"
                method = "fault handling time" if bound_ns is not None else None
                verdict = _verdict_of(bound_ns, limit_ns)
                rows.append(_limit(name, row["mode"], limit_ns, bound_ns, None, verdict, method, "faults"))
    return rows


def _safety_limits(system: System, document: Mapping[str, Any]) -> list[Row]:
    safety = system.safety
    if safety is None:
        return []
    rows = []
    if safety.command_deadline_ns is not None:
        limit_ns = safety.command_deadline_ns
        ending = [one for one in document["chains"] if one["path"][-1] == safety.arbiter]
        for chain in ending:
            bound_ns = chain["latency_bound_ns"]
            rows.append(
                _limit(
                    "safety.command_deadline",
                    chain["mode"],
                    limit_ns,
                    bound_ns,
                    chain["latency_observed_ns"],
                    _verdict_of(bound_ns, limit_ns),
                    chain["methods"].get("latency"),
                    f"chain-{chain['name']}",
                )
            )
    if safety.recovery_limit_ns is not None:
        worst = document["faults"]["worst"]
        bound_ns = None if worst is None else worst["recovered_ns"]
        rows.append(
            _limit(
                "safety.recovery_limit",
                worst["mode"] if worst else "",
                safety.recovery_limit_ns,
                bound_ns,
                _recovered_ns(document),
                _verdict_of(bound_ns, safety.recovery_limit_ns),
                None if bound_ns is None else "fault handling time",
                "faults",
            )
        )
    return rows


def _recovered_ns(document: Mapping[str, Any]) -> int | None:
    seen = [one.get("recovered_after_ns") for run in document["evidence"]["runs"] for one in run["faults"]]
    return max((value for value in seen if value is not None), default=None)


def _limit(
    name: str,
    mode: str,
    limit_ns: int,
    bound_ns: int | None,
    observed_ns: int | None,
    verdict: str,
    method: str | None,
    anchor: str,
) -> Row:
    evidence = [] if method is None else [f"bound by {method}"]
    evidence += ["observed in runs"] if observed_ns is not None else []
    return {
        "limit": name,
        "mode": mode,
        "limit_ns": limit_ns,
        "bound_ns": bound_ns,
        "margin_ns": None if bound_ns is None else limit_ns - bound_ns,
        "observed_ns": observed_ns,
        "verdict": verdict,
        "evidence": evidence,
        "anchor": anchor,
    }


def _verdict_of(bound_ns: int | None, limit_ns: int) -> str:
    """A bound above its limit proves nothing by itself: it may be pessimistic."""
    return "schedulable" if bound_ns is not None and bound_ns <= limit_ns else "inconclusive"


def _judged(system: System, row: Row, requirement: Requirement) -> Row:
    """A limit of a requirement; where a braking case stands behind it, whether the limit is as short as that asks; and
    the tasks that have to keep it at a lower level of integrity than the requirement's.
    """
    key = row["limit"].rpartition(".")[2]
    derived_ns = None
    if requirement.braking is not None and key in _BRAKING_KEYS:
        derived_ns = time_to_command_ns(requirement.braking)
    return {
        **row,
        "derived_limit_ns": derived_ns,
        "covered": derived_ns is None or row["limit_ns"] <= derived_ns,
        "levels_below": _levels_below(system, row["limit"], requirement.asil),
    }


def _levels_below(system: System, limit: str, asil: str | None) -> list[str]:
    """Tasks behind a limit whose level is below `asil`, whose first letter is the level asked of them."""
    part, name, _ = f"{limit}..".split(".", 2)
    path = next((one.path for one in system.chains if one.name == name), ()) if part == "chains" else (name,)
    asked = _LEVELS.index(Criticality(asil.partition("(")[0])) if asil is not None else 0
    return [
        f"{task.name} ({task.criticality.value})"
        for task in system.tasks
        if part in ("chains", "tasks") and task.name in path and _LEVELS.index(task.criticality) < asked
    ]


def _braking(case: BrakingCase) -> Row:
    stopping = case.closing_speed_m_s**2 / (2 * case.deceleration_m_s2)
    return {
        "closing_speed_m_s": round(float(case.closing_speed_m_s), 6),
        "range_m": round(float(case.range_m), 6),
        "deceleration_m_s2": round(float(case.deceleration_m_s2), 6),
        "actuation_ns": case.actuation_ns,
        "stopping_distance_m": round(float(stopping), 6),
        "derived_limit_ns": time_to_command_ns(case),
    }


def requirement_csv(section: Mapping[str, Any]) -> str:
    """The table as CSV, one row for every limit of every requirement, and one for what has no partner."""
    target = io.StringIO()
    writer = csv.DictWriter(target, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    for one in section["requirements"]:
        told = {key: one[key] or "" for key in ("requirement", "asil", "source", "rationale")}
        cells: list[Row] = [_cells(limit) for limit in one["limits"]]
        writer.writerows({**told, **row} for row in cells or [{}])
    for limit in section["limits"]:
        if not limit["requirements"]:
            writer.writerow(_cells(limit))
    return target.getvalue()


def _cells(limit: Mapping[str, Any]) -> Row:
    found = {key: limit[key] for key in COLUMNS if limit.get(key) is not None and key != "evidence"}
    return {**found, "evidence": "; ".join(limit.get("evidence", ()))}
