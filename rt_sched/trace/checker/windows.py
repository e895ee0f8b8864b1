"""When a waiting job may have a core at all: time slices, table entries, the ceiling under EDF (semantics 6, 14)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from rt_sched.trace.checker.findings import Findings, Rule
from rt_sched.trace.checker.history import NEVER_NS, History
from rt_sched.trace.checker.intervals import Intervals, held_back, joined
from rt_sched.trace.checker.locks import LockHistory
from rt_sched.trace.records import EventKind, Int64s, JobStatus
from rt_sched.trace.setup import Policy, ProcessorRow

#: Added to the key of jobs that only share the slack of a slice, so that they stand behind its own.
SLACK_KEY = 2**61


@dataclass(slots=True, eq=False)
class Spans:
    """Slices or entries of one processor over the run: [begin, end), the usable part begins later in a slice."""

    begin_ns: Int64s
    usable_ns: Int64s
    end_ns: Int64s
    index: Int64s


def spans_of(history: History, row: int) -> Spans:
    """All slices or table entries of a processor that begin before the horizon while it is there; a loss cuts them."""
    processor = history.setup.processors[row]
    last_ns, outages = history.trace.horizon_ns, history.row_outages[row]
    offsets, lengths, switches = _cycle(processor)
    cycle_ns = processor.cycle_ns or int(lengths.sum())
    cycles = np.arange(-(-last_ns // cycle_ns) if cycle_ns else 0, dtype=np.int64)[:, None] * cycle_ns
    begin_ns = (cycles + offsets[None, :]).ravel()
    index = np.tile(np.arange(len(offsets), dtype=np.int64), len(cycles))
    inside = (begin_ns < last_ns) & ~outages.covers(begin_ns)
    begin_ns, index = begin_ns[inside], index[inside]
    end_ns = np.minimum(begin_ns + lengths[index], outages.next_ns(begin_ns))
    return Spans(begin_ns, np.minimum(begin_ns + switches[index], end_ns), end_ns, index)


def _cycle(processor: ProcessorRow) -> tuple[Int64s, Int64s, Int64s]:
    if processor.policy is Policy.TABLE:
        entries = processor.table
        offsets = [entry.start_ns for entry in entries]
        lengths, switches = [entry.length_ns for entry in entries], [0] * len(entries)
    else:
        lengths = [piece.length_ns for piece in processor.slices]
        switches = [piece.switch_ns for piece in processor.slices]
        offsets = [sum(lengths[:place]) for place in range(len(lengths))]
    return np.array(offsets, np.int64), np.array(lengths, np.int64), np.array(switches, np.int64)


def overlapping(spans: Spans, intervals: Intervals) -> tuple[Int64s, Int64s]:
    """Pairs (interval, span) that share time."""
    first = np.searchsorted(spans.end_ns, intervals.begin_ns, side="right")
    last = np.searchsorted(spans.begin_ns, intervals.end_ns, side="left")
    count = np.maximum(last - first, 0)
    interval = np.repeat(np.arange(len(intervals)), count)
    span = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count) + np.repeat(first, count)
    return interval.astype(np.int64), span.astype(np.int64)


class SliceWindows:
    """A `time_sliced` processor: who may run in which slice, and with which key."""

    def __init__(self, history: History, row: int) -> None:
        processor = history.setup.processors[row]
        self.spans = spans_of(history, row)
        self._slack = processor.slack_sharing
        self._own = np.zeros((len(processor.slices), len(history.setup.tasks)), np.bool_)
        for place, piece in enumerate(processor.slices):
            self._own[place, list(piece.tasks)] = True
        self._history = history

    def narrowed(self, intervals: Intervals) -> Intervals:
        """The parts of intervals that lie in usable parts of slices where the job may run, with their keys."""
        interval, span = overlapping(self.spans, intervals)
        result = intervals.of(interval)
        result.begin_ns = np.maximum(result.begin_ns, self.spans.usable_ns[span])
        result.end_ns = np.minimum(result.end_ns, self.spans.end_ns[span])
        own = self._own[self.spans.index[span], self._history.task[result.job]]
        result.key = np.where(own, result.key, result.key + SLACK_KEY)
        allowed = (result.begin_ns < result.end_ns) & (own | self._slack)
        return result.of(allowed)

    def takes_back(self, winner: int, loser: int, at_ns: int) -> bool:
        """Whether the slice at an instant is the first job's own and the other one only shares its slack."""
        place = int(np.searchsorted(self.spans.begin_ns, at_ns, side="right")) - 1
        if place < 0:
            return False
        own = self._own[self.spans.index[place]]
        return bool(own[self._history.task[winner]] and not own[self._history.task[loser]])

    def check(self, row: int, run: Intervals, found: Findings) -> None:
        """Slices begin when they should; jobs run inside of one, and only those that may."""
        history = self._history
        _check_begins(history, row, EventKind.SLICE, self.spans, found)
        place = np.maximum(np.searchsorted(self.spans.begin_ns, run.begin_ns, side="right") - 1, 0)
        if not len(self.spans.begin_ns):
            return
        inside = (run.begin_ns >= self.spans.usable_ns[place]) & (run.end_ns <= self.spans.end_ns[place])
        own = self._own[self.spans.index[place], history.task[run.job]]
        for bad in np.flatnonzero(~inside).tolist():
            text = f"{history.job_name(int(run.job[bad]))} runs after the switch cost of a slice and not beyond its end"
            found.add(Rule.SLICES, int(run.begin_ns[bad]), history.core_name(int(run.core[bad])), text)
        if not self._slack:
            for bad in np.flatnonzero(inside & ~own).tolist():
                text = f"{history.job_name(int(run.job[bad]))} does not run in a slice of others"
                found.add(Rule.SLICES, int(run.begin_ns[bad]), history.core_name(int(run.core[bad])), text)


