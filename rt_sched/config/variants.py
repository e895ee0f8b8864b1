"""The key `variants` of a task: cheaper ways to do its work, for when capacity is short."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from rt_sched.config import fields
from rt_sched.config.execution import EXECUTION_SCHEMA, execution_on, read_executions
from rt_sched.config.stages import read_changed_parameters
from rt_sched.config.table import Key, Spec, Table, mapping_of, named_entries
from rt_sched.config.yaml_nodes import Node
from rt_sched.model import ExecutionTime, PEKind, Variant
from rt_sched.ports import StageCatalogue, StageDescription
from rt_sched.units import format_ns

MAX_EVERY = 1000

VARIANT = Spec(
    "variant",
    "a variant",
    (
        Key("execution", EXECUTION_SCHEMA, "How long its jobs take.", default_text="as long as those of the task"),
        Key("parameters", {"type": "object"}, "Parameters of the stage that it changes.", default_text="none"),
        Key("every", fields.integer(1, MAX_EVERY), "Only one of so many arrivals makes a job.", 1, "1"),
    ),
)
VARIANTS_SCHEMA = mapping_of({"$spec": VARIANT}, least=1)


@dataclass(frozen=True, slots=True)
class Usual:
    """What the task itself is like: its stage, where it runs (None: not known), and its times by kind of element."""

    stage: str
    description: StageDescription | None
    parameters: tuple[tuple[str, Any], ...]
    kind: PEKind | None
    times: Mapping[PEKind | None, ExecutionTime]


def read_variants(
    table: Table, usual: Usual, stages: StageCatalogue, sensors: Mapping[str, str | None]
) -> tuple[Variant, ...]:
    """The variants of the task in `table`, the dearest first: by worst case over `every`."""
    node, problems = table.get("variants"), table.problems
    if node is None:
        return ()
    if node.is_mapping and not node.entries:
        problems.add(node, "there is no variant; write at least one, or leave the key out")
    found = [
        variant
        for name, entry in named_entries(node, "variants", problems)
        if (variant := _read_variant(name, Table(entry.value, VARIANT, problems), usual, stages, sensors)) is not None
    ]
    return tuple(sorted(found, key=lambda one: -Fraction(one.execution.wcet_ns, one.every)))


def _read_variant(
    name: str, table: Table, usual: Usual, stages: StageCatalogue, sensors: Mapping[str, str | None]
) -> Variant | None:
    node = table.get("execution")
    times = usual.times if node is None else read_executions(node, table.problems)
    every: int = table.read("every")
    parameters = read_changed_parameters(
        table, usual.stage, usual.description, stages, sensors, replaced=dict(usual.parameters)
    )
    execution, before = execution_on(usual.kind, times), execution_on(usual.kind, usual.times)
    if execution is None or before is None:
        _report_missing_kind(node, usual, times, table)
        return None
    if not _is_cheaper(times, usual.times, every):
        message = f"this variant is no cheaper than the task, which takes {format_ns(before.wcet_ns)} at worst"
        table.problems.add(table.node, f"{message}; lower its wcet, or raise every")
        return None
    if any(time.wcet_lo_ns is not None for time in times.values()) and node is not None:
        table.problems.add(node, "wcet_lo is that of the task in all its variants; leave it out")
    by_kind = tuple((kind, time) for kind, time in times.items() if kind is not None)
    return Variant(name, execution, by_kind, parameters, every)


def _report_missing_kind(
    node: Node | None, usual: Usual, times: Mapping[PEKind | None, ExecutionTime], table: Table
) -> None:
    if node is not None and times and usual.kind is not None:
        known = ", ".join(kind.value for kind in times if kind is not None)
        table.problems.add(node, f"the task runs on a {usual.kind.value}; there are execution times for: {known}")


def _is_cheaper(
    times: Mapping[PEKind | None, ExecutionTime], usual: Mapping[PEKind | None, ExecutionTime], every: int
) -> bool:
    """Whether no kind of element has more to do, and each has less."""
    pairs = [(time, execution_on(kind, usual)) for kind, time in times.items()]
    known = [(time.wcet_ns, before.wcet_ns) for time, before in pairs if before is not None]
    return all(wcet <= before and (wcet < before or every > 1) for wcet, before in known)
