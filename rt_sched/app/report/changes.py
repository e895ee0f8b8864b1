"""What to change first, in a schedulability report: sentences, each with the figure behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rt_sched.app.report.bounds import delays_of, milliseconds

Row = dict[str, Any]


def changes(document: Mapping[str, Any]) -> list[str]:
    """What would help first, each with the figure behind it: for what is not proven, else for what leaves least."""
    found = [
        f"processor {row['name']} is asked for {row['load_ppm'] / 10_000:.1f} % of a core: some of it has to move "
        "elsewhere, come more seldom or take less time"
        for row in document["processors"]
        if any(test["verdict"] == "unschedulable" for test in row["tests"])
    ]
    found += [words for row in document["tasks"] if row["verdict"] != "schedulable" for words in _task_changes(row)]
    for row in document["chains"]:
        if row["counts"] and row["verdict"] != "schedulable":
            found += _chain_changes(row)
    for row in document["faults"]["rows"]:
        if row["declared"] and row["verdict"] != "schedulable":
            found += _fault_changes(row)
    return list(dict.fromkeys(found)) or _least_margins(document)


def _task_changes(row: Row) -> list[str]:
    if row["response_bound_ns"] is None:
        instead = [one["instead"] for one in row["refusals"] if one["instead"] and not one["elsewhere"]]
        return [f"task {row['name']}: {row['reason']}" + (f"; {instead[0]} would apply" if instead else "")]
    over_ns = row["response_bound_ns"] - row["deadline_ns"]
    delays = delays_of(row)
    if over_ns <= 0:
        return []
    if not delays:
        return [f"task {row['name']}: its own jobs need {milliseconds(over_ns)} more than its deadline leaves"]
    first = delays[0]
    kind = first["kind"].replace("_", " ")
    return [
        f"task {row['name']} is {milliseconds(over_ns)} over: most of what delays it is {kind} by {first['by']}, "
        f"{milliseconds(first['value_ns'])}"
    ]


def _chain_changes(row: Row) -> list[str]:
    found = []
    for quantity, terms in row["terms"].items():
        margin_ns = row[f"{quantity}_margin_ns"]
        if margin_ns is not None and margin_ns < 0 and terms:
            largest = max(terms, key=lambda one: int(one["value_ns"]))
            found.append(
                f"chain {row['name']} is {milliseconds(-margin_ns)} over its limit of {quantity.replace('_', ' ')}: "
                f"its longest part is {largest['kind'].replace('_', ' ')} at {largest['by']}, "
                f"{milliseconds(largest['value_ns'])}"
            )
    return found


def _fault_changes(row: Row) -> list[str]:
    margin_ns = (row["handling"] or {}).get("margin_ns") or 0
    found = [f"fault {row['fault']}: detect or react {milliseconds(-margin_ns)} sooner"] if margin_ns < 0 else []
    for one in row["late_tasks"]:
        bound_ns = one["response_bound_ns"]
        if bound_ns is not None and bound_ns > one["deadline_ns"]:
            over = milliseconds(bound_ns - one["deadline_ns"])
            found.append(f"fault {row['fault']}: task {one['name']} is {over} over its deadline meanwhile")
    return found or [f"fault {row['fault']}: {row['reason']}"]


def _least_margins(document: Mapping[str, Any]) -> list[str]:
    """Nothing has to change; what would, should the system grow."""
    found = []
    for mode in (document["margins"] or {}).get("modes", ()):
        tasks = sorted(mode["tasks"], key=lambda one: int(one["margin_ppm"]))
        found += [
            f"nothing has to change; in mode {mode['mode']} least room has the execution time of {one['name']}, "
            f"{milliseconds(one['margin_ns'])}, up to the {one['limited_by']}"
            for one in tasks[:2]
        ]
    if not found:
        row = tightest_task(document["tasks"])
        if row is not None and row["slack_ns"] is not None:
            found.append(
                f"nothing has to change; the tightest task is {row['name']}, {milliseconds(row['slack_ns'])} are left"
            )
    return found


def tightest_task(tasks: Sequence[Row]) -> Row | None:
    """The task whose bound comes nearest to its deadline, or exceeds it most; one without a bound before all."""
    if not tasks:
        return None
    unbounded = [row for row in tasks if row["share_ppm"] is None]
    row = unbounded[0] if unbounded else max(tasks, key=lambda one: int(one["share_ppm"]))
    return {
        key: row[key]
        for key in ("name", "mode", "processor", "response_bound_ns", "deadline_ns", "slack_ns", "share_ppm", "verdict")
    }
