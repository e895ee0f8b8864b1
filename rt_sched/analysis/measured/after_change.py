"""A run after its first change of mode: its jobs beside the bounds of the change, and of the mode after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rt_sched.analysis.faults.transitions.loads import Presence, transition
from rt_sched.analysis.faults.transitions.results import transition_bounds
from rt_sched.analysis.loads.resolve import ModeLoad
from rt_sched.analysis.measured.monitors import Monitor, monitor_jobs
from rt_sched.analysis.measured.observed import Exceeded, exceeded_in
from rt_sched.analysis.measured.spans import Span, jobs_in
from rt_sched.analysis.methods import METHODS
from rt_sched.analysis.system.engine import mode_bounds
from rt_sched.trace.records import Trace


@dataclass(frozen=True, slots=True)
class AfterChange:
    """What the bounds and the monitors of a part of a run say of its jobs."""

    exceeded: list[Exceeded]
    monitors: tuple[Monitor, ...]


def after_change(trace: Trace, span: Span, modes: Sequence[ModeLoad]) -> AfterChange:
    """The jobs of a part of a run that is not its first; `modes`: all of the system."""
    named = {mode.name: mode for mode in modes}
    load = named[span.mode]
    if span.old is None:
        bounds = mode_bounds(load, METHODS)
    else:
        change = transition(named[span.old], load)
        load, removed = change.load, change.of(Presence.REMOVED)
        # What is left of removed tasks is aborted.
        bounds = {index: one for index, one in transition_bounds(change).items() if index not in removed}
    values_ns = {one.task.name: one.bound.value_ns for one in bounds.values() if one.bound is not None}
    return AfterChange(exceeded_in(trace, span, values_ns), monitor_jobs(load, trace, jobs_in(trace, span)))
