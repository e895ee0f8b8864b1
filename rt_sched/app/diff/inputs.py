"""What was declared or decided differently: by name, whatever the order, with renamed parts recognised."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rt_sched.app.diff.renames import Renames, find_renames, renamed

#: Parts of a document that follow from others, or only say where things lie.
_DERIVED = frozenset({"schema", "file", "base_dir", "notes", "shared_by_paths", "drawing", "graph"})
#: Times of a task on one kind of element, with the kind behind.
_BY_KIND = "execution_by_kind."
#: Lists whose rows have no name of their own, with the keys that tell one row from another.
_KEYS = {"edges": ("target", "input"), "inputs": ("name",)}


@dataclass(frozen=True, slots=True)
class Change:
    """`part`: the kind of thing, such as tasks; `name`: which one; `key`: what of it, empty for the whole.

    `change`: added, removed, renamed or changed.
    """

    part: str
    name: str
    key: str
    change: str
    before: Any = None
    after: Any = None


def input_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[list[Change], Renames]:
    """What differs, in the order of the newer document, and which parts were only renamed.

    Names are matched as `find_renames` says.
    """
    before, after = (dict(_indexed(one)) for one in (before, after))
    renames = find_renames(before, after)
    rows = [
        Change(part, new, "", "renamed", old, new)
        for part, names in renames.by_part.items()
        for old, new in names.items()
    ]
    before = renamed(before, renames.everywhere)
    for part in dict.fromkeys((*after, *before)):
        old, new = before.get(part), after.get(part)
        if isinstance(old, dict) and isinstance(new, dict):
            rows += _named_changes(part, old, new)
        else:
            rows += _changes(part, "", "", old, new)
    return _once(rows), renames


def _once(rows: Sequence[Change]) -> list[Change]:
    """Without what a task's times on one kind of element repeat of its times."""
    told = {(one.part, one.name, one.key, str(one.before), str(one.after)) for one in rows}
    return [
        one
        for one in rows
        if not one.key.startswith(_BY_KIND)
        or (one.part, one.name, f"execution.{one.key.split('.', 2)[-1]}", str(one.before), str(one.after)) not in told
    ]


def _indexed(document: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The parts of a document, lists of rows by name."""
    for part, value in document.items():
        if part not in _DERIVED:
            yield part, _by_name(value, _KEYS.get(part, ("name",)))


def _by_name(value: Any, keys: Sequence[str] = ("name",)) -> Any:
    """Lists of rows with names as mappings, on every level."""
    if isinstance(value, dict):
        return {key: _by_name(item) for key, item in value.items()}
    if isinstance(value, list):
        rows = [_by_name(item) for item in value]
        names = [".".join(str(row.get(key)) for key in keys) if isinstance(row, dict) else None for row in rows]
        complete = all(isinstance(row, dict) and all(key in row for key in keys) for row in rows)
        if rows and complete and len(set(names)) == len(rows):
            return dict(zip(names, rows, strict=True))
        return rows
    return value


def _named_changes(part: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    for name in dict.fromkeys((*new, *old)):
        if name not in old or name not in new:
            value = old.get(name, new.get(name))
            change = "added" if name not in old else "removed"
            if isinstance(value, dict):
                yield Change(part, name, "", change)
            else:
                yield Change(part, "", name, change, old.get(name), new.get(name))
        elif isinstance(old[name], dict) and isinstance(new[name], dict):
            yield from _changes(part, name, "", old[name], new[name])
        else:
            yield from _changes(part, "", name, old[name], new[name])


def _changes(part: str, name: str, key: str, old: Any, new: Any) -> Iterator[Change]:
    if old == new:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for inner in dict.fromkeys((*new, *old)):
            if inner != "name":
                yield from _changes(part, name, f"{key}.{inner}" if key else str(inner), old.get(inner), new.get(inner))
        return
    yield Change(part, name, key, "changed", old, new)
