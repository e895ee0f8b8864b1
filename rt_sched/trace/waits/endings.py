"""Why a job that did not complete ended (semantics 8, 9, 12, 16)."""

from __future__ import annotations

from rt_sched.trace.checker.ends import abort_causes
from rt_sched.trace.checker.findings import Rule
from rt_sched.trace.records import JobStatus
from rt_sched.trace.waits.schedule import Schedule

_ABORTED = {
    Rule.BUDGETS: "its budget was used up",
    Rule.MODES: "a change of mode, or a takeover, removed its task",
    Rule.TAKEOVERS: "its task went elsewhere",
    Rule.CRITICALITY: "its processor went to HI mode",
    Rule.ENDS: "its deadline passed",
}


def ending(schedule: Schedule, job: int) -> str | None:
    """In words, None for a job that completed."""
    history, trace = schedule.history, schedule.trace
    status = JobStatus(int(trace.jobs.status[job]))
    if status is JobStatus.COMPLETED:
        return None
    if status is JobStatus.UNFINISHED:
        return "the run ended first"
    if status is JobStatus.LOST:
        return f"{schedule.processor(job).name} was lost"
    if status is JobStatus.SKIPPED:
        return f"no message on {_empty_inputs(schedule, job)}"
    if status is JobStatus.SUPPRESSED:
        arrival_ns = int(trace.jobs.arrival_ns[job])
        high = any(begin <= arrival_ns <= end for begin, end in history.high_spans(int(history.row[job])))
        return "its processor was in HI mode" if high else "an earlier job of its task had overrun or was late"
    causes = [rule for at_ns, _, rule in abort_causes(history, job) if at_ns <= history.end_ns[job]]
    return _ABORTED.get(causes[-1], "it was aborted") if causes else "it was aborted"


def _empty_inputs(schedule: Schedule, job: int) -> str:
    """The required inputs that held nothing."""
    inputs, task = schedule.trace.jobs.inputs[job], int(schedule.trace.jobs.task[job])
    rows = zip(schedule.setup.edges, schedule.trace.edges, strict=True)
    return ", ".join(
        edge.input for row, edge in rows if row.target == task and row.required and int(inputs[edge.slot]) == -1
    )
