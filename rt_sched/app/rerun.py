"""The command `rerun`: a paced run beside the lockstep schedule of the same arrivals and demands."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from rt_sched import kernels
from rt_sched.app.plain_tables import plain_table
from rt_sched.errors import DataError
from rt_sched.record.trace_file import TRACE_FILE, load_trace
from rt_sched.sim.rerun import rerun
from rt_sched.trace.records import Bools, Int64s, JobStatus, Trace
from rt_sched.trace.statistics import spread_of
from rt_sched.units import format_ms

RERUN_SCHEMA = "rt-sched/rerun/1"


def rerun_document(run: Path) -> dict[str, Any]:
    """Per task how much longer jobs took than in the schedule of the same arrivals and demands, and what explains it.

    Raises DataError for a folder that holds no trace.
    """
    path = run / TRACE_FILE if run.is_dir() else run
    if run.is_dir() and not path.exists():
        raise DataError(f"{run}: holds no {TRACE_FILE}; give a run folder that replay has written")
    trace = load_trace(path)
    kernels.warm_up()
    simulated, pairs = rerun(trace)
    summary = _summary(run)
    explained = {row["task"]: row["explained"] for row in summary.get("overheads") or ()}
    rows = [
        {**_row(trace, simulated, name, *pairs[index]), "explained": explained.get(name)}
        for index, name in enumerate(trace.task_names)
    ]
    return {
        "schema": RERUN_SCHEMA,
        "run": str(run),
        "clock": summary.get("clock"),
        "tier": summary.get("tier"),
        "tasks": rows,
        "deviation": _spread(
            np.concatenate([np.zeros(0, np.int64), *(_deviations(trace, simulated, *p) for p in pairs)])
        ),
    }


def print_rerun(document: Mapping[str, Any], console: Console) -> None:
    """The table."""
    heads = ("jobs", "real p50", "modelled p50", "later by p50", "p99", "max", "start later p50", "p99", "explained")
    table = plain_table(f"Responses of a {document['tier'] or ''} run beside their schedule (ms)", ("task",), heads)
    for row in document["tasks"]:
        deviation, start = row["deviation"], row["start_deviation"]
        table.add_row(
            row["name"],
            str(row["jobs"]),
            format_ms(row["response_p50_ns"]),
            format_ms(row["simulated_p50_ns"]),
            *(format_ms(deviation[name]) for name in ("p50_ns", "p99_ns", "max_ns")),
            *(format_ms(start[name]) for name in ("p50_ns", "p99_ns")),
            "–" if row["explained"] is None else str(row["explained"]),
        )
    console.print(table)
    console.print(
        "The schedule has the run's own arrivals and CPU times, and switches that cost nothing: what a job took longer "
        "is what the host's kernel, its interrupts and other programs took. Explained are jobs that end no later "
        "than by the declared overheads of the tier: switches, samples published, what the kernel lends others.",
        soft_wrap=True,
    )


def _row(trace: Trace, simulated: Trace, name: str, real: Int64s, again: Int64s) -> dict[str, Any]:
    both = _both_completed(trace, simulated, real, again)
    real, again = real[both], again[both]
    jobs, model = trace.jobs, simulated.jobs
    started = jobs.start_ns[real] - jobs.arrival_ns[real] - (model.start_ns[again] - model.arrival_ns[again])
    return {
        "name": name,
        "jobs": len(real),
        "not_compared": int(np.count_nonzero(~both)),
        "response_p50_ns": spread_of(jobs.finish_ns[real] - jobs.arrival_ns[real]).p50_ns,
        "simulated_p50_ns": spread_of(model.finish_ns[again] - model.arrival_ns[again]).p50_ns,
        "deviation": _spread(_deviations(trace, simulated, real, again)),
        "start_deviation": _spread(started),
    }


def _both_completed(trace: Trace, simulated: Trace, real: Int64s, again: Int64s) -> Bools:
    completed = JobStatus.COMPLETED
    both: Bools = (trace.jobs.status[real] == completed) & (simulated.jobs.status[again] == completed)
    return both


def _deviations(trace: Trace, simulated: Trace, real: Int64s, again: Int64s) -> Int64s:
    both = _both_completed(trace, simulated, real, again)
    real, again = real[both], again[both]
    took = trace.jobs.finish_ns[real] - trace.jobs.arrival_ns[real]
    modelled: Int64s = simulated.jobs.finish_ns[again] - simulated.jobs.arrival_ns[again]
    return np.asarray(took - modelled, np.int64)


def _spread(values_ns: Int64s) -> dict[str, int | None]:
    spread = spread_of(values_ns)
    return {name: getattr(spread, name) for name in ("min_ns", "p50_ns", "p99_ns", "max_ns")}


def _summary(run: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found
