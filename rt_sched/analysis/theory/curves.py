"""Response times on one core where arrival curves say how many jobs may arrive in a window of any length.

A curve of steps that repeats with its horizon is a sum of pieces: from a phase on, so many jobs every horizon. Periodic
and sporadic arrivals are one piece. Windows are followed in int64 arrays with one entry a piece; `Curves` refuses what
could overflow.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from heapq import merge

import numpy as np
import numpy.typing as npt

from rt_sched.analysis.theory.fixed_points import HORIZON_NS, NotConverged
from rt_sched.model import ArrivalCurve

Int64s = npt.NDArray[np.int64]

#: Work spent on all windows of one task, in pieces looked at, before they count as not converging; about two seconds.
MOST_PIECES = 2**27
#: What one look costs beyond its pieces.
_LOOK = 1000
#: Curves with more steps are not checked for subadditivity.
_MOST_STEPS_CHECKED = 2000


def sporadic_curve(separation_ns: int) -> ArrivalCurve:
    """At most one arrival in any window of `separation_ns`."""
    return ArrivalCurve(separation_ns, ((1, 1),))


def arrivals_within(curve: ArrivalCurve, window_ns: int) -> int:
    """Most arrivals in a half-open window of `window_ns`."""
    if window_ns <= 0:
        return 0
    whole, rest_ns = divmod(window_ns, curve.horizon_ns)
    place = bisect_right(curve.steps, rest_ns, key=lambda step: step[0])
    return whole * curve.steps[-1][1] + (curve.steps[place - 1][1] if place else 0)


def earliest_arrival_ns(curve: ArrivalCurve, job: int) -> int:
    """Least time between an arrival and the `job`-th one after it, so 0 for job 0; several may arrive at once."""
    whole, rest = divmod(job, curve.steps[-1][1])
    place = bisect_left(curve.steps, rest + 1, key=lambda step: step[1])
    return whole * curve.horizon_ns + curve.steps[place][0] - 1


def is_subadditive(curve: ArrivalCurve) -> bool:
    """Whether one sequence of arrivals meets the curve in all windows that begin with it, so that bounds are attained.

    False too for a curve with too many steps to check.
    """
    if len(curve.steps) > _MOST_STEPS_CHECKED:
        return False
    # The longest windows with a given number of arrivals are the critical ones.
    ends = [*(length - 1 for length, _ in curve.steps[1:]), curve.horizon_ns]
    counts = [jobs for _, jobs in curve.steps]
    return all(
        arrivals_within(curve, ends[i] + ends[j]) <= counts[i] + counts[j]
        for i in range(len(ends))
        for j in range(i, len(ends))
    )


@dataclass(frozen=True, slots=True)
class CurveTask:
    """One source of jobs. `jitter_ns`: from where the curve counts to the release, `release_jitter_ns` of that from the
    arrival. `last_region_ns`: final part of a job that nobody preempts, at least 1.
    """

    curve: ArrivalCurve
    cost_ns: int
    deadline_ns: int
    level: int = 0
    jitter_ns: int = 0
    release_jitter_ns: int = 0
    last_region_ns: int = 1

    def jobs_within(self, window_ns: int) -> int:
        """Most releases in a half-open window that begins with one of them."""
        return arrivals_within(self.curve, window_ns + self.jitter_ns) if window_ns > 0 else 0

    def arrival_ns(self, job: int) -> int:
        """Earliest arrival of the `job`-th job released from 0 on, counted from 0; negative when it arrived before."""
        return max(earliest_arrival_ns(self.curve, job) - self.jitter_ns, -self.release_jitter_ns)


@dataclass(frozen=True, slots=True)
class Worst:
    """The worst job of a task: number in its busy period, arrival after the begin of that, response from the arrival.

    `window_ns`: from the begin of the busy period to 1 ns after the begin of the job's last region.
    """

    response_ns: int
    job: int
    arrival_ns: int
    window_ns: int


class Curves:
    """The tasks of one core, by level. Raises NotConverged where sums could leave int64."""

    def __init__(self, tasks: Sequence[CurveTask]) -> None:
        self.tasks = tuple(tasks)
        rows = [
            (length - 1 - task.jitter_ns, task.curve.horizon_ns, (jobs - before) * task.cost_ns, place)
            for place, task in enumerate(tasks)
            for (length, jobs), before in zip(
                task.curve.steps, (0, *(count for _, count in task.curve.steps)), strict=False
            )
        ]
        largest_ns = sum(work for _, _, work, _ in rows) + sum(task.jitter_ns for task in tasks)
        if max([largest_ns, *(task.curve.horizon_ns for task in tasks), *(t.deadline_ns for t in tasks)]) > HORIZON_NS:
            raise NotConverged("a time lies outside of what analyses take, 0 to 2**60 ns")
        table = np.array(rows, np.int64).reshape(-1, 4)
        self._phase_ns, self._horizon_ns, self._work_ns = (np.ascontiguousarray(table[:, i]) for i in range(3))
        self._place = table[:, 3]
        self._left = 0

    @cached_property
    def _loads(self) -> dict[int, Fraction]:
        """Share of the core that is needed up to each level."""
        sums: dict[int, Fraction] = {}
        total = Fraction(0)
        for task in sorted(self.tasks, key=lambda task: task.level):
            total += Fraction(task.curve.steps[-1][1] * task.cost_ns, task.curve.horizon_ns)
            sums[task.level] = total
        return sums

    @property
    def load(self) -> Fraction:
        """Share of the core that all tasks need."""
        return max(self._loads.values(), default=Fraction(0))

    def fixed_priority(self, own: int, blocking_ns: int) -> Worst | None:
        """Worst case of task `own` when all of its level or above may delay it, and lower ones for `blocking_ns`.

        None when the load has no room for it. Source: Bozhko, Brandenburg 2020 (arrival curves); for periodic tasks as
        Lehoczky 1990 and Bril, Lukkien, Verhaegh 2009.
        """
        self._left = MOST_PIECES
        mine = self.tasks[own]
        if self._loads[mine.level] > 1:
            return None
        among = np.array([task.level <= mine.level for task in self.tasks])[self._place]
        busy_ns = self._busy_ns(among, blocking_ns)
        others = among & (self._place != own)
        worst: Worst | None = None
        start_ns = 0
        for job in _last_of_each_arrival(mine, busy_ns):
            before_ns = blocking_ns + (job + 1) * mine.cost_ns - mine.last_region_ns
            start_ns = self._start_ns(before_ns, max(start_ns, before_ns), others)
            arrival_ns = mine.arrival_ns(job)
            worst = _worse(worst, Worst(start_ns + mine.last_region_ns - arrival_ns, job, arrival_ns, start_ns + 1))
        return worst

    def edf(self, own: int, blocking_ns: Sequence[int]) -> Worst | None:
        """Worst case of task `own` under EDF; `blocking_ns[k]`: how long a job of task k with a later deadline blocks.

        Every arrival of the longest busy period without blocking is tried at which own work, or that of others with a
        deadline up to the job's, grows. None when the load exceeds 1.

        Source: Spuri 1996; George, Rivierre, Spuri 1996; Bozhko, Brandenburg 2020 (arrival curves).
        """
        self._left = MOST_PIECES
        if self.load > 1:
            return None
        mine = self.tasks[own]
        everyone = np.ones(len(self._place), np.bool_)
        busy_ns = self._busy_ns(everyone, 0)
        others = self._place != own
        deadlines_ns = np.array([task.deadline_ns for task in self.tasks], np.int64)[self._place]
        worst: Worst | None = None
        start_ns, last_block_ns = 0, -1
        for arrival_ns in self.edf_arrivals(own, busy_ns):
            due_ns = arrival_ns + mine.deadline_ns
            block_ns = max(
                (block for block, task in zip(blocking_ns, self.tasks, strict=True) if task.deadline_ns > due_ns),
                default=0,
            )
            own_jobs = arrivals_within(mine.curve, arrival_ns + mine.jitter_ns + 1)
            before_ns = block_ns + own_jobs * mine.cost_ns - mine.last_region_ns
            # The work that counts grows with the arrival, so a window begins where the last one ended.
            first_ns = max(start_ns, before_ns) if block_ns == last_block_ns else before_ns
            start_ns = self._start_ns(before_ns, first_ns, others, due_ns - deadlines_ns)
            last_block_ns = block_ns
            response_ns = start_ns + mine.last_region_ns - arrival_ns
            worst = _worse(worst, Worst(response_ns, own_jobs - 1, arrival_ns, start_ns + 1))
        return worst

    def fifo(self, own: int) -> Worst | None:
        """Worst case of task `own` in order of release. None when the load exceeds 1. Source: George, Minet 1997."""
        self._left = MOST_PIECES
        if self.load > 1:
            return None
        mine = self.tasks[own]
        everyone = np.ones(len(self._place), np.bool_)
        busy_ns = self._busy_ns(everyone, 0)
        worst: Worst | None = None
        others = self._place != own
        behind_ns = mine.jitter_ns - mine.release_jitter_ns
        points = [
            _steps_from(task.curve, -(behind_ns if task is mine else task.jitter_ns), 0, busy_ns) for task in self.tasks
        ]
        for release_ns in _merged([iter([0]), *points]):
            arrival_ns = release_ns - mine.release_jitter_ns
            # The job arrived as late before its release as it may, and those before it earlier still.
            jobs = arrivals_within(mine.curve, release_ns + behind_ns + 1)
            done_ns = jobs * mine.cost_ns + self._work_within(release_ns + 1, others)
            worst = _worse(worst, Worst(done_ns - arrival_ns, jobs - 1, arrival_ns, release_ns + 1))
        return worst

    def edf_arrivals(self, own: int, limit_ns: int) -> Iterator[int]:
        """Arrivals before `limit_ns` at which the work grows that counts for a job of task `own`, ascending."""
        mine = self.tasks[own]
        first_ns = -mine.release_jitter_ns
        points = [iter([first_ns])]
        for task in self.tasks:
            shift_ns = (0 if task is mine else task.deadline_ns - mine.deadline_ns) - task.jitter_ns
            points.append(_steps_from(task.curve, shift_ns, first_ns, limit_ns))
        return _merged(points)

    def _busy_ns(self, among: npt.NDArray[np.bool_], blocking_ns: int) -> int:
        """Length of the longest busy period of the tasks of these pieces."""
        window_ns = 1
        while True:
            needed_ns = blocking_ns + self._work_within(window_ns, among)
            if needed_ns <= window_ns:
                return window_ns
            _check(needed_ns)
            window_ns = needed_ns

    def _start_ns(
        self, before_ns: int, first_ns: int, among: npt.NDArray[np.bool_], room_ns: Int64s | None = None
    ) -> int:
        """Least start >= `first_ns` of a last region after work `before_ns` and what is released up to it by others.

        `room_ns`, a piece: only releases up to this instant, plus the jitter of the piece, count.
        """
        start_ns = first_ns
        while True:
            needed_ns = before_ns + self._work_within(start_ns + 1, among, room_ns)
            if needed_ns <= start_ns:
                return start_ns
            _check(needed_ns)
            start_ns = needed_ns

    def _work_within(self, window_ns: int, among: npt.NDArray[np.bool_], room_ns: Int64s | None = None) -> int:
        self._left -= len(self._place) + _LOOK
        if self._left < 0:
            raise NotConverged("the busy windows did not end within the limits")
        window = np.int64(window_ns) if room_ns is None else np.minimum(room_ns + 1, window_ns)
        counts = np.maximum(-((self._phase_ns - window) // self._horizon_ns), 0)
        return int(np.sum(counts * self._work_ns, where=among))


def _check(window_ns: int) -> None:
    if window_ns > HORIZON_NS:
        raise NotConverged(f"the window exceeds {HORIZON_NS} ns")


def _last_of_each_arrival(task: CurveTask, busy_ns: int) -> Iterator[int]:
    """Numbers of the jobs of a busy period that are the last to arrive at their instant."""
    count = task.jobs_within(busy_ns)
    job = -1
    while job + 1 < count:
        job = arrivals_within(task.curve, task.arrival_ns(job + 1) + task.jitter_ns + 1) - 1
        yield job


def _steps_from(curve: ArrivalCurve, shift_ns: int, first_ns: int, limit_ns: int) -> Iterator[int]:
    """Instants within [first_ns, limit_ns) at which a curve grows that begins at `shift_ns`."""
    base_ns = shift_ns + max(0, (first_ns - shift_ns) // curve.horizon_ns) * curve.horizon_ns
    while base_ns < limit_ns:
        for length_ns, _ in curve.steps:
            if first_ns <= base_ns + length_ns - 1 < limit_ns:
                yield base_ns + length_ns - 1
        base_ns += curve.horizon_ns


def _merged(points: Sequence[Iterator[int]]) -> Iterator[int]:
    """Ascending values of several ascending sequences, each once."""
    last: int | None = None
    for value in merge(*points):
        if value != last:
            yield value
        last = value


def _worse(old: Worst | None, new: Worst) -> Worst:
    return new if old is None or new.response_ns > old.response_ns else old
