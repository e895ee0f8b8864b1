"""The files of a run folder that are written when the run is over."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rt_sched.app.runs.frames import annotated_frames
from rt_sched.app.runs.judged_chains import JudgedChain
from rt_sched.app.runs.watch import ReplayWatch
from rt_sched.errors import DeploymentError
from rt_sched.model import Fault, System
from rt_sched.record.perfetto import Mark, write_perfetto
from rt_sched.record.trace_file import TRACE_FILE, save_trace
from rt_sched.report.run_data import ChainResult, RunReport
from rt_sched.report.run_report import render_run_report
from rt_sched.runtime.stage_graph import NoData, Outputs
from rt_sched.trace.records import Trace


def write_documents(
    folder: Path,
    system: System,
    trace: Trace,
    chains: Sequence[JudgedChain],
    faults: Sequence[Fault],
    summary: dict[str, Any],
    manifest: dict[str, Any],
    watch: ReplayWatch,
) -> None:
    """Everything but the outputs: trace, report, summary and manifest. DeploymentError where that cannot be written."""
    save_trace(trace, folder / TRACE_FILE)
    write_perfetto(
        trace,
        folder / "trace.pftrace",
        chains={chain.name: chain.path for chain in system.chains},
        marks=[Mark(fault.time_ns, f"fault {fault}") for fault in faults],
    )
    report = RunReport(
        summary=summary,
        manifest=manifest,
        trace=trace,
        chains=[ChainResult(judged.chain, judged.measurement) for judged in chains],
        arbiter=watch.decisions,
        frames=annotated_frames(watch),
    )
    _write_text(folder / "report.html", render_run_report(report))
    for name, document in (("summary.json", summary), ("manifest.json", manifest)):
        _write_text(folder / name, json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def _write_text(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise DeploymentError(f"cannot write {path}: {error.strerror}") from error


def published_messages(result: Outputs | NoData) -> Iterable[tuple[str | None, Any]]:
    """The messages of a job by port, or that of a sample."""
    return result.ports.items() if isinstance(result, Outputs) else ()
