"""What the commands on faults print for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from rt_sched.app.faults.pages import PAGE
from rt_sched.app.health.table import print_health
from rt_sched.app.plain_tables import plain_table, red_above
from rt_sched.units import NS_PER_S, format_ms

_STYLES = {"detected": "green", "tolerated": "green", "late": "red", "silent": "bold red", "unknown": "yellow"}
_STATUS = {
    "ok": ("ok", "bold green", "every fault was detected in time, or changed no command"),
    "silent": ("silent", "bold red", "a fault was noticed by nobody and changed commands, or was noticed too late"),
    "unknown": ("unknown", "bold yellow", "a fault was noticed by nobody, and the stages did not run"),
}
#: No two runs on the wall clock are equal.
_UNKNOWN_PACED = "a fault did not begin, or nobody noticed it and nothing tells whether it changed any command"


def print_list(document: Mapping[str, Any], console: Console) -> None:
    """Every kind of fault, one a row."""
    title = f"Faults (worst case of detection in ms, for {document['system']})"
    table = plain_table(title, ("kind", "strikes", "what happens", "lockstep", "paced", "found by"))
    for kind in document["kinds"]:
        found = _found_by(kind["monitors"])
        if kind["paced"] and kind["paced_monitors"] != kind["monitors"]:
            found += f"; paced: {_found_by(kind['paced_monitors'])}"
        lockstep, paced = ("yes" if kind[clock] else "no" for clock in ("lockstep", "paced"))
        cells = (kind["kind"], kind["strikes"], kind["does"], lockstep, paced, found)
        table.add_row(*map(Text, cells))
    console.print(table)
    delays = {kind["paced_delay_ns"] for kind in document["kinds"]} - {0}
    for delay_ns in delays:
        how = "which a recording decides (--log)" if delay_ns is None else f"{format_ms(delay_ns)}, counted for paced"
        console.print(Text(f"sensors, paced: found up to two cycles of the watch later, {how}", style="dim"))
    for kind in document["kinds"]:
        for line in _of_processes(kind):
            console.print(Text(f"{kind['kind']}, paced: {line}", style="dim"))
        for clock in ("lockstep", "paced"):
            if kind[f"{clock}_reason"]:
                console.print(Text(f"{kind['kind']}, {clock}: {kind[f'{clock}_reason']}", style="dim"))


def _of_processes(kind: Mapping[str, Any]) -> Iterator[str]:
    """Within what time a process that a fault ends is replaced, and what is declared of processes of the run itself."""
    if kind["paced_recovery_ns"] is not None:
        yield f"a task with a spare is served again within {format_ms(kind['paced_recovery_ns'])}"
    for one in kind["paced_processes"]:
        reacts = (
            ""
            if one["reaction_ns"] is None
            else f"; the arbiter goes on without within {format_ms(one['reaction_ns'])}"
        )
        unwatched_ns = one["unwatched_ns"]
        back = "" if unwatched_ns is None else f"; no sensor is watched for {format_ms(unwatched_ns)} at most"
        yield f"also strikes {one['process']}, found by {_found_by(one['monitors'])}{reacts}{back}"


def _found_by(monitors: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(f"{one['monitor']} {format_ms(one['worst_case_ns'])}" for one in monitors) or "–"


def print_run(document: Mapping[str, Any], console: Console) -> None:
    """Every fault of a run, one a row."""
    table = plain_table(
        "Faults (ms)",
        ("fault", "kind", "target", "detected by", "verdict", "reaction"),
        ("at", "detected after", "worst case", "reaction after", "recovered after"),
    )
    for row in document["faults"]:
        reaction = row["reaction"] or {}
        after, worst = row["detected_after_ns"], row["worst_case_ns"]
        said = f"{reaction['state']}, {reaction['selected']}" if reaction else "–"
        table.add_row(
            *map(Text, (row["name"], row["kind"], row["target"], row["detected_by"] or "–")),
            Text(row["verdict"], style=_STYLES[row["verdict"]]),
            Text(said),
            Text(format_ms(row["begin_ns"])),
            Text(format_ms(after), style=red_above(after, worst)),
            Text(format_ms(worst), style="dim"),
            Text(format_ms(reaction.get("after_ns"))),
            Text(format_ms(reaction.get("recovered_after_ns"))),
        )
    console.print(table)
    print_health(document.get("health"), console)
    for row in document["faults"]:
        if row["reason"]:
            by = f"{row['detected_by']} of {row['target']}: " if row["detected_by"] else ""
            console.print(Text(f"{row['name']}: {by}{row['reason']}", style="dim"))
        if row.get("back_after_ns") is not None:
            within = f", within {format_ms(row['back_within_ns'])}" if row["back_within_ns"] is not None else ""
            text = f"{row['name']}: served again after {format_ms(row['back_after_ns'])} ms{within}"
            console.print(Text(text, style=red_above(row["back_after_ns"], row["back_within_ns"]) or "dim"))
    for one in document["other_findings"]:
        at = f"{one['time_ns'] / NS_PER_S:.3f} s"
        console.print(Text(f"also found at {at}: {one['monitor']} of {one['what']}: {one['reason']}", style="yellow"))
    if document["run"]:
        for name, page in (("report", "report.html"), ("faults", PAGE)):
            console.print(Text(f"{name}    {Path(document['run']['folder']) / page}"))
    _print_status(document, console)


def print_campaign(document: Mapping[str, Any], console: Console) -> None:
    """Counts by kind, then every run that failed."""
    verdicts = tuple(_STYLES)
    table = plain_table(
        "Campaign (ms)", ("kind",), ("runs", *verdicts, "detected after, at most", "worst case, at most")
    )
    for kind in document["kinds"]:
        cells = [Text(str(kind[name]), style=_STYLES[name] if kind[name] else "dim") for name in verdicts]
        ends = (format_ms(kind["detected_after_max_ns"]), format_ms(kind["worst_case_max_ns"]))
        table.add_row(Text(kind["kind"]), Text(str(kind["runs"])), *cells, *map(Text, ends))
    console.print(table)
    for row in document["runs"]:
        if row["verdict"] in ("silent", "late"):
            at = f"{row['begin_ns'] / NS_PER_S:.3f} s"
            drawn = "".join(f", {key} {value}" for key, value in row["drawn"].items())
            console.print(Text(f"{row['verdict']}: {row['name']}, {row['kind']} of {row['target']} at {at}{drawn}"))
    _print_status(document, console)


def _print_status(document: Mapping[str, Any], console: Console) -> None:
    word, style, text = _STATUS[document["status"]]
    if word == "unknown" and document["clock"] == "paced":
        text = _UNKNOWN_PACED
    console.print(Text(word, style=style).append(f"  {text}", style="default"))
