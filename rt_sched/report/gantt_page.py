"""A schedule as a file of its own: an SVG picture, or a page with it, a legend and its jobs as a table.

Both need nothing else. They can be read without scripts, and with them be moved and enlarged by mouse, touch and keys.
"""

from __future__ import annotations

from importlib.resources import files

from markupsafe import Markup

from rt_sched.report import svg
from rt_sched.report.gantt import MOST_LISTED, listed_job
from rt_sched.report.gantt_chart import chart_figure, chart_height, chart_label
from rt_sched.report.gantt_rows import Chart, home_cores
from rt_sched.report.templating import environment
from rt_sched.report.text import clipped, count, printable, time_ms, time_with_unit

_WIDTH_PX = 1200
_NOTE_PX = 18


def chart_svg(chart: Chart, title: str) -> str:
    """One SVG document; what it is, and what was left out, stands below the picture."""
    height = chart_height(chart)
    lines = [clipped(title, 150), *chart.notes]
    whole = height + _NOTE_PX * len(lines) + 8
    notes = [
        svg.element("text", printable(line), x=6, y=height + _NOTE_PX * (place + 1), class_="note")
        for place, line in enumerate(lines)
    ]
    label = f"{printable(title)}. {chart_label(chart)}"
    drawn = svg.element(
        "svg",
        _literal("style", _source("gantt.css")),
        svg.element("rect", width="100%", height="100%", class_="paper"),
        chart_figure(chart, label),
        *notes,
        _literal("script", _source("gantt.js")),
        xmlns="http://www.w3.org/2000/svg",
        class_="schedule",
        view_box=f"0 0 {_WIDTH_PX} {whole}",
        width=_WIDTH_PX,
        height=whole,
        tabindex=0,
        aria_label=label,
        data_start=str(chart.start_ns),
        data_end=str(chart.end_ns),
    )
    return f"{drawn}\n"


def chart_page(chart: Chart, title: str) -> str:
    """One HTML document."""
    trace, homes = chart.trace, home_cores(chart.trace)
    jobs = [
        listed_job(trace, job, trace.processor_names[homes[job]] if homes[job] >= 0 else "")
        for job in range(min(len(trace.jobs), MOST_LISTED))
    ]
    notes = [*chart.notes]
    if len(trace.jobs) > MOST_LISTED:
        notes.append(f"The table lists the first {count(MOST_LISTED)} of {count(len(trace.jobs))} jobs.")
    template = environment(ms=time_ms, time=time_with_unit, printable=printable).get_template("gantt.html.j2")
    return template.render(
        title=title,
        label=chart_label(chart),
        figure=chart_figure(chart, chart_label(chart)),
        height=chart_height(chart),
        chart=chart,
        jobs=jobs,
        notes=notes,
    )


def _source(name: str) -> str:
    return files("rt_sched.report").joinpath("templates", name).read_text(encoding="utf-8")


def _literal(name: str, text: str) -> Markup:
    """An element with a text of the package, as it stands: in SVG that is character data."""
    return Markup(f"<{name}><![CDATA[\n{text}]]></{name}>")  # noqa: S704  (files of the package)
