"""The section `devices`: chips from the catalogue or processing elements written out, and clocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hw.soc_catalogue import SocModel, processing_elements_in
from rt_sched.config import fields, quantities
from rt_sched.config.contention import CONTENTION_SCHEMA, read_contention
from rt_sched.config.devices import Devices
from rt_sched.config.problems import Problems, lacking
from rt_sched.config.processing import ADJUSTMENT, PROCESSING_ELEMENT, read_adjustment, read_processing_element
from rt_sched.config.table import Choice, Key, Spec, Table, mapping_of, named_entries
from rt_sched.config.yaml_nodes import Node
from rt_sched.model import Device, DeviceClock, ProcessingElement

_CLOCK = Spec(
    "device_clock",
    "a device clock",
    (
        Key("drift", quantities.drift_ppm, "How fast it runs against true time.", DeviceClock().drift_ppm, "0ppm"),
        Key("offset", quantities.time_up_or_zero, "True time at which it shows 0.", 0, "0ns"),
        Key("sync_error", quantities.time_up_or_zero, "How far that time may be off, either way.", 0, "0ns"),
    ),
)

DEVICE = Spec(
    "device",
    "a device",
    (
        Key("soc", fields.WORD, "A chip of the catalogue, such as agx-orin."),
        Key("power_mode", fields.WORD, "The chip's power mode.", default_text="the chip's own default"),
        Key(
            "processing_elements", mapping_of({"$spec": PROCESSING_ELEMENT}, 1), "The elements, where no chip is named."
        ),
        Key("adjust", mapping_of({"$spec": ADJUSTMENT}), "What is different on elements of the named chip."),
        Key("clock", {"$spec": _CLOCK}, "The device's clock, for offsets and LET instants.", default_text="true time"),
        Key("memory", quantities.size_bytes, "What its tasks may occupy together.", default_text="not limited"),
        Key(
            "contention",
            CONTENTION_SCHEMA,
            "By element, how many times longer its jobs take while another element works.",
            default_text="none",
        ),
    ),
    (Choice(("soc", "processing_elements"), required=True),),
)


def read_devices(node: Node | None, socs: Mapping[str, SocModel], problems: Problems) -> Devices:
    """Name -> device. A device with unusable processing elements is kept without any: tasks may name it."""
    if node is None:
        return Devices({})
    named = named_entries(node, "devices", problems)
    if node.is_mapping and not node.entries:
        problems.add(node, "there is no device; write at least one")
    return Devices({name: _read_device(name, entry.value, socs, problems) for name, entry in named})


def _read_device(name: str, node: Node, socs: Mapping[str, SocModel], problems: Problems) -> Device:
    table = Table(node, DEVICE, problems)
    device = _read_elements(name, table, socs)
    clock_node, contention_node = table.get("clock"), table.get("contention")
    return replace(
        device,
        clock=DeviceClock() if clock_node is None else _read_clock(clock_node, problems),
        memory_bytes=table.read("memory"),
        contention=() if contention_node is None else read_contention(contention_node, device, problems),
    )


def _read_elements(name: str, table: Table, socs: Mapping[str, SocModel]) -> Device:
    form = table.chosen("soc", "processing_elements")
    if form == "soc":
        return _device_from_catalogue(name, table, socs)
    table.refuse("power_mode", "a power mode belongs to a chip of the catalogue; add the key 'soc'")
    table.refuse("adjust", "'adjust' changes elements of a chip of the catalogue; add the key 'soc'")
    if form is None and table.is_mapping:
        example = "soc: agx-orin or processing_elements: {cpu: {kind: cpu, cores: 4}}"
        table.problems.add(table.node, f"a device needs {example}")
    return Device(name, () if form is None else _read_processing_elements(table))


def _read_clock(node: Node, problems: Problems) -> DeviceClock:
    table = Table(node, _CLOCK, problems)
    return DeviceClock(table.read("drift"), table.read("offset"), table.read("sync_error"))


def _device_from_catalogue(name: str, table: Table, socs: Mapping[str, SocModel]) -> Device:
    soc_node = table.get("soc")
    soc_name = None if soc_node is None else fields.one_of(tuple(socs), "chip")(soc_node, table.problems)
    if soc_name is None:
        return Device(name, ())
    soc = socs[soc_name]
    mode_node = table.get("power_mode")
    mode = None if mode_node is None else fields.text(mode_node, table.problems)
    if mode_node is not None and mode is not None and mode not in soc.power_modes:
        table.problems.add(mode_node, lacking(soc_name, "power mode", mode, soc.power_modes))
        mode = None
    mode = mode or soc.default_power_mode
    elements = {element.name: element for element in processing_elements_in(soc, mode)}
    adjust_node = table.get("adjust")
    adjusted = [] if adjust_node is None else named_entries(adjust_node, "adjust", table.problems)
    for element_name, entry in adjusted:
        if element_name not in elements:
            table.problems.add(entry.key, lacking(soc_name, "processing element", element_name, elements))
        else:
            elements[element_name] = read_adjustment(elements[element_name], entry.value, table.problems)
    return Device(name, tuple(elements.values()), soc_name, mode)


def _read_processing_elements(table: Table) -> tuple[ProcessingElement, ...]:
    node = table.get("processing_elements")
    if node is None:
        return ()
    elements = []
    for name, entry in named_entries(node, "processing_elements", table.problems):
        element = read_processing_element(name, entry.value, table.problems)
        if element is not None:
            elements.append(element)
    if node.is_mapping and not node.entries:
        table.problems.add(node, "a device needs at least one processing element")
    return tuple(elements)
