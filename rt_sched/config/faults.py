"""The section `faults`: the single faults that the system must survive."""

from __future__ import annotations

from collections.abc import Mapping

from rt_sched.config import fields, quantities
from rt_sched.config.problems import Problems, unknown
from rt_sched.config.table import Choice, Key, Spec, Table, named_entries
from rt_sched.config.value import list_of, value
from rt_sched.config.yaml_nodes import Node
from rt_sched.model import FaultEffect, FaultScenario

MAX_JOB = 10_000
_EFFECTS = tuple(effect.value for effect in FaultEffect)
_JOB = {"type": "integer", "minimum": 0, "maximum": MAX_JOB}


@value({"anyOf": [_JOB, list_of(_JOB)]})
def _jobs(node: Node, problems: Problems) -> tuple[int, ...] | None:
    """Job numbers, counted from 0."""
    reader = fields.integer(0, MAX_JOB)
    found = [reader(item, problems) for item in (node.items if node.is_sequence else (node,))]
    if not found:
        problems.add(node, "the list is empty; write at least one job number, counted from 0")
    return tuple(sorted({job for job in found if job is not None})) or None


FAULT = Spec(
    "fault",
    "a fault",
    (
        Key("lose", fields.WORD, "A sensor, device or link that falls silent for good."),
        Key("freeze", fields.WORD, "A sensor that repeats its last message."),
        Key("corrupt", fields.WORD, "A sensor whose messages are damaged."),
        Key("overrun", fields.WORD, "A task whose jobs need more than they should."),
        Key("at", quantities.time_up_or_zero, "When, from the start of a run.", 0, "0ns"),
        Key("jobs", _jobs, "Which jobs of the task overrun, counted from 0.", (0,), "0"),
        Key("demand", quantities.time_down, "What the jobs that overrun need."),
        Key("detection", quantities.time_down, "Within which it is noticed."),
        Key("reaction", quantities.time_down, "Within which, from then, it is handled."),
        Key("margin", quantities.time_down, "What is kept in reserve."),
        Key("mode", fields.WORD, "The mode that the system changes to.", default_text="no change"),
        Key("mode_after", quantities.time_up_or_zero, "From the fault to the change.", 0, "0ns"),
    ),
    (Choice(_EFFECTS, required=True),),
)


def read_faults(
    node: Node | None,
    sensors: Mapping[str, object],
    devices: Mapping[str, object],
    links: Mapping[str, object],
    tasks: Mapping[str, object],
    modes: Mapping[str, object],
    problems: Problems,
) -> tuple[FaultScenario, ...]:
    """The scenarios in file order."""
    targets = {
        FaultEffect.LOSE: ("sensor, device or link", {**sensors, **devices, **links}),
        FaultEffect.FREEZE: ("sensor", sensors),
        FaultEffect.CORRUPT: ("sensor", sensors),
        FaultEffect.OVERRUN: ("task", tasks),
    }
    ambiguous = {name for name in sensors if name in devices or name in links} | {n for n in devices if n in links}
    scenarios = []
    for name, entry in [] if node is None else named_entries(node, "faults", problems):
        table = Table(entry.value, FAULT, problems)
        form = table.chosen(*_EFFECTS)
        if form is None:
            if table.is_mapping:
                problems.add(
                    entry.value, "say what fails: {lose: front_wide}, {freeze: ...}, {corrupt: ...} or {overrun: ...}"
                )
            continue
        effect = FaultEffect(form)
        target = _read_target(table, effect, *targets[effect], problems)
        if effect is FaultEffect.LOSE and target in ambiguous:
            problems.add(
                table.place(form), f"{target!r} names more than one of a sensor, a device and a link; rename one"
            )
        _check_keys(table, effect)
        mode_node = table.get("mode")
        mode = None if mode_node is None else fields.text(mode_node, problems)
        if mode_node is not None and mode is not None and mode not in modes:
            problems.add(mode_node, unknown("mode", mode, modes))
        overruns = effect is FaultEffect.OVERRUN
        scenarios.append(
            FaultScenario(
                name,
                effect,
                target,
                time_ns=table.read("at"),
                jobs=table.read("jobs") if overruns else (),
                demand_ns=table.read("demand"),
                detection_ns=table.read("detection"),
                reaction_ns=table.read("reaction"),
                margin_ns=table.read("margin"),
                mode=mode,
                mode_after_ns=table.read("mode_after"),
            )
        )
    return tuple(scenarios)


def _read_target(
    table: Table, effect: FaultEffect, what: str, choices: Mapping[str, object], problems: Problems
) -> str:
    node = table.get(effect.value)
    name = None if node is None else fields.text(node, problems)
    if node is not None and name is not None and name not in choices:
        problems.add(node, unknown(what, name, choices))
    return name or ""


def _check_keys(table: Table, effect: FaultEffect) -> None:
    if effect is FaultEffect.OVERRUN:
        table.refuse("at", "an overrun strikes jobs by number: jobs: [3]")
        table.need("demand", "demand: 12ms")
        table.refuse("mode", "an overrun has no instant at which a mode could change; its budget decides what happens")
    else:
        for key in ("jobs", "demand"):
            table.refuse(key, f"{key!r} belongs to overrun")
    if table.get("mode") is None:
        table.refuse("mode_after", "'mode_after' belongs to a change of mode; add the key 'mode'")
