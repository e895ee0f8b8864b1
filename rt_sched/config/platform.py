"""The section `devices`: chips from the catalogue, or processing elements written out."""

from __future__ import annotations

from collections.abc import Mapping

from hw.soc_catalogue import SocModel, processing_elements_in
from rt_sched.config import fields
from rt_sched.config.fields import Table
from rt_sched.config.problems import Problems, lacking
from rt_sched.config.yaml_nodes import Node
from rt_sched.model import Device, PEKind, Policy, ProcessingElement

MAX_CORES = 1024

_DEVICE_KEYS = ("soc", "power_mode", "processing_elements")
_PE_KEYS = ("kind", "cores", "policy", "preemptive")


def read_devices(node: Node | None, socs: Mapping[str, SocModel], problems: Problems) -> dict[str, Device]:
    """Name -> device. A device with unusable processing elements is kept without any: tasks may name it."""
    if node is None:
        return {}
    named = fields.named_entries(node, "devices", problems)
    if node.is_mapping and not node.entries:
        problems.add(node, "there is no device; write at least one")
    return {name: _read_device(name, entry.value, socs, problems) for name, entry in named}


def _read_device(name: str, node: Node, socs: Mapping[str, SocModel], problems: Problems) -> Device:
    table = Table(node, "a device", _DEVICE_KEYS, problems)
    form = table.exclusive(("soc", "processing_elements"))
    if form[:1] == ["soc"]:
        return _device_from_catalogue(name, table, socs)
    if table.get("power_mode") is not None:
        problems.add(table.key("power_mode"), "a power mode belongs to a chip of the catalogue; add the key 'soc'")
    if form:
        return Device(name, _read_processing_elements(table))
    if table.is_mapping:
        example = "soc: agx-orin or processing_elements: {cpu: {kind: cpu, cores: 4}}"
        problems.add(node, f"a device needs {example}")
    return Device(name, ())


def _device_from_catalogue(name: str, table: Table, socs: Mapping[str, SocModel]) -> Device:
    soc_name = table.read("soc", fields.one_of(tuple(socs), "chip"), "")
    if soc_name not in socs:
        return Device(name, ())
    soc = socs[soc_name]
    mode = table.read("power_mode", fields.text, soc.default_power_mode)
    if mode not in soc.power_modes:
        node = table.get("power_mode") or table.node
        table.problems.add(node, lacking(soc_name, "power mode", mode, soc.power_modes))
        mode = soc.default_power_mode
    return Device(name, processing_elements_in(soc, mode), soc_name, mode)


def _read_processing_elements(table: Table) -> tuple[ProcessingElement, ...]:
    node = table.get("processing_elements")
    if node is None:
        return ()
    elements = []
    for name, entry in fields.named_entries(node, "processing_elements", table.problems):
        element = _read_processing_element(name, entry.value, table.problems)
        if element is not None:
            elements.append(element)
    if node.is_mapping and not node.entries:
        table.problems.add(node, "a device needs at least one processing element")
    return tuple(elements)


def _read_processing_element(name: str, node: Node, problems: Problems) -> ProcessingElement | None:
    table = Table(node, "a processing element", _PE_KEYS, problems)
    kind_node = table.need("kind", "kind: cpu")
    kind = fields.choice(PEKind, "kind of processing element")(kind_node, problems) if kind_node else None
    cores = table.read("cores", fields.integer(1, MAX_CORES), 1)
    policy = table.read("policy", fields.choice(Policy, "policy"), Policy.FIXED_PRIORITY)
    runs_to_end = policy is Policy.FIFO or kind in (PEKind.GPU, PEKind.DLA)
    preemptive = table.read("preemptive", fields.boolean, not runs_to_end)
    if preemptive and runs_to_end:
        reason = "the policy fifo" if policy is Policy.FIFO else f"a {kind.value if kind else ''}"
        problems.add(table.key("preemptive"), f"{reason} runs each job to its end; leave preemptive out or write false")
    return None if kind is None else ProcessingElement(name, kind, cores, policy, preemptive)
