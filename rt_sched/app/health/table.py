"""The watch over sensors of a paced run, as a table on the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from rt_sched.app.plain_tables import plain_table, red_above
from rt_sched.units import NS_PER_S, format_ms

_BY = {"exit": "had ended", "still": "stood still"}


def print_health(health: Mapping[str, Any] | None, console: Console) -> None:
    """`health`: that key of a summary; nothing is printed where nobody watched."""
    if health is None:
        return
    title = f"Sensors watched, every {format_ms(health['period_ns'])} ms (ms)"
    table = plain_table(
        title, ("sensor", "found by"), ("at", "known after", "within", "worst case", "trusted again at")
    )
    for sensor in health["sensors"]:
        rows = [one for one in health["trust"] if one["sensor"] == sensor]
        lost = [one for one in rows if not one["trusted"] and one["monitor"]]
        if not lost:
            table.add_row(Text(sensor), Text("nothing"), *(Text("–"),) * 5)
        for one in lost:
            table.add_row(*_cells(health, rows, one))
    console.print(table)
    for line in _of_the_watch(health):
        console.print(Text(line, style="yellow"))


def _cells(health: Mapping[str, Any], rows: list[Mapping[str, Any]], lost: Mapping[str, Any]) -> Iterator[Text]:
    """One loss of trust: who took it away, when, how long after the message came, and when it was back."""
    mine = (one for one in health["findings"] if (one["sensor"], one["monitor"]) == (lost["sensor"], lost["monitor"]))
    finding = max((one for one in mine if one["time_ns"] <= lost["time_ns"]), key=_when, default=None)
    back_ns = next((one["time_ns"] for one in rows if one["trusted"] and one["time_ns"] > lost["time_ns"]), None)
    known_ns = None if finding is None else finding["time_ns"] - finding["message_ns"]
    yield Text(lost["sensor"])
    yield Text(lost["monitor"])
    yield Text(format_ms(lost["time_ns"]))
    yield Text(format_ms(known_ns), style=red_above(known_ns, health["delay_ns"]))
    yield Text(format_ms(health["delay_ns"]), style="dim")
    yield Text(format_ms(None if finding is None else finding["worst_case_ns"]), style="dim")
    yield Text(format_ms(back_ns))


def _when(row: Mapping[str, Any]) -> int:
    return int(row["time_ns"])


def _of_the_watch(health: Mapping[str, Any]) -> Iterator[str]:
    """What is to be said of the watching process itself."""
    for loss in health["losses"]:
        back = "" if loss["back_ns"] is None else f", reported again at {loss['back_ns'] / NS_PER_S:.3f} s"
        noticed = f"noticed at {loss['noticed_ns'] / NS_PER_S:.3f} s"
        yield f"the watch over sensors {_BY[loss['by']]}, {noticed}{back}{_unwatched(loss)}"
    if health["late"]:
        yield f"{health['late']} of {health['cycles']} cycles of the watch over sensors took longer than their period"
    if health["missed"]:
        yield f"{health['missed']} samples came while the watch over sensors could not see them"


def _unwatched(loss: Mapping[str, Any]) -> str:
    """For how long no sensor was watched beside the bound; summaries of earlier versions do not have it."""
    unwatched_ns, within_ns = loss.get("unwatched_ns"), loss.get("within_ns")
    if unwatched_ns is None:
        return ""
    within = "" if within_ns is None else f", at most {format_ms(within_ns)}"
    return f"; no sensor was watched for {format_ms(unwatched_ns)} ms{within}"
