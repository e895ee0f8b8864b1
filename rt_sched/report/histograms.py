"""Distributions of response times and chain latencies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from rt_sched.report import svg
from rt_sched.report.text import axis_labels, axis_values_ns, count, time_with_unit

Times = npt.NDArray[np.int64]

#: A limit further out than this many times the largest value is named at the edge, so that the values keep their shape.
FAR_LIMIT = 3

_TASK_BINS = 48
_CHAIN_BINS = 120


@dataclass(frozen=True, slots=True)
class Band:
    """One row of a chain's figure. `values_ns`: int64[n], n >= 0."""

    name: str
    values_ns: Times
    limit_ns: int | None


def response_histogram(name: str, values_ns: Times, deadline_ns: int | None, p99_ns: int | None) -> Markup:
    """Response times of one task from 0 on; a dashed line at the deadline, a short one at the 99th percentile."""
    largest = int(values_ns.max()) if values_ns.size else 0
    near = deadline_ns is not None and deadline_ns <= max(largest, 1) * FAR_LIMIT
    end = max(largest, deadline_ns if near and deadline_ns is not None else 0, 1)
    end += -(-end // 16)
    height = 40 if near or deadline_ns is None else 30
    parts = [
        svg.element("line", x1="0", x2="100%", y1=46.5, y2=46.5, class_="axis"),
        svg.columns(binned(values_ns, end, _TASK_BINS), 46 - height, height, "bars"),
        _axis(end, 46, 4),
    ]
    if p99_ns is not None:
        parts.append(svg.vertical(p99_ns / end, 38, 50, "quantile"))
    if deadline_ns is not None and near:
        parts.append(svg.vertical(deadline_ns / end, 0, 50, "limit"))
    elif deadline_ns is not None:
        parts.append(svg.text(1, 10, f"deadline {time_with_unit(deadline_ns)} →", "limit-label", "end"))
    over = int(np.count_nonzero(values_ns > deadline_ns)) if deadline_ns is not None else 0
    label = f"Response times of {name}: {count(values_ns.size)} jobs, largest {time_with_unit(largest)}"
    if deadline_ns is not None:
        label += f", deadline {time_with_unit(deadline_ns)}, {count(over)} later than that"
    return svg.chart(62, *parts, label=label, class_="chart histogram")


def chain_figure(name: str, bands: Sequence[Band]) -> Markup:
    """One row per measure on a shared time axis, each with its limit as a dashed line."""
    ends = [int(b.values_ns.max()) for b in bands if b.values_ns.size] + [b.limit_ns or 0 for b in bands]
    end = max([*ends, 1])
    end += -(-end // 25)
    row, parts, spoken = 56, [], []
    for index, band in enumerate(bands):
        top = index * row
        base = top + row - 6
        parts.append(svg.element("line", x1="0", x2="100%", y1=base + 0.5, y2=base + 0.5, class_="axis"))
        parts.append(svg.columns(binned(band.values_ns, end, _CHAIN_BINS), top + 18, row - 24, f"bars band-{index}"))
        largest = int(band.values_ns.max()) if band.values_ns.size else None
        caption = f"{band.name}: " + (f"largest {time_with_unit(largest)}" if largest is not None else "none")
        limit = ""
        if band.limit_ns is not None:
            parts.append(svg.vertical(band.limit_ns / end, top + 18, base + 3, "limit"))
            limit = f", limit {time_with_unit(band.limit_ns)}"
        parts.append(svg.text(0, top + 12, caption, "row-label", second=limit, second_class="of-limit"))
        spoken.append(caption + limit)
    bottom = len(bands) * row
    parts.append(_axis(end, bottom - 4, 8))
    return svg.chart(bottom + 14, *parts, label=f"Chain {name}. " + "; ".join(spoken), class_="chart bands")


def binned(values_ns: Times, end_ns: int, bins: int) -> list[int]:
    """Counts in `bins` equal intervals of [0, end_ns); what lies outside counts in the first or last one."""
    # Divided first where the product would leave int64; the loss is far below one bin.
    scaled = values_ns // max(1, end_ns // 2**40)
    places = np.clip(scaled * bins // max(1, end_ns // max(1, end_ns // 2**40)), 0, bins - 1)
    return [int(n) for n in np.bincount(places, minlength=bins)]


def _axis(end_ns: int, y_px: float, ticks: int) -> Markup:
    values = axis_values_ns(0, end_ns, ticks)
    parts = []
    for value, label in zip(values, axis_labels(values, end_ns), strict=True):
        share = value / end_ns
        anchor = "start" if value == 0 else "end" if share > 0.96 else "middle"
        parts.append(svg.text(share, y_px + 14, label, "tick", anchor))
    return svg.joined(parts)
