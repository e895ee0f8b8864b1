"""Draws the schedules of the page on resources from the simulation of its examples.

Run as a script it writes priority-inversion-classic.svg and priority-inversion-nested.svg beside the page.
"""

from __future__ import annotations

import sys
from pathlib import Path

from markupsafe import Markup

sys.path.insert(0, str(Path(__file__).parent))

from pages import PAGES, Example, examples, run

from rt_sched.report.svg import element
from rt_sched.trace.records import EventKind, SliceKind, Trace
from rt_sched.units import NS_PER_MS

#: File name -> which tables of the page it shows.
PLOTS = {"priority-inversion-classic.svg": slice(0, 3), "priority-inversion-nested.svg": slice(3, 6)}

_LEFT, _MS, _ROW, _HEAD, _END_MS = 78, 27, 26, 30, 23
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
_STYLE = """
svg { font: 12px system-ui, sans-serif; --ink: #1c1c1e; --paper: #ffffff; --line: #c8c8ce; --soft: #6b6b70; }
@media (prefers-color-scheme: dark) {
  svg { --ink: #ececf0; --paper: #17171a; --line: #46464e; --soft: #a0a0a8; }
}
.paper { fill: var(--paper); } text { fill: var(--ink); } .soft { fill: var(--soft); font-size: 10.5px; }
.title { font-weight: 600; } .grid { stroke: var(--line); stroke-width: .5; } .arrival { stroke: var(--ink); }
.wait { stroke: var(--soft); stroke-dasharray: 2 3; } .blocked { stroke: #d00000; stroke-width: 3; }
.holds { fill: none; stroke: var(--ink); stroke-width: 2; }
"""


def plot(shown: list[Example]) -> str:
    """One SVG document with a Gantt chart for each run."""
    runs = [run(example) for example in shown]
    rows = len(runs[0][1].task_names)
    height = len(runs) * (_HEAD + rows * _ROW + 30) + 26
    width = _LEFT + _END_MS * _MS + 20
    parts: list[Markup] = []
    top = 8.0
    for system, trace in runs:
        parts.append(_chart(system.resources[0].protocol.value, trace, top))
        top += _HEAD + rows * _ROW + 30
    drawn = element(
        "svg",
        element("title", "Schedules under the protocols none, priority_inheritance and priority_ceiling"),
        Markup(f"<style>{_STYLE}</style>"),  # noqa: S704  (a literal)
        element("rect", x=0, y=0, width=width, height=height, class_="paper"),
        *parts,
        *_legend(top),
        xmlns="http://www.w3.org/2000/svg",
        view_box=f"0 0 {width} {height}",
        width=width,
        height=height,
        role="img",
    )
    return f"{drawn}\n"


def _x(time_ns: int) -> float:
    return _LEFT + time_ns / NS_PER_MS * _MS


def _chart(protocol: str, trace: Trace, top: float) -> Markup:
    below = top + _HEAD + len(trace.task_names) * _ROW
    parts = [element("text", protocol, x=8, y=top + 14, class_="title")]
    for ms in range(_END_MS + 1):
        x = _x(ms * NS_PER_MS)
        parts.append(element("line", x1=x, x2=x, y1=top + _HEAD - 6, y2=below, class_="grid"))
        if ms % 2 == 0:
            parts.append(element("text", str(ms), x=x, y=below + 14, class_="soft", text_anchor="middle"))
    parts += [
        part
        for task, name in enumerate(trace.task_names)
        for part in _row(trace, task, name, top + _HEAD + task * _ROW)
    ]
    return element("g", *parts)


def _row(trace: Trace, task: int, name: str, top: float) -> list[Markup]:
    """A task's one job: waiting, running, blocked, and what it holds."""
    job = next(row for row in range(len(trace.jobs)) if trace.jobs.task[row] == task)
    arrival, finish = int(trace.jobs.arrival_ns[job]), int(trace.jobs.finish_ns[job])
    middle = top + _ROW / 2
    parts = [
        element("text", name, x=8, y=middle + 4),
        element("line", x1=_x(arrival), x2=_x(finish), y1=middle, y2=middle, class_="wait"),
        element("path", d=f"M{_x(arrival):.1f} {top + 2:.1f}V{top + _ROW - 2:.1f}", class_="arrival"),
    ]
    held = _spans(trace, job, EventKind.LOCK, EventKind.UNLOCK, finish)
    for row in range(len(trace.slices)):
        if trace.slices.job[row] == job and trace.slices.kind[row] == SliceKind.EXECUTE:
            start, end = int(trace.slices.start_ns[row]), int(trace.slices.end_ns[row])
            parts.append(
                element(
                    "rect", x=_x(start), width=_x(end) - _x(start), y=top + 5, height=_ROW - 10, fill=_COLOURS[task]
                )
            )
    for start, end in _spans(trace, job, EventKind.REQUEST, EventKind.LOCK, finish):
        parts.append(element("line", x1=_x(start), x2=_x(end), y1=middle, y2=middle, class_="blocked"))
    for start, end in held:
        y = top + _ROW - 3
        parts.append(
            element("path", d=f"M{_x(start):.1f} {y - 4:.1f}V{y:.1f}H{_x(end):.1f}V{y - 4:.1f}", class_="holds")
        )
    return parts


def _spans(trace: Trace, job: int, begin: EventKind, end: EventKind, last_ns: int) -> list[tuple[int, int]]:
    """From each event of one kind to the next of another about the same resource."""
    spans, open_ns = [], {}
    for row in range(len(trace.events)):
        if trace.events.job[row] != job:
            continue
        time_ns, resource = int(trace.events.time_ns[row]), int(trace.events.value[row])
        if trace.events.kind[row] == end and resource in open_ns:
            spans.append((open_ns.pop(resource), time_ns))
        elif trace.events.kind[row] == begin:
            open_ns[resource] = time_ns
    return [*spans, *((start, last_ns) for start in open_ns.values())]


def _legend(y: float) -> list[Markup]:
    return [
        element("line", x1=8, x2=32, y1=y + 4, y2=y + 4, class_="wait"),
        element("text", "waits for the core", x=38, y=y + 8, class_="soft"),
        element("line", x1=150, x2=174, y1=y + 4, y2=y + 4, class_="blocked"),
        element("text", "waits for a lock", x=180, y=y + 8, class_="soft"),
        element("path", d=f"M282 {y:.0f}V{y + 4:.0f}H306V{y:.0f}", class_="holds"),
        element("text", "holds a resource", x=312, y=y + 8, class_="soft"),
        element("text", "time in ms", x=_LEFT + _END_MS * _MS, y=y + 8, class_="soft", text_anchor="end"),
    ]


def plots() -> dict[str, str]:
    """File name -> content."""
    shown = examples(PAGES / "resources.md")
    return {name: plot(shown[part]) for name, part in PLOTS.items()}


if __name__ == "__main__":
    for file_name, content in plots().items():
        (PAGES / file_name).write_text(content, encoding="utf-8")
