"""Which bounds cover which part of a run: those of the mode it began in, of a change, and of the mode after it.

A change is analysed as one from a mode that has been in force until no job of an earlier one is left. Its bounds hold
for every job from the change on, however long it lasts, until the next change. Once nothing is unfinished and no
message is on a link, a run goes on as one that begins in the new mode, so its own bounds hold from there on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rt_sched.analysis.loads.resolve import ModeLoad
from rt_sched.analysis.measured.declared_jobs import declared_jobs
from rt_sched.trace.checker.declared import NEVER_NS, outages_of
from rt_sched.trace.records import Bools, EventKind, Int64s, JobStatus, Trace
from rt_sched.trace.setup import FaultTarget, Setup

#: Events after which another mode, or another placement, is in force. What is added arrives later than the change.
CHANGES = (EventKind.TASK_REMOVED, EventKind.FREQUENCY)


def changes_ns(trace: Trace) -> list[int]:
    """When another mode, frequency or takeover came into force in a run, ascending."""
    kinds = (*CHANGES, EventKind.TASK_ADDED) if trace.setup is None else CHANGES
    instants = set(trace.events.time_ns[np.isin(trace.events.kind, kinds)].tolist())
    if trace.setup is not None:
        setup = trace.setup
        planned = [row.time_ns for row in setup.task_changes]
        planned += [row.time_ns for row in setup.mode_changes if row.removed or row.added]
        planned += [row.time_ns for row in setup.extra_arrivals]
        planned += [row.time_ns for row in setup.route_changes]
        instants |= {time_ns for time_ns in planned if time_ns <= trace.horizon_ns}
    return sorted(instants)


@dataclass(frozen=True, slots=True)
class Span:
    """The part [begin, end) of a run in which bounds of `mode` hold, or those of the change from `old` to it."""

    begin_ns: int
    end_ns: int
    mode: str
    old: str | None = None


def spans_of(trace: Trace, modes: Sequence[ModeLoad]) -> list[Span]:
    """The parts of a run in order; they end where no bounds hold, else after its horizon.

    `modes`: all of the system, the first one being that in which the run begins. What is no change to one of them, as
    of a frequency alone or of a plan, ends the last span.
    """
    instants = changes_ns(trace)
    end_ns = trace.horizon_ns + 1
    found = [Span(0, end_ns, modes[0].name)]
    if trace.setup is None:
        return [Span(0, min(instants, default=end_ns), modes[0].name)]
    ends_ns = _ends_ns(trace, trace.setup)
    for at_ns in instants:
        last = found.pop()
        found.append(Span(last.begin_ns, at_ns, last.mode, last.old))
        name = _mode_at(trace.setup, modes, at_ns)
        if last.old is not None or name is None or name == last.mode:
            return found
        found.append(Span(at_ns, end_ns, name, last.mode))
        idle_ns = _idle_from_ns(trace, ends_ns, at_ns)
        if idle_ns is not None and idle_ns < min((one for one in instants if one > at_ns), default=end_ns):
            # Nothing arrives at that instant, and what ends then has ended within the change.
            found[-1] = Span(at_ns, idle_ns + 1, name, last.mode)
            found.append(Span(idle_ns + 1, end_ns, name))
    return found


def jobs_in(trace: Trace, span: Span) -> Bools:
    """The jobs that the bounds of a part cover, bool[n_jobs]: those that arrive in it and end in it, or never; of a
    change also those that are there when it comes.
    """
    jobs = trace.jobs
    completed = np.equal(jobs.status, JobStatus.COMPLETED)
    waiting = np.equal(jobs.status, JobStatus.UNFINISHED)
    ended = completed & (jobs.finish_ns >= span.begin_ns) & (jobs.finish_ns < span.end_ns)
    mine = (ended | waiting) & (jobs.arrival_ns < span.end_ns)
    if span.old is None:
        mine &= jobs.arrival_ns >= span.begin_ns
    return np.asarray(mine, np.bool_)


def _mode_at(setup: Setup, modes: Sequence[ModeLoad], at_ns: int) -> str | None:
    """The mode that has the tasks and frequencies which are in force from an instant on; None where none has."""
    active = [task.active for task in setup.tasks]
    for change in sorted(setup.mode_changes, key=lambda one: one.time_ns):
        if change.time_ns <= at_ns:
            for task in change.removed:
                active[task] = False
            for task in change.added:
                active[task] = True
    frequencies = [row.frequency_khz for row in setup.processors]
    for row in sorted(setup.frequency_changes, key=lambda one: one.time_ns):
        if row.time_ns <= at_ns:
            frequencies[row.processor] = row.frequency_khz
    for mode in modes:
        if list(mode.active) == active and [row.frequency_khz for row in mode.setup.processors] == frequencies:
            return mode.name
    return None


def _ends_ns(trace: Trace, setup: Setup) -> Int64s:
    """When every job was gone, int64[n_jobs]; after the horizon for those that were still there."""
    jobs, events = trace.jobs, trace.events
    ends_ns = np.where(jobs.finish_ns >= 0, jobs.finish_ns, trace.horizon_ns + 1)
    # What completes under LET is published at the deadline.
    let = np.array([row.let for row in setup.tasks], np.bool_)
    ends_ns = np.where(let[jobs.task] & (jobs.finish_ns >= 0), np.maximum(ends_ns, jobs.deadline_ns), ends_ns)
    gone = np.isin(events.kind, (EventKind.SKIP, EventKind.ABORT)) & (events.job >= 0)
    ends_ns[events.job[gone]] = events.time_ns[gone]
    ends_ns[jobs.status == JobStatus.SUPPRESSED] = jobs.arrival_ns[jobs.status == JobStatus.SUPPRESSED]
    for index in np.unique(jobs.task[jobs.status == JobStatus.LOST]).tolist():
        for declared, rows in declared_jobs(setup, trace, index):
            outages = outages_of(setup, FaultTarget.PROCESSOR, declared.processor, trace.horizon_ns)
            mine = rows[jobs.status[rows] == JobStatus.LOST]
            at_ns = np.where(outages.covers(jobs.arrival_ns[mine]), jobs.arrival_ns[mine], NEVER_NS)
            ends_ns[mine] = np.minimum(at_ns, outages.next_ns(jobs.arrival_ns[mine]))
    return ends_ns.astype(np.int64)


def _idle_from_ns(trace: Trace, ends_ns: Int64s, after_ns: int) -> int | None:
    """The first instant after `after_ns` at which no job is there and no message on a link; None when there is none."""
    transfers = trace.transfers
    delivered_ns = np.where(transfers.delivered_ns >= 0, transfers.delivered_ns, trace.horizon_ns + 1)
    begins_ns = np.concatenate((trace.jobs.arrival_ns, transfers.queued_ns))
    until_ns = np.concatenate((ends_ns, delivered_ns))
    order = np.argsort(begins_ns, kind="stable")
    begins_ns, busy_until_ns = begins_ns[order], np.maximum.accumulate(until_ns[order])
    # What is before `after_ns`, and each gap behind it.
    first = int(np.searchsorted(begins_ns, after_ns, side="right"))
    at_ns = after_ns + 1 if first == 0 else max(after_ns + 1, int(busy_until_ns[first - 1]))
    while first < len(begins_ns) and begins_ns[first] <= at_ns:
        at_ns = max(at_ns, int(busy_until_ns[first]))
        first += 1
    return at_ns if at_ns <= trace.horizon_ns else None
