"""Figures of the section on margins: a tornado of what may grow, and the load of every processor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Row = Mapping[str, Any]

_MILLION = 1_000_000
#: A margin this many times the execution time itself fills the bar.
_FULL = 3


@dataclass(frozen=True, slots=True)
class Bar:
    """A line of a tornado: `row` of the document, and the length of its bar in percent."""

    row: Row
    length: float


@dataclass(frozen=True, slots=True)
class Tornado:
    """The margins of one mode, the least first."""

    mode: Row
    bars: tuple[Bar, ...]


def tornados(document: Row) -> list[Tornado]:
    """One a mode; none where margins were not searched."""
    found = []
    for mode in (document["margins"] or {}).get("modes", ()):
        ordered = sorted(mode["tasks"], key=lambda one: int(one["margin_ppm"]))
        bars = tuple(Bar(one, min(100.0, 100 * one["margin_ppm"] / (_FULL * _MILLION))) for one in ordered)
        found.append(Tornado(mode, bars))
    return found


def loads(document: Row) -> list[Bar]:
    """Every processor of every mode, the most loaded first."""
    ordered = sorted(document["processors"], key=lambda one: -int(one["load_ppm"]))
    return [Bar(one, min(100.0, one["load_ppm"] / 10_000)) for one in ordered]