class TableWindows:
    """A `table` processor: which job each entry belongs to."""

    def __init__(self, history: History, row: int, locks: LockHistory) -> None:
        self.spans = spans_of(history, row)
        self._history = history
        self._table = history.setup.processors[row].table
        self.owner = self._owners(locks)

    def _owners(self, locks: LockHistory) -> Int64s:
        """int64[n spans]: the job that is the oldest of its task and ready when the entry begins, or -1.

        It may end as soon as it gets the core: it is skipped, or it unlocks and an abort has waited for that.
        """
        history = self._history
        holds: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for job, begin_ns, end_ns in held_back(history, locks):
            holds[job].append((begin_ns, end_ns))
        brief = history.brief_stays
        jobs = history.trace.jobs
        lists = {}
        for task in {entry.task for entry in self._table}:
            mine = history.jobs_of_task[task]
            mine = mine[(jobs.status[mine] != JobStatus.SUPPRESSED) & (history.head_ns[mine] <= history.end_ns[mine])]
            lists[task] = (mine.tolist(), history.head_ns[mine].tolist())
        owners = np.full(len(self.spans.begin_ns), -1, np.int64)
        columns = zip(self.spans.begin_ns.tolist(), self.spans.index.tolist(), strict=True)
        for span, (begin_ns, index) in enumerate(columns):
            mine, heads = lists[self._table[index].task]
            place = bisect_right(heads, begin_ns) - 1
            while place > 0 and self._ends_at_once(mine[place - 1], begin_ns, locks):
                place -= 1
            if place < 0:
                continue
            job = mine[place]
            if history.end_ns[job] <= begin_ns and not self._ends_at_once(job, begin_ns, locks):
                continue
            # A job that has to wait for a lock as soon as it gets the core got it in this entry.
            if (job, begin_ns) in brief or not any(first <= begin_ns < last for first, last in holds.get(job, ())):
                owners[span] = job
        return owners

    def _ends_at_once(self, job: int, begin_ns: int, locks: LockHistory) -> bool:
        if self._history.end_ns[job] != begin_ns:
            return False
        skipped = self._history.trace.jobs.status[job] == JobStatus.SKIPPED
        return bool(skipped or (job, begin_ns) in locks.unlocked_at_once)

    def narrowed(self, intervals: Intervals) -> Intervals:
        """The parts of intervals that lie in entries of the job itself."""
        interval, span = overlapping(self.spans, intervals)
        mine = self.owner[span] == intervals.job[interval]
        interval, span = interval[mine], span[mine]
        return intervals.cut(interval, self.spans.begin_ns[span], self.spans.end_ns[span])

    def check(self, row: int, run: Intervals, found: Findings) -> None:
        """Entries begin when they should and for whom; jobs run inside of their own."""
        history = self._history
        told = _check_begins(history, row, EventKind.ENTRY, self.spans, found)
        for span, job in told.items():
            if job != self.owner[span]:
                says = history.job_name(int(self.owner[span])) if self.owner[span] >= 0 else "nobody"
                is_for = history.job_name(job) if job >= 0 else "nobody"
                where = history.setup.processors[row].name
                text = f"the entry belongs to {says}, not to {is_for}"
                found.add(Rule.SLICES, int(self.spans.begin_ns[span]), where, text)
        if not len(self.spans.begin_ns):
            return
        place = np.maximum(np.searchsorted(self.spans.begin_ns, run.begin_ns, side="right") - 1, 0)
        inside = (run.begin_ns >= self.spans.begin_ns[place]) & (run.end_ns <= self.spans.end_ns[place])
        for bad in np.flatnonzero(~inside | (self.owner[place] != run.job)).tolist():
            text = f"{history.job_name(int(run.job[bad]))} runs only inside of an entry of its own"
            found.add(Rule.SLICES, int(run.begin_ns[bad]), history.core_name(int(run.core[bad])), text)


