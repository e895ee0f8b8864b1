"""Figures of the section on bounds: responses against their deadlines, and worst-case runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from rt_sched.report import svg
from rt_sched.report.schedulability.numbers import share, svg_ms
from rt_sched.report.schedulability.verdict import tone_and_mark
from rt_sched.report.text import axis_labels, axis_values_ns

Row = Mapping[str, Any]

#: The deadline stands at this share of a bar's width, so that bounds beyond it are seen as such.
DEADLINE_AT = 0.76
_TOP, _LANE, _BAR = 22, 26, 15


@dataclass(frozen=True, slots=True)
class ResponseRow:
    """A task with the places of its bound and of the largest observed response on its bar, in percent, and its sign."""

    task: Row
    bound_at: float | None
    observed_at: float | None
    tone: str
    mark: str


@dataclass(frozen=True, slots=True)
class RunFigure:
    """`run`: a worst-case run of the document; `figure`: its schedule on one processor."""

    run: Row
    figure: Markup


def response_rows(document: Row) -> list[ResponseRow]:
    """Every task of every mode in the order of the document."""
    return [
        ResponseRow(
            row, _at(row["response_bound_ns"], row), _at(row["observed_ns"], row), *tone_and_mark(row["verdict"])
        )
        for row in document["tasks"]
    ]


def _at(value_ns: int | None, row: Row) -> float | None:
    return None if value_ns is None else 100 * share(DEADLINE_AT * value_ns, row["deadline_ns"])


def critical_figures(document: Row, most: int) -> list[RunFigure]:
    """The schedule of each worst-case run."""
    return [RunFigure(run, _schedule(run)) for run in document["critical_runs"][:most]]


@dataclass(frozen=True, slots=True)
class InversionFigures:
    """`example`: of the document; `runs`: the protocol of each of its runs, the run and its figure."""

    example: Row
    runs: tuple[tuple[str, Row, Markup], ...]


def inversion_figures(document: Row) -> list[InversionFigures]:
    """The runs of every example of an inversion, with the protocol and without."""
    return [
        InversionFigures(one, tuple((each["protocol"], each["run"], _schedule(each["run"])) for each in one["runs"]))
        for one in document["resources"]["examples"]
    ]


def _schedule(run: Row) -> Markup:
    """A lane per task that executes, the one at stake last, with its arrival, its response and its deadline."""
    start, end = run["start_ns"], max(run["end_ns"], run["start_ns"] + 1)
    lanes = run["lanes"]
    bottom = _TOP + _LANE * len(lanes)
    parts = [_axis(start, end, bottom), *(_lane(index, bottom) for index in range(len(lanes)))]
    for piece in run["pieces"]:
        mine = piece["task"] == run["task"] and piece["job"] == run["job"]
        kind = "piece-own" if mine else "piece-other" if piece["kind"] == "execute" else "piece-cost"
        parts.append(_piece(piece, lanes.index(piece["task"]), start, end, kind))
    for arrival in run["arrivals"]:
        if arrival["task"] in lanes:
            top = _TOP + _LANE * lanes.index(arrival["task"])
            parts.append(svg.vertical(_place(arrival["arrival_ns"], start, end), top + 3, top + _LANE - 3, "arrival"))
    parts.append(_response(run, start, end, bottom))
    parts.append(svg.vertical(_place(run["deadline_at_ns"], start, end), _TOP, bottom + 8, "limit"))
    label = f"Schedule of {run['processor']}, in which {run['task']} waits longest"
    return svg.chart(bottom + 26, *parts, label=label, class_="chart critical")


def _place(time_ns: int, start: int, end: int) -> float:
    return share(time_ns - start, end - start)


def _axis(start: int, end: int, bottom: int) -> Markup:
    """Ticks from the begin of the window on."""
    values = axis_values_ns(0, end - start, 6)
    parts = []
    for value, label in zip(values, axis_labels(values, end - start), strict=True):
        at = share(value, end - start)
        anchor = "start" if at < 0.03 else "end" if at > 0.95 else "middle"
        parts.append(svg.vertical(at, _TOP - 6, bottom, "grid"))
        parts.append(svg.text(at, 11, label, "tick", anchor))
    return svg.joined(parts)


def _lane(index: int, bottom: int) -> Markup:
    y = min(_TOP + _LANE * (index + 1), bottom) - 0.5
    return svg.element("line", x1="0", x2="100%", y1=y, y2=y, class_="row")


def _piece(piece: Row, lane: int, start: int, end: int, kind: str) -> Markup:
    left, right = _place(piece["start_ns"], start, end), _place(piece["end_ns"], start, end)
    y = _TOP + _LANE * lane + (_LANE - _BAR) / 2
    return svg.bar(left, right, y, _BAR, f"piece {kind}", f"{piece['task']} on {piece['core']}")


def _response(run: Row, start: int, end: int, bottom: int) -> Markup:
    left = _place(run["arrival_ns"], start, end)
    right = _place(run["arrival_ns"] + run["response_ns"], start, end)
    y = bottom + 5.5
    shown, attributes = svg_ms(run["response_ns"])
    anchor, at = ("start", left) if left < 0.5 else ("end", right)
    return svg.joined(
        [
            svg.element("line", x1=svg.at(left), x2=svg.at(right), y1=y, y2=y, class_="response"),
            svg.element(
                "text", shown, x=svg.at(at), y=bottom + 20, class_="tick-value", text_anchor=anchor, **attributes
            ),
        ]
    )
