"""A schedule as one picture that can be looked at closely: a row a task or a processor, time from left to right.

Everything in time has its place in percent of the element `canvas`, so that whoever makes that wider than its window
sees less time with texts and lines as large as before. Without that the picture shows its whole interval.
"""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from rt_sched.report import svg
from rt_sched.report.gantt import ZOOM_LEVELS, job_hover
from rt_sched.report.gantt_rows import Chart, Row, RowsOf, element_of_core
from rt_sched.report.text import axis_labels, axis_values_ns, clipped, count, printable, time_with_unit
from rt_sched.trace.records import JobStatus, SliceKind

AXIS_PX, HEAD_PX, ROW_PX = 24, 24, 42
#: Places in a row, from its top: label, bar, what is held.
_LABEL_Y, _BAR_Y, _BAR_PX, _HOLDS_Y = 12, 17, 15, 34
_COLOURS = 7
#: Width that labels of bars are fitted to, and the width of one of their letters.
_FITTED_PX, _LETTER_PX = 900, 6.2
_KIND = {int(SliceKind.SWITCH): " switch", int(SliceKind.SPIN): " spin"}


def chart_height(chart: Chart) -> int:
    """In pixels."""
    return AXIS_PX + sum(ROW_PX + (HEAD_PX if head else 0) for _, head in _headed(chart)) + 4


def chart_figure(chart: Chart, label: str) -> Markup:
    """The children of a picture that is `chart_height` high; `label`: what a screen reader says of it."""
    height = chart_height(chart)
    drawn: list[Markup] = []
    fixed: list[Markup] = []
    top = AXIS_PX
    for row, head in _headed(chart):
        if head:
            drawn.extend(_speed_strip(chart, row.element, top))
            fixed.append(svg.element("text", clipped(printable(head), 60), x=6, y=top + 16, class_="element"))
            top += HEAD_PX
        drawn.extend(_row(chart, row, top))
        name = svg.element("text", svg.element("title", printable(row.name)), clipped(printable(row.name), 48), x=6)
        fixed.append(svg.element("g", name, transform=f"translate(0 {top + _LABEL_Y})", class_="label"))
        top += ROW_PX
    canvas = svg.element("svg", *drawn, class_="canvas", x="0", width="100%", height=height)
    return svg.joined(
        [
            svg.element("title", label),
            _ARROWS,
            svg.element("svg", _axis(chart, height), canvas, class_="window", x="0.5%", width="99%", height=height),
            svg.element("g", *fixed, class_="fixed"),
        ]
    )


_ARROWS = svg.element(
    "defs",
    svg.element("path", id="up", d="M0 8V0M-3 3.5L0 0L3 3.5"),
    svg.element("path", id="down", d="M0 0V8M-3 4.5L0 8L3 4.5"),
)


def _headed(chart: Chart) -> Iterator[tuple[Row, str]]:
    """Every row, with the name of its element where that begins."""
    before = None
    for row in chart.rows:
        begins = row.element != before and (chart.rows_of is RowsOf.TASKS or row.element in chart.speeds)
        before = row.element
        yield row, (row.element or "nowhere") if begins else ""


def _at(chart: Chart, time_ns: int) -> str:
    """Where an instant is, in percent of the canvas: to a millionth of the interval's hundredth."""
    share = (time_ns - chart.start_ns) / (chart.end_ns - chart.start_ns)
    return f"{min(max(share, 0.0), 1.0) * 100:.6f}".rstrip("0").rstrip(".") + "%"


def _width(chart: Chart, start_ns: int, end_ns: int) -> str:
    inside_ns = min(end_ns, chart.end_ns) - max(start_ns, chart.start_ns)
    return f"{max(inside_ns, 0) / (chart.end_ns - chart.start_ns) * 100:.6f}".rstrip("0").rstrip(".") + "%"


def _axis(chart: Chart, height: int) -> Markup:
    """Lines and times for the whole interval; whoever looks closer draws its own."""
    parts = []
    values = axis_values_ns(chart.start_ns, chart.end_ns, 10)
    for value, words in zip(values, axis_labels(values, chart.end_ns - chart.start_ns), strict=True):
        share = (value - chart.start_ns) / (chart.end_ns - chart.start_ns)
        anchor = "start" if share < 0.03 else "end" if share > 0.95 else "middle"
        parts.append(svg.vertical(share, AXIS_PX - 6, height, "grid"))
        parts.append(svg.text(share, 12, words, "tick", anchor))
    return svg.element("g", *parts, class_="times")


def _speed_strip(chart: Chart, element: str, top: int) -> Iterator[Markup]:
    """Which frequency an element has when, where that changes."""
    steps = chart.speeds.get(element, ())
    highest = max((khz for _, khz in steps), default=1)
    for place, (from_ns, khz) in enumerate(steps):
        until_ns = steps[place + 1][0] if place + 1 < len(steps) else chart.end_ns
        if until_ns <= chart.start_ns or from_ns >= chart.end_ns or until_ns <= from_ns:
            continue
        words = f"{element}: {khz / 1000:g} MHz from {time_with_unit(from_ns)} on"
        tall = max(1, round(9 * khz / highest))
        yield svg.element(
            "rect",
            svg.element("title", printable(words)),
            x=_at(chart, from_ns),
            width=_width(chart, from_ns, until_ns),
            y=top + HEAD_PX - 2 - tall,
            height=tall,
            class_="speed",
        )


