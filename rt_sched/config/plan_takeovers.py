"""The parts of a plan file that say where tasks run: placements, and takeovers with their moves."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from rt_sched.config import fields, quantities
from rt_sched.config.problems import Problems, unknown
from rt_sched.config.table import Key, Spec, Table, mapping_entries, mapping_of
from rt_sched.config.value import Value, list_of, value
from rt_sched.config.yaml_nodes import Node
from rt_sched.model import Placement, Takeover

T = TypeVar("T")

MAX_LEVEL = 1_000_000
_WEIGHT = r"\s*[0-9]{1,9}(\.[0-9]{1,9}|/0*[1-9][0-9]{0,8})?\s*"

PLACEMENT = Spec(
    "placement",
    "a placement",
    (
        Key("processor", fields.text, "Its processor.", "", required=True, example="processor: orin-1.cpu.0"),
        Key(
            "level",
            fields.integer(0, MAX_LEVEL),
            "Its level there; 0 is the most urgent.",
            0,
            required=True,
            example="level: 0",
        ),
    ),
)


@value({"anyOf": [{"type": "string", "pattern": f"^{_WEIGHT}$"}, {"type": "number", "minimum": 0}]})
def weight(node: Node, problems: Problems) -> Fraction | None:
    """An exact factor of zero or more, such as 0, 1.5 or 3/2."""
    if node.is_scalar and re.fullmatch(_WEIGHT, node.text, re.ASCII):
        return Fraction(node.text.strip())
    problems.add(node, f"expected a factor such as 1.5 or 3/2, found {node.shown}")
    return None


TAKEOVER = Spec(
    "takeover",
    "a takeover",
    (
        Key(
            "losses",
            fields.texts,
            "What is lost at one time, kind:name.",
            (),
            required=True,
            example="losses: [device:orin-1]",
        ),
        Key("moves", mapping_of({"$spec": PLACEMENT}), "Tasks that go to another processor."),
        Key("dropped", fields.texts, "Tasks that stop.", ()),
        Key("redone", fields.texts, "Moved tasks that process the newest message once more.", ()),
        Key(
            "at_once",
            mapping_of(quantities.NON_NEGATIVE_TIME),
            "Timed tasks with an additional arrival, so long after the switch.",
        ),
        Key("variants", mapping_of(fields.WORD), "Tasks that go on with a cheaper variant."),
        Key("weights", mapping_of(weight.schema), "By sensor, the factor of its weight in the fusion."),
    ),
)
TAKEOVERS = list_of({"$spec": TAKEOVER}, 0)


@dataclass(frozen=True, slots=True)
class Names:
    """What a plan file may name: tasks, and processors with their index in the plan."""

    tasks: Mapping[str, int]
    processors: Mapping[str, int]


def read_placements(
    node: Node | None, what: str, names: Names, problems: Problems
) -> dict[str, tuple[Placement, Node]]:
    """Task -> its placement and where its name stands; unknown tasks and processors are reported and left out."""
    found = {}
    for task, entry in mapping_entries(node, what, problems).items() if node is not None else ():
        table = Table(entry.value, PLACEMENT, problems)
        processor, level = table.read("processor"), table.read("level")
        if task not in names.tasks:
            problems.add(entry.key, unknown("task", task, names.tasks))
            continue
        if processor and processor not in names.processors:
            problems.add(table.get("processor") or entry.value, unknown("processor", processor, names.processors))
            continue
        found[task] = Placement(task, names.processors.get(processor, 0), level), entry.key
    return found


def read_takeovers(node: Node | None, names: Names, problems: Problems) -> dict[tuple[str, ...], tuple[Takeover, Node]]:
    """Set of losses -> the answer to it and where that stands. Lists of tasks keep the order of the file."""
    found: dict[tuple[str, ...], tuple[Takeover, Node]] = {}
    for item in () if node is None else fields.elements(node, "takeovers", problems) or ():
        table = Table(item, TAKEOVER, problems)
        losses = tuple(sorted(table.read("losses")))
        if losses in found:
            problems.add(
                item, f"the losses {', '.join(losses)} have a takeover already, in line {found[losses][1].line}"
            )
            continue
        moves = read_placements(table.get("moves"), "moves", names, problems)
        takeover = Takeover(
            losses=losses,
            moves=tuple(placement for placement, _ in moves.values()),
            dropped=table.read("dropped"),
            redone=table.read("redone"),
            at_once=tuple(_pairs(table, "at_once", quantities.time_up_or_zero)),
            variants=tuple(_pairs(table, "variants", fields.text)),
            weights=tuple(_pairs(table, "weights", weight)),
        )
        _check_tasks(table, names, problems)
        found[losses] = takeover, item
    return found


def _pairs(table: Table, key: str, read: Value[T]) -> list[tuple[str, T]]:
    node = table.get(key)
    entries = {} if node is None else mapping_entries(node, key, table.problems)
    values = ((name, read(entry.value, table.problems)) for name, entry in entries.items())
    return [(name, one) for name, one in values if one is not None]


def _check_tasks(table: Table, names: Names, problems: Problems) -> None:
    """Report names of tasks that do not exist; names of sensors and variants are checked with the system."""
    for key in ("dropped", "redone"):
        node = table.get(key)
        for item in () if node is None else node.items if node.is_sequence else (node,):
            if item.is_scalar and item.text not in names.tasks:
                problems.add(item, unknown("task", item.text, names.tasks))
    for key in ("at_once", "variants"):
        node = table.get(key)
        for name, entry in node.entries.items() if node is not None and node.is_mapping else ():
            if name not in names.tasks:
                problems.add(entry.key, unknown("task", name, names.tasks))
