"""A trace arranged for checking: who follows whom, when each job left, what each job had executed at an instant."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from rt_sched.trace.checker.declared import NEVER_NS, Outages, Term, outages_of, terms_of
from rt_sched.trace.records import Bools, EventKind, Int64s, JobStatus, SliceKind, Trace, sample_of
from rt_sched.trace.setup import FaultTarget, Setup, TaskRow

__all__ = ["NEVER_NS", "Declared", "EventRow", "History"]

#: Events of one kind: rows of the event table as (time, job, value, position in the table).
EventRow = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Declared:
    """A task as `row` declares it, and the jobs that arrived meanwhile."""

    task: int
    row: TaskRow
    jobs: Int64s


class History:
    """Derived columns of a trace with a setup; raises nothing for a trace whose records are in form."""

    def __init__(self, trace: Trace, setup: Setup) -> None:
        self.trace, self.setup = trace, setup
        jobs = trace.jobs
        self.task = jobs.task.astype(np.int64)
        self.row = self.per_job(lambda task: task.processor)
        self.cores = np.array([processor.cores for processor in setup.processors], np.int64)
        self.first_core = np.concatenate([[0], np.cumsum(self.cores)]).astype(np.int64)
        self.row_of_core = np.repeat(np.arange(len(self.cores)), self.cores)

    # -- declarations

    @cached_property
    def terms(self) -> list[list[Term]]:
        """Per task how it was declared over the run."""
        return [terms_of(self.setup, task) for task in range(len(self.setup.tasks))]

    @cached_property
    def declared(self) -> list[Declared]:
        """Every term of every task with the jobs that arrived in it, by task and time."""
        found = []
        for task, terms in enumerate(self.terms):
            mine = self.jobs_of_task[task]
            arrival_ns = self.trace.jobs.arrival_ns[mine]
            bounds = [int(np.searchsorted(arrival_ns, term.begin_ns)) for term in terms[1:]]
            bounds = [0, *bounds, len(mine)]
            found += [Declared(task, term.row, mine[bounds[at] : bounds[at + 1]]) for at, term in enumerate(terms)]
        return found

    @cached_property
    def stays(self) -> list[Declared]:
        """The same, with the terms of a task put together until it moves; the row is that of the first."""
        found: list[Declared] = []
        moved = (term.moved for terms in self.terms for term in terms)
        for one, begins in zip(self.declared, moved, strict=True):
            if begins:
                found.append(one)
            else:
                found[-1] = Declared(one.task, found[-1].row, np.concatenate([found[-1].jobs, one.jobs]))
        return found

    @cached_property
    def _term_of_job(self) -> Int64s:
        """int64[n jobs]: position in `declared`."""
        term = np.zeros(len(self.task), np.int64)
        for place, one in enumerate(self.declared):
            term[one.jobs] = place
        return term

    def per_job(self, value: Callable[[TaskRow], int]) -> Int64s:
        """int64[n jobs]: for every job a value of the row that declared its task when it arrived."""
        values = np.array([value(one.row) for one in self.declared], np.int64)
        return np.asarray(values[self._term_of_job], np.int64)

    @cached_property
    def limited(self) -> Bools:
        """bool[n jobs]: whether a job may be preempted at points of its task only."""
        return np.asarray(self.per_job(lambda task: bool(task.preemption_points_ns)) == 1, np.bool_)

    @cached_property
    def moves(self) -> list[list[int]]:
        """Per task the instants at which it moves, ascending."""
        return [[term.begin_ns for term in terms[1:] if term.moved] for terms in self.terms]

    # -- names

    def job_name(self, job: int) -> str:
        """A job in words."""
        if not 0 <= job < len(self.task):
            return f"job row {job}"
        return f"{self.trace.task_names[self.task[job]]} #{int(self.trace.jobs.number[job])}"

    def core_name(self, core: int) -> str:
        """A core in words."""
        return self.trace.processor_names[core]

    def edge_name(self, edge: int) -> str:
        """An edge in words."""
        name = self.trace.edges[edge]
        return f"edge {name.source} -> {name.target}.{name.input}"

    def message_name(self, message: int) -> str:
        """A message in words."""
        if message == -1:
            return "nothing"
        if message >= 0:
            return f"the output of {self.job_name(message)}"
        sample = sample_of(message)
        if sample >= len(self.trace.samples):
            return f"sample row {sample}"
        sensor = self.trace.sensor_names[self.trace.samples.sensor[sample]]
        return f"sample {int(self.trace.samples.number[sample])} of {sensor}"

    def task_row(self, job: int) -> TaskRow:
        """Declaration of the task of a job."""
        return self.declared[int(self._term_of_job[job])].row

    # -- faults

    def outages(self, kind: FaultTarget, count: int) -> list[Outages]:
        """Per processor, sensor or link, of which there are `count`, when it was lost."""
        return [outages_of(self.setup, kind, target, self.trace.horizon_ns) for target in range(count)]

    @cached_property
    def row_outages(self) -> list[Outages]:
        """Per processor when it was lost."""
        return self.outages(FaultTarget.PROCESSOR, len(self.setup.processors))

    @cached_property
    def lost_on_arrival(self) -> Bools:
        """bool[n jobs]: whether the processor of a job was lost when it arrived."""
        lost = np.zeros(len(self.task), np.bool_)
        for row, outages in enumerate(self.row_outages):
            if len(outages.begin_ns):
                mine = np.flatnonzero(self.row == row)
                lost[mine] = outages.covers(self.trace.jobs.arrival_ns[mine])
        return lost

    # -- events

    @cached_property
    def _events(self) -> dict[int, list[EventRow]]:
        table = self.trace.events
        rows: dict[int, list[EventRow]] = defaultdict(list)
        columns = (table.kind.tolist(), table.time_ns.tolist(), table.job.tolist(), table.value.tolist())
        for position, (kind, time_ns, job, value) in enumerate(zip(*columns, strict=True)):
            rows[kind].append((time_ns, job, value, position))
        return rows

    def events(self, kind: EventKind) -> list[EventRow]:
        """Events of one kind, in order."""
        return self._events.get(kind, [])

    @cached_property
    def _events_by_task(self) -> dict[int, list[dict[int, list[EventRow]]]]:
        found: dict[int, list[dict[int, list[EventRow]]]] = {}
        tasks = self.task.tolist()
        for kind, rows in self._events.items():
            of_tasks: list[dict[int, list[EventRow]]] = [{} for _ in self.setup.tasks]
            for row in rows:
                if row[1] >= 0:
                    of_tasks[tasks[row[1]]].setdefault(row[1], []).append(row)
            found[kind] = of_tasks
        return found

    def events_of_task(self, kind: EventKind, task: int) -> dict[int, list[EventRow]]:
        """Events of one kind about jobs of a task, by job, in order."""
        of_tasks = self._events_by_task.get(kind)
        return of_tasks[task] if of_tasks else {}

    def events_of_jobs(self, kind: EventKind) -> dict[int, list[EventRow]]:
        """Events of one kind by job, in order."""
        return {job: rows for of_task in self._events_by_task.get(kind, ()) for job, rows in of_task.items()}

    # -- jobs

    @cached_property
    def by_task(self) -> Int64s:
        """Rows of the job table ordered by task, then as they arrived."""
        return np.argsort(self.task, kind="stable").astype(np.int64)

    @cached_property
    def jobs_of_task(self) -> list[Int64s]:
        """Per task the rows of its jobs, in order."""
        bounds = np.searchsorted(self.task[self.by_task], np.arange(len(self.setup.tasks) + 1))
        return [self.by_task[first:last] for first, last in pairwise(bounds)]

    @cached_property
    def end_ns(self) -> Int64s:
        """int64[n jobs]: instant at which the job left its task's backlog; NEVER_NS for unfinished ones.

        Of an aborted or skipped job that no event tells about, the arrival.
        """
        jobs = self.trace.jobs
        end_ns = np.full(len(jobs), NEVER_NS, np.int64)
        status = jobs.status
        completed = status == JobStatus.COMPLETED
        end_ns[completed] = jobs.finish_ns[completed]
        for row, outages in enumerate(self.row_outages):
            lost = np.flatnonzero((status == JobStatus.LOST) & (self.row == row))
            end_ns[lost] = outages.next_ns(jobs.arrival_ns[lost])
        lost = (status == JobStatus.LOST) & self.lost_on_arrival
        end_ns[lost] = jobs.arrival_ns[lost]
        other = (status == JobStatus.SUPPRESSED) | (status == JobStatus.ABORTED) | (status == JobStatus.SKIPPED)
        end_ns[other] = jobs.arrival_ns[other]
        for kind, wanted in ((EventKind.ABORT, JobStatus.ABORTED), (EventKind.SKIP, JobStatus.SKIPPED)):
            for time_ns, job, _, _ in self.events(kind):
                if status[job] == wanted:
                    end_ns[job] = time_ns
        return end_ns

    @cached_property
    def before(self) -> Int64s:
        """int64[n jobs]: the job of the same task that arrived before, -1 for the first."""
        before = np.full(len(self.task), -1, np.int64)
        if len(self.task):
            ordered = self.by_task
            same = self.task[ordered[1:]] == self.task[ordered[:-1]]
            before[ordered[1:][same]] = ordered[:-1][same]
        return before

    @cached_property
    def head_ns(self) -> Int64s:
        """int64[n jobs]: from when on it is released and the oldest of its task."""
        head_ns = self.trace.jobs.release_ns.astype(np.int64).copy()
        for mine in self.jobs_of_task:
            if len(mine) > 1:
                ends = np.maximum.accumulate(self.end_ns[mine])
                head_ns[mine[1:]] = np.maximum(head_ns[mine[1:]], ends[:-1])
        return head_ns

    @cached_property
    def enforcements(self) -> dict[int, list[EventRow]]:
        """Overrun actions by job, in order."""
        return self.events_of_jobs(EventKind.ENFORCE)

    @cached_property
    def removals(self) -> list[list[int]]:
        """Per task the instants at which it is removed, ascending."""
        instants: list[list[int]] = [[] for _ in self.setup.tasks]
        for change in sorted(self.setup.mode_changes, key=lambda one: one.time_ns):
            for task in set(change.removed):
                instants[task].append(change.time_ns)
        return instants

    @cached_property
    def forgets(self) -> list[list[int]]:
        """Per task the instants at which it forgets what jobs said about the next one: it is removed, or moves."""
        return [sorted(one) for one in map(list.__add__, self.removals, self.moves)]

    @cached_property
    def _modes(self) -> dict[int, list[tuple[int, int]]]:
        table = self.trace.events
        switches: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for place in np.flatnonzero(np.isin(table.kind, (int(EventKind.HIGH), int(EventKind.LOW)))).tolist():
            switches[int(table.processor[place])].append((int(table.time_ns[place]), int(table.kind[place])))
        return switches

    def criticality_switches(self, row: int) -> list[tuple[int, int]]:
        """Mode switches of a processor in order: instant, HIGH or LOW."""
        return self._modes.get(row, [])

    @cached_property
    def _high_ns(self) -> list[list[int]]:
        return [
            [time_ns for time_ns, kind in self.criticality_switches(row) if kind == EventKind.HIGH]
            for row in range(len(self.cores))
        ]

    def high_ns(self, row: int) -> list[int]:
        """Instants at which a processor went into HI mode, ascending."""
        return self._high_ns[row]

    def high_spans(self, row: int) -> list[tuple[int, int]]:
        """Spans of HI mode of a processor; a LO job that arrives at the end of one still meets HI mode."""
        spans: list[tuple[int, int]] = []
        for time_ns, kind in self.criticality_switches(row):
            if kind == EventKind.HIGH:
                spans.append((time_ns, NEVER_NS))
            elif spans:
                spans[-1] = (spans[-1][0], time_ns)
        return spans

    # -- slices

    @cached_property
    def slices_by_job(self) -> Int64s:
        """Rows of the slice table ordered by job, then time."""
        slices = self.trace.slices
        return np.lexsort((slices.end_ns, slices.start_ns, slices.job)).astype(np.int64)

    @cached_property
    def slices_by_core(self) -> Int64s:
        """Rows of the slice table ordered by core, then time."""
        slices = self.trace.slices
        return np.lexsort((slices.end_ns, slices.start_ns, slices.processor)).astype(np.int64)

    @cached_property
    def _progress(self) -> tuple[list[int], list[int], list[int], list[int]]:
        """Starts, ends and executed time before each execution slice, by job; and where those of each job begin."""
        slices, order = self.trace.slices, self.slices_by_job
        order = order[slices.kind[order] == SliceKind.EXECUTE]
        length = slices.end_ns[order] - slices.start_ns[order]
        total = np.cumsum(length) - length
        job = slices.job[order]
        bounds = np.searchsorted(job, np.arange(len(self.task) + 1))
        if len(order):
            total = total - total[np.minimum(bounds[job], len(order) - 1)]
        return slices.start_ns[order].tolist(), slices.end_ns[order].tolist(), total.tolist(), bounds.tolist()

    def executed_at(self, job: int, time_ns: int) -> int:
        """Executed time of a job at an instant."""
        starts, ends, before, bounds = self._progress
        place = bisect_right(starts, time_ns, bounds[job], bounds[job + 1]) - 1
        if place < bounds[job]:
            return 0
        return before[place] + min(time_ns, ends[place]) - starts[place]

    def reached_ns(self, job: int, executed_ns: int) -> int:
        """First instant at which a job had executed that long, NEVER_NS when it never did; its start for 0."""
        starts, ends, before, bounds = self._progress
        if executed_ns <= 0:
            return int(self.trace.jobs.start_ns[job])
        place = bisect_left(before, executed_ns, bounds[job], bounds[job + 1]) - 1
        if place < bounds[job]:
            return NEVER_NS
        reached = starts[place] + executed_ns - before[place]
        return reached if reached <= ends[place] else NEVER_NS

    @cached_property
    def _stays(self) -> tuple[list[int], list[int], list[int]]:
        """Starts and ends of the slices of any kind, by job; and where those of each job begin."""
        slices, order = self.trace.slices, self.slices_by_job
        bounds = np.searchsorted(slices.job[order], np.arange(len(self.task) + 1))
        return slices.start_ns[order].tolist(), slices.end_ns[order].tolist(), bounds.tolist()

    def had_core_until(self, job: int, time_ns: int) -> bool:
        """Whether a job had a core right up to an instant, so that what it does then comes before the dispatch."""
        starts, ends, bounds = self._stays
        place = bisect_left(starts, time_ns, bounds[job], bounds[job + 1]) - 1
        return place >= bounds[job] and ends[place] >= time_ns

    @cached_property
    def brief_stays(self) -> set[tuple[int, int]]:
        """Jobs, and the instants at which they got a core and gave it up at once, for a lock or to suspend."""
        slices = self.trace.slices
        gave_up = {
            (job, time_ns)
            for kind in (EventKind.REQUEST, EventKind.SUSPEND)
            for time_ns, job, _, _ in self.events(kind)
        }
        if gave_up:
            jobs = slices.job.tolist()
            gave_up.difference_update(zip(jobs, slices.start_ns.tolist(), strict=True))
            gave_up.difference_update(zip(jobs, slices.end_ns.tolist(), strict=True))
        return gave_up

    @cached_property
    def first_slice_ns(self) -> Int64s:
        """int64[n jobs]: begin of the first slice of any kind, -1 for none."""
        return self._over_slices(self.trace.slices.start_ns, first=True)

    @cached_property
    def last_slice_ns(self) -> Int64s:
        """int64[n jobs]: end of the last slice of any kind, -1 for none."""
        return self._over_slices(self.trace.slices.end_ns, first=False)

    def _over_slices(self, column: npt.NDArray[np.int64], first: bool) -> Int64s:
        found = np.full(len(self.task), -1, np.int64)
        order = self.slices_by_job
        rows = order[::-1] if first else order
        found[self.trace.slices.job[rows]] = column[rows]
        return found

    @cached_property
    def executed_ns(self) -> Int64s:
        """int64[n jobs]: sum of the execution slices."""
        slices = self.trace.slices
        mine = slices.kind == SliceKind.EXECUTE
        executed = np.zeros(len(self.task), np.int64)
        np.add.at(executed, slices.job[mine], slices.end_ns[mine] - slices.start_ns[mine])
        return executed

    @cached_property
    def started(self) -> Bools:
        """bool[n jobs]: whether the job ever had a core."""
        return np.asarray(self.trace.jobs.start_ns >= 0)
