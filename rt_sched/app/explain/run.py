"""`explain` of a run folder: what one job, or one frame on its way to a command, did and waited for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rt_sched.app.explain.run_rows import fate_row, job_row, message_fates, part_row
from rt_sched.app.explain.run_target import Target, find_target
from rt_sched.app.inputs.documents import named_rows, read_document
from rt_sched.app.runs.summary import SUMMARY_SCHEMA
from rt_sched.config.problems import unknown
from rt_sched.errors import ConfigError, DataError, Problem
from rt_sched.record.trace_file import TRACE_FILE, load_trace
from rt_sched.trace.chains import measure_chain
from rt_sched.trace.job_names import job_anchor, message_name
from rt_sched.trace.records import SampleStatus, Trace, message_of_sample
from rt_sched.trace.waits import Schedule, journey

RUN_EXPLANATION_SCHEMA = "rt-sched/run-explanation/1"

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Run:
    """A trace with what the summary beside it knows of tasks and chains; both None for a trace file alone."""

    schedule: Schedule
    tasks: Mapping[str, Row]
    chains: Sequence[Row] | None
    page: str | None


def explained_run(target: str, run: Path, chain: str | None) -> Row:
    """The document on a job or frame of a run folder or trace file. `chain`: only this one, of a frame.

    Raises ConfigError with everything that is wrong with the run folder, or with the names.
    """
    found = _load(run)
    trace = found.schedule.trace
    problems: list[tuple[str, str]] = []
    chosen: Target | None = None
    try:
        chosen = find_target(trace, target)
    except ValueError as error:
        problems.append(("FRAME|JOB|TASK", str(error)))
    chains = list(found.chains or ())
    if chain is not None:
        if chain not in [row["name"] for row in chains]:
            problems.append(("--chain", unknown("chain", chain, [row["name"] for row in chains])))
        elif chosen is not None and not chosen.of_sensor:
            problems.append(("--chain", f"is for frames, and {target} is a task's"))
        chains = [row for row in chains if row["name"] == chain]
    if chosen is not None and chosen.of_sensor:
        problems += _no_chain(run, found, chosen, chains, chain)
        chains = [row for row in chains if row["path"][0] == chosen.name]
    if problems or chosen is None:
        raise ConfigError([Problem(file, 0, 0, "", message) for file, message in problems])
    document = {"schema": RUN_EXPLANATION_SCHEMA, "run": str(run), "target": target, "chosen": chosen.how}
    if chosen.row is not None and not chosen.of_sensor:
        row = job_row(found.schedule, chosen.row, found.tasks)
        return {**document, "what": "job", "link": _link(run, found.page, row["anchor"]), "job": row, "frame": None}
    return {**document, "what": "frame", "link": None, "job": None, "frame": _frame(found, chosen, chains, run)}


def _load(run: Path) -> _Run:
    """Everything that is wrong with the folder at once, as ConfigError."""
    problems: list[str] = []
    folder = run.is_dir()
    if folder and not (run / TRACE_FILE).exists() and not (run / "summary.json").exists():
        raise DataError(f"{run}: holds no {TRACE_FILE}; give a run folder that replay or simulate has written")
    schedule: Schedule | None = None
    file = run / TRACE_FILE if folder else run
    try:
        schedule = Schedule(load_trace(file))
    except DataError as error:
        problems.append(str(error))
    except ValueError as error:
        problems.append(f"{file}: {error}")
    tasks: dict[str, Row] = {}
    chains: list[Row] | None = None
    if folder:
        summary_file = run / "summary.json"
        try:
            summary = read_document(summary_file)
            if summary.get("schema") != SUMMARY_SCHEMA:
                raise DataError(
                    f"{summary_file}: holds {summary.get('schema') or 'no schema'}; this version reads {SUMMARY_SCHEMA}"
                )
            tasks = {row["name"]: row for row in named_rows(summary, "tasks", str(summary_file))}
            chains = named_rows(summary, "chains", str(summary_file))
            if schedule is not None:
                _check_paths(schedule.trace, chains, summary_file)
        except DataError as error:
            problems.append(str(error))
    if problems or schedule is None:
        raise ConfigError([Problem(problem, 0, 0, "", "") for problem in problems])
    return _Run(schedule, tasks, chains, _page(run) if folder else None)


def _check_paths(trace: Trace, chains: Sequence[Row], file: Path) -> None:
    for row in chains:
        path = row.get("path")
        if not isinstance(path, list) or not path or not all(isinstance(name, str) for name in path):
            raise DataError(f"{file}: chain {row['name']} has no path, so it is no document that rt-sched wrote")
        try:
            measure_chain(trace, path)
        except ValueError as error:
            raise DataError(f"{file}: does not belong to the trace beside it ({error})") from error


def _page(run: Path) -> str | None:
    """The run's report, which may show the job."""
    try:
        return (run / "report.html").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def _link(run: Path, page: str | None, anchor: str) -> str | None:
    """Where the run's report shows the job, None where it does not."""
    return f"{run / 'report.html'}#{anchor}" if page is not None and f'id="{anchor}"' in page else None


