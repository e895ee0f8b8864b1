"""The JSON Schema of fault scripts, made from the tables by which they are read."""

from __future__ import annotations

from typing import Any

from rt_sched.config.schema import schema_of
from rt_sched.faults.kinds import KINDS, Kind, Strikes
from rt_sched.faults.script_spec import FAULT, SCRIPT

#: Keys of every kind but those that strike what there is only one of, or that begin by number.
_COMMON = frozenset({"kind", "target", "at", "on"})
_ALL = tuple(key.name for key in FAULT.keys)


def script_schema() -> dict[str, Any]:
    """The schema (draft 2020-12). Names of sensors, tasks and events only the reader of a script can check."""
    schema = schema_of(SCRIPT, "rt-sched fault script")
    fault = schema["$defs"][FAULT.name]
    fault["allOf"] = [*fault.get("allOf", ()), *map(_rule, KINDS)]
    return schema


def _rule(kind: Kind) -> dict[str, Any]:
    """What a fault of one kind must say, and what it must not."""
    begins_by_number = kind.name == "overrun"
    has_target = kind.strikes is not Strikes.ARBITER
    allowed = (
        {*kind.keys, *_COMMON} - ({"at", "on"} if begins_by_number else set()) - (set() if has_target else {"target"})
    )
    then: dict[str, Any] = {
        "properties": {key: False for key in _ALL if key not in allowed},
        "required": [*(["target"] if has_target else []), *kind.needs],
    }
    if not begins_by_number:
        then["anyOf"] = [{"required": ["at"]}, {"required": ["on"]}]
    return {"if": {"properties": {"kind": {"const": kind.name}}, "required": ["kind"]}, "then": then}
