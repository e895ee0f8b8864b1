"""The schedule of one interval: a row per processor, a bar per piece of execution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from rt_sched.report import svg
from rt_sched.report.text import axis_labels, axis_values_ns, clipped, count, time_with_unit
from rt_sched.trace.records import JobStatus, Trace

ROW_PX = 30
_BAR_TOP, _BAR_PX = 9, 15
_AXIS_PX = 22

#: Larger schedules are cut, first in rows, then in bars; the page says so.
MOST_ROWS = 64
MOST_BARS = 1500
MOST_LISTED = 300

#: Width that labels are fitted to, and the width of one of their letters.
_FITTED_PX, _LETTER_PX = 900, 5.9
ZOOM_LEVELS = (1, 2, 4, 8, 16, 32)


@dataclass(frozen=True, slots=True)
class ListedJob:
    """A job of the interval as a line of the table below the chart. Times in ns; None where it never happened."""

    task: str
    number: int
    processor: str
    arrival_ns: int
    start_ns: int | None
    finish_ns: int | None
    deadline_ns: int
    response_ns: int | None
    state: str


@dataclass(frozen=True, slots=True)
class Gantt:
    """`rows`: (processor, whether it is its device's last), in the order of the figure's rows."""

    rows: tuple[tuple[str, bool], ...]
    figure: Markup
    start_ns: int
    end_ns: int
    jobs: tuple[ListedJob, ...]
    notes: tuple[str, ...]


def gantt(trace: Trace, start_ns: int, end_ns: int, worst_job: int, colours: Sequence[int]) -> Gantt | None:
    """The schedule in [start_ns, end_ns), or None when nothing ran then.

    `worst_job`: index of the job to point out. `colours`: colour number of each task.
    """
    slices = trace.slices
    inside = np.flatnonzero((slices.end_ns > start_ns) & (slices.start_ns < end_ns))
    if not inside.size or end_ns <= start_ns:
        return None
    notes = []
    processors = np.unique(slices.processor[inside])
    worst_on = set(slices.processor[inside][slices.job[inside] == worst_job].tolist())
    if processors.size > MOST_ROWS:
        busiest = sorted(processors.tolist(), key=lambda p: (p not in worst_on, p))[:MOST_ROWS]
        notes.append(f"{count(MOST_ROWS)} of {count(processors.size)} processors that ran are drawn.")
        processors = np.array(sorted(busiest))
        inside = inside[np.isin(slices.processor[inside], processors)]
    if inside.size > MOST_BARS:
        length = slices.end_ns[inside] - slices.start_ns[inside]
        kept = np.sort(np.argsort(-length, kind="stable")[:MOST_BARS])
        notes.append(f"The longest {count(MOST_BARS)} of {count(inside.size)} pieces of execution are drawn.")
        inside = inside[kept]
    row_of = {int(p): i for i, p in enumerate(processors)}
    names = [trace.processor_names[int(p)] for p in processors]
    bottom = _AXIS_PX + ROW_PX * len(names)

    devices = [name.split(".")[0] for name in names]
    rows = tuple((name, devices[i + 1 : i + 2] != [devices[i]]) for i, name in enumerate(names))
    parts = [_grid(start_ns, end_ns, bottom), _row_lines(rows)]
    parts.extend(_piece(trace, index, row_of, start_ns, end_ns, worst_job, colours) for index in inside.tolist())
    listed = _jobs_of(trace, inside)
    home = _home_of(trace, inside)
    parts.extend(_marks(trace, job, row_of[home[job]], start_ns, end_ns) for job in listed)
    if worst_job in home:
        parts.append(_response_bracket(trace, worst_job, row_of[home[worst_job]], start_ns, end_ns))
    label = (
        f"Schedule from {time_with_unit(start_ns)} to {time_with_unit(end_ns)}: "
        f"{count(len(listed))} jobs on {count(len(names))} processors"
    )
    if len(listed) > MOST_LISTED:
        notes.append(f"The table lists the first {count(MOST_LISTED)} of {count(len(listed))} jobs.")
    table = tuple(listed_job(trace, job, trace.processor_names[home[job]]) for job in listed[:MOST_LISTED])
    figure = svg.chart(bottom, *parts, label=label, class_="chart gantt")
    return Gantt(rows, figure, start_ns, end_ns, table, tuple(notes))


def _jobs_of(trace: Trace, inside: np.ndarray[tuple[int], np.dtype[np.intp]]) -> list[int]:
    indices = np.unique(trace.slices.job[inside])
    return [int(j) for j in indices[np.argsort(trace.jobs.arrival_ns[indices], kind="stable")]]


def _home_of(trace: Trace, inside: np.ndarray[tuple[int], np.dtype[np.intp]]) -> dict[int, int]:
    """The processor that first ran each job in the interval."""
    home: dict[int, int] = {}
    for index in inside.tolist():
        home.setdefault(int(trace.slices.job[index]), int(trace.slices.processor[index]))
    return home


def _share(time_ns: int, start_ns: int, end_ns: int) -> float:
    return min(max((time_ns - start_ns) / (end_ns - start_ns), 0.0), 1.0)


def _grid(start_ns: int, end_ns: int, bottom: int) -> Markup:
    values = axis_values_ns(start_ns, end_ns, 10)
    parts = []
    for value, label in zip(values, axis_labels(values, end_ns - start_ns), strict=True):
        share = _share(value, start_ns, end_ns)
        anchor = "start" if share < 0.03 else "end" if share > 0.96 else "middle"
        parts.append(svg.vertical(share, _AXIS_PX - 6, bottom, "grid"))
        parts.append(svg.text(share, 11, label, "tick", anchor))
    return svg.joined(parts)


def _row_lines(rows: Sequence[tuple[str, bool]]) -> Markup:
    lines = []
    for row, (_, last) in enumerate(rows):
        y = _AXIS_PX + ROW_PX * (row + 1) - 0.5
        lines.append(svg.element("line", x1="0", x2="100%", y1=y, y2=y, class_="row device" if last else "row"))
    return svg.joined(lines)


def _piece(
    trace: Trace,
    index: int,
    row_of: dict[int, int],
    start_ns: int,
    end_ns: int,
    worst_job: int,
    colours: Sequence[int],
) -> Markup:
    job = int(trace.slices.job[index])
    task = int(trace.jobs.task[job])
    left = _share(int(trace.slices.start_ns[index]), start_ns, end_ns)
    width = _share(int(trace.slices.end_ns[index]), start_ns, end_ns) - left
    classes = f"piece group-{colours[task]}"
    if trace.jobs.missed[job]:
        classes += " missed"
    if job == worst_job:
        classes += " worst"
    children = [
        svg.element("title", job_hover(trace, job, int(trace.slices.processor[index]))),
        svg.element("rect", width="100%", height=_BAR_PX, class_=classes),
    ]
    label = clipped(trace.task_names[task], 40)
    wanted = (len(label) * _LETTER_PX + 8) / _FITTED_PX
    zoom = next((z for z in ZOOM_LEVELS if width * z >= wanted), None)
    if zoom is not None:
        children.append(svg.element("text", label, x=4, y=11, class_=f"piece-label from-{zoom}"))
    y = _AXIS_PX + ROW_PX * row_of[int(trace.slices.processor[index])] + _BAR_TOP
    return svg.element("svg", *children, x=svg.at(left), y=y, width=svg.at(width), height=_BAR_PX)


def job_hover(trace: Trace, job: int, processor: int) -> str:
    """What a bar says when it is pointed at, line by line."""
    jobs = trace.jobs
    start, finish = int(jobs.start_ns[job]), int(jobs.finish_ns[job])
    lines = [
        f"{trace.task_names[int(jobs.task[job])]} #{int(jobs.number[job])} on {trace.processor_names[processor]}",
        f"arrival {time_with_unit(int(jobs.arrival_ns[job]))}, deadline {time_with_unit(int(jobs.deadline_ns[job]))}",
        f"start {time_with_unit(start if start >= 0 else None)}, "
        f"finish {time_with_unit(finish if finish >= 0 else None)}",
    ]
    if finish >= 0:
        lines.append(f"response {time_with_unit(finish - int(jobs.arrival_ns[job]))}")
    lines.append(f"executed {time_with_unit(int(jobs.executed_ns[job]))} of {time_with_unit(int(jobs.demand_ns[job]))}")
    lines.append(_state(trace, job))
    return "\n".join(lines)


def _state(trace: Trace, job: int) -> str:
    words = [JobStatus(int(trace.jobs.status[job])).name.lower()]
    if trace.jobs.missed[job]:
        words.append("deadline missed")
    if trace.jobs.overrun[job]:
        words.append("budget overrun")
    return ", ".join(words)


def _marks(trace: Trace, job: int, row: int, start_ns: int, end_ns: int) -> Markup:
    """A tick upwards from the row's line at the arrival, and one down from its top at the deadline."""
    top = _AXIS_PX + ROW_PX * row
    parts = []
    arrival, deadline = int(trace.jobs.arrival_ns[job]), int(trace.jobs.deadline_ns[job])
    if start_ns <= arrival < end_ns:
        parts.append(svg.vertical(_share(arrival, start_ns, end_ns), top + ROW_PX - 6, top + ROW_PX - 1, "arrival"))
    if start_ns <= deadline < end_ns:
        css = "deadline missed" if trace.jobs.missed[job] else "deadline"
        parts.append(svg.vertical(_share(deadline, start_ns, end_ns), top + 1, top + 8, css))
    return svg.joined(parts)


def _response_bracket(trace: Trace, job: int, row: int, start_ns: int, end_ns: int) -> Markup:
    """A line under the bars of the job pointed out, from its arrival to its finish."""
    finish = int(trace.jobs.finish_ns[job])
    left = _share(int(trace.jobs.arrival_ns[job]), start_ns, end_ns)
    right = _share(finish if finish >= 0 else end_ns, start_ns, end_ns)
    y = _AXIS_PX + ROW_PX * row + ROW_PX - 3.5
    return svg.element("line", x1=svg.at(left), x2=svg.at(right), y1=y, y2=y, class_="response")


def listed_job(trace: Trace, job: int, processor: str) -> ListedJob:
    """The line of the table for the job in row `job`."""
    jobs = trace.jobs
    start, finish = int(jobs.start_ns[job]), int(jobs.finish_ns[job])
    arrival = int(jobs.arrival_ns[job])
    return ListedJob(
        task=trace.task_names[int(jobs.task[job])],
        number=int(jobs.number[job]),
        processor=processor,
        arrival_ns=arrival,
        start_ns=start if start >= 0 else None,
        finish_ns=finish if finish >= 0 else None,
        deadline_ns=int(jobs.deadline_ns[job]),
        response_ns=finish - arrival if finish >= 0 else None,
        state=_state(trace, job),
    )
