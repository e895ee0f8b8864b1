"""Time-triggered tables for a plan: as a part of a document, as text for people, and as YAML to paste."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rt_sched.analysis.result import Verdict
from rt_sched.errors import AnalysisNotApplicable, DeploymentError
from rt_sched.model import Plan, System
from rt_sched.planner.tables.figures import TableFigures
from rt_sched.planner.tables.plan_tables import NoTable, TableResult, plan_tables
from rt_sched.units import format_ms

Row = dict[str, Any]
_STYLE = {"schedulable": "green", "unschedulable": "red", "inconclusive": "yellow"}
#: Entries of an element that are shown; the rest are counted.
_MOST_SHOWN = 40
ALL = "all"


def tables_section(system: System, plan: Plan, names: str, time_limit_ns: int, *, free_offsets: bool = False) -> Row:
    """Tables for the elements that `names` lists, separated by commas, or for all; or the reason why there are none.

    `verdict`: that of the analysis on the system with the tables; unschedulable where it is proved that there is none.
    """
    elements = None if names == ALL else [name.strip() for name in names.split(",") if name.strip()]
    try:
        found = plan_tables(system, plan, elements, time_limit_ns=time_limit_ns, free_offsets=free_offsets)
    except NoTable as none:
        verdict = Verdict.UNSCHEDULABLE if none.proved else Verdict.INCONCLUSIVE
        return {"verdict": verdict.value, "reason": str(none)}
    except AnalysisNotApplicable as refusal:
        return {"verdict": Verdict.INCONCLUSIVE.value, "reason": str(refusal)}
    return _section(found)


def write_fragment(section: Mapping[str, Any], path: Path) -> None:
    """What the system file needs to have the tables, as a file; raises DeploymentError when it cannot be written."""
    try:
        path.write_text(section["yaml"], encoding="utf-8")
    except OSError as error:
        raise DeploymentError(f"{path}: cannot be written ({error.strerror})") from error


def _section(found: TableResult) -> Row:
    gap = found.gap
    return {
        "verdict": found.report.verdict.value,
        "reason": None,
        "method": found.method,
        "latency_ns": found.latency_ns,
        "latency_bound_ns": found.latency_bound_ns,
        "proved": found.proved,
        "gap": None if gap is None else float(gap),
        "relies_on": list(found.relies_on),
        "elements": [
            {
                "name": table.name,
                "cycle_ns": table.cycle_ns,
                "entries": [
                    {"at_ns": entry.start_ns, "length_ns": entry.length_ns, "task": entry.task}
                    for entry in table.entries
                ],
            }
            for table in found.tables
        ],
        "offsets": [{"task": task, "offset_ns": offset_ns} for task, offset_ns in found.offsets],
        "not_proven": [
            {"task": one.task, "verdict": one.verdict.value, "reason": one.reason}
            for mode in found.report.modes
            for one in mode.tasks
            if one.verdict is not Verdict.SCHEDULABLE
        ],
        "figures": _figures(found.figures),
        "yaml": found.as_yaml(),
    }


def _figures(figures: TableFigures) -> Row:
    return {
        "critical_path": list(figures.critical_path),
        "critical_path_ns": figures.critical_path_ns,
        "work_ns": figures.work_ns,
        "speed_up": float(figures.speed_up),
        "efficiency": float(figures.efficiency),
        "load_imbalance": float(figures.imbalance),
        "cores": [
            {
                "name": lane.name,
                "busy_ns": lane.busy_ns,
                "idle_ns": lane.idle_ns,
                "bubbles": [{"from_ns": begin, "to_ns": end} for begin, end in lane.bubbles],
            }
            for lane in figures.lanes
        ],
        "pipelines": [
            {
                "sink": one.sink,
                "interval_ns": round(one.interval_ns),
                "latency_ns": one.latency_ns,
                "frames_in_flight": one.frames_in_flight,
            }
            for one in figures.pipelines
        ],
    }


def print_tables(section: Mapping[str, Any], console: Console) -> None:
    """The entries of every element, the figures, and what the analysis says."""
    if section["reason"] is not None:
        console.print(Text(f"no tables: {section['reason']}", style=_STYLE[section["verdict"]]))
        return
    for element in section["elements"]:
        console.print(Text(f"Table of {element['name']}, cycle {format_ms(element['cycle_ns'])} ms", style="italic"))
        console.print(_entries(element))
    for one in section["offsets"]:
        console.print(Text(f"offset of {one['task']}: {format_ms(one['offset_ns'])} ms"))
    _print_figures(section, console)
    for one in section["not_proven"]:
        console.print(Text(f"{one['task']}: {one['reason']}", style=_STYLE[one["verdict"]]))
    if section["relies_on"]:
        sensors = ", ".join(section["relies_on"])
        console.print(Text(f"entries follow the declared instants of: {sensors}", style="yellow"))
    console.print(Text.assemble("with the tables: ", (section["verdict"], _STYLE[section["verdict"]])))


def _entries(element: Mapping[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False)
    for header in ("at (ms)", "length (ms)"):
        table.add_column(header, justify="right")
    table.add_column("task", overflow="fold")
    for entry in element["entries"][:_MOST_SHOWN]:
        table.add_row(format_ms(entry["at_ns"]), format_ms(entry["length_ns"]), Text(entry["task"]))
    more = len(element["entries"]) - _MOST_SHOWN
    if more > 0:
        table.caption, table.caption_justify = f"{more} more entries", "left"
    return table


def _print_figures(section: Mapping[str, Any], console: Console) -> None:
    figures = section["figures"]
    known = "" if section["gap"] is None else " (proved least)" if section["proved"] else f" (gap {section['gap']:.1%})"
    path = " -> ".join(figures["critical_path"])
    for line in (
        f"largest latency {format_ms(section['latency_ns'])} ms{known}, by {section['method']}",
        f"critical path {path}: {format_ms(figures['critical_path_ns'])} ms",
        f"speed-up {figures['speed_up']:.2f}, efficiency {figures['efficiency']:.0%}, "
        f"load imbalance {figures['load_imbalance']:.2f}",
    ):
        console.print(Text(line))
    for one in figures["pipelines"]:
        console.print(
            Text(
                f"  {one['sink']}: a frame every {format_ms(one['interval_ns'])} ms, "
                f"{format_ms(one['latency_ns'])} ms long, {one['frames_in_flight']} on the way at one time"
            )
        )
    for core in figures["cores"]:
        gaps = len(core["bubbles"])
        console.print(
            Text(
                f"  {core['name']}: busy {format_ms(core['busy_ns'])} ms of a cycle, "
                f"idle {format_ms(core['idle_ns'])} ms in {gaps} bubble{'s' if gaps != 1 else ''}"
            )
        )
