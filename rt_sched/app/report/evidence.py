"""Measured evidence for a schedulability report: what run folders say of execution times, responses and assumptions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rt_sched.analysis.measured.observed import bounds_end_ns
from rt_sched.app.report.bounds import share_ppm
from rt_sched.app.runs.manifest import file_sha256
from rt_sched.errors import DataError
from rt_sched.model import System
from rt_sched.record.trace_file import TRACE_FILE, load_trace
from rt_sched.trace.records import Int64s, JobStatus, Trace

Row = dict[str, Any]

BINS = 24
#: What a run's clock makes of its durations.
_MODELLED = {"lockstep": True, "paced": False}
_FAULT_KEYS = ("fault", "time_ns", "detected_after_ns", "recovered_after_ns", "recovery_limit_ns")
_COUNTS = ("jobs", "completed", "misses", "drops", "overruns", "aborted", "lost", "skipped")


def system_file_of(run: Path) -> str:
    """The system file that a run was made with, as it was named then; raises DataError where the run names none."""
    manifest = _document(run, "manifest.json")
    names = [str(one["path"]) for one in manifest.get("inputs", ()) if _is_system(str(one["path"]), manifest)]
    if not names:
        raise DataError(f"{run}: names no system file; give it with --system")
    return names[0]


def _is_system(path: str, manifest: Mapping[str, Any]) -> bool:
    """The first input is the recording; a system file may follow."""
    inputs = [str(one["path"]) for one in manifest.get("inputs", ())]
    return path in inputs[1:]


def evidence(runs: Sequence[Path], system: System, system_sha256: str, tasks: Sequence[Row]) -> list[Row]:
    """One row a run folder. `tasks`: of the analysis document, whose first mode is the one that a run begins in.

    Raises DataError for a folder without a run, and for a run of another system file than the one that is reported on.
    """
    return [_run(run, system, system_sha256, tasks) for run in runs]


def _run(run: Path, system: System, system_sha256: str, tasks: Sequence[Row]) -> Row:
    summary, manifest = _document(run, "summary.json"), _document(run, "manifest.json")
    if not any(one.get("sha256") == system_sha256 for one in manifest.get("inputs", ())):
        raise DataError(
            f"{run}: is a run of another system file, or of another state of it; it says nothing about this system. "
            "Make the run again, or name its system file with --system"
        )
    trace = load_trace(run / TRACE_FILE)
    first = system.modes[0].name if system.modes else None
    bounds = {row["name"]: row["response_bound_ns"] for row in tasks if first in (None, row["mode"])}
    clock = str(summary.get("clock"))
    return {
        "name": run.resolve().name,
        "folder": str(run),
        "status": summary.get("status"),
        "reason": summary.get("reason"),
        "clock": clock,
        "tier": summary.get("tier"),
        "modelled": _MODELLED.get(clock, True),
        "duration_ns": summary.get("duration_ns"),
        "recording": summary.get("recording"),
        "command": manifest.get("command"),
        "seed": manifest.get("seed"),
        "schedule_sha256": manifest.get("schedule_sha256"),
        "trace_violations": len((summary.get("trace_check") or {}).get("violations", ())),
        "monitors": [
            {key: one.get(key) for key in ("assumption", "text", "holds", "checked", "broken", "unit")}
            for one in summary.get("monitors", ())
        ],
        "bounds_exceeded": list(summary.get("bounds_exceeded", ())),
        "bounds_cover_until_ns": summary.get("bounds_cover_until_ns"),
        "tasks": [_task(row, trace, system, bounds) for row in summary.get("tasks", ())],
        "chains": list(summary.get("chains", ())),
        "faults": [{key: one.get(key) for key in _FAULT_KEYS} for one in summary.get("faults", ())],
    }


def _task(row: Mapping[str, Any], trace: Trace, system: System, bounds: Mapping[str, int | None]) -> Row:
    name = row["name"]
    task = next((one for one in system.tasks if one.name == name), None)
    if task is None or name not in trace.task_names:
        raise DataError(f"the run has a task {name!r} that the system does not have")
    jobs = trace.jobs
    mine = jobs.task == trace.task_names.index(name)
    done = mine & np.equal(jobs.status, JobStatus.COMPLETED)
    executed = jobs.executed_ns[done]
    judged = done & (jobs.finish_ns < bounds_end_ns(trace))
    responses = (jobs.finish_ns - jobs.arrival_ns)[judged]
    bound_ns = bounds.get(name)
    high_ns = int(executed.max()) if executed.size else None
    return {
        "name": name,
        "pe": ".".join(task.pe),
        **{key: row.get(key) for key in _COUNTS},
        "executed_max_ns": high_ns,
        "wcet_ns": task.execution.wcet_ns,
        "bcet_ns": task.execution.bcet_ns,
        "budget_ns": task.budget_ns,
        "high_water_ppm": share_ppm(high_ns, task.execution.wcet_ns),
        "histogram": _histogram(executed, max(task.execution.wcet_ns, high_ns or 0)),
        "response_max_ns": int(responses.max()) if responses.size else None,
        "response_bound_ns": bound_ns,
        "response_ppm": share_ppm(int(responses.max()), bound_ns) if responses.size else None,
        "jobs_compared": int(responses.size) if bound_ns is not None else 0,
        "jobs_above_bound": 0 if bound_ns is None else int(np.count_nonzero(responses > bound_ns)),
    }


def _histogram(values_ns: Int64s, end_ns: int) -> Row:
    """Counts of executed times in equal bins from 0 to the worst case; the last bin holds the end itself."""
    width_ns = max(1, -(-end_ns // BINS))
    counts = np.bincount(np.minimum(values_ns // width_ns, BINS - 1), minlength=BINS) if values_ns.size else [0] * BINS
    return {"bin_ns": width_ns, "counts": [int(number) for number in counts]}


def with_observed(tasks: Sequence[Row], runs: Sequence[Row], first_mode: str | None) -> list[Row]:
    """The tasks with the largest response that any run showed in the mode in which runs begin."""
    found = []
    for row in tasks:
        seen = [
            one["response_max_ns"]
            for run in runs
            for one in run["tasks"]
            if one["name"] == row["name"] and one["response_max_ns"] is not None and first_mode in (None, row["mode"])
        ]
        largest = max(seen, default=None)
        found.append({**row, "observed_ns": largest, "observed_ppm": share_ppm(largest, row["response_bound_ns"])})
    return found


def _document(run: Path, name: str) -> dict[str, Any]:
    path = run / name
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"{run}: is no run folder, it holds no {name}") from None
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({error})") from error
    if not isinstance(found, dict):
        raise DataError(f"{path}: is no document of a run")
    return found


__all__ = ["evidence", "file_sha256", "system_file_of", "with_observed"]
