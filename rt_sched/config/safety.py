"""The section `safety`: which task commands the actuators, and what stands behind it."""

from __future__ import annotations

from collections.abc import Mapping

from rt_sched.config import fields, quantities
from rt_sched.config.problems import Problems, listed, unknown
from rt_sched.config.table import Key, Spec, Table
from rt_sched.config.tasks import TaskDraft
from rt_sched.config.yaml_nodes import Node
from rt_sched.messages import ArbiterDecision, Command
from rt_sched.model import SafetyConcept

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
    )


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
