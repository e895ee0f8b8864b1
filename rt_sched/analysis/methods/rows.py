"""The tasks of a processor as rows for the batch functions: one row for each stream of arrivals of a task."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from rt_sched.analysis.batch import Status
from rt_sched.analysis.loads.load import LoadTask, ProcessorLoad, Stream
from rt_sched.analysis.methods.method import Found
from rt_sched.analysis.result import Term, TermKind
from rt_sched.units import NS_PER_S


@dataclass(frozen=True, slots=True)
class Row:
    """One stream of one task. `place`: position of the task in its load."""

    place: int
    task: LoadTask
    stream: Stream

    @property
    def jitter_ns(self) -> int:
        """Of arrival and release together."""
        return self.stream.jitter_ns + self.task.release_jitter_ns

    def jobs_within(self, window_ns: int) -> int:
        """Most releases in a half-open window."""
        return max(0, -(-(window_ns + self.jitter_ns) // self.stream.period_ns))


def rows_of(load: ProcessorLoad) -> list[Row]:
    """By level."""
    return [Row(place, task, stream) for place, task in enumerate(load.tasks) for stream in task.streams]


def own_terms(task: LoadTask, jobs: int) -> list[Term]:
    """What `jobs` jobs of the task at stake take themselves."""
    terms = [Term(TermKind.OWN_EXECUTION, jobs * task.wcet_ns, task.name, jobs, task.wcet_ns)]
    if task.overhead_ns:
        terms.append(Term(TermKind.OVERHEAD, jobs * task.overhead_ns, task.name, jobs, task.overhead_ns))
    if task.spin_ns:
        terms.append(Term(TermKind.SPIN, jobs * task.spin_ns, task.name, jobs, task.spin_ns))
    return terms


#: Tasks whose interference has a term each; of more, those that interfere least are put into one.
MOST_TERMS = 64


def interference(counted: Sequence[tuple[LoadTask, int]]) -> list[Term]:
    """One term a task for the jobs of others, switches and spinning of theirs included."""
    jobs: dict[int, int] = {}
    tasks = {task.index: task for task, _ in counted}
    for task, count in counted:
        jobs[task.index] = jobs.get(task.index, 0) + count
    terms = [
        Term(TermKind.INTERFERENCE, count * tasks[index].cost_ns, tasks[index].name, count, tasks[index].cost_ns)
        for index, count in jobs.items()
        if count
    ]
    if len(terms) <= MOST_TERMS:
        return terms
    terms.sort(key=lambda term: -term.value_ns)
    rest = terms[MOST_TERMS - 1 :]
    return [*terms[: MOST_TERMS - 1], _together(len(rest), sum(term.value_ns for term in rest))]


def _together(count: int, value_ns: int) -> Term:
    return Term(TermKind.INTERFERENCE, value_ns, f"{count} further tasks")


class RowTable:
    """Rows of many tasks, whose jobs are counted all at once."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows
        self._period_ns = np.array([row.stream.period_ns for row in rows], np.int64)
        self._jitter_ns = np.array([row.jitter_ns for row in rows], np.int64)
        self._cost_ns = np.array([row.task.cost_ns for row in rows], np.int64)
        self._level = np.array([row.task.level for row in rows], np.int64)
        self._index = np.array([row.task.index for row in rows], np.int64)

    def up_to_level(self, mine: Row, window_ns: int) -> tuple[int, list[Term]]:
        """Jobs of other streams of the same task, and the terms of other tasks up to its level, within a window."""
        if len(self._rows) <= MOST_TERMS:
            others = [
                (row.task, row.jobs_within(window_ns))
                for row in self._rows
                if row.task.level <= mine.task.level and row is not mine
            ]
            same = sum(jobs for other, jobs in others if other is mine.task)
            return same, interference([(other, jobs) for other, jobs in others if other is not mine.task])
        own = self._index == mine.task.index
        jobs = np.maximum(0, -(-(window_ns + self._jitter_ns) // self._period_ns))
        same = int(jobs[own].sum()) - mine.jobs_within(window_ns)
        places = np.flatnonzero((self._level <= mine.task.level) & ~own & (jobs > 0))
        work_ns = jobs[places] * self._cost_ns[places]
        first = places if len(places) <= MOST_TERMS else places[np.argsort(-work_ns, kind="stable")[: MOST_TERMS - 1]]
        terms = interference([(self._rows[place].task, int(jobs[place])) for place in first.tolist()])
        rest_ns = int(work_ns.sum()) - sum(term.value_ns for term in terms)
        return same, [*terms, _together(len(places) - len(first), rest_ns)] if len(first) < len(places) else terms


def lock_terms(task: LoadTask) -> list[Term]:
    """Blocking by sections of less urgent tasks."""
    blocking = task.blocking
    return [] if blocking is None else [Term(TermKind.BLOCKING, part_ns, by) for by, part_ns in blocking.by]


def region_term(rows: Iterable[LoadTask], part_ns: int) -> list[Term]:
    """Blocking by a part of a less urgent job that nobody preempts; `part_ns` is the longest such part less 1 ns."""
    if part_ns <= 0:
        return []
    by = next(task.name for task in rows if task.region_ns - 1 == part_ns)
    return [Term(TermKind.NON_PREEMPTIVE_REGION, part_ns, by)]


def longest_lower_regions_ns(load: ProcessorLoad) -> list[int]:
    """For each task 1 ns less than the longest region of the tasks below its level."""
    found: list[int] = []
    longest_ns, level, below_ns = 1, None, 1
    for task in reversed(load.tasks):
        if task.level != level:
            level, below_ns = task.level, longest_ns
        longest_ns = max(longest_ns, task.region_ns)
        found.append(below_ns - 1)
    return found[::-1]


def arrival_term(arrival_ns: int) -> list[Term]:
    """The arrival of the job at stake, counted from the begin of its busy period: before it, jitter; after it, less."""
    if arrival_ns == 0:
        return []
    kind = TermKind.RELEASE_JITTER if arrival_ns < 0 else TermKind.EARLIER_ARRIVAL
    return [Term(kind, -arrival_ns)]


def attained(load: ProcessorLoad) -> bool:
    """Whether nothing in the load keeps a critical instant from happening: arrivals are free, and nothing is shared.

    Arrivals that follow from messages are not free, and work that may be shed need not happen. Offsets are as good
    when all are equal, nothing jitters and jobs can be preempted at any
    instant.
    """
    tasks = load.tasks
    plain = all(
        len(task.streams) == 1
        and task.streams[0].jitter_ns == 0
        and not task.message_activated
        and not task.overhead_ns
        and not task.spin_ns
        and not task.enforced
        and not task.sheds
        and task.rate_hz in (None, NS_PER_S * task.streams[0].rate)
        and task.blocking is not None
        and task.blocking.total_ns == 0
        for task in tasks
    )
    offsets = {task.offset_ns for task in tasks}
    together = (
        len(offsets) == 1
        and None not in offsets
        and all(task.release_jitter_ns == 0 and task.region_ns == 1 for task in tasks)
    )
    return plain and not load.switches_mode and (all(task.free for task in tasks) or together)


def why_none(status: Status) -> Found:
    """A batch status without a bound, in words."""
    if status is Status.UNBOUNDED:
        return Found(None, "the processor is asked for more than it has", unbounded=True)
    if status is Status.NOT_CONVERGED:
        return Found(None, "the busy window did not end within the limits")
    return Found(None, "a time lies outside of what analyses take, 0 to 2**60 ns")


def worse(old: Found | None, new: Found) -> Found:
    """Of two streams of one task the one with the larger bound, or without."""
    if old is None or new.bound is None:
        return new
    return old if old.bound is None or old.bound.value_ns >= new.bound.value_ns else new
