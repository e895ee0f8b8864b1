"""Where a task runs: the keys `runs_on`, `core` and `candidates`, and the cycles that name tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rt_sched.config import fields
from rt_sched.config.devices import Devices
from rt_sched.config.problems import Problems, listed, unknown
from rt_sched.config.table import Table
from rt_sched.config.yaml_nodes import Node
from rt_sched.model import Policy, ProcessingElement, Scheduling


def read_pe(node: Node | None, devices: Devices, problems: Problems) -> tuple[str, str]:
    """(device, processing element) as written, with empty names where it cannot be read."""
    text = fields.text(node, problems) if node else None
    if node is None or text is None:
        return "", ""
    device_name, dot, pe_name = text.partition(".")
    elements = devices.elements(device_name)
    if device_name not in devices:
        problems.add(node, unknown("device", device_name, devices))
    elif elements and pe_name not in elements:
        own = [f"{device_name}.{name}" for name in elements]
        if dot:
            problems.add(node, unknown("processing element", text, own))
        else:
            problems.add(node, f"{text!r} is a whole device; write one of {listed(own)}")
    return device_name, pe_name


def read_core(table: Table, element: ProcessingElement | None) -> int | None:
    """The fixed core, or None."""
    node = table.get("core")
    if node is None or element is None:
        return None
    if element.scheduling is Scheduling.GLOBAL:
        table.refuse("core", f"{element.name} schedules its cores globally; its jobs run on any of them")
        return None
    return fields.integer(0, element.cores - 1)(node, table.problems)


def read_candidates(
    table: Table, pe: tuple[str, str], devices: Devices
) -> tuple[tuple[tuple[str, str], ...], Mapping[tuple[str, str], Node]]:
    """Further elements that the task may run on, and where each stands."""
    node = table.get("candidates")
    if node is None:
        return (), {}
    found: dict[tuple[str, str], Node] = {}
    for item in node.items if node.is_sequence else (node,):
        candidate = read_pe(item, devices, table.problems)
        if candidate == pe and all(candidate):
            table.problems.add(item, f"{'.'.join(candidate)} is where the task runs anyway; name other elements")
        elif candidate in found:
            table.problems.add(item, f"{'.'.join(candidate)} stands twice in this list")
        elif devices.element(candidate) is not None:
            found[candidate] = item
    return tuple(found), found


def check_cycles(
    devices_node: Node | None,
    devices: Devices,
    tasks: Mapping[str, tuple[tuple[str, str], Node]],
    problems: Problems,
) -> None:
    """Report slices and table entries of tasks that run elsewhere, and tasks that no cycle lets run.

    `tasks`: name -> where it runs, and where its name stands.
    """
    named: dict[tuple[str, str], set[str]] = {}
    placed: dict[tuple[str, str], list[str]] = {}
    for name, (place, _) in tasks.items():
        placed.setdefault(place, []).append(name)
    for pe, node in _names_in_cycles(devices_node):
        element = devices.element(pe)
        if element is None or not node.is_scalar or node.is_null:
            continue
        here = placed.get(pe, [])
        named.setdefault(pe, set()).add(node.text)
        if node.text not in tasks:
            problems.add(node, unknown("task", node.text, here))
        elif tasks[node.text][0] != pe:
            problems.add(
                node, f"{node.text} runs on {'.'.join(tasks[node.text][0])}, not here; tasks here: {listed(here)}"
            )
    for name, (pe, key) in tasks.items():
        element = devices.element(pe)
        if (
            element is None
            or not (element.slices or element.table)
            or element.slack_sharing
            or name in named.get(pe, ())
        ):
            continue
        cycle = "slice" if element.policy is Policy.TIME_SLICED else "table entry"
        problems.add(key, f"no {cycle} of {'.'.join(pe)} names this task, so it would never run")


def _names_in_cycles(devices_node: Node | None) -> Iterator[tuple[tuple[str, str], Node]]:
    """Every task name in a slice or table entry, with its processing element."""
    for device_name, device in _children(devices_node):
        for form in ("processing_elements", "adjust"):
            for pe_name, element in _children(_child(device, form)):
                for piece in _list(_child(element, "slices")):
                    tasks = _child(piece, "tasks")
                    for item in _list(tasks) or ([] if tasks is None else [tasks]):
                        yield (device_name, pe_name), item
                for entry in _list(_child(_child(element, "table"), "entries")):
                    task = _child(entry, "task")
                    if task is not None:
                        yield (device_name, pe_name), task


def _children(node: Node | None) -> list[tuple[str, Node]]:
    return [(key, entry.value) for key, entry in node.entries.items()] if node is not None and node.is_mapping else []


def _child(node: Node | None, key: str) -> Node | None:
    return dict(_children(node)).get(key)


def _list(node: Node | None) -> list[Node]:
    return list(node.items) if node is not None and node.is_sequence else []
