"""The section `deploy`: which cores of the host stand for processing elements in paced runs."""

from __future__ import annotations

from rt_sched.config import fields
from rt_sched.config.devices import Devices
from rt_sched.config.placement import read_pe
from rt_sched.config.problems import Problems
from rt_sched.config.table import mapping_entries
from rt_sched.config.value import Schema, list_of
from rt_sched.config.yaml_nodes import Node
from rt_sched.model import Deployment

#: One more than the largest number of a core that Linux knows how to name in an affinity mask of usual size.
MAX_CORES = 1024

_CORE = fields.integer(0, MAX_CORES - 1)

#: device.element -> host core, or a list with one for each of its cores.
DEPLOY: Schema = {
    "type": "object",
    "additionalProperties": {"anyOf": [_CORE.schema, {**list_of(_CORE.schema), "minItems": 1}]},
}


def read_deployments(node: Node | None, devices: Devices, problems: Problems) -> tuple[Deployment, ...]:
    """The deployed elements, in file order."""
    found = []
    for entry in {} if node is None else mapping_entries(node, "deploy", problems).values():
        pe = read_pe(entry.key, devices, problems)
        cores = _read_cores(entry.value, problems)
        element = devices.element(pe)
        if element is None or cores is None:
            continue
        if len(cores) != element.cores:
            wanted = f"{'.'.join(pe)} has {element.cores} cores, and each needs a host core"
            problems.add(entry.value, f"{wanted}; {len(cores)} stand here")
            continue
        found.append(Deployment(pe, cores))
    return tuple(found)


def _read_cores(node: Node, problems: Problems) -> tuple[int, ...] | None:
    items = node.items if node.is_sequence else (node,)
    read = [_CORE(item, problems) for item in items]
    cores = tuple(core for core in read if core is not None)
    if len(cores) < len(items):
        return None
    for position, item in enumerate(items):
        if cores[position] in cores[:position]:
            problems.add(item, f"core {cores[position]} stands twice; two cores of one element cannot be the same")
            return None
    if not items:
        problems.add(node, "the list is empty; write a host core, such as [0]")
        return None
    return cores