def _check_begins(history: History, row: int, kind: EventKind, spans: Spans, found: Findings) -> dict[int, int]:
    """Compare the recorded begins with the declared cycle; returns the job told for each span that was recorded."""
    table = history.trace.events
    mine = np.flatnonzero((table.kind == kind) & (table.processor == row))
    expected = dict(
        zip(zip(spans.begin_ns.tolist(), spans.index.tolist(), strict=True), range(len(spans.index)), strict=True)
    )
    where, told = history.setup.processors[row].name, {}
    for place in mine.tolist():
        span = expected.pop((int(table.time_ns[place]), int(table.value[place])), None)
        if span is None:
            text = f"no {kind.name.lower()} {int(table.value[place])} begins here"
            found.add(Rule.SLICES, int(table.time_ns[place]), where, text)
        else:
            told[span] = int(table.job[place])
    for begin_ns, index in expected:
        found.add(Rule.SLICES, begin_ns, where, f"{kind.name.lower()} {index} begins here")
    return told


def below_ceiling(history: History, row: int, intervals: Intervals, locks: LockHistory) -> Intervals:
    """Under EDF with ceilings: without the parts in which a job that has not started may not start."""
    steps = locks.ceilings.get(row)
    if not steps:
        return intervals
    jobs = history.trace.jobs
    times = [time_ns for time_ns, _, _ in steps]
    narrowed = []
    fresh = (jobs.start_ns[intervals.job] < 0) | (intervals.end_ns <= jobs.start_ns[intervals.job])
    narrowed.append(intervals.of(np.flatnonzero(~fresh)))
    for place in np.flatnonzero(fresh).tolist():
        begin_ns, end_ns = int(intervals.begin_ns[place]), int(intervals.end_ns[place])
        deadline_ns = history.task_row(int(intervals.job[place])).deadline_ns
        at = max(bisect_right(times, begin_ns) - 1, 0)
        while at < len(steps) and (at == 0 or times[at] < end_ns):
            from_ns = times[at]
            until_ns = times[at + 1] if at + 1 < len(steps) else NEVER_NS
            if at == 0 and begin_ns < from_ns:
                piece = intervals.cut(np.array([place]), begin_ns, from_ns)
                narrowed.append(piece)
            if deadline_ns < steps[at][1]:
                narrowed.append(intervals.cut(np.array([place]), from_ns, until_ns))
            at += 1
    return joined(narrowed)


def check_ceilings(history: History, locks: LockHistory, found: Findings) -> None:
    """Under EDF no job starts unless its relative deadline is below the ceiling that others have set before."""
    for row, steps in locks.ceilings.items():
        times = [time_ns for time_ns, _, _ in steps]
        mine = np.flatnonzero((history.row == row) & history.started)
        for job in mine.tolist():
            start_ns = int(history.trace.jobs.start_ns[job])
            # What this job or another that starts at the same instant locks there comes after the choice.
            first, last = bisect_left(times, start_ns), bisect_right(times, start_ns)
            before_ns = steps[first - 1][1] if first > 0 else NEVER_NS
            ceiling_ns = max([before_ns, *(value for _, value, _ in steps[first:last])])
            deadline_ns = history.task_row(job).deadline_ns
            if deadline_ns >= ceiling_ns:
                text = (
                    f"no start below the system ceiling: its deadline of {deadline_ns} ns is not below {ceiling_ns} ns"
                )
                found.add(Rule.RESOURCES, start_ns, history.job_name(job), text)
