"""When each job waited for a core, and when it had one, as intervals of constant key."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from rt_sched.trace.checker.history import History
from rt_sched.trace.checker.keys import KeySteps, key_at, preempts
from rt_sched.trace.checker.locks import LockHistory
from rt_sched.trace.records import Bools, EventKind, Int64s, JobStatus, SliceKind

#: Job, begin, end.
Span = tuple[int, int, int]


@dataclass(slots=True, eq=False)
class Intervals:
    """Half-open intervals [begin, end) of jobs, with the key that holds in them.

    Of waiting jobs; or of running ones, then with `core`, the slice `kind` and whether it may be `open` to preemption.
    """

    job: Int64s
    begin_ns: Int64s
    end_ns: Int64s
    key: Int64s
    core: Int64s
    kind: Int64s
    open: Bools

    def __len__(self) -> int:
        return len(self.job)

    def of(self, places: Int64s | Bools) -> Intervals:
        """Some of them, in the given order."""
        return Intervals(
            job=self.job[places],
            begin_ns=self.begin_ns[places],
            end_ns=self.end_ns[places],
            key=self.key[places],
            core=self.core[places],
            kind=self.kind[places],
            open=self.open[places],
        )

    def cut(self, places: Int64s, begin_ns: Int64s | int, end_ns: Int64s | int) -> Intervals:
        """Those at `places`, narrowed to the given bounds; empty ones are left out."""
        cut = self.of(places)
        cut.begin_ns = np.maximum(cut.begin_ns, begin_ns)
        cut.end_ns = np.minimum(cut.end_ns, end_ns)
        return cut.of(cut.begin_ns < cut.end_ns)


def waiting(history: History, own: Int64s, locks: LockHistory) -> tuple[Intervals, Int64s]:
    """Intervals in which a job was the oldest of its task, released, and neither on a core nor held back.

    Also, for each of them, the row of the slice with whose end it begins, -1 for none.
    """
    jobs, slices, order = history.trace.jobs, history.trace.slices, history.slices_by_job
    last_ns = np.minimum(history.end_ns, history.trace.horizon_ns)
    there = (jobs.status != JobStatus.SUPPRESSED) & (history.head_ns < last_ns)
    alone = np.flatnonzero(there)
    holds = np.array(held_back(history, locks), np.int64).reshape(-1, 3)
    hold_job, hold_begin, hold_end = holds.T
    # A job may be throttled before its release.
    hold_begin = np.maximum(hold_begin, history.head_ns[hold_job])
    hold_end = np.maximum(hold_end, hold_begin)
    # Everything that is not waiting, by job and time; a job's life before and after it counts, too.
    job = np.concatenate([alone, slices.job[order], hold_job, alone])
    begin = np.concatenate([history.head_ns[alone], slices.start_ns[order], hold_begin, last_ns[alone]])
    end = np.concatenate([history.head_ns[alone], slices.end_ns[order], hold_end, last_ns[alone]])
    ran = np.full(len(job), -1, np.int64)
    ran[len(alone) : len(alone) + len(order)] = order
    sort = np.lexsort((end, begin, job))
    job, begin, end, ran = job[sort], begin[sort], end[sort], ran[sort]
    gap = np.flatnonzero((job[1:] == job[:-1]) & (begin[1:] > end[:-1]))
    gap = gap[end[gap] < last_ns[job[gap]]]
    stopped = ran[gap]
    raw = Intervals(
        job=job[gap],
        begin_ns=np.maximum(end[gap], history.head_ns[job[gap]]),
        end_ns=np.minimum(begin[gap + 1], last_ns[job[gap]]),
        key=own[job[gap]],
        core=np.full(len(gap), -1, np.int64),
        kind=np.full(len(gap), -1, np.int64),
        open=np.zeros(len(gap), np.bool_),
    )
    proper = raw.begin_ns < raw.end_ns
    return raw.of(proper), stopped[proper]


def held_back(history: History, locks: LockHistory) -> list[Span]:
    """Spans in which a job does not want a core: suspended, waiting for a lock (not spinning), throttled."""
    spans = [(job, begin_ns, end_ns) for job, begin_ns, end_ns, spins in locks.waits if not spins]
    spans.extend(_between(history, EventKind.SUSPEND, EventKind.WAKE))
    spans.extend(_between(history, EventKind.THROTTLE, EventKind.REPLENISH))
    return [span for span in spans if span[1] < span[2]]


def _between(history: History, begin: EventKind, end: EventKind) -> Iterable[Span]:
    ends = history.events_of_jobs(end)
    for job, begins in history.events_of_jobs(begin).items():
        later = iter(ends.get(job, ()))
        following = next(later, None)
        for time_ns, _, _, position in begins:
            while following is not None and following[3] < position:
                following = next(later, None)
            until_ns = history.end_ns[job] if following is None else following[0]
            yield job, time_ns, min(int(until_ns), history.trace.horizon_ns)


def running(history: History, own: Int64s, locks: LockHistory) -> Intervals:
    """What every core did, open to preemption where the processor and the job's sections allow it at any instant."""
    slices, order = history.trace.slices, history.slices_by_core
    job = slices.job[order]
    rows = history.row_of_core[slices.processor[order]]
    preemptive = np.array([preempts(processor) for processor in history.setup.processors], np.bool_)[rows]
    anywhere = history.per_job(lambda task: task.preemption_points_ns is None)[job] == 1
    kind = slices.kind[order].astype(np.int64)
    result = Intervals(
        job=job,
        begin_ns=slices.start_ns[order],
        end_ns=slices.end_ns[order],
        key=own[job],
        core=slices.processor[order].astype(np.int64),
        kind=kind,
        open=preemptive & anywhere & (kind == SliceKind.EXECUTE),
    )
    if locks.fixed:
        result = _split(result, {job: [t for span in spans for t in span] for job, spans in locks.fixed.items()})
        for place in np.flatnonzero(np.isin(result.job, list(locks.fixed))).tolist():
            begin_ns = int(result.begin_ns[place])
            if any(first <= begin_ns < last for first, last in locks.fixed[int(result.job[place])]):
                result.open[place] = False
    return result


