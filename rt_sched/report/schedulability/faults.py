"""Figures of the section on faults: the matrix, and the handling time of the worst one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from rt_sched.report import svg
from rt_sched.report.schedulability.numbers import share, svg_ms
from rt_sched.report.schedulability.verdict import tone_and_mark
from rt_sched.report.spread_figure import spread_figure

Row = Mapping[str, Any]

_PARTS = ("part-detection", "part-reaction", "part-margin")


@dataclass(frozen=True, slots=True)
class FaultRow:
    """A fault in a mode, with the sign of its verdict."""

    row: Row
    tone: str
    mark: str


def matrix(document: Row) -> list[FaultRow]:
    """Declared faults first, in the order of the document."""
    return [FaultRow(row, *tone_and_mark(row["verdict"])) for row in document["faults"]["rows"]]


def worst_line(document: Row) -> Markup | None:
    """The limit of the worst declared fault, split into detection, reaction and margin; None where none has a limit."""
    worst = document["faults"]["worst"]
    if worst is None:
        return None
    end = max(worst["limit_ns"], worst["recovered_ns"], 1)
    parts, before_ns = [], 0
    for name, css in zip(("detection", "reaction", "margin"), _PARTS, strict=True):
        length_ns = worst[f"{name}_ns"]
        if length_ns <= 0:
            continue
        left, right = share(before_ns, end), share(before_ns + length_ns, end)
        parts.append(svg.bar(left, right, 24, 26, f"piece {css}", name))
        before_ns += length_ns
    parts += _steps(worst["parts"], end)
    for at_ns in sorted({worst["detection_ns"], worst["recovered_ns"]} - {0, worst["limit_ns"]}):
        shown, attributes = svg_ms(at_ns)
        at = share(at_ns, end)
        anchor = "start" if at < 0.1 else "end" if at > 0.85 else "middle"
        attributes |= {"class_": "tick-value", "text_anchor": anchor}
        parts.append(svg.element("text", shown, x=svg.at(at), y=78, **attributes))
    parts += _limit(worst["limit_ns"], end, 66)
    return svg.chart(82, *parts, label=f"Handling time of {worst['fault']}", class_="chart handling")


def arbiter_line(document: Row) -> Markup | None:
    """From the loss of the arbiter: its limit of age, a cycle, and what the recovery limit leaves; None without one."""
    row = document["faults"]["arbiter"]
    if row is None:
        return None
    parts, before_ns = [], 0
    end = max(row["limit_ns"] or 0, row["bound_ns"], 1)
    pieces = [(one["kind"].replace("_", " "), one["value_ns"]) for one in row["terms"]]
    for (label, length_ns), css in zip([*pieces, ("margin", row["margin_ns"] or 0)], _PARTS, strict=True):
        if length_ns > 0:
            left, right = share(before_ns, end), share(before_ns + length_ns, end)
            parts.append(svg.bar(left, right, 24, 26, f"piece {css}", label))
            before_ns += length_ns
    shown, attributes = svg_ms(row["bound_ns"])
    at = share(row["bound_ns"], end)
    anchor = "end" if at > 0.85 else "middle"
    attributes |= {"class_": "tick-value", "text_anchor": anchor}
    parts.append(svg.element("text", shown, x=svg.at(at), y=66, **attributes))
    if row["limit_ns"] is not None:
        parts += _limit(row["limit_ns"], end, 54)
    return svg.chart(70, *parts, label="From the loss of the arbiter to MINIMAL_RISK", class_="chart handling")


def _limit(limit_ns: int, end: int, until: float) -> list[Markup]:
    shown, attributes = svg_ms(limit_ns)
    at = share(limit_ns, end)
    label = svg.element("text", shown, x=svg.at(at), y=11, class_="limit-label", text_anchor="end", **attributes)
    return [svg.vertical(at, 14, until, "limit"), label]


def _steps(rows: Sequence[Row], end: int) -> list[Markup]:
    """A thin strip with every part of the time until the recovery."""
    drawn, before_ns = [], 0
    for row in rows:
        left, right = share(before_ns, end), share(before_ns + row["value_ns"], end)
        label = f"{row['kind'].replace('_', ' ')} {row['by'] or ''}".strip()
        drawn.append(svg.bar(left, right, 54, 9, f"piece step-{row['kind']}", label))
        before_ns += row["value_ns"]
    return drawn


@dataclass(frozen=True, slots=True)
class SpreadFigure:
    """`row`: a loss at many instants; `figure`: the spread of its recoveries beside bound and limit."""

    row: Row
    figure: Markup


def spreads(document: Row) -> list[SpreadFigure]:
    """Every loss of which some recovery was measured, all on one axis."""
    found = document["faults"]["instants"]
    losses = [] if found is None else [one for one in found["losses"] if one["recovered_ns"] is not None]
    times = [
        value
        for one in losses
        for value in (one["recovered_ns"]["max_ns"], one["recovery_bound_ns"], one["limit_ns"])
        if value is not None
    ]
    end = max(times, default=1)
    end += -(-end // 30)
    return [
        SpreadFigure(
            one,
            spread_figure(
                one["recovered_ns"], end, f"Recoveries from {one['loss']}", one["recovery_bound_ns"], one["limit_ns"]
            ),
        )
        for one in losses
    ]
