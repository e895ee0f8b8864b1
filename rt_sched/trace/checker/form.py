"""Records are complete and refer to each other: what every other check relies on."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rt_sched.trace.checker.declared import terms_of
from rt_sched.trace.checker.findings import Findings, Rule
from rt_sched.trace.records import DropReason, EventKind, JobStatus, SampleStatus, SliceKind, Trace
from rt_sched.trace.setup import EdgeRow, Setup

_KNOWN_EVENTS = np.array(sorted(EventKind), np.int64)


def check_form(trace: Trace, setup: Setup, found: Findings) -> bool:
    """Whether the records are in form; if not, the violations say where, and nothing else can be checked."""
    before = sum(found.counts.values())
    _names(trace, setup, found)
    if sum(found.counts.values()) == before:
        _jobs(trace, found)
        _slices(trace, found)
        _messages(trace, found)
        _events(trace, setup, found)
    return sum(found.counts.values()) == before


def _names(trace: Trace, setup: Setup, found: Findings) -> None:
    for what, named, declared in (
        ("tasks", trace.task_names, tuple(task.name for task in setup.tasks)),
        ("processors", trace.processor_names, setup.core_names()),
        ("sensors", trace.sensor_names, setup.sensors),
        ("edges", tuple((e.source, e.target, e.input) for e in trace.edges), _edges(setup)),
    ):
        if named != declared:
            found.add(Rule.RECORDS, 0, what, f"the trace names {list(named)}, its setup {list(declared)}")


def _edges(setup: Setup) -> tuple[tuple[str, str, str], ...]:
    return tuple((_source(setup, edge), setup.tasks[edge.target].name, edge.input) for edge in setup.edges)


def _source(setup: Setup, edge: EdgeRow) -> str:
    return setup.sensors[edge.sensor] if edge.sensor is not None else setup.tasks[edge.task or 0].name


def _report(
    found: Findings, table: str, time_ns: npt.NDArray[np.int64], bad: npt.NDArray[np.bool_], expected: str
) -> None:
    for index in np.flatnonzero(bad).tolist():
        found.add(Rule.RECORDS, int(time_ns[index]), f"{table} row {index}", expected)


def _outside(column: npt.NDArray[np.integer], least: int, most: int) -> npt.NDArray[np.bool_]:
    return np.asarray((column < least) | (column > most))


def _jobs(trace: Trace, found: Findings) -> None:
    jobs, at = trace.jobs, trace.jobs.arrival_ns
    tasks = len(trace.task_names)
    _report(found, "job", at, _outside(jobs.task, 0, tasks - 1), f"a task index below {tasks}")
    _report(found, "job", at, _outside(jobs.status, 0, max(JobStatus)), "a job status")
    if not len(jobs):
        return
    if sum(found.counts.values()):
        return
    falling = np.concatenate([[False], np.diff(at) < 0])
    _report(found, "job", at, falling, "rows in order of arrival")
    order = np.argsort(jobs.task, kind="stable")
    count = np.arange(len(order)) - np.searchsorted(jobs.task[order], jobs.task[order])
    expected = np.empty(len(order), np.int64)
    expected[order] = count
    _report(found, "job", at, jobs.number != expected, "numbers that count the jobs of a task from 0 as they arrive")
    samples = len(trace.samples)
    for slot in range(jobs.inputs.shape[1]):
        wrong = _outside(jobs.inputs[:, slot], -1 - samples, len(jobs) - 1)
        _report(found, "job", at, wrong, f"a message on input slot {slot} that exists")


def _slices(trace: Trace, found: Findings) -> None:
    slices, at = trace.slices, trace.slices.start_ns
    cores = len(trace.processor_names)
    _report(found, "slice", at, _outside(slices.processor, 0, cores - 1), f"a core index below {cores}")
    _report(found, "slice", at, _outside(slices.kind, 0, max(SliceKind)), "a slice kind")
    _report(found, "slice", at, _outside(slices.job, 0, len(trace.jobs) - 1), "a job that exists")
    wrong = (slices.start_ns >= slices.end_ns) | (slices.start_ns < 0) | (slices.end_ns > trace.horizon_ns)
    _report(found, "slice", at, wrong, f"0 <= start < end <= the horizon at {trace.horizon_ns} ns")
    falling = np.concatenate([[False], np.diff(slices.end_ns) < 0])[: len(slices)]
    _report(found, "slice", at, falling, "rows in order of end")


def _messages(trace: Trace, found: Findings) -> None:
    samples, drops, transfers = trace.samples, trace.drops, trace.transfers
    sensors, edges, jobs = len(trace.sensor_names), len(trace.edges), len(trace.jobs)
    at = samples.arrival_ns
    _report(found, "sample", at, _outside(samples.sensor, 0, sensors - 1), f"a sensor index below {sensors}")
    _report(found, "sample", at, _outside(samples.status, 0, max(SampleStatus)), "a sample status")
    falling = np.concatenate([[False], np.diff(at) < 0])[: len(samples)]
    _report(found, "sample", at, falling, "rows in order of arrival")
    order = np.argsort(samples.sensor, kind="stable")
    expected = np.empty(len(order), np.int64)
    expected[order] = np.arange(len(order)) - np.searchsorted(samples.sensor[order], samples.sensor[order])
    _report(found, "sample", at, samples.number != expected, "numbers that count the samples of a sensor from 0")
    for table, name, at in ((drops, "drop", drops.time_ns), (transfers, "transfer", transfers.queued_ns)):
        _report(found, name, at, _outside(table.edge, 0, edges - 1), f"an edge index below {edges}")
        nothing = _outside(table.message, -1 - len(samples), jobs - 1) | (table.message == -1)
        _report(found, name, at, nothing, "a message that exists")
        _report(found, name, at, np.concatenate([[False], np.diff(at) < 0])[: len(at)], "rows in order of time")
    _report(found, "drop", drops.time_ns, _outside(drops.reason, 0, max(DropReason)), "a drop reason")


def _events(trace: Trace, setup: Setup, found: Findings) -> None:
    events, at = trace.events, trace.events.time_ns
    _report(found, "event", at, ~np.isin(events.kind, _KNOWN_EVENTS), "a kind of event")
    _report(found, "event", at, _outside(events.job, -1, len(trace.jobs) - 1), "a job that exists")
    _report(found, "event", at, _outside(events.task, -1, len(trace.task_names) - 1), "a task that exists")
    _report(found, "event", at, _outside(events.processor, -1, len(setup.processors) - 1), "a processor that exists")
    _report(found, "event", at, _outside(at, 0, trace.horizon_ns), "a time up to the horizon")
    _report(found, "event", at, np.concatenate([[False], np.diff(at) < 0])[: len(at)], "rows in order of time")
    in_range = ~_outside(events.job, -1, len(trace.jobs) - 1) & ~_outside(events.task, -1, len(setup.tasks) - 1)
    if in_range.all() and not _outside(trace.jobs.task, 0, len(setup.tasks) - 1).any():
        _event_columns(trace, setup, found)
    resources = np.isin(events.kind, _RESOURCE_EVENTS)
    wrong = resources & _outside(events.value, 0, len(setup.resources) - 1)
    _report(found, "event", at, wrong, "a resource that exists")


def _event_columns(trace: Trace, setup: Setup, found: Findings) -> None:
    """Processor, task, job and value of every event: what its kind is about, -1 where nothing applies."""
    events, at = trace.events, trace.events.time_ns
    of_job, of_task = np.isin(events.kind, _JOB_EVENTS), np.isin(events.kind, _TASK_EVENTS)
    _report(found, "event", at, of_job & (events.job < 0), "the job it is about")
    told = events.job >= 0
    task = np.full(len(at), -1, np.int64)
    task[told] = trace.jobs.task[events.job[told]]
    entry = events.kind == EventKind.ENTRY
    task[of_task | entry] = events.task[of_task | entry]
    _report(found, "event", at, events.task != task, "the task of its job")
    _report(found, "event", at, (task >= 0) & (events.processor != _processors(trace, setup, task)), _PLACE)
    silent = np.isin(events.kind, _JOBLESS_EVENTS)
    _report(found, "event", at, silent & told, "no job")
    _report(found, "event", at, of_task & (task < 0), "the task it is about")
    plain = np.isin(events.kind, _VALUED_EVENTS, invert=True)
    _report(found, "event", at, plain & (events.value != -1), "no value")


def _processors(trace: Trace, setup: Setup, task: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Where the job of each event is: where its task was when it arrived; without one, where its task is from then on.

    What is told of a job at its LET instant concerns its task.
    """
    events = trace.events
    time_ns = events.time_ns.astype(np.int64)
    of_job = (events.job >= 0) & ~np.isin(events.kind, (int(EventKind.LET_PUBLISH), int(EventKind.LET_UNFINISHED)))
    time_ns[of_job] = trace.jobs.arrival_ns[events.job[of_job]]
    processors = np.array([*(row.processor for row in setup.tasks), -1], np.int64)[task]
    for changed in {change.task for change in setup.task_changes}:
        mine = task == changed
        for term in terms_of(setup, changed):
            processors[mine & (time_ns >= term.begin_ns)] = term.row.processor
    return processors


