"""The first screen of a schedulability report: verdict, what is tightest, what is not known, what to change."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rt_sched.app.report.assumptions import DECLARED, MEASURED, MONITORED, PROVED
from rt_sched.app.report.bounds import MILLION, milliseconds
from rt_sched.app.report.chains import tightest
from rt_sched.app.report.changes import changes, tightest_task
from rt_sched.report.text import count, percent, plural

Row = dict[str, Any]

#: Findings and changes that the first screen lists; the sections have all.
MOST_LISTED = 8

_HEADLINES = {
    "schedulable": (
        "Every deadline and limit is kept",
        "Proven for everything that the system file declares, on the assumptions below.",
    ),
    "unschedulable": (
        "A deadline can be missed",
        "A legal run that misses was found and replayed, or a necessary test fails.",
    ),
    "inconclusive": (
        "Not everything is proven",
        "No run that misses was found, and no proof that there is none.",
    ),
}


def summary(document: Mapping[str, Any]) -> Row:
    """The first screen, from the other parts of the report."""
    title, explanation = _HEADLINES[document["verdict"]]
    open_points = findings(document)
    chain = tightest(document["chains"])
    return {
        "title": title,
        "explanation": explanation,
        "modes": document["modes"],
        "assumptions": _assumption_counts(document["assumptions"]),
        "faults": _fault_counts(document["faults"]["rows"], document["faults"]["arbiter"]),
        "tightest_chain": chain,
        "tightest_chain_parts": _longest_parts(document, chain),
        "tightest_chain_blocked_by": _first_delay(document, chain),
        "tightest_task": tightest_task(document["tasks"]),
        "worst_fault": document["faults"]["worst"],
        "busiest": _busiest(document["processors"]),
        "findings": open_points[:MOST_LISTED],
        "findings_in_all": len(open_points),
        "changes": changes(document)[:MOST_LISTED],
        "quality": _quality(document),
    }


def _assumption_counts(rows: Sequence[Row]) -> Row:
    """How many there are, and how many of them each way of checking covers."""
    status = [row["status"] for row in rows]
    counts = {word.replace(" ", "_"): status.count(word) for word in (PROVED, MEASURED, MONITORED, DECLARED)}
    return {"count": len(rows), **counts}


def _fault_counts(rows: Sequence[Row], arbiter: Row | None) -> Row:
    """`arbiter`: its loss, which decides over undeclared losses that take the arbiter away."""
    declared = [row for row in rows if row["declared"]]
    verdicts = [row["verdict"] for row in declared]
    answered = [row["fault"] for row in rows if not row["declared"] and row["minimal_risk_ns"] is not None]
    is_proven = arbiter is None or arbiter["verdict"] == "schedulable"
    return {
        "declared": len(declared),
        **{word: verdicts.count(word) for word in ("schedulable", "unschedulable", "inconclusive")},
        "undeclared": len(rows) - len(declared),
        "unclaimed": list(
            dict.fromkeys(row["fault"] for row in rows if not row["declared"] and row["minimal_risk_ns"] is None)
        ),
        "not_known": [] if is_proven else list(dict.fromkeys(answered)),
    }


def _longest_parts(document: Mapping[str, Any], chain: Row | None) -> list[Row]:
    if chain is None:
        return []
    row = next(one for one in document["chains"] if (one["name"], one["mode"]) == (chain["chain"], chain["mode"]))
    return sorted(row["terms"][chain["quantity"]], key=lambda one: -int(one["value_ns"]))[:2]


def _first_delay(document: Mapping[str, Any], chain: Row | None) -> Row | None:
    if chain is None:
        return None
    row = next(one for one in document["chains"] if (one["name"], one["mode"]) == (chain["chain"], chain["mode"]))
    return row["delays"][0] if row["delays"] else None


def _busiest(processors: Sequence[Row]) -> Row | None:
    row = max(processors, key=lambda one: float(one["load"]), default=None)
    return None if row is None else {key: row[key] for key in ("name", "mode", "load_ppm")}


def findings(document: Mapping[str, Any]) -> list[Row]:
    """Everything that is not proven, the proven misses first: what, where and why."""
    found = [_finding(row, "task", _task_words(row)) for row in document["tasks"] if _is_open(row)]
    for kind, rows in (("chain", document["chains"]), ("disparity", document["disparities"])):
        found += [_finding(row, kind, row["reason"]) for row in rows if row["counts"] and _is_open(row)]
    found += [
        _finding({**row, "verdict": test["verdict"]}, "processor", test["reason"])
        for row in document["processors"]
        for test in row["tests"]
        if test["verdict"] == "unschedulable"
    ]
    found += [
        _finding({**row, "name": row["fault"]}, "fault", row["reason"])
        for row in document["faults"]["rows"]
        if row["declared"] and _is_open(row)
    ]
    found += _arbiter_findings(document)
    found += [
        _finding(
            {"name": one["requirement"], "mode": limit["mode"], "verdict": "inconclusive"},
            "requirement",
            f"{limit['limit']} is {milliseconds(limit['limit_ns'])}, and braking in time leaves no more than "
            f"{milliseconds(limit['derived_limit_ns'])}",
        )
        for one in document["requirements"]["requirements"]
        for limit in one["limits"]
        if not limit["covered"]
    ]
    found += [
        _finding(
            {"name": run["name"], "mode": document["modes"][0]["name"], "verdict": "inconclusive"},
            "run",
            f"{above} jobs of {task['name']} took longer than their bound: it does not hold for this run",
        )
        for run in document["evidence"]["runs"]
        for task in run["tasks"]
        if (above := task["jobs_above_bound"])
    ]
    found += _search_findings(document)
    found += [
        _finding(
            {"name": one["file"], "mode": document["modes"][0]["name"], "verdict": "inconclusive"},
            "injected fault",
            f"{plural(one['runs'], 'injected fault')}: {', '.join(words)}",
        )
        for one in document["faults"]["injected"]
        if (words := _not_answered(one))
    ]
    return sorted(found, key=lambda one: ("unschedulable", "inconclusive").index(one["verdict"]))


def _arbiter_findings(document: Mapping[str, Any]) -> list[Row]:
    """What is open of the loss of the arbiter, where faults count."""
    faults = document["faults"]
    arbiter = faults["arbiter"]
    if faults["verdict"] is None or arbiter is None or not _is_open(arbiter):
        return []
    row = {"name": arbiter["task"], "mode": document["modes"][0]["name"], "verdict": arbiter["verdict"]}
    return [_finding(row, "loss of the arbiter", arbiter["reason"])]


def _not_answered(injected: Row) -> list[str]:
    """In words, how many were neither detected in time nor tolerated for all that is known."""
    said = {
        "silent": "changed commands unnoticed",
        "late": "noticed later than declared",
        "unknown": "not known, as nobody noticed and nothing tells of commands",
    }
    return [f"{count(injected[key])} {text}" for key, text in said.items() if injected[key]]


def _search_findings(document: Mapping[str, Any]) -> list[Row]:
    """What a search found that speaks against the system, or against a bound."""
    search = document["evidence"]["search"]
    if search is None or search["status"] in ("ok", "incomplete"):
        return []
    # Every scenario was played again, and every assumption looked at: a miss is one of a legal run.
    verdict = "unschedulable" if search["status"] == "deadline_miss" else "inconclusive"
    row = {"name": search["status"], "mode": document["modes"][0]["name"], "verdict": verdict}
    return [_finding(row, "search", search["reason"])]


def _task_words(row: Row) -> str:
    bound_ns = row["response_bound_ns"]
    if bound_ns is None:
        return str(row["reason"])
    over_ns = bound_ns - row["deadline_ns"]
    sign = f"{milliseconds(over_ns)} over" if over_ns > 0 else "within"
    numbers = f"bound {milliseconds(bound_ns)}, {sign} its deadline of {milliseconds(row['deadline_ns'])}"
    return f"{row['reason']} ({numbers})"


def _is_open(row: Row) -> bool:
    return bool(row["verdict"] != "schedulable")


def _finding(row: Mapping[str, Any], kind: str, why: str) -> Row:
    return {"kind": kind, "name": row["name"], "mode": row["mode"], "verdict": row["verdict"], "why": why}


def _quality(document: Mapping[str, Any]) -> list[Row]:
    """Which kinds of evidence there are, and how much of each."""
    runs = document["evidence"]["runs"]
    modelled = [run for run in runs if run["modelled"]]
    paced = [run for run in runs if not run["modelled"]]
    tasks = document["tasks"]
    exact = sum(bool(row["exact"]) for row in tasks)
    bounded = sum(row["response_bound_ns"] is not None for row in tasks)
    missed = sum(run["missed"] for run in document["critical_runs"])
    return [
        _kind("Proven bounds", bounded, f"{bounded} of {len(tasks)} responses have a bound, {exact} of them are exact"),
        _kind(
            "Runs played by the kernel",
            len(document["critical_runs"]),
            f"{plural(len(document['critical_runs']), 'worst-case run')}, of which {missed} miss a deadline",
        ),
        _kind(
            "Replayed recordings, durations modelled",
            len(modelled),
            f"{plural(len(modelled), 'run')}, {_above(modelled)} jobs above their bound" if modelled else "",
        ),
        _kind(
            "Paced runs, durations measured",
            len(paced),
            f"{plural(len(paced), 'run')}, {_above(paced)} jobs above their bound" if paced else "",
        ),
        _searched(document["evidence"]["search"]),
        _recovered(document["faults"]["instants"]),
        _injected(document["faults"]["injected"]),
        _kind("Hardware in the loop", 0, ""),
        _kind("Probabilistic worst-case execution times", 0, ""),
    ]


def _searched(search: Row | None) -> Row:
    name = "Search for bad cases"
    if search is None:
        return _kind(name, 0, "")
    middle = search["median_tightness_ppm"]
    tight = "" if middle is None else f"; median of worst found / bound {percent(middle / MILLION)}"
    return _kind(name, search["runs"], f"{plural(search['runs'], 'run')}: {search['reason']}{tight}")


def _recovered(instants: Row | None) -> Row:
    name = "Losses at many instants of the cycle"
    if instants is None:
        return _kind(name, 0, "")
    losses = instants["losses"]
    runs, over = sum(one["instants"] for one in losses), sum(one["over_bound"] for one in losses)
    return _kind(name, len(losses), f"{plural(len(losses), 'loss', 'losses')} in {runs} runs, {over} over their bound")


def _injected(files: Sequence[Row]) -> Row:
    runs = sum(one["runs"] for one in files)
    said = {"detected": "detected in time", "tolerated": "tolerated", "late": "late", "silent": "silent"}
    counts = {text: sum(one[key] for one in files) for key, text in {**said, "unknown": "not known"}.items()}
    parts = [plural(runs, "fault"), *(f"{count(number)} {text}" for text, number in counts.items() if number)]
    return _kind("Injected faults", runs, ", ".join(parts) if files else "")


def _above(runs: Sequence[Row]) -> str:
    compared = sum(task["jobs_compared"] for run in runs for task in run["tasks"])
    above = sum(task["jobs_above_bound"] for run in runs for task in run["tasks"])
    return f"{above} of {compared}"


def _kind(name: str, count: int, text: str) -> Row:
    return {"kind": name, "count": count, "text": text or "no evidence of this kind in this report"}


def load_ppm(load: float) -> int:
    """A load in millionths, rounded up; what a float cannot tell from a whole number of them is that number."""
    return math.ceil(round(load * MILLION, 3))


def verdict_with(verdict: str, found: Sequence[Row]) -> str:
    """The verdict of the analysis, and not known where something beside it speaks against it; a found miss refutes."""
    if any(one["kind"] == "search" and one["verdict"] == "unschedulable" for one in found):
        return "unschedulable"
    return "inconclusive" if verdict == "schedulable" and found else verdict
