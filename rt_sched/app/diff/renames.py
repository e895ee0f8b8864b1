"""Which parts were only renamed: one is gone, and another came that is otherwise much the same."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

#: Parts whose rows say how others are connected; they are found again by the names of these.
CONNECTIONS = "edges"
#: Share of what sets two rows apart from their fellows that must agree.
_ALIKE = 0.6

Document = Mapping[str, Any]
#: A place in a row, and the value there.
_Leaf = tuple[str, str]


@dataclass(slots=True)
class Renames:
    """Old names of parts and their new ones, by part; every name of a part that was there before."""

    by_part: dict[str, dict[str, str]] = field(default_factory=dict)

    def name(self, part: str, name: str) -> str:
        """The new name of what an old one stands for."""
        return self.by_part.get(part, {}).get(name, name)

    @property
    def everywhere(self) -> dict[str, str]:
        """All of them; where two parts use one name for different things only what agrees."""
        found: dict[str, str] = {}
        clash: set[str] = set()
        for names in self.by_part.values():
            for old, new in names.items():
                if found.setdefault(old, new) != new:
                    clash.add(old)
        return {old: new for old, new in found.items() if old not in clash}


def find_renames(before: Document, after: Document) -> Renames:
    """Pairs of gone and new names of one part, the most alike first.

    `before`, `after`: parts by name, rows by name. Two rows are compared in what sets them apart from most rows of
    their part, connections counted, with all names that came or went taken as equal.
    """
    gone, came = _missing(before, after), _missing(after, before)
    unknown = {name for names in (*gone.values(), *came.values()) for name in names}
    found = Renames()
    for part, names in gone.items():
        fresh = came.get(part, [])
        if not names or not fresh:
            continue
        old, new = _leaves(before, part, names, unknown), _leaves(after, part, fresh, unknown)
        usual = Counter(leaf for rows in (before, after) for row in rows[part].values() for leaf in set(_flat(row, "")))
        most = (len(before[part]) + len(after[part])) / 2
        common = {leaf for leaf, count in usual.items() if count > most}
        pairs = sorted(
            (
                (_likeness(old[one] - common, new[other] - common), _spelling(one, other), one, other)
                for one in names
                for other in fresh
            ),
            key=lambda pair: (-pair[0], -pair[1]),
        )
        chosen = found.by_part.setdefault(part, {})
        for likeness, _, one, other in pairs:
            if likeness >= _ALIKE and one not in chosen and other not in chosen.values():
                chosen[one] = other
    return found


def _missing(one: Document, other: Document) -> dict[str, list[str]]:
    """Per part with named rows the names that the other document lacks there."""
    return {
        part: [name for name, row in rows.items() if isinstance(row, dict) and name not in other[part]]
        for part, rows in one.items()
        if isinstance(rows, dict) and isinstance(other.get(part), dict) and part != CONNECTIONS
    }


def _likeness(one: set[_Leaf], other: set[_Leaf]) -> float:
    """Share of places at which both hold the same; 1 for two rows that nothing sets apart from the others."""
    places = {place for place, _ in one | other}
    return len({place for place, _ in one & other}) / len(places) if places else 1.0


def _spelling(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one, other).ratio()


def _leaves(document: Document, part: str, names: list[str], unknown: set[str]) -> dict[str, set[_Leaf]]:
    """Everything that is said of some rows, names that came or went masked, with their connections."""
    found = {name: {_masked(leaf, unknown) for leaf in _flat(document[part][name], "")} for name in names}
    connections = document.get(CONNECTIONS)
    for row in connections.values() if isinstance(connections, dict) else ():
        for end, other in (("source", "target"), ("target", "source")):
            if row.get(end) in found:
                place = f"{end} {row.get('input')}"
                found[row[end]].add(_masked((place, str(row.get(other))), unknown))
    return found


def _flat(value: Any, place: str) -> Iterator[_Leaf]:
    if isinstance(value, dict):
        for key, item in value.items():
            if key != "name":
                yield from _flat(item, f"{place}.{key}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _flat(item, f"{place}[{index}]")
    else:
        yield place, str(value)


def _masked(leaf: _Leaf, names: set[str]) -> _Leaf:
    return leaf[0], ".".join("?" if word in names else word for word in leaf[1].split("."))


def renamed(value: Any, names: Mapping[str, str]) -> Any:
    """A document with new names for old ones, wherever they stand alone or between dots."""
    if not names:
        return value
    if isinstance(value, dict):
        return {renamed(key, names): renamed(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [renamed(item, names) for item in value]
    if isinstance(value, str):
        return ".".join(names.get(word, word) for word in value.split("."))
    return value
