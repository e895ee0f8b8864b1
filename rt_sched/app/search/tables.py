"""The table that `search` prints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from rt_sched.app.plain_tables import plain_table, red_above
from rt_sched.units import NS_PER_S, format_ms

_STYLE = {"ok": "bold green", "assumption_violated": "bold yellow", "incomplete": "bold yellow"}


def print_search(document: Mapping[str, Any], console: Console) -> None:
    """The worst case of every target beside its bound, then the verdict."""
    columns = ("longest", "bound", "share", "limit")
    table = plain_table("Longest times found (ms)", ("target", "quantity"), columns)
    table.add_column("found by")
    for row in document["targets"]:
        value, bound, limit = row["value_ns"], row["bound_ns"], row["limit_ns"]
        share = "–" if row["tightness"] is None else f"{100 * row['tightness']:.1f} %"
        table.add_row(
            Text(row["name"]),
            Text(row["quantity"].replace("_", " ")),
            Text(format_ms(value), style=red_above(value, bound) or red_above(value, limit)),
            Text(format_ms(bound), style="dim"),
            share,
            format_ms(limit),
            Text(_strategy(row)),
        )
    console.print(table)
    for row in document["targets"]:
        if row["scenario"] is not None:
            console.print(Text(f"scenario  {row['scenario']}"))
    for note in document["notes"]:
        console.print(Text(f"note: {note}", style="yellow"))
    checked = document["checked"]
    if checked["broken"]:
        console.print(Text(f"broken assumptions: {'; '.join(checked['broken'])}", style="yellow"))
    if checked["losses"]:
        console.print(Text(f"messages lost: {', '.join(checked['losses'])}", style="yellow"))
    text = Text(document["status"], style=_STYLE.get(document["status"], "bold red"))
    text.append(f"  {document['reason']}", style="not bold default")
    stopped = ", ended early" if document["interrupted"] else ""
    runs = f"{document['runs']} runs of {document['duration_ns'] / NS_PER_S:g} s, seed {document['seed']}{stopped}"
    figures = f"{runs}; {checked['scenarios']} worst cases checked record by record; {document['wall_s']:.1f} s"
    console.print(text.append(f"  ({figures})", style="dim not bold"))


def _strategy(row: Mapping[str, Any]) -> str:
    if row["strategy"] is None:
        return "–"
    words = row["strategy"].replace("_", " ")
    if row["begun_with"] != row["strategy"]:
        words += f" of {row['begun_with'].replace('_', ' ')}"
    return f"{words}, run {row['run']}"
