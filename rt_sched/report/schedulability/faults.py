"""Figures of the section on faults: the matrix, and the handling time of the worst one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from rt_sched.report import svg
from rt_sched.report.schedulability.numbers import share, svg_ms
from rt_sched.report.schedulability.verdict import tone_and_mark

Row = Mapping[str, Any]


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
    for name, css in (("detection", "part-detection"), ("reaction", "part-reaction"), ("margin", "part-margin")):
        length_ns = worst[f"{name}_ns"]
        if length_ns <= 0:
            continue
        left, right = share(before_ns, end), share(before_ns + length_ns, end)
        parts.append(svg.bar(left, right, 24, 26, f"piece {css}", name))
        before_ns += length_ns
    for at_ns, css in ((worst["detection_ns"], "tick-value"), (worst["recovered_ns"], "tick-value")):
        if at_ns not in (0, worst["limit_ns"]):
            shown, attributes = svg_ms(at_ns)
            at = share(at_ns, end)
            anchor = "start" if at < 0.1 else "end" if at > 0.85 else "middle"
            parts.append(svg.element("text", shown, x=svg.at(at), y=66, class_=css, text_anchor=anchor, **attributes))
    shown, attributes = svg_ms(worst["limit_ns"])
    at = share(worst["limit_ns"], end)
    parts.append(svg.vertical(at, 14, 56, "limit"))
    parts.append(svg.element("text", shown, x=svg.at(at), y=11, class_="limit-label", text_anchor="end", **attributes))
    return svg.chart(70, *parts, label=f"Handling time of {worst['fault']}", class_="chart handling")
