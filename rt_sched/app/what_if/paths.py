"""Paths such as tasks.detect.wcet into the tree of a system file, and what `--set` puts at their end.

A path names keys, and places in lists as path[2]. Keys that only lead to the next one may be left out where that is
found below in one place: tasks.detect.wcet means tasks.detect.execution.wcet. Keys that the file leaves to their
defaults are written; names of devices, sensors, tasks and the like must exist.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rt_sched.app.what_if.tree import at, entries, get, keys, mapping, put
from rt_sched.config.loader import SYSTEM
from rt_sched.config.problems import Problems, lacking, listed, quoted, unknown
from rt_sched.config.table import Spec
from rt_sched.config.yaml_events import Raw
from rt_sched.config.yaml_nodes import parse

_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]")
#: So many keys in a row may be left out.
_MOST_LEFT_OUT = 3


class WrongPath(ValueError):
    """The path leads nowhere; the message says where it ends."""


def steps_of(path: str) -> tuple[str | int, ...]:
    """Keys and places of a path as it was written."""
    found: list[str | int] = []
    at = 0
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None or (at == 0 and path[0] in ".["):
            raise WrongPath(f"{quoted(path)} is not a path; write keys with points between them, and places as path[2]")
        found.append(match[1] if match[1] is not None else int(match[2]))
        at = match.end()
    if not found:
        raise WrongPath("the path is empty; write one such as tasks.detect.wcet")
    return tuple(found)


def parsed_value(text: str) -> Raw:
    """The value behind the = of `--set`, any YAML on one line; raises WrongPath where it is none."""
    problems = Problems("")
    root = None if "\n" in text else parse(f"value: {text}".encode("utf-8", "surrogatepass"), problems, "value")
    if root is None or list(root.entries) != ["value"]:
        found = [one.message for one in problems.error().problems] or ["write one value, such as 9ms or [a, b]"]
        raise WrongPath(f"{quoted(text)} is not a value: {found[0]}")
    return root.entries["value"].value.raw


def set_at(root: Raw, steps: Sequence[str | int], value: Raw, kinds: Mapping[str, str]) -> str:
    """Puts `value` at the end of the path; the path in full, for messages. Raises WrongPath.

    `kinds`: of tasks, the kind of element that each runs on: of several execution times, that for this kind is meant.
    """
    owner, schema, done = root, _spec_schema(SYSTEM), ""
    rest = list(steps)
    while True:
        if owner.kind == "sequence":
            place = _place(owner, rest[0], done)
            rest.pop(0)
            done, schema = f"{done}[{place}]", schema.get("items", {})
            if not rest:
                owner.value[place] = value
                return done
            owner = owner.value[place]
            continue
        if owner.kind != "mapping":
            shown = quoted(owner.value)
            raise WrongPath(f"{done} is {shown} in the file, so {_shown(rest)} is not below it")
        name, rest = _key(owner, rest, done)
        spec = _spec(schema)
        if name not in keys(owner) and not _may_stand_in(owner, name, spec) and (found := _below(owner, name)):
            if len(found) > 1 and done.startswith("tasks."):
                kind = kinds.get(done.removeprefix("tasks."))
                found = [way for way in found if kind in way] or found
            if len(found) > 1:
                ways = listed(_join(done, ".".join(way)) for way in found)
                raise WrongPath(f"{_join(done, _shown([name, *rest]))} may mean several paths: {ways}")
            name, rest = found[0][0], [*found[0][1:], *rest]
        schema = _schema_below(spec, schema, name)
        done = _join(done, name)
        if not rest:
            _check_new(owner, name, done, spec)
            put(owner, name, value)
            return done
        if get(owner, name) is None:
            _check_new(owner, name, done, spec)
            put(owner, name, mapping(value))
        owner = at(owner, name)


def _key(owner: Raw, rest: Sequence[str | int], done: str) -> tuple[str, list[str | int]]:
    """The next key, of which a point may be part, and the steps after it."""
    if isinstance(rest[0], int):
        raise WrongPath(
            f"{done or 'the file'} is no list, so [{rest[0]}] is not in it; its keys: {listed(keys(owner))}"
        )
    known = keys(owner)
    name = ""
    for count, step in enumerate(rest, start=1):
        if isinstance(step, int):
            break
        name = f"{name}.{step}" if name else step
        if name in known:
            return name, list(rest[count:])
    return rest[0], list(rest[1:])


def _place(owner: Raw, step: str | int, done: str) -> int:
    if not isinstance(step, int) or step >= len(owner.value):
        here = f"{done}[{step}]" if isinstance(step, int) else f"{done}.{step}"
        raise WrongPath(f"{here}: {done} is a list with the places 0 to {len(owner.value) - 1}")
    return step


def _may_stand_in(owner: Raw, name: str, spec: Spec | None) -> bool:
    """Whether a mapping of this spec, and not of another form that may stand in its place, may have the key."""
    found = keys(owner)
    return spec is not None and name in spec.by_name and (not found or any(key in spec.by_name for key in found))


def _below(owner: Raw, name: str) -> list[tuple[str, ...]]:
    """The shortest ways to a key of this name through keys that were left out, but not into what stages are given."""
    level: list[tuple[tuple[str, ...], Raw]] = [((), owner)]
    for _ in range(_MOST_LEFT_OUT):
        level = [
            ((*way, key), value)
            for way, raw in level
            for key, value in entries(raw).items()
            if key not in ("parameters", "calibration")
        ]
        found = [(*way, name) for way, raw in level if name in keys(raw)]
        if found:
            return found
    return []


def _check_new(owner: Raw, name: str, done: str, spec: Spec | None) -> None:
    """A key that the file does not have must be one that may stand there."""
    if name in keys(owner):
        return
    head = done.rpartition(".")[0]
    if spec is not None and name not in spec.by_name and not (spec.other and name.startswith(spec.other)):
        raise WrongPath(lacking(head or spec.what, "key", name, spec.names))
    if spec is None and not _is_free(head):
        raise WrongPath(unknown(f"name in {head}", name, keys(owner)))


def _is_free(done: str) -> bool:
    """Whether keys below a path are the user's own, or those of a stage."""
    parts = done.split(".")
    return "parameters" in parts or parts[0].startswith(SYSTEM.other) or parts[-1] in ("frequencies", "power_modes")


def _join(done: str, name: str) -> str:
    return f"{done}.{name}" if done else name


def _shown(rest: Sequence[str | int]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in rest).lstrip(".")


def _spec_schema(spec: Spec) -> Mapping[str, Any]:
    return {"$spec": spec}


def _spec(schema: Mapping[str, Any]) -> Spec | None:
    """The spec of a mapping, also where something else may stand in its place."""
    for one in (schema, *schema.get("anyOf", ()), *schema.get("oneOf", ())):
        found = one.get("$spec")
        if isinstance(found, Spec):
            return found
    return None


def _schema_below(spec: Spec | None, schema: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    if spec is not None:
        key = spec.by_name.get(name)
        return {} if key is None else key.schema
    more = schema.get("additionalProperties", {})
    return more if isinstance(more, Mapping) else {}