def with_keys(intervals: Intervals, keys: dict[int, KeySteps], own: Int64s) -> Intervals:
    """The intervals, split where the key of their job changes."""
    if not keys or not len(intervals):
        return intervals
    split = _split(intervals, {job: [time_ns for time_ns, _ in steps] for job, steps in keys.items()})
    for place in np.flatnonzero(np.isin(split.job, list(keys))).tolist():
        job = int(split.job[place])
        split.key[place] = key_at(keys[job], int(own[job]), int(split.begin_ns[place]))
    return split


def _split(intervals: Intervals, instants: dict[int, list[int]]) -> Intervals:
    """The intervals, each cut at those instants of its job that lie inside it; in the same order."""
    mine = np.isin(intervals.job, list(instants))
    places: list[int] = []
    bounds: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for place in np.flatnonzero(mine).tolist():
        begin_ns, end_ns = int(intervals.begin_ns[place]), int(intervals.end_ns[place])
        inside = sorted({t for t in instants[int(intervals.job[place])] if begin_ns < t < end_ns})
        if inside:
            edges = [begin_ns, *inside, end_ns]
            bounds[place] = [(place, a, b) for a, b in pairwise(edges)]
    if not bounds:
        return intervals
    whole = np.ones(len(intervals), np.bool_)
    places = list(bounds)
    whole[places] = False
    pieces = [piece for place in places for piece in bounds[place]]
    index = np.concatenate([np.flatnonzero(whole), np.array([piece[0] for piece in pieces], np.int64)])
    result = intervals.of(index)
    count = int(whole.sum())
    result.begin_ns[count:] = [piece[1] for piece in pieces]
    result.end_ns[count:] = [piece[2] for piece in pieces]
    return result.of(np.lexsort((result.begin_ns, index)))


def empty() -> Intervals:
    """No intervals."""
    none = np.zeros(0, np.int64)
    return Intervals(none, none, none, none, none, none, np.zeros(0, np.bool_))


def joined(parts: list[Intervals]) -> Intervals:
    """All of them, one after the other."""
    if not parts:
        return empty()
    names = ("job", "begin_ns", "end_ns", "key", "core", "kind", "open")
    return Intervals(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))
