"""What ran when: cores, jobs of a task, executed time against demand, ends (semantics 3, 5, 8, 15, 17)."""

from __future__ import annotations

import numpy as np

from rt_sched.trace.checker.demands import declared_demands
from rt_sched.trace.checker.findings import Findings, Rule
from rt_sched.trace.checker.history import NEVER_NS, History
from rt_sched.trace.checker.locks import LockHistory
from rt_sched.trace.checker.rescaling import Rescalings
from rt_sched.trace.records import EventKind, JobStatus


def check_execution(history: History, locks: LockHistory, found: Findings) -> None:
    """All of them."""
    _cores(history, found)
    _sequence(history, found)
    _starts(history, locks, found)
    _executed(history, found)
    _demands(history, found)
    _ends(history, found)


def _cores(history: History, found: Findings) -> None:
    slices = history.trace.slices
    order = history.slices_by_core
    core, start_ns, end_ns = slices.processor[order], slices.start_ns[order], slices.end_ns[order]
    overlap = (core[1:] == core[:-1]) & (start_ns[1:] < end_ns[:-1])
    for place in np.flatnonzero(overlap).tolist():
        one, other = (history.job_name(int(slices.job[order[at]])) for at in (place, place + 1))
        where = history.core_name(int(core[place]))
        found.add(Rule.OVERLAP, int(start_ns[place + 1]), where, f"one job at a time, not {one} and {other}")
    misplaced = history.row_of_core[slices.processor] != history.row[slices.job]
    for place in np.flatnonzero(misplaced).tolist():
        job = int(slices.job[place])
        declared = history.setup.processors[int(history.row[job])].name
        where = history.core_name(int(slices.processor[place]))
        text = f"{history.job_name(job)} runs on {declared} only"
        found.add(Rule.OVERLAP, int(slices.start_ns[place]), where, text)
    rows = history.row_of_core[slices.processor]
    for row, outages in enumerate(history.row_outages):
        for lost_ns, back_ns in zip(outages.begin_ns.tolist(), outages.end_ns.tolist(), strict=True):
            inside = (rows == row) & (slices.end_ns > lost_ns) & (slices.start_ns < back_ns)
            for place in np.flatnonzero(inside).tolist():
                where = history.core_name(int(slices.processor[place]))
                text = f"nothing runs here after the loss at {lost_ns} ns"
                found.add(Rule.FAULTS, int(slices.end_ns[place]), where, text)


def _sequence(history: History, found: Findings) -> None:
    slices, order = history.trace.slices, history.slices_by_job
    job, start_ns, end_ns = slices.job[order], slices.start_ns[order], slices.end_ns[order]
    parallel = (job[1:] == job[:-1]) & (start_ns[1:] < end_ns[:-1])
    for place in np.flatnonzero(parallel).tolist():
        text = "a job runs on one core at a time"
        found.add(Rule.SEQUENCE, int(start_ns[place + 1]), history.job_name(int(job[place])), text)
    early = (history.first_slice_ns >= 0) & (history.first_slice_ns < history.head_ns)
    early |= history.started & (history.trace.jobs.start_ns < history.head_ns)
    for one in np.flatnonzero(early).tolist():
        head_ns = int(history.head_ns[one])
        text = f"no start before {head_ns} ns, when it is released and the jobs before it have ended"
        found.add(Rule.SEQUENCE, int(history.trace.jobs.start_ns[one]), history.job_name(one), text)
    late = history.last_slice_ns > history.end_ns
    for one in np.flatnonzero(late).tolist():
        text = f"nothing runs after its end at {int(history.end_ns[one])} ns"
        found.add(Rule.SEQUENCE, int(history.last_slice_ns[one]), history.job_name(one), text)
    before = history.before
    later = np.flatnonzero(before >= 0)
    ends = history.end_ns
    takes_turns = history.started | (history.trace.jobs.status == JobStatus.SKIPPED)
    out_of_order = later[(ends[later] < ends[before[later]]) & takes_turns[later]]
    for one in out_of_order.tolist():
        text = f"its end at {int(ends[one])} ns does not come before that of {history.job_name(int(before[one]))}"
        found.add(Rule.SEQUENCE, int(ends[one]), history.job_name(one), text)


