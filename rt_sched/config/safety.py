"""The section `safety`: which task commands the actuators, and what stands behind it."""

from __future__ import annotations

from collections.abc import Mapping

from rt_sched.config import fields, quantities
from rt_sched.config.problems import Problems, lacking, listed, unknown
from rt_sched.config.table import Key, Spec, Table, mapping_entries
from rt_sched.config.tasks import TaskDraft
from rt_sched.config.value import Schema, list_of
from rt_sched.config.yaml_nodes import Node
from rt_sched.messages import ArbiterDecision, Command, ReleaseRequest
from rt_sched.model import Periodic, SafetyConcept, SensorKind
from rt_sched.model.safety import Actuator, Authentication, Heartbeat, Silence
from rt_sched.units import NS_PER_S, ceil_int, format_ns

MAX_MISSES = 100

HEARTBEAT = Spec(
    "heartbeat",
    "a heartbeat",
    (
        Key("period", quantities.time_down, "How often a device sends a sign of life.", Heartbeat().period_ns, "10ms"),
        Key("misses", fields.integer(1, MAX_MISSES), "Missing signs that make it lost.", Heartbeat().misses, "2"),
        Key("margin", quantities.time_up_or_zero, "By how much a sign may be late.", Heartbeat().margin_ns, "1ms"),
    ),
)
SILENCE = Spec(
    "silence",
    "a silence",
    (
        Key("periods", fields.integer(1, MAX_MISSES), "Missing messages that make it lost.", Silence().periods, "1"),
        Key("margin", quantities.time_up_or_zero, "What is waited beyond that.", Silence().margin_ns, "3ms"),
    ),
)
ACTUATOR = Spec(
    "actuator",
    "the actuators' side",
    (
        Key("cycle", quantities.time_down, "How often it looks for a command.", Actuator().cycle_ns, "5ms"),
        Key(
            "command_age_limit",
            quantities.time_down,
            "Without a command younger than this it brakes by itself.",
            default_text="3 distances of the arbiter's commands, at least 30ms",
        ),
    ),
)
#: What takes part in commanding: commands, the arbiter's choice, and the word that ends a minimal risk manoeuvre.
COMMANDING = (Command.__name__, ArbiterDecision.__name__, ReleaseRequest.__name__)
#: All types that carry a header.
PROTECTED = (*COMMANDING, "MotionPlan", "ObjectChanges", "Situation", "TrackedObjects")

AUTHENTICATION = Spec(
    "authentication",
    "the authentication",
    (
        Key(
            "key_file",
            fields.WORD,
            "The file that holds the key, told from the folder of this one.",
            required=True,
            example="key_file: vehicle.key",
        ),
        Key(
            "protects",
            {"anyOf": [{"enum": list(PROTECTED)}, {**list_of({"enum": list(PROTECTED)}), "uniqueItems": True}]},
            "Types of messages that must carry a tag.",
            default_text=f"[{', '.join(COMMANDING)}]",
        ),
    ),
)
_SILENCES: Schema = {
    "type": "object",
    "properties": {kind.value: {"$spec": SILENCE} for kind in SensorKind},
    "additionalProperties": False,
}

SAFETY = Spec(
    "safety_concept",
    "the safety concept",
    (
        Key(
            "arbiter",
            fields.WORD,
            "The task that decides.",
            required=True,
            example="arbiter: arbiter, the task that decides",
        ),
        Key(
            "primary",
            fields.WORD,
            "The task whose command is normally used.",
            required=True,
            example="primary: decide, the task whose command is normally used",
        ),
        Key("backup", fields.WORD, "The task whose command is used otherwise."),
        Key("command_deadline", quantities.time_down, "From capture stamp to command."),
        Key("recovery_limit", quantities.time_down, "Within which the loss of a sensor or device is handled."),
        Key("heartbeat", {"$spec": HEARTBEAT}, "How the loss of a device is noticed.", default_text="2 misses of 10ms"),
        Key("silence", _SILENCES, "How the loss of a sensor is noticed, by its kind.", default_text="1 period and 3ms"),
        Key(
            "decision",
            quantities.time_up_or_zero,
            "From the notice of a loss until its takeover is in force.",
            1_000_000,
            "1ms",
        ),
        Key("return_after", quantities.time_up_or_zero, "How long what was lost must be back.", 500_000_000, "500ms"),
        Key("actuator", {"$spec": ACTUATOR}, "What becomes of the arbiter's commands.", default_text="cycles of 5ms"),
        Key("authentication", {"$spec": AUTHENTICATION}, "Messages carry tags, made with a key."),
    ),
)


