"""The JSON Schema of system files, for editors: made from the same tables by which the loader reads them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

from rt_sched.config.loader import SYSTEM
from rt_sched.config.table import Choice, Key, Spec

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def system_schema() -> dict[str, Any]:
    """The schema (draft 2020-12). What depends on other parts of a file, such as names, only the loader can check."""
    return schema_of(SYSTEM, "rt-sched system file")


def schema_of(spec: Spec, title: str) -> dict[str, Any]:
    """The schema of files that are one `spec`."""
    definitions: dict[str, Any] = {}
    root = _mapping_schema(spec, definitions)
    return {
        "$schema": DIALECT,
        "title": title,
        **root,
        "$defs": dict(sorted(definitions.items())),
    }


def _mapping_schema(spec: Spec, definitions: dict[str, Any]) -> dict[str, Any]:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {key.name: _key_schema(key, definitions) for key in spec.keys},
        "additionalProperties": False,
    }
    if spec.other:
        schema["patternProperties"] = {f"^{spec.other}": True}
    required = [key.name for key in spec.keys if key.required]
    if required:
        schema["required"] = required
    choices = [rule for choice in spec.choices for rule in _choice_rules(choice)]
    if choices:
        schema["allOf"] = choices
    return schema


def _key_schema(key: Key, definitions: dict[str, Any]) -> dict[str, Any]:
    default = f" Default: {key.default_text}." if key.default_text else ""
    return {"description": key.text + default, **_resolved(key.schema, definitions)}


def _choice_rules(choice: Choice) -> list[dict[str, Any]]:
    """At most one of the keys; exactly one when required."""
    if choice.required:
        return [{"oneOf": [{"required": [key]} for key in choice.keys]}]
    return [{"not": {"required": list(pair)}} for pair in combinations(choice.keys, 2)]


def _resolved(schema: Any, definitions: dict[str, Any]) -> Any:
    """`schema` with references in place of specs, whose own schemas go to `definitions`."""
    if isinstance(schema, Mapping):
        spec = schema.get("$spec")
        if isinstance(spec, Spec):
            if spec.name not in definitions:
                definitions[spec.name] = {}
                definitions[spec.name] = _mapping_schema(spec, definitions)
            return {"$ref": f"#/$defs/{spec.name}"}
        return {key: _resolved(value, definitions) for key, value in schema.items()}
    return [_resolved(item, definitions) for item in schema] if isinstance(schema, list | tuple) else schema