_PLACE = "the processor of its task"
_RESOURCE_EVENTS = np.array([EventKind.REQUEST, EventKind.LOCK, EventKind.UNLOCK, EventKind.OWNER_DEAD], np.int64)
_JOB_EVENTS = np.array(
    [
        EventKind.OVERRUN,
        EventKind.SKIP,
        EventKind.ABORT,
        EventKind.RESCALE,
        EventKind.SEPARATION,
        EventKind.SUPPRESS,
        EventKind.SUSPEND,
        EventKind.WAKE,
        EventKind.REQUEST,
        EventKind.LOCK,
        EventKind.UNLOCK,
        EventKind.ENFORCE,
        EventKind.THROTTLE,
        EventKind.REPLENISH,
        EventKind.LET_PUBLISH,
        EventKind.LET_UNFINISHED,
    ],
    np.int64,
)
_TASK_EVENTS = np.array(
    [EventKind.TASK_REMOVED, EventKind.TASK_ADDED, EventKind.TASK_MOVED, EventKind.TASK_VARIED], np.int64
)
_JOBLESS_EVENTS = np.array(
    [
        EventKind.LINK_LOST,
        EventKind.LINK_RETURNED,
        *_TASK_EVENTS,
        EventKind.FREQUENCY,
        EventKind.HIGH,
        EventKind.LOW,
        EventKind.SLICE,
    ],
    np.int64,
)
_VALUED_EVENTS = np.array(
    [
        *_RESOURCE_EVENTS,
        EventKind.LINK_LOST,
        EventKind.LINK_RETURNED,
        EventKind.TASK_MOVED,
        EventKind.TASK_VARIED,
        EventKind.SUPPRESS,
        EventKind.FREQUENCY,
        EventKind.RESCALE,
        EventKind.SEPARATION,
        EventKind.SUSPEND,
        EventKind.ENFORCE,
        EventKind.REPLENISH,
        EventKind.SLICE,
        EventKind.ENTRY,
    ],
    np.int64,
)