def _no_chain(
    run: Path, found: _Run, chosen: Target, chains: Sequence[Row], chain: str | None
) -> list[tuple[str, str]]:
    if found.chains is None:
        text = "a trace alone does not say which chains there are; give the run folder for frames"
        return [(str(run), text)]
    if any(row["path"][0] == chosen.name for row in chains) or (chain is not None and not chains):
        return []
    begins = sorted({row["path"][0] for row in found.chains})
    return [("FRAME|JOB|TASK", f"no chain begins at {chosen.name}; chains begin at {', '.join(begins) or 'nothing'}")]


def _frame(found: _Run, chosen: Target, chains: Sequence[Row], run: Path) -> Row:
    schedule, trace = found.schedule, found.schedule.trace
    row = chosen.row if chosen.row is not None else _worst(trace, chosen.name, chains)
    message, samples = int(message_of_sample(row)), trace.samples
    delivered = samples.status[row] == SampleStatus.DELIVERED
    return {
        "name": message_name(trace, message),
        "sensor": chosen.name,
        "number": int(samples.number[row]),
        "capture_ns": int(samples.capture_ns[row]),
        "arrival_ns": int(samples.arrival_ns[row]) if delivered else None,
        "status": SampleStatus(int(samples.status[row])).name.lower(),
        "readers": message_fates(schedule, message),
        "chains": [_way(found, chain, row, run) for chain in chains],
    }


def _worst(trace: Trace, sensor: str, chains: Sequence[Row]) -> int:
    """The sample of a sensor with the longest latency over all chains; its first one where none has any."""
    mine = np.flatnonzero(trace.samples.sensor == trace.sensor_names.index(sensor))
    if not len(mine):
        raise DataError(f"sensor {sensor} delivered nothing in this run")
    longest_ns, number = -1, int(trace.samples.number[mine[0]])
    for chain in chains:
        measured = measure_chain(trace, chain["path"])
        if len(measured.latency_ns) and int(measured.latency_ns.max()) > longest_ns:
            longest_ns = int(measured.latency_ns.max())
            number = int(measured.latency_sample_number[int(np.argmax(measured.latency_ns))])
    return int(mine[np.flatnonzero(trace.samples.number[mine] == number)[0]])


def _way(found: _Run, chain: Row, sample: int, run: Path) -> Row:
    schedule, trace = found.schedule, found.schedule.trace
    way = journey(schedule, chain["path"], sample)
    steps = []
    for step in way.steps:
        job = step.message if step.message >= 0 else None
        member = message_name(trace, step.message).rpartition("#")[0]
        anchor = None if job is None else job_anchor(trace, job)
        steps.append(
            {
                "name": message_name(trace, step.message),
                "value_ns": sum(part.length_ns for part in step.parts),
                "in_bound": [term for term in chain.get("latency_bound_terms") or () if term["by"] == member],
                "link": None if anchor is None else _link(run, found.page, anchor),
                "parts": [part_row(trace, part, way.capture_ns) for part in step.parts],
            }
        )
    used = None if way.used is None else message_name(trace, int(message_of_sample(way.used)))
    return {
        "name": chain["name"],
        "path": list(way.path),
        "used": used,
        "output": None if way.output is None else message_name(trace, way.output),
        "end_ns": way.end_ns,
        "latency_ns": None if way.end_ns is None else way.end_ns - way.capture_ns,
        "latency_bound_ns": chain.get("latency_bound_ns"),
        "latency_limit_ns": chain.get("latency_limit_ns"),
        "steps": steps,
        "lost": [fate_row(schedule, fate) for fate in way.lost],
        "without_data": [
            {"task": name, "jobs": found.tasks[name]["without_data"]}
            for name in way.path[1:]
            if found.tasks.get(name, {}).get("without_data")
        ],
    }
