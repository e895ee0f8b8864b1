"""List scheduling: one job after the other, the most urgent that is ready, into the first gap that fits it."""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass

from rt_sched.planner.tables.critical_path import in_order, longest_to_sink_ns
from rt_sched.planner.tables.problem import TableProblem, violations


@dataclass(frozen=True, slots=True)
class Stuck:
    """The first job that an order of urgency leaves no place, or what a finished table does not keep."""

    reason: str


def list_schedule(problem: TableProblem) -> tuple[int, ...] | Stuck:
    """Starts of all jobs by the best of three orders of urgency, in latency; or why none leads to a legal table.

    The longest path to the sink (Kwok, Ahmad 1999); the same, counted back from the last instant at which the job may
    start (least slack first); the earliest origin first, the path next, which keeps frames together.
    """
    levels = longest_to_sink_ns(problem)
    latest = _latest_starts(problem)
    jobs = problem.jobs
    orders = (
        [(-level, job.earliest_ns) for level, job in zip(levels, jobs, strict=True)],
        [(last, -level) for level, last in zip(levels, latest, strict=True)],
        [(job.origin_ns, -level) for level, job in zip(levels, jobs, strict=True)],
    )
    found = [_by_urgency(problem, urgency) for urgency in orders]
    legal = [starts for starts in found if not isinstance(starts, Stuck)]
    if not legal:
        return next(one for one in found if isinstance(one, Stuck))
    return min(legal, key=problem.latency_ns)


def _latest_starts(problem: TableProblem) -> list[int]:
    """The last instant at which a job may start for what comes after it, as far as constants say it."""
    latest = [max((job.earliest_ns for job in problem.jobs), default=0) + 2 * problem.cycle_ns] * len(problem.jobs)
    for limit in problem.limits:
        if all(job is None for job, _ in limit.terms):
            latest[limit.job] = min(latest[limit.job], max(ns for _, ns in limit.terms))
    after: list[list[tuple[int, int]]] = [[] for _ in problem.jobs]
    for lag in problem.orders:
        after[lag.before].append((lag.after, lag.ns))
    for job in reversed(in_order(problem)):
        latest[job] = min([latest[job], *(latest[follower] - ns for follower, ns in after[job])])
    return latest


def _by_urgency(problem: TableProblem, urgency: Sequence[tuple[int, int]]) -> tuple[int, ...] | Stuck:
    jobs = problem.jobs
    starts: dict[int, int] = {}
    waits = [0] * len(jobs)
    following: list[list[int]] = [[] for _ in jobs]
    for lag in problem.orders:
        waits[lag.after] += 1
        following[lag.before].append(lag.after)
    ready = [(urgency[job], job) for job, count in enumerate(waits) if not count]
    ready.sort()
    busy: list[list[tuple[int, int]]] = [[] for _ in problem.lanes]
    lower = _Lower(problem)
    while ready:
        _, job = ready.pop(0)
        one = jobs[job]
        start = _first_fit(busy[one.lane], lower.earliest_ns(job, starts), one.length_ns, problem.cycle_ns)
        if start is None:
            return Stuck(f"{one.name} finds no gap of its length on {problem.lanes[one.lane]}")
        starts[job] = start
        place = start % problem.cycle_ns
        insort(busy[one.lane], (place, place + one.length_ns))
        for after in following[job]:
            waits[after] -= 1
            if not waits[after]:
                insort(ready, (urgency[after], after))
    found = tuple(starts[job] for job in range(len(jobs)))
    wrong = violations(problem, found)
    return Stuck(wrong[0]) if wrong else found


class _Lower:
    """The earliest start of a job, given those of the jobs that have one."""

    def __init__(self, problem: TableProblem) -> None:
        self._problem = problem
        self._lags: list[list[tuple[int, int]]] = [[] for _ in problem.jobs]
        for lag in problem.lags:
            self._lags[lag.after].append((lag.before, lag.ns))
        for limit in problem.limits:
            if len(limit.terms) == 1 and limit.terms[0][0] is not None:
                # It starts late enough for what had to start soon after it.
                self._lags[limit.terms[0][0]].append((limit.job, -limit.terms[0][1]))

    def earliest_ns(self, job: int, starts: dict[int, int]) -> int:
        bounds = (starts[before] + ns for before, ns in self._lags[job] if before in starts)
        return max([self._problem.jobs[job].earliest_ns, *bounds])


def _first_fit(busy: Sequence[tuple[int, int]], from_ns: int, length_ns: int, cycle_ns: int) -> int | None:
    """The first start from `from_ns` on in a gap of one cycle; None when no gap of any cycle is long enough."""
    at = from_ns
    while at < from_ns + 2 * cycle_ns:
        place = at % cycle_ns
        if place + length_ns > cycle_ns:
            at += cycle_ns - place
            continue
        hit = next((end for begin, end in busy if begin < place + length_ns and place < end), None)
        if hit is None:
            return at
        at += hit - place
    return None
