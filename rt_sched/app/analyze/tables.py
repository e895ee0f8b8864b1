"""The analysis as tables for people: the verdict first, then processor by processor, then what stands in the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rt_sched.app.analyze.faults_tables import print_faults
from rt_sched.app.analyze.margins import print_margins
from rt_sched.units import TIME_UNITS, format_ms, format_ns

Row = Mapping[str, Any]
_STYLE = {"schedulable": "bold green", "unschedulable": "bold red", "inconclusive": "bold yellow"}
_WORD_STYLE = {"schedulable": "green", "unschedulable": "red", "inconclusive": "yellow"}
#: Characters of a bar from 0 to the deadline; what lies above it does not grow the bar.
_BAR = 20
#: Rows that a table of one mode shows; the rest, those with most slack, are counted.
_MOST_ROWS = 400
#: Times that are larger are shown in the next unit.
_MOST_SHOWN = 10_000


def print_analysis(document: Row, console: Console) -> None:
    """Everything of the document but the terms of bounds, which `explain` shows."""
    console.print(_headline(document))
    several = len(document["modes"]) > 1
    for mode in document["modes"]:
        if several:
            line = Text(f"\nmode {mode['name']}: ", style="bold")
            line.append(mode["verdict"], style=_STYLE[mode["verdict"]])
            console.print(line)
        tasks = [task for task in document["tasks"] if task["mode"] == mode["name"]]
        processors = [one for one in document["processors"] if one["mode"] == mode["name"]]
        console.print(_task_table(tasks, processors))
        _print_reasons(tasks, processors, console)
        chains = [chain for chain in document["chains"] if chain["mode"] == mode["name"]]
        if chains:
            console.print(_chain_table(chains))
            for chain in chains:
                if chain["verdict"] != "schedulable":
                    console.print(Text(f"chain {chain['name']}: {chain['reason']}"))
        _print_waits([one for one in document.get("waits", ()) if one["mode"] == mode["name"]], console)
        _print_disparities([one for one in document.get("disparities", ()) if one["mode"] == mode["name"]], console)
    if "margins" in document:
        print_margins(document["margins"], console)
    if "faults" in document:
        print_faults(document["faults"], console)
    if document["assumptions"]:
        console.print(Text("assumed, and watched in every run:", style="dim"))
        for one in document["assumptions"]:
            console.print(Text(f"  {one['key']}: {one['text']}", style="dim"))


def _headline(document: Row) -> Text:
    counts = dict.fromkeys(_STYLE, 0)
    for task in document["tasks"]:
        counts[task["verdict"]] += 1
    text = Text()
    text.append(document["verdict"], style=_STYLE[document["verdict"]])
    shown = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    text.append(f"  {document['system']}, policy {document['policy']}: {shown} of {len(document['tasks'])} tasks")
    if "faults" in document:
        text.append("; faults ")
        text.append(document["faults"]["verdict"], style=_STYLE[document["faults"]["verdict"]])
    return text


def _task_table(tasks: Sequence[Row], processors: Sequence[Row]) -> Table:
    unit, digits = _unit(tasks)
    table = Table(box=None, pad_edge=False, title=f"Tasks (response in {unit})", title_justify="left")
    table.add_column("processor / task", overflow="fold")
    for header in ("bound", "deadline"):
        table.add_column(header, justify="right")
    table.add_column("bound of deadline")
    table.add_column("method")
    table.add_column("verdict")
    left = _MOST_ROWS
    for processor in processors:
        mine = [task for task in tasks if task["processor"] == processor["name"]]
        load = f"load {processor['load']:.3f}"
        table.add_row(Text(processor["name"], style="bold"), "", "", Text(load), Text(processor["policy"]), "")
        shown = mine if len(mine) <= left else sorted(mine, key=_slack)[:left]
        for task in shown:
            table.add_row(*_task_cells(task, TIME_UNITS[unit], digits))
        left -= len(shown)
        if len(shown) < len(mine):
            table.add_row(Text(f"  {len(mine) - len(shown)} further tasks, with more slack", style="dim"))
    return table


def _slack(task: Row) -> float:
    return float("-inf") if task["slack_ns"] is None else float(task["slack_ns"])


def _unit(tasks: Sequence[Row]) -> tuple[str, int]:
    """The unit in which the longest deadline has at most four digits before the point, and digits after it."""
    longest_ns = max((task["deadline_ns"] for task in tasks), default=0)
    for unit, digits in (("ns", 0), ("us", 3), ("ms", 3)):
        if longest_ns < _MOST_SHOWN * TIME_UNITS[unit]:
            return unit, digits
    return "s", 3


def _shown(value_ns: int | None, unit_ns: int, digits: int) -> str:
    return "–" if value_ns is None else f"{value_ns / unit_ns:.{digits}f}"


def _task_cells(task: Row, unit_ns: int, digits: int) -> tuple[Text, ...]:
    bound_ns, deadline_ns = task["response_bound_ns"], task["deadline_ns"]
    method = "–" if task["method"] is None else task["method"] + (", exact" if task["exact"] else "")
    return (
        Text(f"  {task['name']}"),
        Text(_shown(bound_ns, unit_ns, digits)),
        Text(_shown(deadline_ns, unit_ns, digits)),
        _bar(bound_ns, deadline_ns),
        Text(method),
        Text(task["verdict"], style=_WORD_STYLE[task["verdict"]]),
    )


def _bar(bound_ns: int | None, deadline_ns: int) -> Text:
    if bound_ns is None:
        return Text("–")
    share = bound_ns / deadline_ns
    filled = min(_BAR, max(1, round(share * _BAR)))
    style = "red" if share > 1 else ""
    return Text("█" * filled + "░" * (_BAR - filled) + f" {100 * share:.0f} %", style=style)


def _print_reasons(tasks: Sequence[Row], processors: Sequence[Row], console: Console) -> None:
    """Why a task is not schedulable, what refused, and which tests of a whole processor decide something."""
    for task in tasks:
        if task["verdict"] != "schedulable":
            console.print(Text(f"{task['name']}: {task['reason']}", style=_WORD_STYLE[task["verdict"]]))
            witness = task["witness"]
            if witness is not None:
                console.print(Text(f"  {_missed(witness)}"))
        elif task["miss_limit"] is not None:
            console.print(Text(f"{task['name']}: {task['reason']}"))
        if task["response_bound_ns"] is None:
            for line in refusal_lines(task["refusals"]):
                console.print(Text(f"  {line}", style="dim"))
        if task["lost_work"] is not None:
            console.print(Text(f"{task['name']}: {task['lost_work']}", style="yellow"))
    for processor in processors:
        for test in processor["tests"]:
            if test["verdict"] == "unschedulable":
                console.print(Text(f"{processor['name']}: {test['name']}: {test['reason']}", style="red"))


def refusal_lines(refusals: Sequence[Row]) -> list[str]:
    """A line for each method that refuses; one for all those that are there for what the processor does not have."""
    lines = []
    for one in refusals:
        if not one["elsewhere"]:
            instead = f"; {one['instead']} would apply" if one["instead"] else ""
            lines.append(f"{one['method']} refuses: {one['reason']}{instead}")
    others = [one["method"] for one in refusals if one["elsewhere"]]
    return [*lines, f"for other situations: {', '.join(others)}"] if others else lines


def _missed(witness: Row) -> str:
    end = "is not finished" if witness["finish_ns"] is None else f"ends at {format_ns(witness['finish_ns'])}"
    return (
        f"job {witness['job']} arrives at {format_ns(witness['arrival_ns'])}, is due at "
        f"{format_ns(witness['deadline_ns'])} and {end}"
    )


def _chain_table(chains: Sequence[Row]) -> Table:
    table = Table(box=None, pad_edge=False, title="Chains (ms)", title_justify="left")
    table.add_column("chain", overflow="fold")
    for header in ("reaction", "limit", "latency", "limit", "data age", "limit"):
        table.add_column(header, justify="right")
    table.add_column("verdict")
    for chain in chains:
        cells = [
            Text(format_ms(chain[f"{name}_{kind}_ns"]))
            for name in ("reaction", "latency", "data_age")
            for kind in ("bound", "limit")
        ]
        word = chain["verdict"] if chain["counts"] else "no limits"
        table.add_row(Text(chain["name"]), *cells, Text(word, style=_WORD_STYLE[chain["verdict"]]))
    return table


def _print_waits(rows: Sequence[Row], console: Console) -> None:
    """Waits inside jobs for an element that serves them."""
    for row in rows:
        waited = "not bounded" if row["waited_ns"] is None else f"at most {format_ns(row['waited_ns'])}"
        text = f"wait of {row['task']} for {row['element']}: {waited}, {row['reason']}"
        console.print(Text(text, style=_WORD_STYLE[row["verdict"]]))


def _print_disparities(rows: Sequence[Row], console: Console) -> None:
    """By how much inputs of one job may differ in age, of the tasks that limit it."""
    limited = [row for row in rows if row["counts"]]
    if not limited:
        return
    table = Table(box=None, pad_edge=False, title="Time disparity of inputs (ms)", title_justify="left")
    table.add_column("task", overflow="fold")
    for header in ("bound", "limit"):
        table.add_column(header, justify="right")
    for header in ("older input", "younger input", "verdict"):
        table.add_column(header, overflow="fold")
    for row in limited:
        cells = (format_ms(row["disparity_bound_ns"]), format_ms(row["disparity_limit_ns"]))
        words = (row["older"] or "–", row["younger"] or "–")
        table.add_row(row["name"], *cells, *words, Text(row["verdict"], style=_WORD_STYLE[row["verdict"]]))
    console.print(table)
    for row in limited:
        if row["verdict"] != "schedulable":
            console.print(Text(f"disparity of {row['name']}: {row['reason']}"))
