"""How measured times are spread beside what they must keep to, as one row of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from rt_sched.report import svg

_COLUMNS_PX = 18


def spread_figure(
    spread: Mapping[str, int],
    end_ns: int,
    label: str,
    bound_ns: int | None = None,
    limit_ns: int | None = None,
    counts: Sequence[int] = (),
) -> Markup:
    """A line from the least to the largest, a bar from the median to the 99th percentile, a tick at the median.

    `spread`: keys min_ns, p50_ns, p99_ns, max_ns. `end_ns`: of the axis. Bound and limit are lines of their own.
    `counts`: how many values are in each of as many equal intervals of the axis; columns above the rest.
    """
    least, middle, most, largest = (_share(spread[f"{key}_ns"], end_ns) for key in ("min", "p50", "p99", "max"))
    above = _COLUMNS_PX if counts else 0
    parts = [
        svg.element("line", x1="0", x2="100%", y1=above + 21.5, y2=above + 21.5, class_="row"),
        svg.element("line", x1=svg.at(least), x2=svg.at(largest), y1=above + 12, y2=above + 12, class_="response"),
        svg.bar(middle, most, above + 6, 12, "piece part-reaction", "from the median on"),
        svg.vertical(middle, above + 3, above + 21, "quantile"),
    ]
    if bound_ns is not None:
        parts.append(svg.vertical(_share(bound_ns, end_ns), 0, above + 22, "bound-line"))
    if limit_ns is not None:
        parts.append(svg.vertical(_share(limit_ns, end_ns), 0, above + 22, "limit"))
    parts.append(svg.columns(counts, 0, _COLUMNS_PX, "bars"))
    return svg.chart(above + 24, *parts, label=label, class_="chart spread")


def detection_figure(row: Mapping[str, Any], label: str) -> Markup | None:
    """How detection of faults is spread, up to a little more than the worst case; None where nothing is promised.

    `row`: as `rt_sched.faults.spread.counted` counts many faults.
    """
    spread, worst_ns, histogram = (row[key] for key in ("detected_ns", "worst_case_max_ns", "detected_histogram"))
    if spread is None or worst_ns is None or histogram is None:
        return None
    end_ns = histogram["bin_ns"] * len(histogram["counts"])
    return spread_figure(spread, end_ns, f"Detection of {label}", bound_ns=worst_ns, counts=histogram["counts"])


def _share(value_ns: int, end_ns: int) -> float:
    return 0.0 if end_ns <= 0 else min(max(value_ns / end_ns, 0.0), 1.0)
