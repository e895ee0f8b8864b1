"""The analysis of faults as tables for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rt_sched.app.analyze.takeovers import takeover_lines
from rt_sched.units import format_ms, format_ns

Row = Mapping[str, Any]
_STYLE = {"schedulable": "green", "unschedulable": "red", "inconclusive": "yellow"}


def print_faults(section: Row, console: Console) -> None:
    """Handling times of all scenarios, then what each of them takes, then every change of mode."""
    if section["scenarios"]:
        console.print(_scenario_table(section["scenarios"]))
        for scenario in section["scenarios"]:
            _print_scenario(scenario, console)
    if section["arbiter"] is not None:
        _print_arbiter(section["arbiter"], console)
    for transition in section["transitions"]:
        _print_transition(transition, console)
    for one in section["misses"]:
        console.print(Text(f"misses of {one['task']} in mode {one['mode']}: {_misses_text(one)}"))


def _scenario_table(scenarios: Sequence[Row]) -> Table:
    several = any(len(scenario["cases"]) > 1 for scenario in scenarios)
    table = Table(box=None, pad_edge=False, title="Faults (ms)", title_justify="left")
    table.add_column("scenario", overflow="fold")
    if several:
        table.add_column("mode")
    for header in ("detection", "derived", "reaction", "limit", "margin", "longest detection"):
        table.add_column(header, justify="right")
    table.add_column("goes on with")
    table.add_column("verdict")
    for scenario in scenarios:
        for case in scenario["cases"]:
            change = "" if case["transition"] is None else f" -> {case['mode_after']}"
            cells = [Text(scenario["name"]), *([Text(case["mode"] + change)] if several else [])]
            table.add_row(*cells, *_handling_cells(case["handling"]), _verdict(case["verdict"]))
    return table


def _print_arbiter(row: Row, console: Console) -> None:
    table = Table(box=None, pad_edge=False, title="Loss of the arbiter (ms)", title_justify="left")
    table.add_column("arbiter", overflow="fold")
    keys = ("commands_apart_ns", "command_age_limit_ns", "cycle_ns", "bound_ns", "limit_ns", "margin_ns")
    for header in ("commands apart", "age limit", "cycle", "MINIMAL_RISK within", "limit", "margin"):
        table.add_column(header, justify="right")
    table.add_column("verdict")
    table.add_row(Text(row["task"]), *(Text(_ms(row[key])) for key in keys), _verdict(row["verdict"]))
    console.print(table)
    if row["reason"]:
        console.print(Text(f"loss of {row['task']}: {row['verdict']}: {row['reason']}"))


def _handling_cells(handling: Row | None) -> list[Text]:
    if handling is None:
        return [Text("–")] * 7
    keys = (
        "detection_ns",
        "detection_derived_ns",
        "reaction_ns",
        "limit_ns",
        "margin_ns",
        "longest_detection_ns",
    )
    return [*(Text(_ms(handling[key])) for key in keys), Text(handling["path"] or "–")]


def _ms(value_ns: int | None) -> str:
    return "–" if value_ns is None else format_ms(value_ns)


def _verdict(verdict: str) -> Text:
    return Text(verdict, style=_STYLE[verdict])


def _print_scenario(scenario: Row, console: Console) -> None:
    for case in scenario["cases"]:
        for line in _case_lines(case):
            where = f" in mode {case['mode']}" if len(scenario["cases"]) > 1 else ""
            console.print(Text(f"{scenario['name']}{where}: {line}"))


def _case_lines(case: Row) -> Iterator[str]:
    if case["lost_tasks"]:
        yield f"{_listed([task['name'] for task in case['lost_tasks']])} end"
    if case["stale_tasks"]:
        stale = [f"{task['name']} ({', '.join(task['inputs'])})" for task in case["stale_tasks"]]
        yield f"{_listed(stale)} go on with what came last"
    if case["lost_chains"]:
        yield f"chains {_listed(case['lost_chains'])} are lost"
    yield from takeover_lines(case["takeover"])
    for task in case["tasks"]:
        extra_ns = sum(term["value_ns"] for term in task["terms"] if term["kind"] == "overrun")
        if extra_ns:
            bound = f"{format_ns(task['response_bound_ns'])} of {format_ns(task['deadline_ns'])}"
            yield f"task {task['name']}: {bound}, {format_ns(extra_ns)} by overruns: {task['verdict']}"
    for misses in case["misses"]:
        yield f"misses of {misses['task']}: {_misses_text(misses)}"
    if case["verdict"] != "schedulable":
        yield f"{case['verdict']}: {case['reason']}"


def _misses_text(one: Row) -> str:
    allowed = "" if one["allowed"] is None else f", {one['allowed']} allowed"
    if one["at_most"] is None:
        return f"not known{allowed}: {one['reason']}"
    return f"at most {one['at_most']} of any {one['of']} jobs{allowed}: {one['reason']}"


def _listed(names: Sequence[str], most: int = 12) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _print_transition(transition: Row, console: Console) -> None:
    title = f"Change of mode {transition['name']}: {transition['verdict']} (response in ms)"
    table = Table(box=None, pad_edge=False, title=title, title_justify="left")
    table.add_column("task", overflow="fold")
    table.add_column("is")
    for header in ("before", "across", "after", "deadline"):
        table.add_column(header, justify="right")
    table.add_column("method")
    table.add_column("verdict")
    for task in transition["tasks"]:
        table.add_row(
            Text(task["name"]),
            Text(task["presence"]),
            _ms(task["bound_before_ns"]),
            _ms(task["response_bound_ns"]),
            _ms(task["bound_after_ns"]),
            _ms(task["deadline_ns"]),
            Text(task["method"] or "–"),
            _verdict(task["verdict"]),
        )
    console.print(table)
    for task in transition["tasks"]:
        if task["verdict"] != "schedulable":
            console.print(Text(f"task {task['name']}: {task['reason']}"))
    for chain in transition["chains"]:
        if chain["verdict"] != "schedulable":
            console.print(Text(f"chain {chain['name']}: {chain['reason']}"))
    for wait in transition["waits"]:
        if wait["verdict"] != "schedulable":
            console.print(Text(f"wait of {wait['task']} for {wait['element']}: {wait['reason']}"))
