"""Waterfalls: the bound of a chain from sensor to actuator, part by part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from rt_sched.report import svg
from rt_sched.report.schedulability.numbers import share
from rt_sched.report.text import axis_labels, axis_values_ns

Row = Mapping[str, Any]

QUANTITIES = {"reaction": "Reaction time", "latency": "Latency from capture", "data_age": "Data age"}
_TOP, _LANE, _BAR = 20, 22, 13


@dataclass(frozen=True, slots=True)
class Step:
    """One part of a bound, and where the bound stands after it."""

    term: Row
    after_ns: int


@dataclass(frozen=True, slots=True)
class Waterfall:
    """`steps` add up to the bound of `quantity` (a key of `QUANTITIES`) of `chain`; `figure` draws them."""

    chain: Row
    quantity: str
    title: str
    steps: tuple[Step, ...]
    figure: Markup


def waterfalls(document: Row, most: int) -> list[list[Waterfall]]:
    """Per chain those of its quantities that have a bound; `most`: chains of which figures are drawn."""
    return [
        [
            _waterfall(chain, quantity, title, terms)
            for quantity, title in QUANTITIES.items()
            if (terms := chain["terms"].get(quantity))
        ]
        for chain in document["chains"][:most]
    ]


def _waterfall(chain: Row, quantity: str, title: str, terms: Sequence[Row]) -> Waterfall:
    steps, after_ns = [], 0
    for term in terms:
        after_ns += term["value_ns"]
        steps.append(Step(term, after_ns))
    return Waterfall(chain, quantity, title, tuple(steps), _figure(chain, quantity, title, steps))


def _figure(chain: Row, quantity: str, title: str, steps: Sequence[Step]) -> Markup:
    """A lane per part, each bar beginning where the one before ended; the limit and the observed maximum across."""
    limit, observed = chain[f"{quantity}_limit_ns"], chain[f"{quantity}_observed_ns"]
    end = max([step.after_ns for step in steps] + [limit or 0, observed or 0, 1])
    end += -(-end // 20)
    bottom = _TOP + _LANE * len(steps)
    parts = []
    values = axis_values_ns(0, end, 6)
    for value, label in zip(values, axis_labels(values, end), strict=True):
        at = share(value, end)
        anchor = "start" if value == 0 else "end" if at > 0.95 else "middle"
        parts += [svg.vertical(at, _TOP - 5, bottom, "grid"), svg.text(at, 10, label, "tick", anchor)]
    before_ns = 0
    for index, step in enumerate(steps):
        low, high = sorted((before_ns, step.after_ns))
        y = _TOP + _LANE * index + (_LANE - _BAR) / 2
        kind = f"piece term-{step.term['kind']}" + (" negative" if step.term["value_ns"] < 0 else "")
        parts.append(svg.bar(share(low, end), share(high, end), y, _BAR, kind, step.term["by"] or ""))
        joint = share(step.after_ns, end)
        if index + 1 < len(steps):
            parts.append(svg.vertical(joint, y + _BAR, y + _LANE, "joint"))
        before_ns = step.after_ns
    if limit is not None:
        parts.append(svg.vertical(share(limit, end), _TOP - 4, bottom, "limit"))
    if observed is not None:
        parts.append(svg.vertical(share(observed, end), _TOP - 4, bottom, "quantile"))
    return svg.chart(bottom + 2, *parts, label=f"{title} of {chain['name']}", class_="chart waterfall")
