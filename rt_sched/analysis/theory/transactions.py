"""Response times under fixed priorities where offsets are known: tasks whose phases belong together are a transaction.

A task arrives at its offset plus multiples of its period and is released at most its jitter later. Tasks of a
transaction repeat together after its cycle. Its work in a busy period is greatest when one of its tasks
is released at the begin of that, as late as its jitter allows (Palencia, Gonzalez Harbour 1998): these phases are
tried. For the transaction of the task at stake each phase has a busy period of its own; of every other transaction
the most that any phase asks of a window is taken, which is the approximate analysis of Tindell 1994.

Where tasks go back to the same events, an offset is the least delay behind an event and the jitter is what the delay
may be longer, both of which follow from the responses of the tasks before (dynamic offsets, same source). Events that
are only known to be at least a period apart make no cycle: what arrives behind the event that is aligned is counted
where it is, and what arrives behind earlier and later events wherever it hurts most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np
import numpy.typing as npt

from rt_sched.analysis.theory.fixed_points import NotConverged, exact_sum

Int64s = npt.NDArray[np.int64]

#: Phases of one transaction; tasks whose cycle has more of them are split up.
MOST_PHASES = 64
#: Finest grid of a transaction, in parts of a nanosecond.
FINEST = 10**6
#: Jobs of one busy period, and steps to one of its windows, that are followed.
MOST_JOBS, _MOST_STEPS = 200, 10_000
#: Longest time, in parts of the grid, that is followed.
_LIMIT = 2**61


@dataclass(frozen=True, slots=True)
class OffsetTask:
    """A source of jobs. `period_ns`: exact; `offset_ns`: None where no phase is known, and arrivals are then at least a
    period apart. `jitter_ns`: from an arrival, or a point of the grid of arrivals that jitter themselves, to the
    release; `release_jitter_ns`: the part of it that a response contains. `level`: 0 is the most urgent, equal ones
    delay each other. `blocking_ns`: by less urgent tasks; `last_region_ns`: final part of a job that nobody preempts.
    `origin`: only tasks with equal ones belong together. `recurrent`: the events behind arrivals come as if for ever
    at multiples of the period; else they are at least that far apart, and it is whole and the same for an origin.
    """

    period_ns: Fraction
    cost_ns: int
    level: int
    jitter_ns: int = 0
    offset_ns: int | None = None
    release_jitter_ns: int = 0
    blocking_ns: int = 0
    last_region_ns: int = 1
    origin: str = ""
    recurrent: bool = True


@dataclass(frozen=True, slots=True)
class OffsetCase:
    """The worst job of a task: `job` of its busy period, which arrives `arrival_ns` after the begin of that and begins
    its last region 1 ns before `window_ns`; `jobs[j]`: those of task j that are counted, those at stake not included.
    """

    response_ns: int
    job: int
    arrival_ns: int
    window_ns: int
    jobs: tuple[int, ...]


class _Transaction:
    """Tasks that repeat together, in units of 1 / `scale` ns, in which their periods are whole.

    An arrival at floor(k * period) lies less than 1 ns before k * period, so that the grid of a task whose period is no
    whole number of ns is put 1 unit less than 1 ns earlier and the jitter is longer by that.
    """

    def __init__(self, members: Sequence[tuple[int, OffsetTask]]) -> None:
        self.places = np.array([place for place, _ in members], np.int64)
        tasks = [task for _, task in members]
        self.scale = lcm(*(task.period_ns.denominator for task in tasks))
        late = [0 if task.period_ns.denominator == 1 else self.scale - 1 for task in tasks]
        self._periods = [int(task.period_ns * self.scale) for task in tasks]
        self._offsets = [(task.offset_ns or 0) * self.scale - more for task, more in zip(tasks, late, strict=True)]
        self._jitters = [task.jitter_ns * self.scale + more for task, more in zip(tasks, late, strict=True)]
        if max(*self._periods, *self._jitters) > _LIMIT:
            raise NotConverged(f"a period or jitter exceeds {_LIMIT // self.scale} ns")
        self.period = np.array(self._periods, np.int64)
        self.jitter = np.array(self._jitters, np.int64)
        self.cost_ns = np.array([task.cost_ns for task in tasks], np.int64)

    def first_arrivals(self, aligned: Sequence[int]) -> Int64s:
        """int64[phases, members]: the first arrival of each after the begin, once for each phase in which one of the
        members `aligned` is released there as late as it can be.
        """
        cycle = lcm(*self._periods)
        begins = sorted(
            {
                (self._offsets[own] + self._jitters[own] + number * self._periods[own]) % cycle
                for own in aligned
                for number in range(cycle // self._periods[own])
            }
        )
        rows = [
            [period - (begin - offset) % period for offset, period in zip(self._offsets, self._periods, strict=True)]
            for begin in begins
        ]
        return np.array(rows, np.int64).reshape(len(rows), len(self._periods))

    def earliest_arrivals(self, first: Int64s, place: int) -> Int64s:
        """int64[phases]: the earliest arrival of a member that can be released in the busy period."""
        mine = first[:, place]
        period = self.period[place]
        earliest: Int64s = mine - (self.jitter[place] + mine) // period * period
        return earliest

    def jobs(self, first: Int64s, window_ns: Int64s) -> Int64s:
        """Jobs of every member that can be released from the begin on and arrive before the end of the window;
        `window_ns` int64[...] and `first` int64[..., members] may be broadcast against each other.
        """
        before = (self.jitter + first) // self.period
        after = -((first - (window_ns * self.scale)[..., None]) // self.period)
        return np.maximum(before + after, 0)


class _Events(_Transaction):
    """Tasks that go back to the same events, which are at least a period apart.

    Its phases are those in which a member is released at the begin, as late as it can be; `first` are then the arrivals
    of all members behind the same event.
    """

    def first_arrivals(self, aligned: Sequence[int]) -> Int64s:
        """int64[phases, members]: arrivals behind the event of the member that is aligned."""
        begins = sorted({self._offsets[own] + self._jitters[own] for own in aligned})
        return np.array([[offset - begin for offset in self._offsets] for begin in begins], np.int64)

    def earliest_arrivals(self, first: Int64s, place: int) -> Int64s:
        """int64[phases]: behind an earlier event if one can still matter, behind that of the phase, or a later one."""
        mine, period, jitter = first[:, place], self.period[place], self.jitter[place]
        same = np.where(mine >= -jitter, mine, np.maximum(mine + period, -jitter))
        earliest: Int64s = np.where(mine - period >= -jitter, -jitter, same)
        return earliest

    def jobs(self, first: Int64s, window_ns: Int64s) -> Int64s:
        """As of any transaction; never more than a window of this length can hold of one member."""
        window = window_ns[..., None]
        same = (first >= -self.jitter) & (first < window)
        later = -((np.maximum(first + self.period, -self.jitter) - window) // self.period)
        earlier = (np.minimum(first - self.period, window - 1) + self.jitter) // self.period + 1
        most = -(-(window + self.jitter) // self.period)
        counted: Int64s = np.minimum(same + np.maximum(later, 0) + np.maximum(earlier, 0), np.maximum(most, 0))
        return counted


def transactions_of(tasks: Sequence[OffsetTask], most_phases: int = MOST_PHASES) -> list[list[int]]:
    """Positions of tasks that are looked at together: those with offsets, as long as their phases are not too many."""
    alone = [[place] for place, task in enumerate(tasks) if task.offset_ns is None]
    groups: list[list[int]] = []
    known = [place for place, task in enumerate(tasks) if task.offset_ns is not None]
    for place in sorted(known, key=lambda place: (tasks[place].period_ns, place)):
        for group in groups:
            same = _kind(tasks[group[0]]) == _kind(tasks[place])
            if same and _repeat_soon([tasks[other].period_ns for other in (*group, place)], most_phases):
                group.append(place)
                break
        else:
            groups.append([place])
    return [*alone, *groups]


def _kind(task: OffsetTask) -> tuple[str, bool]:
    return task.origin, task.recurrent


def _repeat_soon(periods: Sequence[Fraction], most_phases: int) -> bool:
    scale = lcm(*(period.denominator for period in periods))
    whole = [int(period * scale) for period in periods]
    cycle = lcm(*whole)
    return scale <= FINEST and sum(cycle // period for period in whole) <= most_phases


def offset_worst_case(tasks: Sequence[OffsetTask], own: int) -> OffsetCase | None:
    """The worst job of task `own`, None where the tasks up to its level leave it no time.

    Sufficient. Deadlines may exceed periods; jobs of one task run in order. Raises NotConverged where its windows do
    not end within the limits. Source: Palencia, Gonzalez Harbour 1998 (static offsets, jitter); Bril, Lukkien, Verhaegh
    2009 (last region).
    """
    return _Analysis(tasks, transactions_of(tasks), own).worst()


class _Analysis:
    """Everything that can delay one task."""

    def __init__(self, tasks: Sequence[OffsetTask], groups: Sequence[Sequence[int]], own: int) -> None:
        self._tasks, self._own = tasks, own
        mine = tasks[own]
        self._load = exact_sum(task.cost_ns / task.period_ns for task in tasks if task.level <= mine.level)
        self._others: list[tuple[_Transaction, Int64s]] = []
        for group in groups:
            urgent = [(place, tasks[place]) for place in group if tasks[place].level <= mine.level]
            if not urgent:
                continue
            kind = _Transaction if tasks[group[0]].recurrent else _Events
            transaction = kind(urgent)
            first = transaction.first_arrivals(range(len(urgent)))
            if own in group:
                self._mine, self._first = transaction, first
                self._place = [place for place, _ in urgent].index(own)
            else:
                self._others.append((transaction, first))
        scale = max(transaction.scale for transaction in (self._mine, *(one for one, _ in self._others)))
        self._limit_ns = _LIMIT // scale

    def worst(self) -> OffsetCase | None:
        """Over all phases of the own transaction, and all jobs of their busy periods."""
        if self._load >= 1:
            return None
        mine, own = self._mine, self._tasks[self._own]
        period, scale = int(mine.period[self._place]), mine.scale
        earliest = mine.earliest_arrivals(self._first, self._place)
        length_ns = self._settle(own.blocking_ns + own.cost_ns, None)
        best: tuple[int, int, int, int, int] | None = None
        job, window_ns = 0, np.zeros(len(earliest), np.int64)
        while True:
            arrival = earliest + job * period
            open_ = arrival < length_ns * scale
            if best is not None:
                # No job ends after its busy period.
                open_ &= length_ns - -(-arrival // scale) > best[0]
            if not open_.any():
                break
            base_ns = own.blocking_ns + (job + 1) * own.cost_ns - (own.last_region_ns - 1)
            window_ns = self._settle(base_ns, np.maximum(window_ns, base_ns))
            counted_ns = np.maximum(-(-arrival // scale), -own.release_jitter_ns)
            response_ns = np.where(open_, window_ns + own.last_region_ns - 1 - counted_ns, -1)
            phase = int(response_ns.argmax())
            if best is None or response_ns[phase] > best[0]:
                best = (int(response_ns[phase]), job, int(counted_ns[phase]), int(window_ns[phase]), phase)
            job += 1
            if job > MOST_JOBS:
                raise NotConverged(f"more than {MOST_JOBS} jobs in one busy period")
        if best is None:
            return None
        return OffsetCase(*best[:4], self._counted(best[4], best[3]))

    def _settle(self, base_ns: int, window_ns: Int64s | None) -> Int64s:
        """int64[phases]: least windows that hold `base_ns` and the work of others, and of the task where no windows to
        begin with are given; then `base_ns` is the least length of a busy period.
        """
        busy = window_ns is None
        fixed_ns = self._tasks[self._own].blocking_ns if busy else base_ns
        current = np.full(len(self._first), base_ns, np.int64) if window_ns is None else window_ns
        for _ in range(_MOST_STEPS):
            needed = fixed_ns + self._own_work(current, busy) + self._other_work(current)
            if (needed <= current).all():
                return current
            current = np.maximum(needed, current)
            if current.max() > self._limit_ns:
                raise NotConverged(f"the window exceeds {self._limit_ns} ns")
        raise NotConverged(f"no fixed point after {_MOST_STEPS} steps")

    def _own_work(self, window_ns: Int64s, busy: bool) -> Int64s:
        jobs = self._mine.jobs(self._first, window_ns)
        if not busy:
            jobs[:, self._place] = 0
        return jobs @ self._mine.cost_ns

    def _other_work(self, window_ns: Int64s) -> Int64s:
        work_ns = np.zeros(len(window_ns), np.int64)
        for transaction, first in self._others:
            jobs = transaction.jobs(first[None, :, :], window_ns[:, None])
            work_ns += (jobs @ transaction.cost_ns).max(axis=1)
        return work_ns

    def _counted(self, phase: int, window_ns: int) -> tuple[int, ...]:
        counted = [0] * len(self._tasks)
        window = np.array([window_ns], np.int64)
        parts = [(self._mine, self._first[phase : phase + 1]), *self._others]
        for transaction, first in parts:
            jobs = transaction.jobs(first, window)
            row = jobs[int((jobs @ transaction.cost_ns).argmax())]
            for place, count in zip(transaction.places.tolist(), row.tolist(), strict=True):
                counted[place] = count
        counted[self._own] = 0
        return tuple(counted)
