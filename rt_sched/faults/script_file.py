"""Fault script files: text in, a FaultScript for a system out, or every mistake with line and column."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rt_sched.config import fields
from rt_sched.config.problems import Problems, unknown
from rt_sched.config.table import Table, named_entries
from rt_sched.config.yaml_file import root_of_file
from rt_sched.config.yaml_nodes import Entry, Node
from rt_sched.faults.kinds import BY_NAME, KINDS, NEED_LOG_TIME, Kind, Strikes
from rt_sched.faults.script import Event, FaultScript, Injection, Trigger
from rt_sched.faults.script_spec import EVENT, EVENTS, FAULT, SCRIPT, SCRIPT_VERSION
from rt_sched.model import ArrivalClock, System

#: Key of a fault -> field of an Injection.
_FIELDS = {
    "for": "lasts_ns",
    "share": "share",
    "by": "by_ns",
    "from": "from_deg",
    "to": "to_deg",
    "radius": "radius_px",
    "how": "how",
    "restart": "restart_ns",
    "stall": "stall_ns",
    "jobs": "jobs",
    "demand": "demand_ns",
}
_EXAMPLES = {
    "by": "by: 40ms",
    "from": "from: -30deg",
    "to": "to: 30deg",
    "stall": "stall: 200ms",
    "demand": "demand: 12ms",
}


def load_script(path: str | Path, system: System) -> FaultScript:
    """The script in the file at `path`, for `system`. Raises ConfigError with every problem at once."""
    problems = Problems(str(path))
    root = root_of_file(Path(path), "fault script", problems)
    script = _read(root, system, problems)
    problems.raise_if_any()
    return script


def _read(root: Node, system: System, problems: Problems) -> FaultScript:
    top = Table(root, SCRIPT, problems)
    version = top.get("rt_sched_faults")
    if version is not None and fields.plain_number(version) != SCRIPT_VERSION:
        problems.add(version, f"this program reads version {SCRIPT_VERSION} of fault scripts, not {version.shown}")
    name, named = top.read("system"), top.get("system")
    if named is not None and name and name != system.name:
        problems.add(named, f"the script is one for system {name}, not for {system.name}")
    node = top.get("faults")
    entries = [] if node is None else named_entries(node, "faults", problems)
    if node is not None and node.is_mapping and not node.entries:
        problems.add(node, "there is no fault; write at least one")
    names = [fault for fault, _ in entries]
    found = [_fault(fault, entry, system, names, problems) for fault, entry in entries]
    faults = tuple(fault for fault in found if fault is not None)
    for fault, entry in entries:
        if fault in _circular(faults):
            problems.add(entry.key, f"{fault} waits for itself, through the faults that it begins after")
    return FaultScript(faults, top.read("seed"))


def _fault(name: str, entry: Entry, system: System, names: Collection[str], problems: Problems) -> Injection | None:
    table = Table(entry.value, FAULT, problems)
    kind = BY_NAME.get(table.read("kind") or "")
    if kind is None:
        _trigger(table, system, names, problems)
        return None
    for key in _FIELDS:
        if key not in kind.keys:
            owners = ", ".join(one.name for one in KINDS if key in one.keys)
            table.refuse(key, f"{key!r} means nothing to {kind.name}; it belongs to {owners}")
    for key in kind.needs:
        table.need(key, _EXAMPLES[key])
    values: dict[str, Any] = {field: table.read(key) for key, field in _FIELDS.items()}
    target = _target(table, kind, system, problems)
    if kind.name == "overrun":
        for key in ("at", "on"):
            table.refuse(key, "an overrun strikes jobs by number: jobs: [3]")
        trigger = Trigger(0, Event.JOB, target, values["jobs"][0])
    else:
        trigger = _trigger(table, system, names, problems)
    _check_values(table, kind, values, target, system)
    place = entry.key.line, entry.key.column
    return replace(Injection(name, kind.name, target, trigger, place=place), **values)


def _check_values(table: Table, kind: Kind, values: Mapping[str, Any], target: str, system: System) -> None:
    """What a key by itself cannot know."""
    problems, by, last = table.problems, table.get("by"), table.get("to")
    if by is not None and "by" in kind.keys and table.is_right("by"):
        if values["by_ns"] == 0:
            problems.add(by, f"{by.shown} changes nothing")
        elif values["by_ns"] < 0 and kind.name != "clock.step":
            problems.add(by, f"{by.shown} must not be negative")
    bounded = all(key in kind.keys and table.is_right(key) for key in ("from", "to"))
    if last is not None and bounded and values["from_deg"] == values["to_deg"]:
        problems.add(last, "the sector is empty: it ends where it begins")
    sensor = next((one for one in system.sensors if one.name == target), None)
    if sensor is not None and kind.name in NEED_LOG_TIME and sensor.arrival_clock is ArrivalClock.CAPTURE:
        place = table.get("target") or table.node
        problems.add(
            place, f"messages of {target} arrive by their stamps (arrival: capture), so {kind.name} is not seen"
        )


def _target(table: Table, kind: Kind, system: System, problems: Problems) -> str:
    if kind.strikes is Strikes.ARBITER:
        table.refuse("target", f"{kind.name} has no target: there is one arbiter")
        if system.safety is None and table.is_mapping:
            problems.add(table.node, f"{system.name} has no arbiter")
        return "" if system.safety is None else system.safety.arbiter
    table.need("target", f"target: the name of a {kind.strikes.value}")
    node = table.get("target")
    name = None if node is None else fields.text(node, problems)
    choices = _choices(kind.strikes, system)
    if name is not None and name in kind.processes and name not in choices:
        table.refuse("restart", f"{name} is started again by the supervisor that watches over it; leave restart out")
        return name
    if node is not None and name is not None and name not in choices:
        problems.add(node, unknown(kind.strikes.value, name, choices))
    return name or ""


def _choices(strikes: Strikes, system: System) -> list[str]:
    if strikes in (Strikes.CAMERA, Strikes.LIDAR, Strikes.IMU):
        return [sensor.name for sensor in system.sensors if sensor.kind.value == strikes.value]
    of = {
        Strikes.SENSOR: [one.name for one in system.sensors],
        Strikes.TASK: [one.name for one in system.tasks],
        Strikes.DEVICE: [one.name for one in system.devices],
        Strikes.LINK: [one.name for one in system.links],
        Strikes.RESOURCE: [one.name for one in system.resources],
    }
    return of[strikes]


def _trigger(table: Table, system: System, names: Collection[str], problems: Problems) -> Trigger:
    form = table.chosen("at", "on")
    if form is None and table.is_mapping:
        problems.add(table.node, "say when it begins: at: 1.5s, or on: {sample: 12, of: front_wide}")
    node = table.get("on")
    if form != "on" or node is None:
        return Trigger(table.read("at") or 0)
    event = Table(node, EVENT, problems)
    chosen = event.chosen(*EVENTS)
    after_ns = event.read("after")
    if chosen is None:
        if event.is_mapping:
            problems.add(node, "say which event: {sample: 12, of: ...}, {job: 3, of: ...} or {fault: ...}")
        return Trigger()
    if chosen == Event.FAULT.value:
        event.refuse("of", "'of' belongs to sample and job")
        return Trigger(after_ns, Event.FAULT, _word(event, chosen, "fault", names, problems))
    event.need("of", f"of: the name of a {'sensor' if chosen == Event.SAMPLE.value else 'task'}")
    is_sample = chosen == Event.SAMPLE.value
    what = "sensor" if is_sample else "task"
    known = [one.name for one in (system.sensors if is_sample else system.tasks)]
    return Trigger(after_ns, Event(chosen), _word(event, "of", what, known, problems), event.read(chosen) or 0)


def _word(table: Table, key: str, what: str, known: Collection[str], problems: Problems) -> str:
    node = table.get(key)
    word = None if node is None else fields.text(node, problems)
    if node is not None and word is not None and word not in known:
        problems.add(node, unknown(what, word, known))
    return word or ""


def _circular(faults: Collection[Injection]) -> set[str]:
    """Faults that begin after one another in a circle."""
    before = {one.name: one.trigger.of for one in faults if one.trigger.event is Event.FAULT}
    circular = set()
    for name in before:
        seen, at = {name}, before[name]
        while at in before and at not in seen:
            seen.add(at)
            at = before[at]
        if at == name:
            circular.add(name)
    return circular
