"""Writes docs/configuration.md, the reference of system files, from the tables by which the loader reads them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rt_sched.config import fields
from rt_sched.config.loader import SYSTEM
from rt_sched.config.table import Key, Spec

PAGE = Path(__file__).resolve().parents[1] / "configuration.md"

_HEAD = """\
# System files: every key

This page is made from the tables by which the loader reads a file, by `python docs/scripts/configuration_reference.py`.
What each concept means is told [elsewhere](concepts/README.md). Times carry a unit (`33ms`, `2.5us`), and so do rates
(`30Hz`, `30000/1001Hz`), sizes (`6.2MB`), bandwidths (`10Gbit/s`), drifts (`20ppm`), speeds (`50km/h`), lengths (`40m`)
and accelerations (`6m/s2`). Every mistake in a file is reported at once, with its line and column. Top-level keys that
begin with `x-` hold anchors and mean nothing.
"""


def specs(schema: Any, found: dict[str, Spec]) -> dict[str, Spec]:
    """Every spec that a schema refers to, by name, in order of appearance."""
    if isinstance(schema, Mapping):
        spec = schema.get("$spec")
        if isinstance(spec, Spec) and spec.name not in found:
            found[spec.name] = spec
            for key in spec.keys:
                specs(key.schema, found)
        for value in schema.values():
            specs(value, found)
    elif isinstance(schema, list | tuple):
        for value in schema:
            specs(value, found)
    return found


def reference() -> str:
    """The page."""
    parts = [_HEAD]
    for spec in specs({"$spec": SYSTEM}, {}).values():
        rows = "\n".join(_row(key) for key in spec.keys)
        choices = "".join(
            f"\n{'Exactly' if choice.required else 'At most'} one of {', '.join(f'`{key}`' for key in choice.keys)}.\n"
            for choice in spec.choices
        )
        parts.append(
            f"## {spec.name.replace('_', ' ')}\n\n"
            f"| key | value | meaning | default |\n|---|---|---|---|\n{rows}\n{choices}"
        )
    return "\n".join(parts)


def _row(key: Key) -> str:
    default = "**required**" if key.required else key.default_text or "–"
    return f"| `{key.name}` | {_value(key.schema)} | {key.text} | {default} |"


def _value(schema: Any) -> str:
    """What may stand there, in a few words."""
    if schema == fields.NAME:
        return "name of letters, digits, _ and -"
    if "$spec" in schema:
        name = schema["$spec"].name
        return f"[{name.replace('_', ' ')}](#{name.replace('_', '-')})"
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return ", ".join(f"`{word}`" for word in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_value(option) for option in schema["anyOf"]))
    kind = schema.get("type")
    if kind == "array":
        return f"list of {_value(schema['items'])}"
    if kind == "object":
        inner = schema.get("additionalProperties")
        if isinstance(inner, Mapping):
            return f"name: {_value(inner)}"
        known = schema.get("properties")
        return (
            f"{', '.join(f'`{name}`' for name in known)}: {_value(next(iter(known.values())))}" if known else "mapping"
        )
    if kind == "integer":
        least, most = schema.get("minimum"), schema.get("maximum")
        return f"{least} to {most}" if most is not None else f"whole number from {least}"
    if kind == "string" and "pattern" in schema:
        return _unit(schema["pattern"])
    return {"number": "number", "boolean": "`true`, `false`"}.get(str(kind), "word")


def _unit(pattern: str) -> str:
    for unit, word in (
        ("|ms|", "time"),
        ("|Hz|", "rate"),
        ("|kB|", "size"),
        ("kbit/s", "bandwidth"),
        ("ppm", "drift"),
        ("mV", "voltage"),
        ("km/h", "speed"),
        ("m/s2", "acceleration"),
        ("km)", "length"),
    ):
        if unit in pattern:
            return word
    return {"of": "`1 of 10`"}.get("of" if "of" in pattern else "", "word")


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
