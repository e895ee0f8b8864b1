"""A system file as a tree that can be changed: what aliases and merges share is written out, places stay as they were.

Every function changes the mapping or list that it is given. What it puts there has the place of what it replaces, so
that the loader's messages point into the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from rt_sched.config.yaml_events import CORE, STR, Raw
from rt_sched.config.yaml_nodes import Node


class _Mark(NamedTuple):
    """Counts from 0, as the parser's marks do."""

    line: int
    column: int


def expanded(node: Node) -> Raw:
    """A copy of the tree below `node` in which nothing is shared and no mapping is merged with `<<`."""
    raw = node.raw
    if node.is_mapping:
        value = [(entry.key.raw, expanded(entry.value)) for entry in node.entries.values()]
        return _like(raw, "mapping", raw.tag, value)
    if node.is_sequence:
        return _like(raw, "sequence", raw.tag, [expanded(item) for item in node.items])
    return raw


def copied(raw: Raw) -> Raw:
    """A copy of an expanded tree that shares nothing with it but keys and scalars, which nobody changes."""
    if raw.kind == "mapping":
        return _like(raw, "mapping", raw.tag, [(key, copied(value)) for key, value in raw.value])
    if raw.kind == "sequence":
        return _like(raw, "sequence", raw.tag, [copied(item) for item in raw.value])
    return raw


def word(text: str, place: Raw) -> Raw:
    """A text at the place of `place`."""
    return _like(place, "scalar", STR, text)


def mapping(place: Raw) -> Raw:
    """An empty mapping at the place of `place`."""
    return _like(place, "mapping", CORE + "map", [])


def listing(items: list[Raw], place: Raw) -> Raw:
    """A list at the place of `place`."""
    return _like(place, "sequence", CORE + "seq", items)


def moved(raw: Raw, line: int) -> Raw:
    """A copy of a tree, all of it in `line`."""
    value = raw.value
    if raw.kind == "mapping":
        value = [(moved(key, line), moved(item, line)) for key, item in raw.value]
    elif raw.kind == "sequence":
        value = [moved(item, line) for item in raw.value]
    return Raw(raw.kind, raw.tag, value, _Mark(line - 1, raw.column - 1))


def keys(raw: Raw | None) -> list[str]:
    """The keys of a mapping; none of anything else."""
    return [key.value for key, _ in raw.value] if raw is not None and raw.kind == "mapping" else []


def get(raw: Raw | None, *path: str) -> Raw | None:
    """The value at the end of a path of keys, None where there is none."""
    for name in path:
        if raw is None or raw.kind != "mapping":
            return None
        raw = next((value for key, value in raw.value if key.value == name), None)
    return raw


def at(raw: Raw, *path: str) -> Raw:
    """The value at the end of a path of keys that is known to be there."""
    found = get(raw, *path)
    if found is None:
        raise KeyError(".".join(path))
    return found


def entries(raw: Raw | None) -> dict[str, Raw]:
    """Key -> value of a mapping, in its order; empty for anything else."""
    return {key.value: value for key, value in raw.value} if raw is not None and raw.kind == "mapping" else {}


def put(raw: Raw, name: str, value: Raw) -> None:
    """Sets a key of a mapping: where it stands, or at the end."""
    for place, (key, _) in enumerate(raw.value):
        if key.value == name:
            raw.value[place] = (key, value)
            return
    raw.value.append((word(name, value), value))


def drop(raw: Raw | None, *names: str) -> None:
    """Takes keys out of a mapping, as far as it has them."""
    if raw is not None and raw.kind == "mapping":
        raw.value[:] = [(key, value) for key, value in raw.value if key.value not in names]


def text(raw: Raw | None) -> str | None:
    """A scalar as written; None for anything else."""
    return raw.value if raw is not None and raw.kind == "scalar" else None


def words(raw: Raw | None) -> list[str]:
    """One word or a list of words, as a list."""
    if raw is not None and raw.kind == "sequence":
        return [item.value for item in raw.value if item.kind == "scalar"]
    found = text(raw)
    return [] if found is None else [found]


def replaced(raw: Raw, names: Mapping[str, str]) -> Raw:
    """A copy in which every scalar that is one of `names`, or begins with one and a point, has the new name."""
    if raw.kind == "mapping":
        return _like(raw, "mapping", raw.tag, [(key, replaced(value, names)) for key, value in raw.value])
    if raw.kind == "sequence":
        return _like(raw, "sequence", raw.tag, [replaced(item, names) for item in raw.value])
    head, dot, rest = raw.value.partition(".")
    return word(names[head] + dot + rest, raw) if head in names else raw


def mappings_below(raw: Raw | None) -> Iterator[Raw]:
    """`raw` and all below it that are mappings."""
    if raw is None or raw.kind == "scalar":
        return
    if raw.kind == "mapping":
        yield raw
    for item in raw.value:
        yield from mappings_below(item[1] if raw.kind == "mapping" else item)


def _like(place: Raw, kind: str, tag: str, value: object) -> Raw:
    return Raw(kind, tag, value, _Mark(place.line - 1, place.column - 1))
