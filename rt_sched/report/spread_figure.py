"""How measured times are spread beside what they must keep to, as one row of a table."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

from rt_sched.report import svg

#: Where a declared worst case stands on an axis of its own: what is late is right of it.
DECLARED_AT = 0.9


def spread_figure(
    spread: Mapping[str, int], end_ns: int, label: str, bound_ns: int | None = None, limit_ns: int | None = None
) -> Markup:
    """A line from the least to the largest, a bar from the median to the 99th percentile, a tick at the median.

    `spread`: keys min_ns, p50_ns, p99_ns, max_ns. `end_ns`: of the axis. Bound and limit are lines of their own.
    """
    least, middle, most, largest = (_share(spread[f"{key}_ns"], end_ns) for key in ("min", "p50", "p99", "max"))
    parts = [
        svg.element("line", x1="0", x2="100%", y1=21.5, y2=21.5, class_="row"),
        svg.element("line", x1=svg.at(least), x2=svg.at(largest), y1=12, y2=12, class_="response"),
        svg.bar(middle, most, 6, 12, "piece part-reaction", "from the median on"),
        svg.vertical(middle, 3, 21, "quantile"),
    ]
    if bound_ns is not None:
        parts.append(svg.vertical(_share(bound_ns, end_ns), 0, 22, "bound-line"))
    if limit_ns is not None:
        parts.append(svg.vertical(_share(limit_ns, end_ns), 0, 22, "limit"))
    return svg.chart(24, *parts, label=label, class_="chart spread")


def _share(value_ns: int, end_ns: int) -> float:
    return 0.0 if end_ns <= 0 else min(max(value_ns / end_ns, 0.0), 1.0)
