"""A run after its first change of mode: its jobs beside the bounds of the change, and of the mode after it.

Chains and disparities are held against the bounds of a mode once the change to it is over, in the parts of a run whose
jobs go on as those of a run that begins there. What was read before does not count, as in such a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rt_sched.analysis.chains.bounds import chain_results
from rt_sched.analysis.chains.disparity import disparity_results
from rt_sched.analysis.faults.transitions.loads import Presence, transition
from rt_sched.analysis.faults.transitions.results import transition_bounds
from rt_sched.analysis.loads.resolve import ModeLoad
from rt_sched.analysis.measured.monitors import Monitor, monitor_jobs
from rt_sched.analysis.measured.observed import Exceeded, disparities_over, exceeded_in
from rt_sched.analysis.measured.spans import Span, jobs_in
from rt_sched.analysis.methods import METHODS
from rt_sched.analysis.result import ChainResult
from rt_sched.analysis.system.engine import mode_bounds
from rt_sched.trace.records import Trace


@dataclass(frozen=True, slots=True)
class AfterChange:
    """What the bounds and the monitors of a part of a run say of its jobs, and of the disparities of what they read.

    `chains`: bounds on what is read and comes out within the part; none while the change goes on.
    """

    span: Span
    exceeded: list[Exceeded]
    monitors: tuple[Monitor, ...]
    chains: tuple[ChainResult, ...] = ()


def after_change(trace: Trace, span: Span, modes: Sequence[ModeLoad], silent: Sequence[int] = ()) -> AfterChange:
    """The jobs of a part of a run that is not its first; `modes`: all of the system, `silent`: as `monitor` has it."""
    named = {mode.name: mode for mode in modes}
    load = named[span.mode]
    exceeded: list[Exceeded] = []
    chains: tuple[ChainResult, ...] = ()
    if span.old is None:
        bounds = mode_bounds(load, METHODS)
        chains = chain_results(load, bounds)
        faults = () if trace.setup is None else trace.setup.faults
        until_ns = min([span.end_ns, *(one.time_ns for one in faults if one.time_ns >= span.begin_ns)])
        exceeded += disparities_over(trace, disparity_results(load, bounds), span.begin_ns, until_ns)
    else:
        change = transition(named[span.old], load)
        load, removed = change.load, change.of(Presence.REMOVED)
        # What is left of removed tasks is aborted.
        bounds = {index: one for index, one in transition_bounds(change).items() if index not in removed}
    values_ns = {one.task.name: one.bound.value_ns for one in bounds.values() if one.bound is not None}
    exceeded += exceeded_in(trace, span, values_ns)
    return AfterChange(span, exceeded, monitor_jobs(load, trace, jobs_in(trace, span), silent), chains)
