"""The section `modes`: which tasks exist in each, and how fast the processing elements run."""

from __future__ import annotations

from collections.abc import Mapping

from hw.soc_catalogue import SocModel, processing_elements_in
from rt_sched.config import fields, quantities
from rt_sched.config.devices import Devices
from rt_sched.config.problems import Problems, lacking, unknown
from rt_sched.config.table import Choice, Key, Spec, Table, mapping_entries, named_entries
from rt_sched.config.yaml_nodes import Node
from rt_sched.model import Device, Frequency, Mode

MODE = Spec(
    "mode",
    "a mode",
    (
        Key("tasks", fields.texts, "The tasks that exist in it.", (), "all"),
        Key("without", fields.texts, "The tasks that do not exist in it.", (), "none"),
        Key(
            "power_modes",
            {"type": "object", "additionalProperties": fields.WORD},
            "Power mode of devices with a chip of the catalogue.",
            default_text="as at the start",
        ),
        Key(
            "frequencies",
            {"type": "object", "additionalProperties": quantities.RATE},
            "Frequency of processing elements, by device.element.",
            default_text="as at the start",
        ),
    ),
    (Choice(("tasks", "without")),),
)


def read_modes(
    node: Node | None,
    tasks: Mapping[str, object],
    devices: Devices,
    socs: Mapping[str, SocModel],
    problems: Problems,
) -> dict[str, Mode]:
    """Name -> mode; a run begins in the first."""
    named = [] if node is None else named_entries(node, "modes", problems)
    if node is not None and node.is_mapping and not node.entries:
        problems.add(node, "there is no mode; write at least one, or leave the section out")
    return {name: _read_mode(name, entry.value, tasks, devices, socs, problems) for name, entry in named}


def _read_mode(
    name: str,
    node: Node,
    tasks: Mapping[str, object],
    devices: Devices,
    socs: Mapping[str, SocModel],
    problems: Problems,
) -> Mode:
    table = Table(node, MODE, problems)
    form = table.chosen("tasks", "without")
    chosen: tuple[str, ...] = table.read(form) if form else ()
    list_node = table.get(form) if form else None
    if list_node is not None:
        for item in list_node.items if list_node.is_sequence else (list_node,):
            if item.is_scalar and not item.is_null and item.text not in tasks:
                problems.add(item, unknown("task", item.text, tasks))
    active = tuple(task for task in tasks if (task in chosen) == (form == "tasks") or form is None)
    frequencies = {**_power_modes(table, devices, socs), **_frequencies(table, devices)}
    rows = (Frequency(device, pe, hertz) for (device, pe), hertz in frequencies.items())
    return Mode(name, active, tuple(rows))


def _power_modes(table: Table, devices: Devices, socs: Mapping[str, SocModel]) -> dict[tuple[str, str], int]:
    node, problems = table.get("power_modes"), table.problems
    found: dict[tuple[str, str], int] = {}
    for device_name, entry in {} if node is None else mapping_entries(node, "power_modes", problems).items():
        device = devices.get(device_name)
        soc = None if device is None or device.soc is None else socs.get(device.soc)
        if device is None:
            problems.add(entry.key, unknown("device", device_name, devices))
        elif soc is None:
            problems.add(entry.key, f"{device_name} names no chip of the catalogue, so it has no power modes")
        else:
            word = fields.text(entry.value, problems)
            if word is not None and word not in soc.power_modes:
                problems.add(entry.value, lacking(soc.name, "power mode", word, soc.power_modes))
            elif word is not None:
                found.update(_clocks_in(device, soc, word, entry.value, problems))
    return found


def _clocks_in(
    device: Device, soc: SocModel, power_mode: str, node: Node, problems: Problems
) -> dict[tuple[str, str], int]:
    """Frequencies of a device's elements in a power mode, which must leave on the cores that the device starts with."""
    found = {}
    elements = {element.name: element for element in device.processing_elements}
    for target in processing_elements_in(soc, power_mode):
        now = elements.get(target.name)
        if now is not None and target.cores < now.cores:
            message = f"{power_mode} leaves {target.cores} of {now.cores} cores of {device.name}.{target.name} on"
            problems.add(node, f"{message}; start the device in it, or choose another")
        elif now is not None and target.frequency_hz is not None:
            found[device.name, target.name] = target.frequency_hz
    return found


def _frequencies(table: Table, devices: Devices) -> dict[tuple[str, str], int]:
    node, problems = table.get("frequencies"), table.problems
    found: dict[tuple[str, str], int] = {}
    for name, entry in {} if node is None else mapping_entries(node, "frequencies", problems).items():
        device_name, _, pe_name = name.partition(".")
        element = devices.element((device_name, pe_name))
        hertz = quantities.frequency(entry.value, problems)
        points = () if element is None else tuple(point.frequency_hz for point in element.operating_points)
        if element is None:
            problems.add(entry.key, unknown("processing element", name, devices.every_pe))
        elif element.frequency_hz is None:
            problems.add(entry.key, f"{name} has no frequency at the start; give it one: frequency: 1.2GHz")
        elif hertz is not None and points and hertz not in points:
            problems.add(entry.value, f"{entry.value.shown} is none of the operating points of {name}")
        elif hertz is not None:
            found[device_name, pe_name] = hertz
    return found
