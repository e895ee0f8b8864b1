"""The report of one run as a single HTML page that needs nothing else."""

from __future__ import annotations

import base64
import json
import shlex
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from rt_sched.report.arbiter_timeline import arbiter_time_line
from rt_sched.report.gantt import gantt
from rt_sched.report.host_view import host_view
from rt_sched.report.run_data import AnnotatedFrame, ChainResult, RunReport
from rt_sched.report.safety_path import E2E_COLUMNS, safety_path_view
from rt_sched.report.sections import (
    MOST_ROWS,
    OPEN_HISTOGRAMS,
    capped,
    chain_cards,
    chain_rows,
    fitting_frames,
    legend,
    task_cards,
    task_rows,
)
from rt_sched.report.templating import environment
from rt_sched.report.text import count, percent, plural, printable, time_ms, time_with_unit
from rt_sched.report.verdict import TOPIC_FATES, figures, meaning, unused_messages
from rt_sched.trace.statistics import worst_cycle

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["AnnotatedFrame", "ChainResult", "RunReport", "render_run_report"]

#: Largest size of the page. Camera frames are left out, evenly, to keep to it.
MOST_BYTES = 5_000_000


def render_run_report(data: RunReport) -> str:
    """The page as text, the same for the same data, of at most `MOST_BYTES` as UTF-8 when frames are what is large.

    It holds its own style, script and images, allows itself no network access, and reads without its script.
    Everything in `data` is shown as text, whatever characters it holds.
    """
    notes: list[str] = []
    view = _view(data, notes)
    template = _environment().get_template("run_report.html.j2")
    bare = template.render(view, frames=())
    room = MOST_BYTES - len(printable(bare).encode()) - 2_000
    frames = fitting_frames(data.frames, room, notes)
    return printable(template.render(view, frames=frames))


@cache
def _environment() -> Environment:
    return environment(ms=time_ms, time=time_with_unit, count=count, percent=percent, data_uri=_data_uri)


def _view(data: RunReport, notes: list[str]) -> dict[str, Any]:
    summary = data.summary
    colours = legend(data)
    cards = task_cards(summary, data.trace, notes)
    worst = worst_cycle(data.trace)
    schedule = gantt(data.trace, worst.start_ns, worst.end_ns, worst.job, colours.colours) if worst else None
    faults = capped(summary.get("faults") or (), MOST_ROWS, "faults", notes)
    silent_ns = (summary.get("arbiter") or {}).get("state_time_ns", {}).get("SILENT", 0)
    time_line = arbiter_time_line(data.arbiter, faults, data.trace.horizon_ns, silent_ns)
    pes = capped(summary.get("pes") or (), MOST_ROWS, "processing elements", notes)
    topics = capped(summary.get("topics") or (), MOST_ROWS, "topics", notes)
    task_list = task_rows(summary, data.trace, notes)
    notes.extend(schedule.notes if schedule else ())
    notes.extend(time_line.notes if time_line else ())
    return {
        "head": {key: summary.get(key) for key in ("system", "clock", "tier", "policy", "recording")},
        "meaning": meaning(summary, data.chains),
        "workload": _workload(data),
        "figures": figures(summary, data.chains),
        "arbiter": {"state_time_ns": {}, "decisions": {}, **(summary.get("arbiter") or {})},
        "chains": chain_rows(summary, data.chains, notes),
        "chain_cards": chain_cards(data.chains, notes),
        "tasks": task_list,
        "censored": any(t.censored for t in task_list),
        "monitors": list(summary.get("monitors") or ()),
        "exceeded": list(summary.get("bounds_exceeded") or ()),
        "extra_counts": _present(task_list, ("skipped", "suppressed", "without_data", "aborted", "lost", "unfinished")),
        "open_cards": cards[:OPEN_HISTOGRAMS],
        "folded_cards": cards[OPEN_HISTOGRAMS:],
        "gantt": schedule,
        "worst": worst,
        "worst_number": int(data.trace.jobs.number[worst.job]) if worst else None,
        "worst_finished": bool(worst and data.trace.jobs.finish_ns[worst.job] >= 0),
        "legend": colours.names,
        "busy_pes": [p for p in pes if p.get("utilisation")],
        "idle_pes": [p for p in pes if not p.get("utilisation")],
        "faults": faults,
        "takeovers": any(f.get("takeover") is not None for f in faults),
        "recovery_limits": any(f.get("recovery_limit_ns") is not None for f in faults),
        "time_line": time_line,
        "safety_path": safety_path_view(summary),
        "host": host_view(summary),
        "e2e_columns": E2E_COLUMNS,
        "topics": topics,
        "topic_counts": ["recorded", "delivered", "dropped", "undecodable"]
        + [k for k in TOPIC_FATES[2:] if any(t.get(k) for t in topics)],
        "unused": any(unused_messages(t) > 0 for t in topics),
        "topic_details": [k for k in ("sensor", "schema") if any(t.get(k) for t in topics)],
        "unused_of": unused_messages,
        "manifest": data.manifest,
        "command": _command(data.manifest.get("command")),
        "inputs": capped(data.manifest.get("inputs") or (), MOST_ROWS, "inputs", notes),
        "facts": _facts(data.manifest),
        "remarks": [str(w) for key in ("warnings", "notes") for w in summary.get(key) or ()],
        "shortened": notes,
    }


def _workload(data: RunReport) -> str:
    """How much was done, in one sentence."""
    summary, trace = data.summary, data.trace
    jobs = sum(t.get("jobs") or 0 for t in summary.get("tasks") or ())
    processors = int(np.unique(trace.slices.processor).size)
    duration = time_with_unit(summary.get("duration_ns", trace.horizon_ns))
    kind = {"lockstep": "virtual ", "paced": "wall-clock "}.get(str(summary.get("clock")), "")
    return (
        f"{plural(jobs, 'job')} of {plural(len(summary.get('tasks') or ()), 'task')} on "
        f"{plural(processors, 'processor')} in {duration} of {kind}time."
    )


def _present(rows: Sequence[Any], keys: Sequence[str]) -> list[str]:
    """Those counts that any task has more than zero of."""
    return [key for key in keys if any(r.row.get(key) for r in rows)]


def _command(command: Any) -> str | None:
    if command is None or isinstance(command, str):
        return command
    return shlex.join(str(part) for part in command)


def _facts(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Everything else the manifest states, one line each."""
    facts: list[tuple[str, str]] = []
    for key in ("seed", "schedule_sha256", "outputs_sha256", "machine", "versions"):
        value = manifest.get(key)
        if isinstance(value, Mapping):
            facts.extend((f"{key}: {name}", _plain(item)) for name, item in value.items())
        elif value is not None:
            facts.append((key, _plain(value)))
    return facts


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _data_uri(jpeg: bytes) -> str:
    return "data:image/jpeg;base64," + base64.b64encode(jpeg).decode()
