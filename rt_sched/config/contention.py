"""The key `contention` of a device: how its processing elements slow each other down."""

from __future__ import annotations

import re
from fractions import Fraction

from rt_sched.config import fields
from rt_sched.config.problems import Problems, lacking
from rt_sched.config.table import mapping_entries, mapping_of
from rt_sched.config.value import value
from rt_sched.config.yaml_nodes import Node
from rt_sched.model import Device
from rt_sched.model.platform import Contention

MAX_FACTOR = 1000
_FACTOR = r"[0-9]{1,4}(\.[0-9]{1,9})?"


@value({"type": "number", "minimum": 1, "maximum": MAX_FACTOR})
def factor(node: Node, problems: Problems) -> Fraction | None:
    """An exact factor from 1 to 1000, as written."""
    if node.is_scalar and fields.plain_number(node) is not None and re.fullmatch(_FACTOR, node.text, re.ASCII):
        found = Fraction(node.text)
        if 1 <= found <= MAX_FACTOR:
            return found
    problems.add(node, f"expected a factor from 1 to {MAX_FACTOR} such as 1.3, found {node.shown}")
    return None


CONTENTION_SCHEMA = mapping_of(mapping_of(factor.schema, 1), 1)


def read_contention(node: Node, device: Device, problems: Problems) -> tuple[Contention, ...]:
    """Each factor of the matrix, in file order: rows are the elements that are slowed, columns those that work."""
    names = [element.name for element in device.processing_elements]
    found = []
    for pe, row in mapping_entries(node, "contention", problems).items():
        if names and pe not in names:
            problems.add(row.key, lacking(device.name, "processing element", pe, names))
        for by, entry in mapping_entries(row.value, "a row of contention", problems).items():
            if names and by not in names:
                problems.add(entry.key, lacking(device.name, "processing element", by, names))
            elif by == pe:
                problems.add(entry.key, f"{pe} does not slow itself down; its execution times tell what its jobs need")
            stretch = factor(entry.value, problems)
            if stretch is not None:
                found.append(Contention(pe, by, stretch))
    return tuple(found)
