"""The bounds of a schedulability report: every response with its derivation, and what it waits for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rt_sched.analysis.loads.resolve import ModeLoad
from rt_sched.analysis.methods import METHODS
from rt_sched.analysis.result import AnalysisReport
from rt_sched.analysis.system.engine import loads_with_arrivals
from rt_sched.app.explain.job import explanation
from rt_sched.model import System
from rt_sched.units import NS_PER_MS

Row = dict[str, Any]

MILLION = 1_000_000
#: Jobs of a busy period and iterates of a window that a derivation keeps; the report says how many there are in all.
MOST_JOBS, MOST_ITERATES = 5, 12
#: Terms by which another task or section delays a job.
DELAYS = ("interference", "blocking", "non_preemptive_region", "spin", "supply", "suspension", "overrun")


def share_ppm(value_ns: int | None, limit_ns: int | None) -> int | None:
    """A value in millionths of its limit, rounded up, so that nothing above a limit looks like it."""
    return None if value_ns is None or not limit_ns else -(-value_ns * MILLION // limit_ns)


def with_derivations(
    rows: Sequence[Row], system: System, report: AnalysisReport, modes: Sequence[ModeLoad]
) -> list[Row]:
    """The tasks of an analysis document with what a reader needs to follow each bound, mode by mode.

    `rows`: the tasks of the document; `modes`: those of the system under its plan.
    """
    loads = {mode.name: loads_with_arrivals(mode, METHODS) for mode in modes}
    times = {task.name: task for task in system.tasks}
    found = []
    for row in rows:
        explained = explanation(report, row["name"], row["mode"], loads[row["mode"]])
        task = times[row["name"]]
        found.append(
            {
                **row,
                "share_ppm": share_ppm(row["response_bound_ns"], row["deadline_ns"]),
                "criticality": task.criticality.value,
                "wcet_origin": task.execution.origin,
                "bcet_ns": task.execution.bcet_ns,
                "wcet_ns": task.execution.wcet_ns,
                "budget_ns": task.budget_ns,
                "own": explained["own"],
                "preemptive": explained["preemptive"],
                "policy": explained["policy"],
                "others": _relevant(explained),
                "derivation": _shortened(explained["derivation"]),
            }
        )
    return found


def _relevant(explained: Mapping[str, Any]) -> list[Row]:
    """The tasks that appear in the terms of the bound; without a bound those that can delay it."""
    if explained["terms"]:
        named = {term["by"] for term in explained["terms"]}
        return [one for one in explained["others"] if one["name"] in named]
    by_level = explained["policy"] == "fixed_priority"
    return [one for one in explained["others"] if not by_level or one["urgency"] != "less"]


def _shortened(derivation: Mapping[str, Any] | None) -> Row | None:
    """The worst job with its neighbours, and the iterates at both ends of each window."""
    if derivation is None:
        return None
    jobs = derivation["jobs"]
    worst = max(range(len(jobs)), key=lambda place: jobs[place]["response_ns"])
    first = max(0, min(worst - MOST_JOBS // 2, len(jobs) - MOST_JOBS))
    return {
        **derivation,
        "busy_period_ns": _ends(derivation["busy_period_ns"]),
        "busy_period_iterations": len(derivation["busy_period_ns"]),
        "worst": jobs[worst]["job"],
        "jobs_followed": len(jobs),
        "jobs": [{**job, "windows_ns": _ends(job["windows_ns"])} for job in jobs[first : first + MOST_JOBS]],
    }


def _ends(values: Sequence[int]) -> list[int | None]:
    """All of a few values; of many the first and the last ones, with None between them."""
    half = MOST_ITERATES // 2
    return list(values) if len(values) <= MOST_ITERATES else [*values[:half], None, *values[-half:]]


def delays_of(row: Mapping[str, Any]) -> list[Row]:
    """Who delays a job of a task, by how much, the longest first. `row`: a task of the report."""
    found: dict[tuple[str, str], int] = {}
    for term in row["terms"]:
        if term["kind"] in DELAYS and term["value_ns"] > 0:
            key = (term["kind"], term["by"] or "")
            found[key] = found.get(key, 0) + term["value_ns"]
    ordered = sorted(found.items(), key=lambda one: (-one[1], one[0]))
    return [{"kind": kind, "by": by, "value_ns": value_ns} for (kind, by), value_ns in ordered]


def milliseconds(value_ns: int) -> str:
    """An exact time in ms for a sentence, with at least three decimals."""
    whole, rest = divmod(abs(value_ns), NS_PER_MS)
    digits = f"{rest:06d}"
    shown = digits if digits[3:] != "000" else digits[:3]
    return f"{'-' if value_ns < 0 else ''}{whole}.{shown}\u00a0ms"
