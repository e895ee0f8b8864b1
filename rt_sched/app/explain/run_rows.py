"""Parts of a job or a frame as rows for programs, with what the bound counts for each beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rt_sched.trace.job_names import job_anchor, job_name, message_name
from rt_sched.trace.records import JobStatus, Trace
from rt_sched.trace.waits import Fate, Part, PartKind, Reason, Schedule, job_parts
from rt_sched.trace.waits.endings import ending
from rt_sched.trace.waits.messages import Messages

Row = dict[str, Any]

#: The terms of a bound that stand for what a part of a kind is; `core` is told apart by its reasons.
_TERMS = {
    PartKind.EXECUTION: "own_execution",
    PartKind.SWITCH: "overhead",
    PartKind.SPIN: "spin",
    PartKind.LOCK: "blocking",
    PartKind.SUSPENSION: "suspension",
    PartKind.RELEASE_JITTER: "release_jitter",
    PartKind.WINDOW: "supply",
}
_TERMS_OF_REASONS = {
    Reason.NON_PREEMPTIVE: "non_preemptive_region",
    Reason.LOCK_HELD: "blocking",
    Reason.CEILING: "blocking",
}


def part_row(trace: Trace, part: Part, origin_ns: int) -> Row:
    """`at_ns` counts from `origin_ns`."""
    return {
        "kind": part.kind.value,
        "at_ns": part.start_ns - origin_ns,
        "value_ns": part.length_ns,
        "by": [
            {
                "who": message_name(trace, cause.message),
                "why": cause.reason.value,
                "resources": list(cause.resources),
            }
            for cause in part.causes
        ],
        "resource": part.resource,
        "frequency_hz": None if part.frequency_khz is None else part.frequency_khz * 1000,
    }


def job_row(schedule: Schedule, job: int, known: Mapping[str, Mapping[str, Any]]) -> Row:
    """Everything on one job. `known`: rows of tasks from the run's summary, by name."""
    trace, jobs = schedule.trace, schedule.trace.jobs
    parts = job_parts(schedule, job)
    arrival_ns, end_ns = int(jobs.arrival_ns[job]), schedule.end_ns(job)
    task = trace.task_names[int(jobs.task[job])]
    summary = known.get(task, {})
    return {
        "name": job_name(trace, job),
        "task": task,
        "number": int(jobs.number[job]),
        "cores": sorted({trace.processor_names[core] for core in schedule.cores(job)}),
        "anchor": job_anchor(trace, job),
        "arrival_ns": arrival_ns,
        "end_ns": end_ns,
        "response_ns": end_ns - arrival_ns,
        "deadline_ns": int(jobs.deadline_ns[job]) - arrival_ns,
        "missed": bool(jobs.missed[job]),
        "status": JobStatus(int(jobs.status[job])).name.lower(),
        "ended_because": ending(schedule, job),
        "bound_ns": summary.get("bound_ns"),
        "bound_method": summary.get("bound_method"),
        "bound_missing": summary.get("bound_missing"),
        "stretched_ns": _stretched_ns(schedule, job),
        "parts": [part_row(trace, part, arrival_ns) for part in parts],
        "sums": _sums(trace, parts, summary.get("bound_terms") or ()),
        "reads": _reads(schedule, job),
        "output": [fate_row(schedule, fate) for fate in _fates(schedule, job)],
    }


def _stretched_ns(schedule: Schedule, job: int) -> int | None:
    """By how much other frequencies than the declared one changed what a completed job had to execute."""
    jobs = schedule.trace.jobs
    if not schedule.setup.frequency_changes or jobs.status[job] != JobStatus.COMPLETED:
        return None
    return int(jobs.demand_ns[job]) - schedule.declared_demand_ns[job]


def _sums(trace: Trace, parts: Iterable[Part], terms: Sequence[Mapping[str, Any]]) -> list[Row]:
    """What the parts of one kind, reason and other task add up to, the longest first.

    `in_bound_ns`: what the bound counts for the same, None where it has no such term. Where others had several cores
    at once, their tasks stand together.
    """
    found: dict[tuple[PartKind, tuple[str, ...], tuple[Reason, ...]], int] = {}
    jobs: dict[tuple[PartKind, tuple[str, ...], tuple[Reason, ...]], set[int]] = {}
    for part in parts:
        tasks = tuple(sorted({message_name(trace, cause.message).rpartition("#")[0] for cause in part.causes}))
        key = part.kind, tasks, tuple(sorted({cause.reason for cause in part.causes}))
        found[key] = found.get(key, 0) + part.length_ns
        jobs.setdefault(key, set()).update(cause.message for cause in part.causes)
    return [
        {
            "kind": kind.value,
            "by": list(tasks),
            "why": [reason.value for reason in reasons],
            "jobs": len(jobs[kind, tasks, reasons]),
            "value_ns": value_ns,
            "in_bound_ns": _in_bound_ns(kind, tasks, reasons, terms),
        }
        for (kind, tasks, reasons), value_ns in sorted(found.items(), key=lambda one: -one[1])
    ]


def _in_bound_ns(
    kind: PartKind, tasks: tuple[str, ...], reasons: tuple[Reason, ...], terms: Sequence[Mapping[str, Any]]
) -> int | None:
    if kind is PartKind.CORE and len(reasons) == 1 and reasons[0] in _TERMS_OF_REASONS:
        mine = [term for term in terms if term["kind"] == _TERMS_OF_REASONS[reasons[0]]]
    elif kind is PartKind.CORE and len(tasks) == 1:
        mine = [term for term in terms if term["kind"] == "interference" and term["by"] == tasks[0]]
    else:
        mine = [term for term in terms if term["kind"] == _TERMS.get(kind)]
    return sum(int(term["value_ns"]) for term in mine) if mine else None


def _reads(schedule: Schedule, job: int) -> list[Row]:
    """Every input of a job, what was read on it, and how old that was when the job arrived."""
    trace, task = schedule.trace, int(schedule.trace.jobs.task[job])
    rows = []
    for edge, row in zip(trace.edges, schedule.setup.edges, strict=True):
        if row.target == task:
            message = int(trace.jobs.inputs[job, edge.slot])
            rows.append({"input": edge.input, "message": None if message == -1 else message_name(trace, message)})
    return rows


def _fates(schedule: Schedule, message: int) -> list[Fate]:
    """What became of a message on every edge that begins at its task or sensor."""
    trace, messages = schedule.trace, Messages(schedule)
    source = message_name(trace, message).rpartition("#")[0]
    return [messages.fate(index, message) for index, edge in enumerate(trace.edges) if edge.source == source]


def message_fates(schedule: Schedule, message: int) -> list[Row]:
    """As rows."""
    return [fate_row(schedule, fate) for fate in _fates(schedule, message)]


def fate_row(schedule: Schedule, fate: Fate) -> Row:
    """`by`: the jobs that read the message, or the newer one."""
    trace, edge = schedule.trace, schedule.trace.edges[fate.edge]
    return {
        "message": message_name(trace, fate.message),
        "reader": edge.target,
        "input": edge.input,
        "fate": fate.kind.value,
        "time_ns": fate.time_ns,
        "by": [message_name(trace, one) for one in fate.by],
        "drop": None if fate.drop is None else fate.drop.name.lower(),
    }
