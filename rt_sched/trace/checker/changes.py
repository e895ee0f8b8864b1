"""Planned changes and what is told of them: outages of links, modes, frequencies, takeovers (semantics 2, 15, 16)."""

from __future__ import annotations

from collections import Counter

import numpy as np

from rt_sched.trace.checker.declared import row_at
from rt_sched.trace.checker.findings import Findings, Rule
from rt_sched.trace.checker.history import History
from rt_sched.trace.checker.modes import active_spans
from rt_sched.trace.records import EventKind
from rt_sched.trace.setup import FaultTarget


def check_changes(history: History, found: Findings) -> None:
    """Events of planned changes are those that the setup declares; work left is rescaled when they happen."""
    setup, horizon_ns = history.setup, history.trace.horizon_ns
    _compare(
        history,
        EventKind.FREQUENCY,
        Counter(
            (change.time_ns, change.processor, -1, change.frequency_khz)
            for change in setup.frequency_changes
            if change.time_ns <= horizon_ns
        ),
        Rule.FREQUENCY,
        found,
    )
    removed = Counter(
        (time_ns, row_at(setup, index, time_ns).processor, index, -1)
        for index in range(len(setup.tasks))
        for time_ns in history.removals[index]
        if time_ns <= horizon_ns
    )
    _compare(history, EventKind.TASK_REMOVED, removed, Rule.MODES, found)
    added = Counter(
        (begin_ns, row_at(setup, index, begin_ns).processor, index, -1)
        for index in range(len(setup.tasks))
        for begin_ns, _, first in active_spans(setup, index)
        if not first and begin_ns <= horizon_ns
    )
    _compare(history, EventKind.TASK_ADDED, added, Rule.MODES, found)
    lost = Counter(
        (fault.time_ns, -1, -1, fault.target)
        for fault in setup.faults
        if fault.kind == FaultTarget.LINK and fault.time_ns <= horizon_ns
    )
    _compare(history, EventKind.LINK_LOST, lost, Rule.FAULTS, found)
    returned = Counter(
        (fault.until_ns, -1, -1, fault.target)
        for fault in setup.faults
        if fault.kind == FaultTarget.LINK and fault.until_ns is not None and fault.until_ns <= horizon_ns
    )
    _compare(history, EventKind.LINK_RETURNED, returned, Rule.FAULTS, found)
    for kind, moved in ((EventKind.TASK_MOVED, True), (EventKind.TASK_VARIED, False)):
        changed = Counter(
            (change.time_ns, change.row.processor, change.task, number)
            for number, change in enumerate(setup.task_changes)
            if change.time_ns <= horizon_ns and change.moved == moved
        )
        _compare(history, kind, changed, Rule.TAKEOVERS, found)
    _rescales(history, found)


def _compare(
    history: History, kind: EventKind, expected: Counter[tuple[int, int, int, int]], rule: Rule, found: Findings
) -> None:
    table = history.trace.events
    mine = np.flatnonzero(table.kind == kind)
    columns = (table.time_ns[mine], table.processor[mine], table.task[mine], table.value[mine])
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    told = Counter(rows)
    for (time_ns, row, task, value), _ in sorted(((told - expected) + (expected - told)).items()):
        if task >= 0:
            where = history.setup.tasks[task].name
        else:
            where = history.setup.processors[row].name if row >= 0 else f"link {value}"
        word = kind.name.lower().replace("_", " ")
        text = f"{word} told exactly when it is declared"
        found.add(rule, time_ns, where, text)


def _rescales(history: History, found: Findings) -> None:
    told = history.events_of_jobs(EventKind.RESCALE)
    times_of: dict[int, set[int]] = {}
    for change in history.setup.frequency_changes:
        times_of.setdefault(change.processor, set()).add(change.time_ns)
    for job, rows in told.items():
        times = times_of.get(int(history.row[job]), set())
        arrival_ns = int(history.trace.jobs.arrival_ns[job])
        for time_ns, _, _, _ in rows:
            if not times or (time_ns not in times and time_ns != arrival_ns):
                text = "it is rescaled at its arrival or when the frequency changes"
                found.add(Rule.FREQUENCY, time_ns, history.job_name(job), text)
        if rows[-1][2] != history.trace.jobs.demand_ns[job]:
            text = f"the demand told last, {rows[-1][2]} ns, is the final one"
            found.add(Rule.FREQUENCY, rows[-1][0], history.job_name(job), text)
