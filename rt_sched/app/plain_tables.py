"""Tables as commands print them, and the one of chains that every kind of run has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from rt_sched.units import format_ms


def plain_table(title: str, text: Sequence[str], numbers: Sequence[str] = ()) -> Table:
    """A table without lines: columns of text, which wrap, then columns of numbers, to the right."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for header in text:
        table.add_column(header, overflow="fold")
    for header in numbers:
        table.add_column(header, justify="right")
    return table


def red_above(value_ns: int | None, limit_ns: int | None) -> str:
    """The style of a value beside its limit."""
    return "red" if value_ns is not None and limit_ns is not None and value_ns > limit_ns else ""


def chain_table(chains: Sequence[Mapping[str, Any]]) -> Table:
    """The rows `chains` of a run's document: largest values, bounds and limits."""
    kinds = ("reaction", "latency", "data_age")
    columns = [(f"{kind.replace('_', ' ')} max", "bound", "limit") for kind in kinds]
    table = plain_table("Chains (ms)", ("chain",), ("outputs", *(header for group in columns for header in group)))
    for chain in chains:
        row = [Text(chain["name"]), Text(str(chain["outputs"]))]
        for kind in kinds:
            value, bound, limit = (chain[f"{kind}_{part}_ns"] for part in ("max", "bound", "limit"))
            row += [Text(format_ms(value), style=red_above(value, limit) or red_above(value, bound))]
            row += [Text(format_ms(bound), style="dim"), Text(format_ms(limit, 0))]
        table.add_row(*row)
    return table