def _row(chart: Chart, row: Row, top: int) -> Iterator[Markup]:
    trace = chart.trace
    yield svg.element("line", x1="0", x2="100%", y1=top + ROW_PX - 1, y2=top + ROW_PX - 1, class_="row")
    if chart.rows_of is RowsOf.TASKS:
        for job in row.jobs:
            yield _wait(chart, job, top)
    for piece in row.slices:
        yield from _piece(chart, piece, top)
    mine = set(row.jobs)
    for span in chart.locks:
        if span.job in mine:
            yield _lock(chart, span.resource, span.start_ns, span.end_ns, top, held=span.held)
    for job in row.jobs:
        arrival_ns, release_ns = int(trace.jobs.arrival_ns[job]), int(trace.jobs.release_ns[job])
        deadline_ns = int(trace.jobs.deadline_ns[job])
        if release_ns > arrival_ns and chart.start_ns <= release_ns < chart.end_ns:
            x, y = _at(chart, release_ns), top + _BAR_Y
            yield svg.element("line", x1=x, x2=x, y1=y, y2=y + _BAR_PX, class_="release")
        if chart.start_ns <= arrival_ns < chart.end_ns:
            yield svg.element("use", href="#up", x=_at(chart, arrival_ns), y=top + ROW_PX - 10, class_="arrival")
        if chart.start_ns <= deadline_ns <= chart.end_ns:
            kind = "deadline missed" if trace.jobs.missed[job] else "deadline"
            yield svg.element("use", href="#down", x=_at(chart, deadline_ns), y=top + _BAR_Y - 9, class_=kind)


def _wait(chart: Chart, job: int, top: int) -> Markup:
    """A line from a job's arrival to its end."""
    jobs = chart.trace.jobs
    end_ns = int(jobs.finish_ns[job])
    if end_ns < 0:
        unfinished = jobs.status[job] == JobStatus.UNFINISHED
        end_ns = chart.end_ns if unfinished else int(max(jobs.arrival_ns[job], jobs.start_ns[job]))
    y = top + _BAR_Y + _BAR_PX / 2
    return svg.element(
        "line", x1=_at(chart, int(jobs.arrival_ns[job])), x2=_at(chart, end_ns), y1=y, y2=y, class_="wait"
    )


def _piece(chart: Chart, piece: int, top: int) -> Iterator[Markup]:
    trace = chart.trace
    job, core = int(trace.slices.job[piece]), int(trace.slices.processor[piece])
    task, kind = int(trace.jobs.task[job]), int(trace.slices.kind[piece])
    start_ns, end_ns = int(trace.slices.start_ns[piece]), int(trace.slices.end_ns[piece])
    words = job_hover(trace, job, core)
    if kind != SliceKind.EXECUTE:
        words = f"{SliceKind(kind).name.lower()} for {words}"
    missed = " missed" if trace.jobs.missed[job] else ""
    yield svg.element(
        "rect",
        svg.element("title", printable(words)),
        x=_at(chart, start_ns),
        width=_width(chart, start_ns, end_ns),
        y=top + _BAR_Y,
        height=_BAR_PX,
        class_=f"piece group-{task % _COLOURS}{_KIND.get(kind, '')}{missed}",
    )
    named = trace.task_names[task] if chart.rows_of is RowsOf.PROCESSORS else ""
    if chart.rows_of is RowsOf.TASKS and element_of_core(trace)[core] != trace.processor_names[core]:
        named = trace.processor_names[core].rsplit(".", 1)[-1]
    label = f"{clipped(printable(named), 40)} #{int(trace.jobs.number[job])}".strip()
    share = (min(end_ns, chart.end_ns) - max(start_ns, chart.start_ns)) / (chart.end_ns - chart.start_ns)
    wanted = (len(label) * _LETTER_PX + 8) / _FITTED_PX
    zoom = next((zoom for zoom in ZOOM_LEVELS if share * zoom >= wanted), None)
    if zoom is not None:
        place = svg.element("tspan", label, dx=4)
        y = top + _BAR_Y + 11
        yield svg.element("text", place, x=_at(chart, start_ns), y=y, class_=f"piece-label from-{zoom}")


def _lock(chart: Chart, resource: str, start_ns: int, end_ns: int, top: int, *, held: bool) -> Markup:
    said = f"{'holds' if held else 'waits for'} {resource} for {time_with_unit(end_ns - start_ns)}"
    return svg.element(
        "rect",
        svg.element("title", printable(said)),
        x=_at(chart, start_ns),
        width=_width(chart, start_ns, end_ns),
        y=top + (_HOLDS_Y if held else _BAR_Y + _BAR_PX // 2 - 1),
        height=4,
        class_="holds" if held else "blocked",
    )


def chart_label(chart: Chart) -> str:
    """What the chart shows, in a sentence."""
    return (
        f"Schedule from {time_with_unit(chart.start_ns)} to {time_with_unit(chart.end_ns)}: "
        f"{count(len(chart.trace.jobs))} jobs in {count(len(chart.rows))} rows"
    )
