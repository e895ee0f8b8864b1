"""A system document as tables for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rt_sched.units import format_ns

Row = Mapping[str, Any]
Column = tuple[str, Callable[[Row], str]]
_NONE = "–"


def print_system(document: Row, console: Console) -> None:
    """Every part of the system that there is, one table each."""
    console.print(Text(f"{document['name']}  ({document['file']}, policy {document['policy']})", style="bold"))
    elements = [
        {**element, "device": device["name"]}
        for device in document["devices"]
        for element in device["processing_elements"]
    ]
    for title, rows, columns in (
        ("devices", document["devices"], _DEVICES),
        ("processing elements", elements, _ELEMENTS),
        ("links", document["links"], _LINKS),
        ("triggers", document["triggers"], _TRIGGERS),
        ("sensors", document["sensors"], _SENSORS),
        ("resources", document["resources"], _RESOURCES),
        ("tasks: when and how long", document["tasks"], _TIMING),
        ("tasks: what watches over them", document["tasks"], _SUPERVISION),
        ("tasks: inside a job", [task for task in document["tasks"] if _has_inside(task)], _INSIDE),
        ("edges", document["edges"], _EDGES),
        ("chains", document["chains"], _CHAINS),
        ("modes", document["modes"], _MODES),
        ("faults", document["faults"], _FAULTS),
    ):
        if rows:
            console.print(_table(title, rows, columns))
    if document["safety"]:
        console.print(_table("safety concept", [document["safety"]], _SAFETY))
    if document["shared_by_paths"]:
        rows = [{"kind": kind, "names": names} for kind, names in document["shared_by_paths"].items()]
        console.print(_table("what the backup path shares with the primary path", rows, _SHARED))
    for note in document["notes"]:
        console.print(Text(f"note: {note}", style="yellow"))


def _table(title: str, rows: Iterable[Row], columns: Sequence[Column]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    for name, _ in columns:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(Text(show(row)) for _, show in columns))
    return table


def _time(key: str) -> Callable[[Row], str]:
    return lambda row: _NONE if row[key] is None else format_ns(row[key])


def _word(key: str) -> Callable[[Row], str]:
    def show(row: Row) -> str:
        value = row[key]
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, list):
            return ", ".join(map(str, value)) or _NONE
        return _NONE if value is None or value == "" else str(value)

    return show


def _unit(key: str, unit: str) -> Callable[[Row], str]:
    return lambda row: _NONE if row[key] is None else f"{row[key]}{unit}"


def _frequency(hertz: int | None) -> str:
    return _NONE if hertz is None else f"{hertz / 1_000_000:g}MHz"


def _activation(task: Row) -> str:
    activation = task["activation"]
    jitter = f", jitter {format_ns(activation['jitter_ns'])}" if activation["jitter_ns"] else ""
    if activation["kind"] == "periodic":
        return f"{activation['rate_hz']}Hz from {format_ns(activation['offset_ns'])}{jitter}"
    if activation["kind"] == "sporadic":
        least, most = activation["min_separation_ns"], activation["max_separation_ns"]
        upper = f" to {format_ns(most)}" if most is not None else " or more"
        return f"every {format_ns(least)}{upper} from {format_ns(activation['offset_ns'])}{jitter}"
    if activation["primary"] is not None:
        return f"on {activation['primary']}{jitter}"
    tolerance = f" within {format_ns(activation['tolerance_ns'])}" if activation["join"] == "all" else ""
    return f"join {activation['join']}{tolerance}{jitter}"


def _execution(task: Row) -> str:
    times = task["execution"]
    memory = f", {format_ns(times['memory_ns'])} of it memory" if times["memory_ns"] else ""
    low = f", C_LO {format_ns(times['wcet_lo_ns'])}" if times["wcet_lo_ns"] is not None else ""
    return f"{format_ns(times['bcet_ns'])} … {format_ns(times['wcet_ns'])}{memory}{low}"


def _budget(task: Row) -> str:
    action = task["budget"]["action"]
    if task["budget_ns"] is None:
        return _NONE if action == "log" else f"its table entry: {action}"
    return f"{format_ns(task['budget_ns'])}: {action}"


def _misses(task: Row) -> str:
    limit = task["miss_limit"]
    return "none" if limit is None else f"{limit[0]} of {limit[1]}"


def _has_inside(task: Row) -> bool:
    return bool(task["sections"] or task["suspensions"] or task["preemption_points_ns"])


def _sections(task: Row) -> str:
    shown = (f"{s['resource']} {format_ns(s['start_ns'])} … {format_ns(s['end_ns'])}" for s in task["sections"])
    return ", ".join(shown) or _NONE


def _suspensions(task: Row) -> str:
    shown = (
        f"after {format_ns(s['after_ns'])}: {format_ns(s['min_ns'])} … {format_ns(s['max_ns'])}"
        + (f" for {'.'.join(s['on'])}" if s["on"] else "")
        for s in task["suspensions"]
    )
    return ", ".join(shown) or _NONE


def _preemption(element: Row) -> str:
    if not element["preemptive"]:
        return "none"
    return "at points" if element["points_only"] else "any"


def _fault(row: Row) -> str:
    if row["effect"] == "overrun":
        return f"{row['target']} needs {format_ns(row['demand_ns'])} in jobs {', '.join(map(str, row['jobs']))}"
    return f"{row['effect']} {row['target']} at {format_ns(row['time_ns'])}"


_DEVICES: tuple[Column, ...] = (
    ("device", _word("name")),
    ("chip", _word("soc")),
    ("power mode", _word("power_mode")),
    ("clock drift", lambda row: f"{row['clock']['drift_ppm']}ppm"),
    ("clock offset", lambda row: format_ns(row["clock"]["offset_ns"])),
    ("clock error", lambda row: format_ns(row["clock"]["sync_error_ns"])),
)
_ELEMENTS: tuple[Column, ...] = (
    ("element", lambda row: f"{row['device']}.{row['name']}"),
    ("kind", _word("kind")),
    ("cores", _word("cores")),
    ("policy", _word("policy")),
    ("scheduling", _word("scheduling")),
    ("preemption", _preemption),
    ("switch", _time("switch_cost_ns")),
    ("migration", _time("migration_cost_ns")),
    ("frequency", lambda row: _frequency(row["frequency_hz"])),
)
_LINKS: tuple[Column, ...] = (
    ("link", _word("name")),
    ("bandwidth", _unit("bandwidth_bytes_per_s", "B/s")),
    ("latency", _time("latency_ns")),
    ("between", lambda row: ", ".join(row["between"]) or "all devices"),
)
_TRIGGERS: tuple[Column, ...] = (
    ("trigger", _word("name")),
    ("rate", _unit("rate_hz", "Hz")),
    ("offset", _time("offset_ns")),
    ("drift", _unit("drift_ppm", "ppm")),
)
_SENSORS: tuple[Column, ...] = (
    ("sensor", _word("name")),
    ("kind", _word("kind")),
    ("rate", _unit("rate_hz", "Hz")),
    ("trigger", _word("trigger")),
    ("offset", _time("offset_ns")),
    ("drift", _unit("drift_ppm", "ppm")),
    ("latency", _time("latency_ns")),
    ("jitter", _time("jitter_ns")),
    ("attached to", _word("attached_to")),
    ("frame", _unit("frame_bytes", "B")),
    ("arrival", _word("arrival_clock")),
    ("topics", _word("topics")),
)
_RESOURCES: tuple[Column, ...] = (
    ("resource", _word("name")),
    ("protocol", _word("protocol")),
    ("used by", _word("users")),
)
_TIMING: tuple[Column, ...] = (
    ("task", _word("name")),
    ("stage", _word("stage")),
    ("runs on", _word("pe")),
    ("core", _word("core")),
    ("activation", _activation),
    ("execution", _execution),
    ("deadline", _time("deadline_ns")),
    ("priority", _word("priority")),
)
_SUPERVISION: tuple[Column, ...] = (
    ("task", _word("name")),
    ("budget", _budget),
    ("at deadline", _word("deadline_action")),
    ("misses allowed", _misses),
    ("criticality", _word("criticality")),
    ("level", _word("level")),
    ("communication", _word("communication")),
    ("start latency", _time("start_latency_ns")),
    ("may move to", _word("candidates")),
)
_INSIDE: tuple[Column, ...] = (
    ("task", _word("name")),
    ("critical sections", _sections),
    ("suspensions", _suspensions),
    ("preemption points", lambda row: ", ".join(map(format_ns, row["preemption_points_ns"])) or _NONE),
)
_EDGES: tuple[Column, ...] = (
    ("from", lambda row: f"{row['source']}.{row['port']}" if row["port"] else str(row["source"])),
    ("to", lambda row: f"{row['target']}.{row['input']}"),
    ("edge", lambda row: "latest" if row["kind"] == "latest" else f"queue {row['depth']}, {row['overflow']}"),
    ("required", _word("required")),
    ("link", _word("link")),
    ("size", _unit("size_bytes", "B")),
)
_CHAINS: tuple[Column, ...] = (
    ("chain", _word("name")),
    ("path", lambda row: " → ".join(row["path"])),
    ("reaction", _time("max_reaction_ns")),
    ("latency", _time("max_latency_ns")),
    ("data age", _time("max_data_age_ns")),
    ("communication", _word("communication")),
)
_MODES: tuple[Column, ...] = (
    ("mode", _word("name")),
    ("tasks", _word("tasks")),
    (
        "frequencies",
        lambda row: (
            ", ".join(f"{f['device']}.{f['pe']} {_frequency(f['frequency_hz'])}" for f in row["frequencies"]) or _NONE
        ),
    ),
)
_FAULTS: tuple[Column, ...] = (
    ("fault", _word("name")),
    ("what", _fault),
    ("detection", _time("detection_ns")),
    ("reaction", _time("reaction_ns")),
    ("margin", _time("margin_ns")),
    ("mode", _word("mode")),
    ("after", _time("mode_after_ns")),
)
_SAFETY: tuple[Column, ...] = (
    ("arbiter", _word("arbiter")),
    ("primary", _word("primary")),
    ("backup", _word("backup")),
    ("command deadline", _time("command_deadline_ns")),
    ("recovery limit", _time("recovery_limit_ns")),
)
_SHARED: tuple[Column, ...] = (
    ("kind", lambda row: str(row["kind"]).replace("_", " ")),
    ("shared", _word("names")),
)
