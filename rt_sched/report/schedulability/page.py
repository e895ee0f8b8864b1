"""The page of the schedulability report, made from the document alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from rt_sched.report.graph_drawing import draw_graph
from rt_sched.report.schedulability import bounds, chains, evidence, faults, injected, margins, numbers, verdict
from rt_sched.report.templating import environment
from rt_sched.report.text import printable

if TYPE_CHECKING:
    from jinja2 import Environment

#: Rows of a table, and of a kind of figure, beyond which the page names the document instead.
MOST_ROWS, MOST_FIGURES = 2000, 40
#: Who delays a task, told of every task as far as there is room for it: else so many of each.
FEW_OTHERS = 6


def render_schedulability_report(document: Mapping[str, Any]) -> str:
    """The page as text, the same for the same document; it allows itself no network access and reads without script.

    `document`: what `app.report.report_document` gives. Every number that the page shows is one of the document.
    """
    view = {
        "d": document,
        "meaning": verdict.meaning(document),
        "drawing": draw_graph(document["model"]["graph"], anchor),
        "response_rows": bounds.response_rows(document),
        "critical": bounds.critical_figures(document, MOST_FIGURES),
        "waterfalls": chains.waterfalls(document, MOST_FIGURES),
        "fault_line": faults.worst_line(document),
        "arbiter_line": faults.arbiter_line(document),
        "fault_matrix": faults.matrix(document),
        "spreads": faults.spreads(document),
        "injected": injected.injected(document),
        "verdicts": injected.VERDICTS,
        "inversions": bounds.inversion_figures(document),
        "histograms": evidence.histograms(document, MOST_FIGURES),
        "tornados": margins.tornados(document),
        "loads": margins.loads(document),
        "first": {
            "task": _first_modes(document["tasks"], "name"),
            "chain": _first_modes(document["chains"], "name"),
            "fault": _first_modes(document["faults"]["rows"], "fault"),
        },
        "most_rows": MOST_ROWS,
        "most_others": MOST_ROWS if sum(len(row["others"]) for row in document["tasks"]) <= MOST_ROWS else FEW_OTHERS,
    }
    return printable(_environment().get_template("schedulability/page.html.j2").render(view))


def _first_modes(rows: Sequence[Mapping[str, Any]], key: str) -> dict[str, str]:
    """The mode of the first row of each name: that row is the one that links lead to."""
    found: dict[str, str] = {}
    for row in rows:
        found.setdefault(row[key], row["mode"])
    return found


@cache
def _environment() -> Environment:
    return environment(
        ms=numbers.ms,
        time=numbers.time,
        whole=numbers.whole,
        plain=numbers.plain,
        ppm=numbers.ppm,
        ppm_down=numbers.ppm_down,
        factor=numbers.factor,
        spaced=numbers.words,
        mark=verdict.mark,
        sign=verdict.sign,
        anchor=anchor,
    )


def anchor(kind: str, name: str) -> str:
    """The place of a task or chain on the page; names of any characters give one that a link can carry."""
    return (
        f"{kind}-{name}"
        if name.isascii() and name.isprintable() and " " not in name
        else f"{kind}-{name.encode().hex()}"
    )
