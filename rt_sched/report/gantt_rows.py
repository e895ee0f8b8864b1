"""What a chart of a schedule shows, whatever it is drawn with: its rows, how long locks were held, and speeds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from rt_sched.report.text import count
from rt_sched.trace.interval import OF_LOCKS, interval_of
from rt_sched.trace.records import EventKind, Trace


class RowsOf(Enum):
    """Whether every task or every processor has a row of its own."""

    TASKS = "tasks"
    PROCESSORS = "processors"


@dataclass(frozen=True, slots=True)
class Row:
    """A task or a core. `element`: the processing element that it belongs to, by whose name rows stand together.

    `jobs`, `slices`: rows of the trace's tables, by arrival and by end; a job stands where it ran first, or would have.
    """

    name: str
    element: str
    jobs: tuple[int, ...]
    slices: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LockSpan:
    """[start_ns, end_ns) in which a job held a resource, or waited for it."""

    job: int
    resource: str
    start_ns: int
    end_ns: int
    held: bool


@dataclass(frozen=True, slots=True)
class Chart:
    """[start_ns, end_ns) of a run; `trace` has nothing else. `notes`: what was left out, in words.

    `speeds`: of every element whose frequency changes, (from when on, kHz), ascending.
    """

    trace: Trace
    start_ns: int
    end_ns: int
    rows_of: RowsOf
    rows: tuple[Row, ...]
    locks: tuple[LockSpan, ...]
    speeds: dict[str, tuple[tuple[int, int], ...]]
    notes: tuple[str, ...]


def chart_of(trace: Trace, start_ns: int, end_ns: int, rows_of: RowsOf, most_rows: int, most_slices: int) -> Chart:
    """A chart of a trace that has nothing outside the interval (`trace.interval`).

    With more slices than `most_slices` it ends earlier; with more rows the first ones are drawn. Its notes tell so.
    """
    notes = []
    if len(trace.slices) > most_slices:
        wanted_ns, end_ns = end_ns, max(start_ns + 1, int(np.sort(trace.slices.start_ns)[most_slices]))
        share = f"the first {count(most_slices)} of {count(len(trace.slices))} pieces of execution"
        notes.append(f"Drawn until {end_ns / 1e6:g} ms of {wanted_ns / 1e6:g} ms: {share}.")
        trace = interval_of(trace, start_ns, end_ns)
    rows = _tasks(trace) if rows_of is RowsOf.TASKS else _processors(trace)
    if len(rows) > most_rows:
        notes.append(f"The first {count(most_rows)} of {count(len(rows))} {rows_of.value} that had jobs are drawn.")
        rows = rows[:most_rows]
    drawn = {row.element for row in rows}
    speeds = {name: steps for name, steps in _speeds(trace).items() if name in drawn}
    return Chart(trace, start_ns, end_ns, rows_of, tuple(rows), _locks(trace, start_ns, end_ns), speeds, tuple(notes))


def element_of_core(trace: Trace) -> list[str]:
    """The processing element of every core."""
    if trace.setup is None:
        return list(trace.processor_names)
    return [processor.name for processor in trace.setup.processors for _ in range(processor.cores)]


def home_cores(trace: Trace) -> list[int]:
    """The core on which each job ran first, else the first one of its task's element; -1 where that is not known."""
    homes = [-1] * len(trace.jobs)
    elements = element_of_core(trace)
    if trace.setup is not None:
        first = [elements.index(trace.setup.processors[task.processor].name) for task in trace.setup.tasks]
        homes = [first[task] for task in trace.jobs.task.tolist()]
    order = np.argsort(trace.slices.start_ns, kind="stable")[::-1]
    for job, core in zip(trace.slices.job[order].tolist(), trace.slices.processor[order].tolist(), strict=True):
        homes[job] = core
    return homes


def _tasks(trace: Trace) -> list[Row]:
    """Tasks with a job, by element and urgency."""
    homes, elements = home_cores(trace), element_of_core(trace)
    jobs: dict[int, list[int]] = {}
    for job, task in enumerate(trace.jobs.task.tolist()):
        jobs.setdefault(task, []).append(job)
    slices: dict[int, list[int]] = {task: [] for task in jobs}
    for row, job in enumerate(trace.slices.job.tolist()):
        slices[int(trace.jobs.task[job])].append(row)
    levels = [0] * len(trace.task_names) if trace.setup is None else [task.level for task in trace.setup.tasks]

    def place(task: int) -> tuple[int, int, int]:
        core = homes[jobs[task][0]]
        return (len(elements) if core < 0 else elements.index(elements[core])), levels[task], task

    return [
        Row(
            trace.task_names[task],
            elements[homes[jobs[task][0]]] if homes[jobs[task][0]] >= 0 else "",
            tuple(jobs[task]),
            tuple(slices[task]),
        )
        for task in sorted(jobs, key=place)
    ]


def _processors(trace: Trace) -> list[Row]:
    """Cores that ran, or would have run, a job."""
    elements = element_of_core(trace)
    jobs: dict[int, list[int]] = {}
    for job, core in enumerate(home_cores(trace)):
        jobs.setdefault(core, []).append(job)
    slices: dict[int, list[int]] = {}
    for row, core in enumerate(trace.slices.processor.tolist()):
        slices.setdefault(core, []).append(row)
    return [
        Row(trace.processor_names[core], elements[core], tuple(jobs.get(core, ())), tuple(slices.get(core, ())))
        for core in sorted({*jobs, *slices} - {-1})
    ]


def _locks(trace: Trace, start_ns: int, end_ns: int) -> tuple[LockSpan, ...]:
    """From a request to the lock, and from the lock to when it is let go; what is open ends with the chart."""
    names = None if trace.setup is None else [one.name for one in trace.setup.resources]
    spans: list[LockSpan] = []
    open_ns: dict[tuple[int, int, bool], int] = {}

    def close(job: int, resource: int, held: bool, time_ns: int) -> None:
        begin_ns = max(open_ns.pop((job, resource, held), end_ns), start_ns)
        if begin_ns < time_ns:
            name = str(resource) if names is None else names[resource]
            spans.append(LockSpan(job, name, begin_ns, time_ns, held))

    events = trace.events
    for row in np.flatnonzero(np.isin(events.kind, OF_LOCKS) & (events.job >= 0)).tolist():
        job, resource, time_ns = (int(column[row]) for column in (events.job, events.value, events.time_ns))
        kind = EventKind(int(events.kind[row]))
        if kind is EventKind.REQUEST:
            open_ns[job, resource, False] = time_ns
        elif kind is EventKind.LOCK:
            close(job, resource, False, time_ns)
            open_ns[job, resource, True] = time_ns
        else:
            close(job, resource, True, time_ns)
    for job, resource, held in tuple(open_ns):
        close(job, resource, held, end_ns)
    return tuple(spans)


def _speeds(trace: Trace) -> dict[str, tuple[tuple[int, int], ...]]:
    if trace.setup is None:
        return {}
    events = trace.events
    speeds: dict[str, list[tuple[int, int]]] = {}
    for row in np.flatnonzero(events.kind == EventKind.FREQUENCY).tolist():
        processor = trace.setup.processors[int(events.processor[row])]
        steps = speeds.setdefault(processor.name, [(0, processor.frequency_khz)])
        steps.append((int(events.time_ns[row]), int(events.value[row])))
    return {name: tuple(steps) for name, steps in speeds.items()}


def resumed(trace: Trace, row: int) -> bool:
    """Whether a slice is not the first one of its job."""
    return bool(trace.slices.start_ns[row] > trace.jobs.start_ns[trace.slices.job[row]])
