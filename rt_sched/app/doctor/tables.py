"""The examination of a machine for people: the tiers first, then what stands in the way, then what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from rt_sched.app.plain_tables import plain_table
from rt_sched.units import NS_PER_US

_STYLE = {"ok": "green", "note": "cyan", "warning": "yellow", "problem": "red"}
_URGENCY = {"problem": 0, "warning": 1, "note": 2, "ok": 3}
_BAR = 40


def print_examination(document: Mapping[str, Any], console: Console) -> None:
    """Everything that the document tells."""
    for tier in document["tiers"]:
        line = Text("yes " if tier["available"] else "no  ", style="green" if tier["available"] else "red")
        line.append(f"tier {tier['tier']:10}", style="bold")
        console.print(line.append("  ".join(tier["reasons"]), style="default"), soft_wrap=True)
    _print_findings(document["findings"], console)
    _print_mending(document["findings"], console)
    for found in document["wake_ups"]:
        _print_wake_ups(found, console)
    best = f"the best here is {document['best']}" if document["best"] else "none is there"
    if document["status"] == "ok":
        console.print(Text(f"ok  tier {document['need']} is there; {best}", style="green"))
    else:
        console.print(Text(f"missing  tier {document['need']}; {best}", style="red"))


def _print_findings(findings: Sequence[Mapping[str, Any]], console: Console) -> None:
    table = plain_table("", ("", "area", "what", "found", "costs"))
    for found in sorted(findings, key=lambda row: _URGENCY[row["severity"]]):
        severity = Text(found["severity"], style=_STYLE[found["severity"]])
        table.add_row(severity, *(Text(found[key]) for key in ("area", "name", "found", "costs")))
    console.print(table)


def _print_mending(findings: Sequence[Mapping[str, Any]], console: Console) -> None:
    """In lines of their own, whole, so that they can be copied."""
    rows = [row for row in sorted(findings, key=lambda row: _URGENCY[row["severity"]]) if row["mend"]]
    if rows:
        console.print(Text("\nHow to mend it", style="bold"))
    for row in rows:
        console.print(
            Text(f"  {row['name']}: ", style=_STYLE[row["severity"]]).append(row["mend"], "default"), soft_wrap=True
        )


def _print_wake_ups(found: Mapping[str, Any], console: Console) -> None:
    p50, p99, largest = (f"{found[key] / NS_PER_US:.0f}" for key in ("p50_ns", "p99_ns", "max_ns"))
    title = f"\nWake-ups in tier {found['tier']}: {found['count']}, p50 {p50} us, p99 {p99} us, max {largest} us late"
    console.print(Text(title, style="bold"))
    most = max(row["count"] for row in found["histogram"])
    for row in found["histogram"]:
        bar = "█" * -(-row["count"] * _BAR // most)
        console.print(Text(f"  up to {row['up_to_ns'] // NS_PER_US:>7} us {row['count']:>6} {bar}"))
