"""Mappings with a fixed set of keys: one `Spec` per kind says what the loader accepts and what the schema shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rt_sched.config import fields
from rt_sched.config.problems import Problems, closest, lacking, listed, quoted
from rt_sched.config.value import Schema, Value
from rt_sched.config.yaml_nodes import Entry, Node


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a mapping.

    `value`: its reader, or the schema alone where reading it needs more than the value. `text`: what it means.
    `default`: the value that counts when the key is absent; `default_text`: the same as a file would say it.
    `required`: its absence is a mistake; `example`: as the message then shows it, such as "wcet: 3ms".
    """

    name: str
    value: Value[Any] | Schema
    text: str
    default: Any = None
    default_text: str = ""
    required: bool = False
    example: str = ""

    @property
    def schema(self) -> Schema:
        """The JSON Schema of the value."""
        return self.value.schema if isinstance(self.value, Value) else self.value


@dataclass(frozen=True, slots=True)
class Choice:
    """Keys of which a mapping has at most one, or exactly one when `required`."""

    keys: tuple[str, ...]
    required: bool = False


@dataclass(frozen=True)
class Spec:
    """A kind of mapping. `name`: in the schema; `what`: in messages, such as "a task".

    `other`: prefix of keys that may stand there too and mean nothing.
    """

    name: str
    what: str
    keys: tuple[Key, ...]
    choices: tuple[Choice, ...] = ()
    other: str = ""

    @cached_property
    def by_name(self) -> dict[str, Key]:
        """The keys by their names, in the order in which messages list them."""
        return {key.name: key for key in self.keys}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the keys."""
        return tuple(self.by_name)


class Table:
    """A mapping of a file, held against its spec: unknown keys and absent required ones are reported when it is made.

    `node` may be of any kind: where it is no mapping, that is reported and the table is empty. `examples` replace
    those of the spec. An absent key is not reported where a misspelt one was meant to be it.
    """

    def __init__(self, node: Node, spec: Spec, problems: Problems, examples: Mapping[str, str] | None = None) -> None:
        self.node = node
        self.spec = spec
        self.problems = problems
        self.is_mapping = node.is_mapping
        self._entries = mapping_entries(node, spec.what, problems)
        self._meant: set[str | None] = set()
        for key, entry in self._entries.items():
            if key not in spec.by_name and not (spec.other and key.startswith(spec.other)):
                also = f", and {spec.other}... for anchors" if spec.other else ""
                problems.add(entry.key, lacking(spec.what, "key", key, spec.names) + also)
                self._meant.add(closest(key, spec.names))
        for wanted in spec.keys if self.is_mapping else ():
            if wanted.required:
                self.need(wanted.name, (examples or {}).get(wanted.name, wanted.example))

    def get(self, key: str) -> Node | None:
        """The value of `key`, or None where the file has no such key."""
        entry = self._entries.get(key)
        return entry.value if entry is not None else None

    def need(self, key: str, example: str) -> None:
        """Report the absence of `key`, unless a misspelt one was reported already."""
        if self.is_mapping and key not in self._entries and key not in self._meant:
            self.problems.add(self.node, f"{self.spec.what} needs the key {key!r}, such as {example}")

    def place(self, key: str) -> Node:
        """The key itself, for messages about its presence. It must be there."""
        return self._entries[key].key

    def read(self, key: str) -> Any:
        """The value of `key` by its spec; its default where it is absent or wrong (then also reported)."""
        found = self._found(key)
        return self.spec.by_name[key].default if found is None else found

    def is_right(self, key: str) -> bool:
        """Whether `key` is there, and its value is right by its spec."""
        return self._found(key) is not None

    def _found(self, key: str) -> Any:
        reader, node = self.spec.by_name[key].value, self.get(key)
        return None if node is None or not isinstance(reader, Value) else reader(node, self.problems)

    def chosen(self, *keys: str) -> str | None:
        """The one of `keys` that is present; a second one is reported, and the first counts."""
        present = [key for key in self._entries if key in keys]
        if len(present) > 1:
            message = f"{present[0]!r} and {present[1]!r} exclude each other; keep one of {listed(keys)}"
            self.problems.add(self.place(present[1]), message)
        return present[0] if present else None

    def refuse(self, key: str, reason: str) -> None:
        """Report the presence of `key`."""
        if self.get(key) is not None:
            self.problems.add(self.place(key), reason)


def mapping_entries(node: Node, what: str, problems: Problems) -> Mapping[str, Entry]:
    """The entries of `node`, or none after reporting that it is no mapping."""
    if node.is_mapping:
        return node.entries
    problems.add(node, f"{what} is a mapping of keys to values, not {node.shown}")
    return {}


def named_entries(node: Node, what: str, problems: Problems) -> list[tuple[str, Entry]]:
    """The entries of a mapping whose keys are names; wrong names are reported and left out."""
    found = []
    for key, entry in mapping_entries(node, what, problems).items():
        if fields.is_name(key):
            found.append((key, entry))
        else:
            problems.add(entry.key, f"the name {quoted(key)} is not valid; use letters, digits, _ and -")
    return found


def mapping_of(item: Schema, least: int = 0) -> Schema:
    """The schema of a mapping from names to values."""
    names = {"pattern": fields.NAME_PATTERN}
    return {"type": "object", "propertyNames": names, "additionalProperties": item, "minProperties": least}