def _starts(history: History, locks: LockHistory, found: Findings) -> None:
    """A job's start is the begin of its first slice, unless it lost its core at once.

    That is to a wait for a lock, or to a job that became ready or got another key in a later round of that instant.
    """
    jobs, first_ns = history.trace.jobs, history.first_slice_ns
    waited = {(time_ns, job) for time_ns, job, _, _ in history.events(EventKind.REQUEST)}
    rounds = {(int(history.row[job]), time_ns) for job, time_ns in locks.in_rounds}
    for job in np.flatnonzero(jobs.start_ns != first_ns).tolist():
        start_ns = int(jobs.start_ns[job])
        if ((start_ns, job) in waited or (int(history.row[job]), start_ns) in rounds) and (
            first_ns[job] == -1 or first_ns[job] > start_ns
        ):
            continue
        text = f"start at the begin of its first slice ({int(first_ns[job])} ns), not at {start_ns} ns"
        found.add(Rule.TIMES, max(start_ns, 0), history.job_name(job), text)
    finished = jobs.status == JobStatus.COMPLETED
    for job in np.flatnonzero(finished & (jobs.finish_ns != history.last_slice_ns)).tolist():
        text = f"finish at the end of its last slice ({int(history.last_slice_ns[job])} ns), not at"
        found.add(Rule.TIMES, int(jobs.finish_ns[job]), history.job_name(job), f"{text} {int(jobs.finish_ns[job])} ns")
    never = (jobs.status == JobStatus.SKIPPED) | (jobs.status == JobStatus.SUPPRESSED)
    for job in np.flatnonzero(never & (history.started | (first_ns >= 0))).tolist():
        name = JobStatus(int(jobs.status[job])).name.lower()
        found.add(Rule.TIMES, int(jobs.start_ns[job]), history.job_name(job), f"a {name} job never starts")


def _executed(history: History, found: Findings) -> None:
    jobs, executed_ns = history.trace.jobs, history.executed_ns
    for job in np.flatnonzero(jobs.executed_ns != executed_ns).tolist():
        text = f"executed time of {int(executed_ns[job])} ns as its slices say, not {int(jobs.executed_ns[job])} ns"
        found.add(Rule.DEMAND, int(jobs.arrival_ns[job]), history.job_name(job), text)
    completed = jobs.status == JobStatus.COMPLETED
    for job in np.flatnonzero(completed & (executed_ns != jobs.demand_ns)).tolist():
        text = f"it completes after {int(jobs.demand_ns[job])} ns of execution, not {int(executed_ns[job])} ns"
        found.add(Rule.DEMAND, int(jobs.finish_ns[job]), history.job_name(job), text)
    # A loss or a mode change at the instant of completion comes first (phase 1).
    first_phase = (jobs.status == JobStatus.LOST) | (jobs.status == JobStatus.ABORTED)
    most_ns = jobs.demand_ns - np.where(first_phase & (history.last_slice_ns == history.end_ns), 0, 1)
    for job in np.flatnonzero(~completed & (executed_ns > most_ns)).tolist():
        text = f"it completes when it has executed {int(jobs.demand_ns[job])} ns"
        found.add(Rule.DEMAND, int(history.last_slice_ns[job]), history.job_name(job), text)


def _demands(history: History, found: Findings) -> None:
    """Demands are given or drawn, cut for degraded jobs, and rescaled where frequencies change."""
    jobs = history.trace.jobs
    expected = Rescalings(history).final_demands(declared_demands(history))
    for job in np.flatnonzero(jobs.demand_ns != expected).tolist():
        rule = Rule.FREQUENCY if history.setup.frequency_changes else Rule.RANDOMNESS
        text = f"a demand of {int(expected[job])} ns, not {int(jobs.demand_ns[job])} ns"
        found.add(rule, int(jobs.arrival_ns[job]), history.job_name(job), text)


def _ends(history: History, found: Findings) -> None:
    """Aborted, lost and unfinished jobs ended as they say."""
    jobs = history.trace.jobs
    told = {
        kind: {job: time_ns for time_ns, job, _, _ in history.events(kind)}
        for kind in (EventKind.ABORT, EventKind.SKIP)
    }
    for kind, status in ((EventKind.ABORT, JobStatus.ABORTED), (EventKind.SKIP, JobStatus.SKIPPED)):
        ended = set(np.flatnonzero(jobs.status == status).tolist())
        for job in sorted(ended ^ told[kind].keys()):
            text = f"status {status.name.lower()} and the event that tells when"
            found.add(Rule.ENDS, int(jobs.arrival_ns[job]), history.job_name(job), text)
    lost = jobs.status == JobStatus.LOST
    for job in np.flatnonzero(lost & (history.end_ns == NEVER_NS)).tolist():
        found.add(Rule.FAULTS, int(jobs.arrival_ns[job]), history.job_name(job), "only a lost processor loses jobs")
    survived = ~lost & (jobs.status != JobStatus.SUPPRESSED)
    # What a change of mode or place aborts at the instant of the loss comes after it, so is not there any more.
    for row, outages in enumerate(history.row_outages):
        for lost_ns, back_ns in zip(outages.begin_ns.tolist(), outages.end_ns.tolist(), strict=True):
            there = (history.row == row) & (jobs.arrival_ns < back_ns) & (history.end_ns >= lost_ns)
            for job in np.flatnonzero(survived & there).tolist():
                text = f"it is lost with its processor at {lost_ns} ns"
                found.add(Rule.FAULTS, lost_ns, history.job_name(job), text)
