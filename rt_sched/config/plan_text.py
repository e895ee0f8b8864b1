"""A plan as the text of a plan file: every decision on a line of its own, by names, so that files can be compared."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from enum import Enum
from fractions import Fraction
from typing import Any

from rt_sched.model import Placement, Plan, Processor, System, Takeover
from rt_sched.units import format_ns

PLAN_VERSION = 1
#: What a plan does not depend on: where files lie, names in recordings, code that runs and where, where figures come
#: from, and what a system is asked for beside its deadlines and limits.
_IMMATERIAL = frozenset(
    {
        "base_dir",
        "topics",
        "arrival_clock",
        "calibration",
        "stage",
        "parameters",
        "origin",
        "fault_scenarios",
        "requirements",
        "deployments",
    }
)


def plan_text(system: System, plan: Plan) -> str:
    """The plan file of `plan`, which has passed `check_plan`. `system`: as its file has it, with no task merged."""
    lines = [
        "# Made by rt-sched plan. Read by rt-sched analyze SYSTEM --plan FILE, and by replay.",
        f"rt_sched_plan: {PLAN_VERSION}",
        f"system: {word(plan.system)}",
        f"system_sha256: {system_sha256(system)}",
        f"policy: {plan.policy}",
        "processors:",
        *(_processor_line(processor) for processor in plan.processors),
        *_merged_lines(plan),
        "# Where each task runs, and its level there: 0 is the most urgent.",
        "placements:",
        *_placement_lines(plan.placements, plan),
    ]
    if plan.offsets:
        lines += ["# Offsets of timed tasks, in place of those of the system file.", "offsets:"]
        lines += [f"  {word(task)}: {format_ns(offset_ns)}" for task, offset_ns in plan.offsets]
    if plan.takeovers:
        lines += ["# What changes when something is lost.", "takeovers:"]
        for takeover in plan.takeovers:
            lines += _takeover_lines(takeover, plan)
    return "\n".join(lines) + "\n"


def system_sha256(system: System) -> str:
    """Hash of everything in a system that a plan may depend on; another order of the same parts is another system."""
    return hashlib.sha256(_canonical(system).encode()).hexdigest()


def _canonical(part: Any) -> str:
    if is_dataclass(part):
        shown = (
            f"{one.name}={_canonical(getattr(part, one.name))}" for one in fields(part) if one.name not in _IMMATERIAL
        )
        return f"{type(part).__name__}({','.join(shown)})"
    if isinstance(part, tuple):
        return f"[{','.join(map(_canonical, part))}]"
    return repr(part.value if isinstance(part, Enum) else str(part) if isinstance(part, Fraction) else part)


def _merged_lines(plan: Plan) -> list[str]:
    if not plan.merged:
        return []
    groups = [f"  - [{', '.join(map(word, group))}]" for group in plan.merged]
    return ["# Tasks that run as one job each, in their order; their names are joined by + below.", "merged:", *groups]


def _processor_line(processor: Processor) -> str:
    preemptive = "true" if processor.preemptive else "false"
    return f"  {word(processor.name)}: {{policy: {processor.policy.value}, preemptive: {preemptive}}}"


def _placement_lines(placements: Iterable[Placement], plan: Plan, indent: str = "  ") -> list[str]:
    rows = [(word(one.task), word(plan.processors[one.processor].name), one.level) for one in placements]
    width = max((len(task) for task, _, _ in rows), default=0) + 1
    return [
        f"{indent}{task + ':':{width}} {{processor: {processor}, level: {level}}}" for task, processor, level in rows
    ]


def _takeover_lines(takeover: Takeover, plan: Plan) -> list[str]:
    lines = [f"  - losses: [{', '.join(map(_quoted, takeover.losses))}]"]
    if takeover.moves:
        lines += ["    moves:", *_placement_lines(takeover.moves, plan, "      ")]
    for key, names in (("dropped", takeover.dropped), ("redone", takeover.redone)):
        if names:
            lines.append(f"    {key}: [{', '.join(map(word, names))}]")
    for key, pairs in (
        ("at_once", [(task, format_ns(delay_ns)) for task, delay_ns in takeover.at_once]),
        ("variants", [(task, word(variant)) for task, variant in takeover.variants]),
        ("weights", [(sensor, _quoted(str(weight))) for sensor, weight in takeover.weights]),
    ):
        if pairs:
            lines += [f"    {key}:", *(f"      {word(name)}: {said}" for name, said in pairs)]
    return lines


def word(name: str) -> str:
    """A name as YAML reads it back; those that it takes for something else, or that hold brackets, in quotes."""
    plain = name.replace("-", "").replace("_", "").replace(".", "")
    is_plain = plain.isalnum() and plain.isascii() and name[0].isalpha() and name.casefold() not in ("null", "true")
    return name if is_plain else _quoted(name)


def _quoted(name: str) -> str:
    return f'"{name}"'
