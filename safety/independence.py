"""What the backup path shares with the primary path, found by walking the system's graph from the two commands back.

A path is the task that commands and everything that its command can depend on: the tasks and sensors before it, the
elements and devices they run on, the links their messages take, the resources they lock. What both walks meet is a
possible common cause of their failure. The arbiter, where they meet by design, belongs to neither.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rt_sched.model import System, Task


@dataclass(frozen=True, slots=True)
class Path:
    """Everything that one command depends on, by kind."""

    tasks: frozenset[str]
    sensors: frozenset[str]
    stages: frozenset[str]
    message_types: frozenset[str]
    elements: frozenset[str]
    devices: frozenset[str]
    links: frozenset[str]
    resources: frozenset[str]


@dataclass(frozen=True, slots=True)
class Shared:
    """What two paths have in common, each kind in alphabetical order. `modules`: of the code of their stages."""

    tasks: tuple[str, ...]
    sensors: tuple[str, ...]
    stages: tuple[str, ...]
    modules: tuple[str, ...]
    message_types: tuple[str, ...]
    elements: tuple[str, ...]
    devices: tuple[str, ...]
    links: tuple[str, ...]
    resources: tuple[str, ...]


def shared_by_paths(system: System, message_types: Mapping[str, str]) -> Shared | None:
    """What primary and backup share; None for a system without both. `message_types`: origin -> name of its type.

    An origin is "task.port" or a sensor; one that is not in `message_types` adds no type.
    """
    if system.safety is None or system.safety.backup is None:
        return None
    primary = path_of(system, system.safety.primary, message_types)
    backup = path_of(system, system.safety.backup, message_types)

    def both(kind: str) -> tuple[str, ...]:
        return tuple(sorted(getattr(primary, kind) & getattr(backup, kind)))

    modules = (frozenset(stage.partition(":")[0] for stage in path.stages) for path in (primary, backup))
    return Shared(
        tasks=both("tasks"),
        sensors=both("sensors"),
        stages=both("stages"),
        modules=tuple(sorted(frozenset.intersection(*modules))),
        message_types=both("message_types"),
        elements=both("elements"),
        devices=both("devices"),
        links=both("links"),
        resources=both("resources"),
    )


def path_of(system: System, task: str, message_types: Mapping[str, str]) -> Path:
    """The path whose command is published by `task`."""
    tasks = {each.name: each for each in system.tasks}
    members: dict[str, Task] = {}
    sensors: set[str] = set()
    todo = [task]
    while todo:
        name = todo.pop()
        if name in members:
            continue
        if name not in tasks:
            sensors.add(name)
            continue
        members[name] = tasks[name]
        todo += [given.source for given in tasks[name].inputs]
    inputs = [given for member in members.values() for given in member.inputs]
    commands = [origin for origin in message_types if origin.partition(".")[0] == task]
    read = {
        message_types[origin] for origin in (*(given.origin for given in inputs), *commands) if origin in message_types
    }
    return Path(
        tasks=frozenset(members),
        sensors=frozenset(sensors),
        stages=frozenset(member.stage for member in members.values() if member.stage),
        message_types=frozenset(read),
        elements=frozenset(".".join(member.pe) for member in members.values()),
        devices=frozenset(member.pe[0] for member in members.values()),
        links=frozenset(given.link for given in inputs if given.link is not None),
        resources=frozenset(section.resource for member in members.values() for section in member.sections),
    )
