"""A job of a run that the scheduling kernel played, as a row: what executed on its processor meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rt_sched.app.report.bounds import share_ppm
from rt_sched.model import Processor
from rt_sched.trace.records import SliceKind, Trace

Row = dict[str, Any]

#: Pieces of execution in one picture.
MOST_PIECES = 160


def played_row(
    trace: Trace, job: int, response_ns: int, task: str, mode: str, processor: Processor, how: str, bound_ns: int | None
) -> Row:
    """Job number `job` of `trace`, one of `task` on `processor`, with what executed there until its end or deadline."""
    jobs, slices = trace.jobs, trace.slices
    arrival_ns = int(jobs.arrival_ns[job])
    finish_ns = int(jobs.finish_ns[job])
    cores = processor.cores
    names = [processor.name] if cores == 1 else [f"{processor.name}.{core}" for core in range(cores)]
    here = np.flatnonzero(np.isin(slices.processor, [trace.processor_names.index(name) for name in names]))
    start_ns = arrival_ns
    if cores == 1:
        start_ns = _busy_since(slices.start_ns[here], slices.end_ns[here], arrival_ns)
    end_ns = max(arrival_ns + response_ns, int(jobs.deadline_ns[job]))
    shown = here[(slices.end_ns[here] > start_ns) & (slices.start_ns[here] < end_ns)]
    shown_last = shown[-MOST_PIECES:]
    arrivals = {int(slices.job[piece]) for piece in shown_last} | {job}
    return {
        "mode": mode,
        "task": task,
        "processor": processor.name,
        "how": how,
        "job": int(jobs.number[job]),
        "arrival_ns": arrival_ns,
        "deadline_at_ns": int(jobs.deadline_ns[job]),
        "finish_ns": finish_ns if finish_ns >= 0 else None,
        "response_ns": response_ns,
        "unfinished": finish_ns < 0,
        "missed": bool(jobs.missed[job]),
        "response_bound_ns": bound_ns,
        "tightness_ppm": share_ppm(response_ns, bound_ns),
        "start_ns": start_ns,
        "end_ns": end_ns,
        "lanes": _lanes(task, [trace.task_names[int(jobs.task[int(slices.job[piece])])] for piece in shown_last]),
        "pieces_in_all": int(shown.size),
        "pieces": [
            {
                "core": trace.processor_names[int(slices.processor[piece])],
                "task": trace.task_names[int(jobs.task[int(slices.job[piece])])],
                "job": int(jobs.number[int(slices.job[piece])]),
                "start_ns": int(slices.start_ns[piece]),
                "end_ns": int(slices.end_ns[piece]),
                "kind": SliceKind(int(slices.kind[piece])).name.lower(),
            }
            for piece in shown_last
        ],
        "arrivals": [
            {"task": trace.task_names[int(jobs.task[row])], "arrival_ns": int(jobs.arrival_ns[row])}
            for row in sorted(arrivals)
            if start_ns <= jobs.arrival_ns[row] <= end_ns
        ],
    }


def _lanes(task: str, ran: Sequence[str]) -> list[str]:
    """The tasks that ran, in order of their first piece, and `task` at the end."""
    return [*dict.fromkeys(one for one in ran if one != task), task]


def _busy_since(starts: Any, ends: Any, arrival_ns: int) -> int:
    """Since when a processor had executed without a pause at `arrival_ns`; slices in order of their ends."""
    since = arrival_ns
    for start_ns, end_ns in sorted(zip(starts.tolist(), ends.tolist(), strict=True), reverse=True):
        if end_ns >= since and start_ns < since:
            since = start_ns
        elif end_ns < since:
            break
    return int(since)
