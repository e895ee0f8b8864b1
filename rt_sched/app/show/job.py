"""A system as one document, with every default filled in, and as a drawing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Any

from rt_sched.app.inputs.shipped import resolve
from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.app.runs.safety_path import shared_document
from rt_sched.config import load_system, system_notes
from rt_sched.errors import DeploymentError
from rt_sched.lowering import uses_let
from rt_sched.model import Communication, CriticalityLevel, OnMessage, Periodic, Sporadic, System, Task
from rt_sched.report.system_graph import system_graph

SYSTEM_SCHEMA = "rt-sched/system/1"

_ACTIVATIONS = {Periodic: "periodic", Sporadic: "sporadic", OnMessage: "on_message"}


def shown_system(argument: str, drawing: Path | None) -> dict[str, Any]:
    """The system that the user named; also drawn to `drawing` where given.

    Raises ConfigError with every problem of the file, DeploymentError when the drawing cannot be written.
    """
    path = resolve(argument)
    system = load_system(path, stages=ImportedStages())
    if drawing is not None:
        try:
            drawing.write_text(system_graph(system), encoding="utf-8")
        except OSError as error:
            raise DeploymentError(f"{drawing}: cannot be written ({error.strerror})") from error
    return system_document(system, str(path))


def system_document(system: System, file: str) -> dict[str, Any]:
    """Everything about the system as plain data: times in integer ns, rates as exact text, words of the file."""
    return {
        "schema": SYSTEM_SCHEMA,
        "name": system.name,
        "file": file,
        "policy": system.policy,
        "devices": _plain(system.devices),
        "links": _plain(system.links),
        "triggers": _plain(system.triggers),
        "sensors": _plain(system.sensors),
        "resources": [
            {
                **_plain(resource),
                "users": [
                    task.name
                    for task in system.tasks
                    if any(section.resource == resource.name for section in task.sections)
                ],
            }
            for resource in system.resources
        ],
        "tasks": [_task(system, task) for task in system.tasks],
        "edges": [
            {"source": given.source, "port": given.port, "target": task.name, "input": given.name}
            | {"kind": given.edge.kind.value, "depth": given.edge.depth, "overflow": given.edge.overflow.value}
            | {"required": given.required, "link": given.link, "size_bytes": given.size_bytes}
            for task in system.tasks
            for given in task.inputs
        ],
        "chains": _plain(system.chains),
        "modes": _plain(system.modes),
        "faults": _plain(system.fault_scenarios),
        "safety": _plain(system.safety),
        "shared_by_paths": shared_document(system, ImportedStages()),
        "notes": list(system_notes(system)),
    }


def _task(system: System, task: Task) -> dict[str, Any]:
    """A task with what other parts of the file decide for it."""
    document: dict[str, Any] = _plain(task)
    document["pe"] = ".".join(task.pe)
    document["candidates"] = [".".join(pe) for pe in task.candidates]
    document["execution_by_kind"] = {kind.value: _plain(times) for kind, times in task.execution_by_kind}
    document["parameters"] = {name: _plain(value) for name, value in task.parameters}
    document["activation"] = {"kind": _ACTIVATIONS[type(task.activation)], **document["activation"]}
    document["level"] = (CriticalityLevel.HI if task.is_high else CriticalityLevel.LO).value
    let = uses_let(system, task)
    document["communication"] = (Communication.LET if let else Communication.IMPLICIT).value
    del document["inputs"]
    return document


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Fraction) or (isinstance(value, float) and not math.isfinite(value)):
        return str(value)
    return value
