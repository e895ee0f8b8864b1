"""Everything that a schedulability report takes for granted, numbered, with where it is used and how it is checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rt_sched.analysis.result import AnalysisReport
from rt_sched.lowering.routes import crossings_without_link
from rt_sched.model import Plan, System

Row = dict[str, Any]
#: Key, text, where it is used, status, how it is checked.
_Told = tuple[str, str, tuple[str, ...], str, str]

#: How an assumption is checked, from the strongest on.
PROVED, MEASURED, MONITORED, DECLARED = "proved", "measured", "monitored", "declared only"

#: What bounds rest on beside what the analysis lists.
_ALWAYS: tuple[_Told, ...] = (
    (
        "plan",
        "every task has one processor that may run it, and its level there is unique",
        ("system", "bounds"),
        PROVED,
        "checked on the plan of this report before anything was analysed",
    ),
    (
        "methods",
        "the conditions under which each method was proven hold in the model",
        ("bounds", "chains"),
        PROVED,
        "each method checks its own conditions on this model, and refuses where they do not hold",
    ),
    (
        "semantics",
        "the run-time system schedules as the scheduling semantics of this tool say",
        ("bounds", "chains", "resources"),
        DECLARED,
        "a checker of its own re-derives it from the trace of a run",
    ),
    (
        "system_file",
        "the system file says what is really built: what runs where, how often, on which hardware",
        ("system", "bounds", "chains", "resources", "faults", "safety-path", "margins"),
        DECLARED,
        "nothing in this tool can check it",
    ),
)
_SINGLE_FAULT: _Told = (
    "single_fault",
    "one fault strikes at a time, and none before the handling of the one before it is over",
    ("faults", "safety-path"),
    DECLARED,
    "nothing in this tool can check it",
)
#: Where assumptions of the analysis are used beside the bounds on responses.
_IN_CHAINS = (
    "best_case",
    "clocks",
    "sensor_rate",
    "sensor_latency",
    "sensor_gap",
    "outputs",
    "partners",
    "queues",
    "links",
)
_IN_RESOURCES = ("sections", "suspension")


def assumption_rows(
    system: System, plan: Plan, report: AnalysisReport, runs: Sequence[Row], *, faults: bool
) -> list[Row]:
    """The rows in order of their numbers. `runs`: from `evidence.evidence`; `faults`: whether any is told of."""
    rows = []
    origins = _origins(system)
    for one in report.assumptions:
        used = ["bounds"]
        used += ["chains"] if one.key in _IN_CHAINS and system.chains else []
        used += ["resources"] if one.key in _IN_RESOURCES else []
        status, how, checked, broken = _checked(one.key, one.check, runs)
        rows.append(_row(one.key, one.text, used, one.tasks, status, how, checked, broken))
        if one.key == "execution":
            rows[-1]["origins"] = [row for row in origins if set(row["tasks"]) & set(one.tasks)]
    unlinked = crossings_without_link(system, plan)
    told = (*_transport(unlinked), *_ALWAYS, *((_SINGLE_FAULT,) if faults else ()))
    for key, text, used_in, status, how in told:
        used = [part for part in used_in if part != "chains" or system.chains]
        if key == "semantics" and runs:
            found = sum(run["trace_violations"] for run in runs)
            status, how = MONITORED, f"the traces of {len(runs)} runs were checked: {found} violations"
        tasks = sorted({name for name, _ in unlinked}) if key == "transport" else ()
        rows.append(_row(key, text, used, tasks, status, how, None, None))
    return [{"number": f"A{number}", **row} for number, row in enumerate(rows, 1)]


def _transport(unlinked: Sequence[tuple[str, str]]) -> tuple[_Told, ...]:
    if not unlinked:
        return ()
    text = f"messages from other devices arrive as they are sent: {len(unlinked)} inputs read over no declared link"
    return (
        ("transport", text, ("bounds", "chains"), DECLARED, "nothing checks it; declare a link to have it counted"),
    )


def _row(
    key: str,
    text: str,
    used: Sequence[str],
    tasks: Sequence[str],
    status: str,
    how: str,
    checked: int | None,
    broken: int | None,
) -> Row:
    return {
        "key": key,
        "text": text,
        "used_in": list(used),
        "tasks": list(tasks),
        "task_count": len(tasks),
        "status": status,
        "how": how,
        "values_checked": checked,
        "values_broken": broken,
        "origins": [],
    }


def _checked(key: str, check: str, runs: Sequence[Row]) -> tuple[str, str, int | None, int | None]:
    """Status, how, values checked and broken, over all runs of the report."""
    found = [(run, one) for run in runs for one in run["monitors"] if one["assumption"] == key]
    if not found:
        return DECLARED, f"the monitor of a run would look at: {check}", None, None
    checked = sum(int(one["checked"] or 0) for _, one in found)
    broken = sum(int(one["broken"] or 0) for _, one in found)
    measured = any(not run["modelled"] for run, _ in found)
    kind = "on real hardware" if measured else "in runs whose durations are modelled"
    return (MEASURED if measured else MONITORED), f"{check}, {kind}", checked, broken


def _origins(system: System) -> list[Row]:
    """Where the worst cases come from, as the file says, and for which tasks."""
    found: dict[str, list[str]] = {}
    for task in system.tasks:
        found.setdefault(task.execution.origin, []).append(task.name)
    return [{"origin": origin, "tasks": names} for origin, names in found.items()]


def numbers_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Key -> number of every assumption."""
    return {row["key"]: row["number"] for row in rows}
