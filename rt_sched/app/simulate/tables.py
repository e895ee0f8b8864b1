"""The tables that `simulate` prints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rt_sched.app.plain_tables import chain_table, plain_table, red_above
from rt_sched.units import NS_PER_S, format_ms

_STYLE = {"ok": "bold green", "incomplete": "bold yellow", "assumption_violated": "bold yellow"}

#: Ends of jobs that have a column where there are any.
_RARE_FATES = ("aborted", "lost", "skipped", "suppressed")


def print_simulation(document: Mapping[str, Any], console: Console) -> None:
    """Chains, tasks and processing elements, then the verdict."""
    if document["chains"]:
        console.print(chain_table(document["chains"]))
    console.print(_tasks(document))
    idle = sum(1 for task in document["tasks"] if not task["jobs"])
    if idle:
        console.print(Text(f"{idle} further tasks had no job", style="dim"))
    console.print(_elements(document))
    for fault in document["faults"]:
        console.print(_fault(fault))
    if document["bounds_cover_until_ns"] is not None:
        console.print(Text(f"bounds cover the runs until {format_ms(document['bounds_cover_until_ns'])} ms"))
    for row in document["bounds_exceeded"]:
        console.print(Text(_exceeded(row), style="red"))
    console.print(_checked(document))
    for note in document["notes"]:
        console.print(Text(f"note: {note}", style="yellow"))
    virtual_s = document["runs"] * document["duration_ns"] / NS_PER_S
    runs = "1 run" if document["runs"] == 1 else f"{document['runs']} runs"
    figures = f"{runs} of {document['duration_ns'] / NS_PER_S:g} s, {document['jobs']} jobs"
    speed = f"{virtual_s:g} s of virtual time in {document['wall_s']:.1f} s"
    text = Text(document["status"], style=_STYLE.get(document["status"], "bold red"))
    text.append(f"  {document['reason']}", style="not bold default")
    console.print(text.append(f"  ({figures}; {speed})", style="dim not bold"))


def _fault(fault: Mapping[str, Any]) -> Text:
    """What the slowest run made of a loss; whether commands recover is told by replays."""
    text = Text(f"fault {fault['fault']} at {format_ms(fault['time_ns'])} ms: ")
    if fault["detected_after_ns"] is None:
        watched = "not noticed in every run"
        words = watched if fault["is_watched"] else "nobody looks for it, as the plan has no takeovers"
        return text.append(words, style="yellow")
    text.append(f"noticed within {format_ms(fault['detected_after_ns'])} ms")
    if fault["switched_after_ns"] is None:
        return text.append(", and no takeover answers it in every run", style="yellow")
    return text.append(f", taken over within {format_ms(fault['switched_after_ns'])} ms")


def _tasks(document: Mapping[str, Any]) -> Table:
    rare = [fate for fate in _RARE_FATES if any(task[fate] for task in document["tasks"])]
    columns = ("jobs", "misses", "drops", *rare, "p50", "p99", "max", "bound", "deadline")
    table = plain_table("Tasks (response in ms)", ("task", "runs on"), columns)
    for task in document["tasks"]:
        if not task["jobs"]:
            continue
        largest = task["response_max_ns"]
        table.add_row(
            Text(task["name"]),
            Text(task["pe"]),
            str(task["jobs"]),
            Text(str(task["misses"]), style="red" if task["misses"] else ""),
            *(Text(str(task[key]), style="yellow" if task[key] else "") for key in ("drops", *rare)),
            format_ms(task["response_p50_ns"]),
            format_ms(task["response_p99_ns"]),
            Text(format_ms(largest), style=red_above(largest, task["bound_ns"])),
            Text(format_ms(task["bound_ns"]), style="dim"),
            format_ms(task["deadline_ns"]),
        )
    return table


def _elements(document: Mapping[str, Any]) -> Table:
    known = any(one["energy_per_run_mj"] is not None for one in document["pes"])
    table = plain_table("Processing elements", ("element",), ("cores", "busy %", *(("mJ a run",) if known else ())))
    for one in document["pes"]:
        if one["utilisation"] or one["energy_per_run_mj"] is not None:
            energy = "–" if one["energy_per_run_mj"] is None else f"{one['energy_per_run_mj']:.1f}"
            row: list[str | Text] = [Text(one["name"]), str(one["processors"]), f"{100 * one['utilisation']:.2f}"]
            table.add_row(*row, *((energy,) if known else ()))
    return table


def _exceeded(row: Mapping[str, Any]) -> str:
    quantity = row["quantity"].replace("_", " ")
    seen = f"{format_ms(row['value_ns'])} ms at most, bound {format_ms(row['bound_ns'])} ms"
    return f"{row['who']}: {quantity} over its bound {row['times']} times, {seen}, in the run with seed {row['seed']}"


def _checked(document: Mapping[str, Any]) -> Text:
    """What was checked record by record."""
    checked = document["checked"]
    broken = [one["assumption"] for one in checked["monitors"] if not one["holds"]]
    found = sum(checked["trace_check"]["violation_counts"].values())
    words = "no rule of the schedule broken" if not found else f"rules of the schedule broken {found} times"
    assumed = f"broken assumptions: {', '.join(broken)}" if broken else "all assumptions of the bounds held"
    over = "no bound exceeded" if not document["bounds_exceeded"] else "bounds exceeded"
    style = "red" if found or document["bounds_exceeded"] else "yellow" if broken else "green"
    until = f"{checked['until_ns'] / NS_PER_S:g} s"
    return Text(f"{over} in any run; first {until} record by record: {words}, {assumed}", style=style)
