"""Mixed criticality (semantics 9): when processors switch to HI mode and back."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np

from rt_sched.trace.checker.findings import Findings, Rule
from rt_sched.trace.checker.history import NEVER_NS, Declared, History
from rt_sched.trace.records import EventKind, JobStatus


def check_criticality(history: History, found: Findings) -> None:
    """HI mode begins when a HI job has executed C_LO and is not done, and ends when its processor has no job left."""
    for row, processor in enumerate(history.setup.processors):
        switches = history.criticality_switches(row)
        watched = [one for one in history.stays if one.row.processor == row and one.row.low_budget_ns is not None]
        if not switches and not watched:
            continue
        reached = _reached(history, watched)
        if switches or reached:
            _compare(history, row, processor.name, switches, reached, found)


def _reached(history: History, watched: list[Declared]) -> list[tuple[int, int]]:
    """Instants at which HI jobs of a processor have executed C_LO with work left, with the job."""
    jobs, found = history.trace.jobs, []
    for stay in watched:
        budget_ns, mine = stay.row.low_budget_ns or 0, stay.jobs
        for job in mine[history.executed_ns[mine] >= budget_ns].tolist():
            at_ns = history.reached_ns(job, budget_ns)
            if at_ns == history.end_ns[job] and (jobs.status[job] != JobStatus.ABORTED):
                continue
            found.append((at_ns, job))
    return sorted(found)


def _compare(
    history: History,
    row: int,
    name: str,
    switches: list[tuple[int, int]],
    reached: list[tuple[int, int]],
    found: Findings,
) -> None:
    busy = _busy(history, row)
    expected: list[tuple[int, int]] = []
    low_from_ns = -1
    for at_ns, job in reached:
        if at_ns < low_from_ns or (at_ns == low_from_ns and expected):
            continue
        if at_ns == history.end_ns[job] and (at_ns, int(EventKind.HIGH)) not in switches:
            continue  # aborted at that instant, perhaps before its budget was looked at
        expected.append((at_ns, int(EventKind.HIGH)))
        low_from_ns = _idle_from(busy, at_ns)
        if low_from_ns < history.trace.horizon_ns:
            expected.append((low_from_ns, int(EventKind.LOW)))
    for time_ns, kind in sorted(set(switches) ^ set(expected)):
        word = EventKind(kind).name
        if (time_ns, kind) in expected:
            text = f"the processor goes to {word} mode"
        else:
            text = f"the processor does not go to {word} mode"
        found.add(Rule.CRITICALITY, time_ns, name, text)


def _busy(history: History, row: int) -> list[tuple[int, int]]:
    """Spans in which a processor has unfinished jobs, released or not."""
    jobs = history.trace.jobs
    mine = np.flatnonzero((history.row == row) & (history.end_ns > jobs.arrival_ns))
    spans: list[tuple[int, int]] = []
    order = mine[np.argsort(jobs.arrival_ns[mine], kind="stable")]
    for begin_ns, end_ns in zip(jobs.arrival_ns[order].tolist(), history.end_ns[order].tolist(), strict=True):
        if spans and begin_ns <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(spans[-1][1], end_ns))
        else:
            spans.append((begin_ns, end_ns))
    return spans


def _idle_from(busy: list[tuple[int, int]], at_ns: int) -> int:
    """The end of the span around an instant, the instant itself where there is none; the spans are apart."""
    place = bisect_right(busy, (at_ns, NEVER_NS)) - 1
    if place >= 0 and at_ns < busy[place][1]:
        return busy[place][1]
    return at_ns if busy else NEVER_NS
