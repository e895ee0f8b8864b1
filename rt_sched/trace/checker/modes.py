"""Modes (semantics 16): when each task is active."""

from __future__ import annotations

from rt_sched.trace.checker.history import NEVER_NS
from rt_sched.trace.setup import Setup


def active_spans(setup: Setup, task: int) -> list[tuple[int, int, bool]]:
    """Spans [begin, end) in which jobs of the task may arrive, and whether the span is the one from the start.

    A span after a mode change begins with the start latency; a removal before that leaves no span.
    """
    row = setup.tasks[task]
    spans: list[tuple[int, int, bool]] = []
    begin_ns: int | None = 0 if row.active else None
    first = True
    for change in sorted(setup.mode_changes, key=lambda one: one.time_ns):
        if task in change.removed and begin_ns is not None:
            if begin_ns < change.time_ns:
                spans.append((begin_ns, change.time_ns, first))
            begin_ns = None
        if task in change.added:
            begin_ns, first = change.time_ns + row.start_latency_ns, False
    if begin_ns is not None:
        spans.append((begin_ns, NEVER_NS, first))
    return spans
