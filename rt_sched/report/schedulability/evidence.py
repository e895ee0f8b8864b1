"""Histograms of execution times that runs showed, against the declared worst case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from rt_sched.report import svg
from rt_sched.report.schedulability.numbers import share

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TimesFigure:
    """The execution times of `task` in `run`."""

    run: Row
    task: Row
    figure: Markup


def histograms(document: Row, most: int) -> list[TimesFigure]:
    """The tasks nearest to their declared worst case first."""
    found = [
        (run, task)
        for run in document["evidence"]["runs"]
        for task in run["tasks"]
        if task["executed_max_ns"] is not None
    ]
    found.sort(key=lambda one: -int(one[1]["high_water_ppm"] or 0))
    return [TimesFigure(run, task, _figure(task)) for run, task in found[:most]]


def _figure(task: Row) -> Markup:
    """Columns from zero to the worst case; a dashed line at that, a short one at the high-water mark."""
    histogram = task["histogram"]
    end = max(histogram["bin_ns"] * len(histogram["counts"]), 1)
    parts = [
        svg.element("line", x1="0", x2="100%", y1=46.5, y2=46.5, class_="axis"),
        svg.columns(histogram["counts"], 4, 42, "bars"),
        svg.vertical(share(task["executed_max_ns"], end), 34, 50, "quantile"),
        svg.vertical(min(share(task["wcet_ns"], end), 0.998), 0, 50, "limit"),
    ]
    return svg.chart(52, *parts, label=f"Execution times of {task['name']}", class_="chart histogram")
