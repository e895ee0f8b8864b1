"""`chart`: a stretch of a recorded run's schedule, for a terminal or as a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rt_sched.app.runs.check_trace import trace_of
from rt_sched.app.simulate.gantt import MOST_ROWS, MOST_SLICES, parse_window
from rt_sched.app.simulate.trace import DRAWN
from rt_sched.errors import ConfigError, DataError, Problem
from rt_sched.record.part_file import PartFile
from rt_sched.report.gantt_page import chart_page, chart_svg
from rt_sched.report.gantt_rows import Chart, RowsOf, chart_of
from rt_sched.trace.interval import interval_of
from rt_sched.trace.job_names import job_name
from rt_sched.trace.records import Trace
from rt_sched.trace.statistics import worst_cycle
from rt_sched.units import format_ns

CHART_SCHEMA = "rt-sched/chart/1"


@dataclass(frozen=True, slots=True)
class ChartRequest:
    """What the user asked for. `run`: a run folder, or its trace. `window`: TIME..TIME; None: around the job with the
    longest response for its deadline. `output`: a picture or a page, None for none.
    """

    run: Path
    window: str | None = None
    rows: str = RowsOf.TASKS.value
    output: Path | None = None


def charted(request: ChartRequest) -> tuple[Chart, str]:
    """The chart and its title; written to where it was asked for. Raises RtSchedError for what the user can mend."""
    problems = _problems(request)
    if problems:
        raise ConfigError(problems)
    trace = trace_of(request.run)
    start_ns, end_ns, about = _window(request, trace)
    part = interval_of(trace, start_ns, end_ns)
    chart = chart_of(part, start_ns, end_ns, RowsOf(request.rows), MOST_ROWS, MOST_SLICES)
    title = f"{request.run}{about}, from {start_ns / 1e6:g} to {end_ns / 1e6:g} ms"
    if request.output is not None:
        draw = chart_page if request.output.suffix == ".html" else chart_svg
        with PartFile(request.output) as file, file.told():
            file.stream.write(draw(chart, title).encode())
    return chart, title


def chart_document(request: ChartRequest, chart: Chart) -> dict[str, Any]:
    """What a chart shows. `busy_ns`: for how long cores served the jobs of a row; `missed`: how many were late."""
    trace = chart.trace
    rows = []
    for row in chart.rows:
        jobs, slices = list(row.jobs), list(row.slices)
        pieces = trace.slices.end_ns[slices].clip(max=chart.end_ns) - trace.slices.start_ns[slices].clip(chart.start_ns)
        rows.append(
            {
                "name": row.name,
                "element": row.element,
                "jobs": [job_name(trace, job) for job in jobs],
                "missed": int(trace.jobs.missed[jobs].sum()),
                "busy_ns": int(pieces.clip(0).sum()),
            }
        )
    return {
        "schema": CHART_SCHEMA,
        "status": "ok",
        "run": str(request.run),
        "start_ns": chart.start_ns,
        "end_ns": chart.end_ns,
        "rows_of": chart.rows_of.value,
        "rows": rows,
        "notes": list(chart.notes),
        "file": None if request.output is None else str(request.output),
    }


def _problems(request: ChartRequest) -> list[Problem]:
    """Every mistake in the options."""
    problems = []
    rows = [one.value for one in RowsOf]
    if request.rows not in rows:
        problems.append(Problem("--rows", 0, 0, request.rows, f"valid: {', '.join(rows)}"))
    if request.output is not None and request.output.suffix not in DRAWN:
        problems.append(Problem("--output", 0, 0, str(request.output), f"must end in {' or '.join(DRAWN)}"))
    if request.window is not None:
        try:
            parse_window(request.window)
        except ValueError as error:
            problems.append(Problem("--window", 0, 0, request.window, str(error)))
    return problems


def _window(request: ChartRequest, trace: Trace) -> tuple[int, int, str]:
    """From when to when, and words about it."""
    if request.window is not None:
        start_ns, end_ns = parse_window(request.window)
        if start_ns >= trace.horizon_ns:
            reason = f"begins at or after the end of the run, {format_ns(trace.horizon_ns)}"
            raise ConfigError([Problem("--window", 0, 0, request.window, reason)])
        return start_ns, min(end_ns, trace.horizon_ns), ""
    worst = worst_cycle(trace)
    if worst is None:
        raise DataError(f"{request.run}: no job of this run responded; say what to show with --window")
    return worst.start_ns, worst.end_ns, f", around {job_name(trace, worst.job)}"
