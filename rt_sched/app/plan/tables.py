"""A plan as people read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rt_sched.app.plain_tables import plain_table
from rt_sched.app.plan.schedule_tables import print_tables
from rt_sched.units import format_ms

_STYLES = {"schedulable": "bold green", "unschedulable": "bold red", "inconclusive": "bold yellow"}
_UNITS = {"power": "mW", "voltage": "V2 MHz", "busy_time": "thousandths of a core"}
Row = Mapping[str, Any]


def print_plan(document: Row, console: Console) -> None:
    """Tables of placements, elements and methods, then what else there is to say, and the verdict last."""
    if document["placements"]:
        console.print(_placements(document))
        console.print(_elements(document["elements"]))
    console.print(_proposals(document["proposals"], document["energy_model"]["name"]))
    if document["cameras"] is not None:
        _print_cameras(document["cameras"], console)
    _print_merges(document, console)
    if document.get("frame"):
        _print_frame(document["frame"], console)
    for one in document.get("offsets", ()):
        before, after = format_ms(one["latency_before_ns"]), format_ms(one["latency_after_ns"])
        console.print(
            Text(
                f"offset {format_ms(one['offset_ns'], 1)}ms of {one['task']}, in place of "
                f"{format_ms(one['declared_ns'], 1)}ms, lowers the mean latency bound from {before} to {after} ms"
                f"{'' if one['applied'] else ' (not in the plan)'}"
            )
        )
    if "tables" in document:
        print_tables(document["tables"], console)
    if "failover" in document:
        _print_failover(document["failover"], console)
    if document["unlinked"]:
        told = ", ".join(f"{one['source']} to {one['task']}" for one in document["unlinked"])
        console.print(Text(f"between devices over no link, so at once, as the file says: {told}"))
    for obstacle in document["obstacles"]:
        console.print(Text(f"obstacle: {obstacle}", style="yellow"))
    for proof in document["proved"]:
        console.print(Text(f"no plan: {proof}", style="red"))
    _print_verdict(document, console)


def _print_merges(document: Row, console: Console) -> None:
    """Small tasks whose hand-over costs much: what merging them saves, or where they are instead."""
    for one in document.get("merges", ()):
        console.print(Text(f"{_hand_over(one, one['hand_over_ns'])}; {_merge_text(one)}"))
    for one in () if "merges" in document else document["fused"]:
        console.print(Text(f"{_hand_over(one, one['saved_ns'])}; --merge may make them one task"))
    for one in document.get("switches", ()):
        console.print(
            Text(
                f"switches for each job of {one['second']}: {one['on_one_core']:.2f} on the core of {one['first']}, "
                f"{one['apart']:.2f} on another"
            )
        )


def _hand_over(one: Row, cost_ns: int) -> str:
    share = f"{100 * one['share']:.0f} % of the smaller one"
    return f"{one['first']} and {one['second']}: a hand-over takes {cost_ns / 1000:g} us, {share}"


def _merge_text(merge: Row) -> str:
    limit = f"more than {100 * merge['threshold']:.0f} %"
    if not merge["possible"]:
        return f"{limit}, but they cannot be merged: {merge['reason']}"
    bounds = f"{format_ms(merge['bound_ns'])} to {format_ms(merge['bound_merged_ns'])} ms"
    return (
        f"{limit}; as one task {merge['switches']:.2f} to {merge['switches_merged']:.2f} switches a job, "
        f"{merge['saved_ns'] / 1000:g} us saved, response bound {bounds}"
        f"{'; merged in the plan' if merge['applied'] else ' (not in the plan)'}"
    )


def _placements(document: Row) -> Table:
    why = {one["task"]: one for one in document.get("reasons", ())}
    table = plain_table("Placements", ("task", "processor", "level", *(("why", "why not elsewhere") if why else ())))
    for one in document["placements"]:
        style = "cyan" if one["moved"] else ""
        row: list[Text | str] = [Text(one["task"]), Text(one["processor"], style=style), str(one["level"])]
        if why:
            reason = why[one["task"]]
            row.append(Text(reason["why"]))
            row.append(Text("\n".join(f"{other['pe']}: {other['why_not']}" for other in reason["instead"])))
        table.add_row(*row)
    return table


def _elements(rows: list[Row]) -> Table:
    table = plain_table("Elements", ("element",), ("worst-case load of all cores %",))
    for one in rows:
        table.add_row(Text(one["name"]), f"{100 * one['load']:.1f}")
    return table


def _proposals(rows: list[Row], energy: str) -> Table:
    numbers = ("latency ms", "least margin %", "mean margin %", f"power {_UNITS[energy]}", "fullest core %")
    table = plain_table("Methods", ("method", "analysis"), (*numbers, "solver"))
    for one in rows:
        costs, solver = one["costs"], one["solver"]
        said = "–"
        if solver is not None:
            said = solver["status"] + (f", gap {100 * solver['gap']:.1f} %" if solver["gap"] else "")
        if costs is None:
            table.add_row(Text(one["method"]), Text(one["refused"] or ""), *["–"] * len(numbers), said)
            continue
        table.add_row(
            Text(one["method"]),
            "accepts" if costs["accepted"] else "rejects",
            format_ms(costs["latency_ns"]),
            *(
                ["no bound", "–"]
                if costs["unbounded"]
                else [f"{100 * costs[k]:.1f}" for k in ("margin", "mean_margin")]
            ),
            str(costs["power_mw"]),
            f"{100 * costs['peak_load']:.1f}",
            said,
        )
    return table


def _print_cameras(cameras: Row, console: Console) -> None:
    table = plain_table("Cameras", ("camera", "device", "when that is lost"))
    for one in cameras["cameras"]:
        table.add_row(Text(one["name"]), Text(one["device"]), Text(one["second_device"] or "none"))
    console.print(table)
    now, before = cameras["score"], cameras["score_as_in_file"]
    for key, words, factor, unit in (
        ("peak_load", "fullest element", 100, " %"),
        ("peak_load_after_loss", "after the worst loss of a device", 100, " %"),
        ("shared_view_mrad", "view shared by cameras of one device", 1, " mrad"),
        ("not_on_first_device", "cameras not on their first device", 1, ""),
    ):
        console.print(Text(f"  {words}: {factor * now[key]:.4g}{unit} (file: {factor * before[key]:.4g}{unit})"))


def _print_frame(frame: Row, console: Console) -> None:
    console.print(Text("One frame, every job at its worst case", style="italic"))
    console.print(
        Text(f"  critical path  {' -> '.join(frame['critical_path'])}: {format_ms(frame['critical_path_ns'])} ms")
    )
    console.print(
        Text(
            f"  all done after {format_ms(frame['makespan_ns'])} ms; {format_ms(frame['work_ns'])} ms of work: "
            f"speed-up {frame['speed_up']:.2f}, efficiency {100 * frame['efficiency']:.0f} %, "
            f"load imbalance {frame['load_imbalance']:.2f}"
        )
    )
    console.print(
        Text(
            f"  a frame every {format_ms(frame['period_ns'])} ms, {frame['frames_at_once']} on their way at once; "
            f"{frame['fullest_core']} would keep up with {frame['throughput_hz']:.1f} frames a second; "
            f"bubbles {100 * frame['bubbles']:.0f} % of the cores in use, "
            f"{100 * frame['bubbles_of_fullest_core']:.0f} % there"
        )
    )


def _print_failover(failover: Row, console: Console) -> None:
    table = plain_table("Takeovers", ("lost", "verdict", "tasks moved", "reason"))
    for one in failover["takeovers"]:
        table.add_row(
            Text(", ".join(one["losses"])),
            Text(one["verdict"], style=_STYLES[one["verdict"]]),
            "–" if one["moves"] is None else str(one["moves"]),
            Text(one["reason"] or ""),
        )
    console.print(table)
    _print_steps(failover["takeovers"], console)


def _print_steps(takeovers: list[Row], console: Console) -> None:
    """What follows on another takeover, when only a part of the losses was known before."""
    columns = ("lost before", "lost then", "verdict", "recovered ms", "reason")
    table = plain_table("Takeovers on another one", columns)
    for one in takeovers:
        for step in one["on_another"]:
            more = [name for name in one["losses"] if name not in step["in_force"]]
            table.add_row(
                Text(", ".join(step["in_force"])),
                Text(", ".join(more)),
                Text(step["verdict"], style=_STYLES[step["verdict"]]),
                format_ms(step["recovered_ns"]),
                Text(step["reason"] or "all limits are kept, however soon it follows"),
            )
    if table.rows:
        console.print(table)


def _print_verdict(document: Row, console: Console) -> None:
    text = Text(document["verdict"], style=_STYLES[document["verdict"]])
    if document["proved"]:
        closest = "; shown above is what comes closest" if document["placements"] else ""
        text.append(f"  there is no plan{closest}", style="")
    elif document["method"] is not None and document["verdict"] != "schedulable":
        text.append(
            f"  no accepted plan was found, and none is ruled out; what comes closest: {document['method']}", style=""
        )
        if document["stay"]:
            text.append("; other places were not looked at", style="")
        elif not document["no_better_move"]:
            text.append("; more time, or no --heuristics, may find one", style="")
    elif document["method"] is None:
        text.append("  no plan was found, and none is ruled out", style="")
    elif document["stay"]:
        text.append("  tasks stay where the file has them", style="")
    else:
        text.append(f"  best for {document['objective']}: {document['method']}", style="")
        moves = document["moves"]
        text.append(f", {moves} move{'' if moves == 1 else 's'}" if moves else "", style="")
        text.append(", no single move is better" if document["no_better_move"] else ", search not exhausted", style="")
    if document["interrupted"]:
        text.append("; interrupted, this is the best so far", style="yellow")
    console.print(text)
    if document["plan_file"]:
        said = "" if document["verdict"] == "schedulable" else "  (the analysis does not accept it)"
        console.print(Text(f"plan  {document['plan_file']}{said}"))
