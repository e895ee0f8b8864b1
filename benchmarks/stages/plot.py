"""A line plot as one SVG document that follows the reader's light or dark page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from rt_sched.report.svg import element

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
_LEFT, _TOP, _WIDTH, _HEIGHT, _RIGHT, _BELOW = 64, 40, 460, 240, 190, 52
_STYLE = """
svg { font: 12px system-ui, sans-serif; --ink: #1c1c1e; --paper: #ffffff; --line: #c8c8ce; --soft: #6b6b70; }
@media (prefers-color-scheme: dark) {
  svg { --ink: #ececf0; --paper: #17171a; --line: #46464e; --soft: #a0a0a8; }
}
.paper { fill: var(--paper); } text { fill: var(--ink); } .soft { fill: var(--soft); font-size: 10.5px; }
.title { font-weight: 600; } .grid { stroke: var(--line); stroke-width: .5; } .curve { fill: none; stroke-width: 2; }
"""


@dataclass(frozen=True)
class Series:
    """A name and its (x, y), ascending in x."""

    name: str
    points: tuple[tuple[float, float], ...]


def line_plot(title: str, x_label: str, y_label: str, series: Sequence[Series]) -> str:
    """Both axes are linear and begin at 0, so that what is proportional is a line through the corner."""
    x_step, x_end = _ticks(max(x for s in series for x, _ in s.points))
    y_step, y_end = _ticks(max(y for s in series for _, y in s.points))

    def at(x: float, y: float) -> tuple[float, float]:
        return _LEFT + x / x_end * _WIDTH, _TOP + _HEIGHT * (1.0 - y / y_end)

    parts = [element("text", title, x=_LEFT, y=15, class_="title")]
    for k in range(round(x_end / x_step) + 1):
        x, bottom = at(k * x_step, 0.0)
        parts.append(element("line", x1=x, x2=x, y1=_TOP, y2=bottom, class_="grid"))
        parts.append(element("text", _short(k * x_step), x=x, y=bottom + 16, class_="soft", text_anchor="middle"))
    for k in range(round(y_end / y_step) + 1):
        left, y = at(0.0, k * y_step)
        parts.append(element("line", x1=left, x2=_LEFT + _WIDTH, y1=y, y2=y, class_="grid"))
        parts.append(element("text", _short(k * y_step), x=left - 8, y=y + 4, class_="soft", text_anchor="end"))
    parts.append(
        element("text", x_label, x=_LEFT + _WIDTH / 2, y=_TOP + _HEIGHT + 38, class_="soft", text_anchor="middle")
    )
    parts.append(element("text", y_label, x=8, y=_TOP - 10, class_="soft"))
    for number, one in enumerate(series):
        colour = _COLOURS[number % len(_COLOURS)]
        places = [at(x, y) for x, y in one.points]
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        parts.append(element("path", d=path, class_="curve", stroke=colour))
        parts += [element("circle", cx=x, cy=y, r=3, fill=colour) for x, y in places]
        y = _TOP + 10.0 + 20 * number
        parts.append(element("rect", x=_LEFT + _WIDTH + 18, y=y - 6, width=14, height=4, fill=colour))
        parts.append(element("text", one.name, x=_LEFT + _WIDTH + 38, y=y))
    width, height = _LEFT + _WIDTH + _RIGHT, _TOP + _HEIGHT + _BELOW
    drawn = element(
        "svg",
        element("title", title),
        Markup(f"<style>{_STYLE}</style>"),  # noqa: S704  (a literal)
        element("rect", x=0, y=0, width=width, height=height, class_="paper"),
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        view_box=f"0 0 {width} {height}",
        width=width,
        height=height,
        role="img",
    )
    return f"{drawn}\n"


def _ticks(highest: float) -> tuple[float, float]:
    """Distance of round ticks, and the first one that is not below `highest`."""
    if highest <= 0.0:
        return 1.0, 1.0
    power = 10.0 ** math.floor(math.log10(highest))
    step = next(s * power for s in (0.2, 0.5, 1.0, 2.0) if highest / (s * power) <= 6.0)
    return step, math.ceil(highest / step - 1e-9) * step


def _short(value: float) -> str:
    return f"{value / 1000:g} k" if value >= 10_000 else f"{value:g}"
