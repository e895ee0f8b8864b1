"""The command `check-trace`: a run folder's trace against the scheduling semantics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rt_sched.errors import DataError
from rt_sched.record.trace_file import TRACE_FILE, load_trace
from rt_sched.trace.checker import TraceCheck, check_trace
from rt_sched.trace.records import Trace

CHECK_SCHEMA = "rt-sched/trace-check/1"


def check_run(run: Path) -> dict[str, Any]:
    """The document for a run folder, or for a trace file itself. Raises DataError when there is no trace to check."""
    document = check_document(trace_of(run))
    failed = bool(document["violations"])
    return {
        "schema": CHECK_SCHEMA,
        "status": "failed" if failed else "ok",
        "run": str(run),
        **document,
    }


def trace_of(run: Path) -> Trace:
    """The trace of a run folder, or in a trace file itself. Raises DataError when there is none."""
    path = run / TRACE_FILE if run.is_dir() else run
    if run.is_dir() and not path.exists():
        raise DataError(f"{run}: holds no {TRACE_FILE}; give a run folder that replay or simulate has written")
    return load_trace(path)


def check_document(trace: Trace) -> dict[str, Any]:
    """`checked`: names of the rules that were looked at; `violations`: what was found, the first ones of each rule.

    Raises DataError when the trace does not say under which rules it was made.
    """
    try:
        result = check_trace(trace)
    except ValueError as error:
        raise DataError(str(error)) from error
    return {
        "checked": [rule.key for rule in result.checked],
        "violations": _violations(result),
        "violation_counts": {
            rule.key: count for rule, count in sorted(result.counts.items(), key=lambda one: one[0].key)
        },
    }


def _violations(result: TraceCheck) -> list[dict[str, Any]]:
    return [
        {
            "rule": found.rule.key,
            "semantics": found.rule.number,
            "time_ns": found.time_ns,
            "where": found.where,
            "expected": found.expected,
        }
        for found in result.violations
    ]