def read_safety(node: Node | None, tasks: Mapping[str, TaskDraft], problems: Problems) -> SafetyConcept | None:
    """The safety concept, or None where the file has none."""
    if node is None:
        return None
    table = Table(node, SAFETY, problems)
    arbiter = _read_task(table, "arbiter", ArbiterDecision, tasks)
    primary = _read_task(table, "primary", Command, tasks)
    backup = _read_task(table, "backup", Command, tasks)
    for key, name in (("primary", primary), ("backup", backup)):
        _check_arbiter_reads(table, key, name, arbiter, tasks)
    backup_node = table.get("backup")
    if backup is not None and backup == primary and backup_node is not None:
        problems.add(backup_node, f"{backup} is the primary too; the backup must be another task")
    return SafetyConcept(
        arbiter=arbiter or "",
        primary=primary or "",
        backup=backup,
        command_deadline_ns=table.read("command_deadline"),
        recovery_limit_ns=table.read("recovery_limit"),
        heartbeat=_read_heartbeat(table.get("heartbeat"), problems),
        silence=_read_silences(table.get("silence"), problems),
        decision_ns=table.read("decision"),
        return_after_ns=table.read("return_after"),
        actuator=_read_actuator(table.get("actuator"), tasks.get(arbiter or ""), problems),
        authentication=_read_authentication(table.get("authentication"), problems),
    )


def _read_authentication(node: Node | None, problems: Problems) -> Authentication | None:
    """Whether the key can be read shows when a run begins: an analysis needs none."""
    if node is None:
        return None
    table = Table(node, AUTHENTICATION, problems)
    file, protects = table.get("key_file"), table.get("protects")
    name = None if file is None else fields.text(file, problems)
    names = COMMANDING if protects is None else fields.texts(protects, problems)
    if protects is not None and names is not None:
        for wrong in (one for one in names if one not in PROTECTED):
            problems.add(protects, unknown("type of message with a header", wrong, PROTECTED))
    if file is None or name is None:
        return None
    return Authentication(name, names or (), problems.file, file.line, file.column)


def _read_heartbeat(node: Node | None, problems: Problems) -> Heartbeat:
    if node is None:
        return Heartbeat()
    table = Table(node, HEARTBEAT, problems)
    return Heartbeat(table.read("period"), table.read("misses"), table.read("margin"))


def _read_actuator(node: Node | None, arbiter: TaskDraft | None, problems: Problems) -> Actuator:
    if node is None:
        return Actuator()
    table = Table(node, ACTUATOR, problems)
    limit_ns, limit = table.read("command_age_limit"), table.get("command_age_limit")
    if limit is not None and limit_ns is not None and arbiter is not None and isinstance(arbiter.activation, Periodic):
        apart_ns = ceil_int(NS_PER_S / arbiter.activation.rate_hz)
        if limit_ns < apart_ns:
            problems.add(limit, f"{limit.shown} is shorter than the {format_ns(apart_ns)} between two commands")
    return Actuator(table.read("cycle"), limit_ns)


def _read_silences(node: Node | None, problems: Problems) -> tuple[tuple[SensorKind, Silence], ...]:
    kinds = {kind.value: kind for kind in SensorKind}
    found = []
    for key, entry in {} if node is None else mapping_entries(node, "silence", problems).items():
        if key not in kinds:
            problems.add(entry.key, lacking("silence", "kind of sensor", key, kinds))
            continue
        table = Table(entry.value, SILENCE, problems)
        found.append((kinds[key], Silence(table.read("periods"), table.read("margin"))))
    return tuple(found)


def _read_task(table: Table, key: str, output: type, tasks: Mapping[str, TaskDraft]) -> str | None:
    node = table.get(key)
    name = fields.text(node, table.problems) if node else None
    if node is None or name is None:
        return None
    if name not in tasks:
        table.problems.add(node, unknown("task", name, tasks))
        return None
    if not _gives(tasks[name], output):
        fitting = [task.name for task in tasks.values() if task.description is not None and _gives(task, output)]
        message = f"the {key} must give {output.__name__}; {name} does not. Tasks that do: {listed(fitting)}"
        table.problems.add(node, message)
        return None
    return name


def _gives(task: TaskDraft, output: type) -> bool:
    return task.description is None or any(issubclass(made, output) for made in task.description.outputs.values())


def _check_arbiter_reads(
    table: Table, key: str, name: str | None, arbiter: str | None, tasks: Mapping[str, TaskDraft]
) -> None:
    node = table.get(key)
    if node is None or name is None or arbiter is None:
        return
    sources = list(dict.fromkeys(draft.source for draft in tasks[arbiter].inputs if draft.source))
    if name not in sources:
        message = f"{arbiter} has no input from {name}; its inputs come from: {listed(sources)}"
        table.problems.add(node, message)
