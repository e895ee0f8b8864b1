"""Old and new verdicts as tables for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rt_sched.units import NS_PER_MS, NS_PER_US, format_ms

Row = Mapping[str, Any]
_STYLE = {"schedulable": "green", "unschedulable": "red", "inconclusive": "yellow"}
_CHANGE_STYLE = {"worse": "red", "better": "green", "added": "cyan", "removed": "dim", "same": ""}
#: Rows of one table that are shown; the rest are counted.
_MOST_ROWS = 60
_QUANTITIES = ("reaction", "latency", "data_age")


def print_what_if(document: Row, console: Console) -> None:
    """What was changed, both verdicts, and what differs: what got worse first."""
    for change in document["changes"]:
        console.print(Text(f"{change['option']} {change['argument']}", style="bold"))
        for line in change["did"]:
            console.print(Text(f"  {line}"))
    if document["note"] is not None:
        console.print(Text(document["note"], style="yellow"))
    headline = Text(f"\n{document['system']}: ")
    headline.append_text(_verdicts(document["old_verdict"], document["verdict"], bold=True))
    console.print(headline)
    if len(document["modes"]) > 1:
        for mode in document["modes"]:
            line = Text(f"mode {mode['name']}: ")
            line.append_text(_verdicts(_of(mode, "old", "verdict"), _of(mode, "new", "verdict")))
            console.print(line)
    several = len(document["modes"]) > 1
    _print_tasks(document["tasks"], console, several=several)
    _print_chains(document["chains"], console, several=several)
    _print_disparities(document["disparities"], console)
    _print_loads(document["processors"], console, several=several)
    for row in (*document["tasks"], *document["chains"]):
        new = row["new"]
        if new is not None and new["verdict"] != "schedulable" and _of(row, "old", "verdict") != new["verdict"]:
            console.print(Text(f"{row['name']}: {new['reason']}", style=_STYLE[new["verdict"]]))


def _print_tasks(rows: Sequence[Row], console: Console, *, several: bool) -> None:
    table = _table("Tasks (response in ms)", ("task", "runs on", "old", "new", "difference", "deadline", "verdict"))
    for row in _shown(rows, "task", table):
        places = [place for place in dict.fromkeys(_of(row, side, "pe") for side in ("old", "new")) if place]
        table.add_row(
            _name(row, several=several),
            Text(" -> ".join(places)),
            Text(format_ms(_of(row, "old", "response_bound_ns"))),
            Text(format_ms(_of(row, "new", "response_bound_ns"))),
            _signed_ms(row["difference_ns"]),
            Text(format_ms(_of(row, "new" if row["new"] else "old", "deadline_ns"))),
            _verdicts(_of(row, "old", "verdict"), _of(row, "new", "verdict")),
        )
    _print(table, console)


def _print_chains(rows: Sequence[Row], console: Console, *, several: bool) -> None:
    """A line for each quantity of a chain that has a bound or a limit."""
    table = _table("Chains (ms)", ("chain", "quantity", "old", "new", "difference", "limit", "verdict"))
    for row in _shown(rows, "chain", table):
        first = True
        for quantity in _QUANTITIES:
            bound, limit = f"{quantity}_bound_ns", f"{quantity}_limit_ns"
            table.add_row(
                _name(row, several=several) if first else "",
                Text(quantity.replace("_", " ")),
                Text(format_ms(_of(row, "old", bound))),
                Text(format_ms(_of(row, "new", bound))),
                _signed_ms(row[f"{quantity}_difference_ns"]),
                Text(format_ms(_of(row, "new" if row["new"] else "old", limit))),
                _verdicts(_of(row, "old", "verdict"), _of(row, "new", "verdict")) if first else "",
            )
            first = False
    _print(table, console)


def _print_disparities(rows: Sequence[Row], console: Console) -> None:
    table = _table("Time disparity of inputs (ms)", ("task", "old", "new", "difference", "limit", "verdict"))
    for row in _shown(rows, "task", table):
        table.add_row(
            Text(row["name"]),
            Text(format_ms(_of(row, "old", "disparity_bound_ns"))),
            Text(format_ms(_of(row, "new", "disparity_bound_ns"))),
            _signed_ms(row["difference_ns"]),
            Text(format_ms(_of(row, "new" if row["new"] else "old", "disparity_limit_ns"))),
            _verdicts(_of(row, "old", "verdict"), _of(row, "new", "verdict")),
        )
    _print(table, console)


def _print_loads(rows: Sequence[Row], console: Console, *, several: bool) -> None:
    table = _table("Utilisation", ("processor", "old", "new", "difference"))
    for row in _shown(rows, "processor", table):
        old, new = _of(row, "old", "load"), _of(row, "new", "load")
        if not old and not new:
            continue
        difference = "–" if row["difference"] is None else f"{row['difference']:+.3f}"
        cells = ("–" if load is None else f"{load:.3f}" for load in (old, new))
        table.add_row(_name(row, several=several), *cells, difference)
    _print(table, console)


def _table(title: str, headers: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False, title=title, title_justify="left")
    for header in headers:
        numeric = header in ("old", "new", "difference", "deadline", "limit")
        table.add_column(header, justify="right" if numeric else "left", overflow="fold")
    return table


def _shown(rows: Sequence[Row], what: str, table: Table) -> list[Row]:
    """The rows that differ; the others are counted in the caption."""
    differ = [row for row in rows if row["change"] != "same"]
    words = []
    if len(differ) > _MOST_ROWS:
        words.append(f"{len(differ) - _MOST_ROWS} more {what}s differ less")
    same = len(rows) - len(differ)
    if same:
        words.append(f"{same} {what}{'s are' if same > 1 else ' is'} as before")
    if words:
        table.caption, table.caption_justify = "; ".join(words), "left"
    return differ[:_MOST_ROWS]


def _print(table: Table, console: Console) -> None:
    if table.row_count:
        console.print(table)
    elif table.caption:
        console.print(Text(f"{table.title}: {table.caption}"))


def _name(row: Row, *, several: bool) -> Text:
    text = Text(row["name"] + (f" in {row['mode']}" if several else ""))
    text.stylize(_CHANGE_STYLE[row["change"]])
    return text


def _of(row: Row, side: str, key: str) -> Any:
    return None if row[side] is None else row[side].get(key)


def _signed_ms(value_ns: int | None) -> Text:
    """Differences that milliseconds would not show are shown in nanoseconds."""
    if value_ns is not None and 0 < abs(value_ns) < NS_PER_US:
        return Text(f"{value_ns:+d} ns")
    return Text("–" if value_ns is None else f"{value_ns / NS_PER_MS:+.3f}")


def _verdicts(old: str | None, new: str | None, *, bold: bool = False) -> Text:
    """Both verdicts where they differ."""
    weight = "bold " if bold else ""
    if old is None or new is None:
        word = "added" if old is None else "removed"
        text = Text(f"{word}: " if new else word)
        return text.append(new, style=weight + _STYLE[new]) if new else text
    if old == new:
        return Text(f"still {new}" if bold else new, style=weight + _STYLE[new])
    return Text.assemble((old, weight + _STYLE[old]), " -> ", (new, weight + _STYLE[new]))
