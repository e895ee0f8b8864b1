"""Injected faults: coverage as a bar, and detection of every kind beside the worst case that its monitor declares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from rt_sched.report import svg
from rt_sched.report.spread_figure import detection_figure

Row = Mapping[str, Any]

#: Verdicts in the order of the bar, and how each is coloured.
VERDICTS = (("detected", "good"), ("tolerated", "fill"), ("unknown", "caution"), ("late", "bad"), ("silent", "bad"))


@dataclass(frozen=True, slots=True)
class KindFigure:
    """`figure`: how detection is spread, each row on an axis of its own worst case; None where nothing is promised."""

    row: Row
    figure: Markup | None


@dataclass(frozen=True, slots=True)
class Injected:
    """`row`: one file. `coverage`: its verdicts as a bar."""

    row: Row
    coverage: Markup
    kinds: tuple[KindFigure, ...]
    targets: tuple[KindFigure, ...]


def injected(document: Row) -> list[Injected]:
    """Every file with injected faults."""
    return [
        Injected(one, _coverage(one), tuple(map(_figure, one["kinds"])), tuple(map(_figure, one["targets"])))
        for one in document["faults"]["injected"]
    ]


def _figure(row: Row) -> KindFigure:
    return KindFigure(row, detection_figure(row, f"{row['kind']} {row.get('target', '')}".rstrip()))


def _coverage(one: Row) -> Markup:
    parts, before = [], 0
    for name, tone in VERDICTS:
        if one[name]:
            share, next_share = before / one["runs"], (before + one[name]) / one["runs"]
            parts.append(svg.bar(share, next_share, 2, 22, f"piece verdict-{tone} verdict-{name}", name))
            before += one[name]
    label = ", ".join(f"{name} {one[name]}" for name, _ in VERDICTS)
    return svg.chart(26, *parts, label=f"Coverage: {label}", class_="chart coverage")
