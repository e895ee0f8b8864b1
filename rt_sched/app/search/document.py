"""The document of a search, and its status."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rt_sched.analysis.result import Bound, ModeResult
from rt_sched.app.search.cases import Examined, WorstCase
from rt_sched.model import System
from rt_sched.search import Goal
from rt_sched.units import format_ms

SEARCH_SCHEMA = "rt-sched/search/1"


def bounds_of(mode: ModeResult) -> dict[tuple[str, str], Bound | None]:
    """The bound of every task and chain, by name and quantity."""
    found: dict[tuple[str, str], Bound | None] = {(one.task, "response"): one.bound for one in mode.tasks}
    for chain in mode.chains:
        for quantity in ("reaction", "latency", "data_age"):
            found[chain.chain, quantity] = getattr(chain, quantity)
    return found


def search_document(
    system: System,
    mode: ModeResult,
    goals: tuple[Goal, ...],
    cases: Examined,
    files: Mapping[tuple[str, str], Path],
    **told: Any,
) -> dict[str, Any]:
    """`files`: where scenarios were written, by name and quantity. `told`: of the search as a whole."""
    by_goal = {(case.goal.name, case.goal.quantity): case for case in cases.cases}
    bounds, limits = bounds_of(mode), _limits(system)
    status, reason = _status(cases, limits)
    if status == "ok":
        status, reason = _coverage(goals, cases, limits, told["runs"])
    return {
        "schema": SEARCH_SCHEMA,
        "status": status,
        "reason": reason,
        "system": system.name,
        "mode": system.modes[0].name if system.modes else None,
        **told,
        "targets": [
            _row(goal, by_goal.get((goal.name, goal.quantity)), bounds, limits, files, told["seed"]) for goal in goals
        ],
        "checked": {
            "scenarios": len(cases.cases),
            "jobs": cases.jobs,
            "violations": list(cases.violations),
            "broken": sorted({case.broken for case in cases.cases if case.broken}),
            "losses": _losses(cases),
        },
    }


def _limits(system: System) -> dict[tuple[str, str], int | None]:
    found: dict[tuple[str, str], int | None] = {
        (task.name, "response"): None if task.miss_limit else task.deadline_ns for task in system.tasks
    }
    for chain in system.chains:
        found[chain.name, "reaction"] = chain.max_reaction_ns
        found[chain.name, "latency"] = chain.max_latency_ns
        found[chain.name, "data_age"] = chain.max_data_age_ns
    return found


def _row(
    goal: Goal,
    case: WorstCase | None,
    bounds: Mapping[tuple[str, str], Bound | None],
    limits: Mapping[tuple[str, str], int | None],
    files: Mapping[tuple[str, str], Path],
    seed: int,
) -> dict[str, Any]:
    key = (goal.name, goal.quantity)
    bound, file = bounds.get(key), files.get(key)
    found = None if case is None else case.found
    return {
        "name": goal.name,
        "kind": "chain" if goal.path else "task",
        "quantity": goal.quantity,
        "value_ns": None if found is None else found.value_ns,
        "bound_ns": goal.bound_ns,
        "bound_method": None if bound is None else bound.method,
        "tightness": None if found is None or not goal.bound_ns else round(found.value_ns / goal.bound_ns, 6),
        "limit_ns": limits.get(key),
        "strategy": None if found is None else found.strategy,
        "begun_with": None if found is None else found.begun_with,
        "run": None if found is None else found.run,
        "seed": seed,
        "job": None if case is None else case.job,
        "time_ns": None if found is None else found.end_ns,
        "scenario": None if file is None else str(file),
    }


def _status(cases: Examined, limits: Mapping[tuple[str, str], int | None]) -> tuple[str, str]:
    """The worst that can be said."""
    if cases.violations:
        first = cases.violations[0]
        where = f"{first['where']} at {format_ms(first['time_ns'])} ms: {first['expected']}"
        return "failed", f"a defect of rt-sched: a trace breaks the scheduling rules, first {where}"
    over = [case for case in cases.cases if case.over_bound]
    for case in over:
        if case.broken is None:
            return "bound_violated", f"{_words(case, case.goal.bound_ns, 'bound')} although every assumption held"
    for case in cases.cases:
        limit_ns = limits.get((case.goal.name, case.goal.quantity))
        if case.broken is None and limit_ns is not None and case.found.value_ns > limit_ns:
            return "deadline_miss", _words(case, limit_ns, "deadline" if not case.goal.path else "limit")
    broken = [case for case in cases.cases if case.broken]
    if broken:
        return "assumption_violated", f"{broken[0].goal.name}: {broken[0].broken}"
    return "ok", "no run exceeded a bound, a deadline or a limit"


def _losses(cases: Examined) -> list[str]:
    return sorted({words for case in cases.cases for words in case.losses})


def _coverage(
    goals: tuple[Goal, ...], cases: Examined, limits: Mapping[tuple[str, str], int | None], runs: int
) -> tuple[str, str]:
    """The status of a search that found nothing wrong: whether it has looked at all that has a limit."""
    if not runs:
        return "incomplete", "no run was made"
    shown = {(case.goal.name, case.goal.quantity) for case in cases.cases}
    limited = [
        f"{goal.quantity.replace('_', ' ')} of {goal.name}"
        for goal in goals
        if (goal.name, goal.quantity) not in shown and limits.get((goal.name, goal.quantity)) is not None
    ]
    lost = _losses(cases)
    why = f"messages are lost ({', '.join(lost)}), and chains are measured before the first loss only" if lost else ""
    if limited:
        return "incomplete", f"no run shows the {', the '.join(limited)}{'; ' if why else ''}{why}"
    return ("incomplete", why) if lost else ("ok", "no run exceeded a bound, a deadline or a limit")


def _words(case: WorstCase, over_ns: int | None, what: str) -> str:
    quantity = case.goal.quantity.replace("_", " ")
    values = f"{format_ms(case.found.value_ns)} ms is over its {what} of {format_ms(over_ns)} ms"
    return f"{case.job}: {quantity} of {case.goal.name} of {values}"
