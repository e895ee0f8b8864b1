"""A system and a plan -> the cyclic scheduling problem of its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from math import gcd, lcm

from rt_sched import model
from rt_sched.analysis.loads.resolve import ModeLoad
from rt_sched.errors import AnalysisNotApplicable
from rt_sched.planner.tables.arrivals import Arrivals, Root
from rt_sched.planner.tables.problem import Lag, Limit, TableJob, TableProblem
from rt_sched.trace.setup import EdgeRow
from rt_sched.units import NS_PER_S, floor_int, format_ns

#: More jobs in one cycle than this are refused.
MOST_JOBS = 5_000
#: Timed tasks with more jobs in one cycle keep their offset.
_MOST_FREE_JOBS = 200


@dataclass(frozen=True, slots=True)
class SystemProblem:
    """`first_job[t]`: place of job 0 of table task t, whose jobs stand together. `free`: timed tasks whose offset the
    table chooses. `sensors`: those whose declared instants the entries follow.
    """

    problem: TableProblem
    first_job: Mapping[int, int]
    jobs_of: Mapping[int, int]
    free: frozenset[int]
    sensors: tuple[str, ...]


def hyperperiod_ns(rates_hz: Sequence[Fraction]) -> int:
    """The least whole number of nanoseconds that holds a whole number of periods of every rate."""
    periods = [NS_PER_S / rate for rate in rates_hz]
    common = Fraction(lcm(*(one.numerator for one in periods)), gcd(*(one.denominator for one in periods)))
    return common.numerator


def table_problem(
    mode: ModeLoad, lanes: Sequence[int], arrivals: Arrivals, *, margin_ns: int = 0, free_offsets: bool = False
) -> SystemProblem:
    """The problem of the tasks that the plan puts on the processors `lanes`.

    Every job gets one entry, long enough for its switch and worst case, after the latest instant at which it can be
    released, `margin_ns` later still; it ends before its deadline counted from its earliest arrival; and it begins
    before the next job of the task can arrive, so that an entry never serves a job but its own, whatever is lost.
    `free_offsets`: timed tasks that only read get a new offset, after the same-numbered jobs of the tasks of their rate
    that they read. Raises AnalysisNotApplicable where arrivals are not known instants.
    """
    setup = arrivals.longest
    here = [index for index, row in enumerate(setup.tasks) if row.processor in lanes]
    reads = {index: _read_edges(mode, arrivals, index) for index in here} if free_offsets else {}
    rate_of = {index: arrivals.of(index)[0].rate_hz for index in here}
    cycle_ns = hyperperiod_ns(list(rate_of.values())) if here else 1
    count = {index: int(cycle_ns * rate_of[index] / NS_PER_S) for index in here}
    free = frozenset(index for index, edges in reads.items() if edges and count[index] <= _MOST_FREE_JOBS)
    if sum(count.values()) > MOST_JOBS:
        shown = format_ns(cycle_ns)
        raise AnalysisNotApplicable(f"the cycle of {shown} holds {sum(count.values())} jobs; {MOST_JOBS} are the most")
    for index in here:
        if arrivals.entry_ns(index) > cycle_ns:
            raise AnalysisNotApplicable(f"a job of {setup.tasks[index].name} is longer than the cycle")
    first: dict[int, int] = {}
    for index in here:
        first[index] = sum(count[other] for other in first)
    builder = _Builder(mode.system, arrivals, first, count, cycle_ns, margin_ns)
    for index in here:
        roots = tuple(root for edge in reads[index] for root in arrivals.behind(edge)) if index in free else None
        builder.add(index, list(lanes).index(setup.tasks[index].processor), roots)
    names = tuple(mode.plan.processors[lane].name for lane in lanes)
    problem = TableProblem(cycle_ns, names, builder.jobs(), tuple(builder.lags), tuple(builder.limits))
    return SystemProblem(problem, first, count, free, arrivals.sensors)


def _read_edges(mode: ModeLoad, arrivals: Arrivals, task: int) -> list[int]:
    """The edges by which a task with a free offset reads producers of its own rate that do not depend on it."""
    activation = mode.system.tasks[task].activation
    setup = arrivals.longest
    if not isinstance(activation, model.Periodic) or activation.jitter_ns or setup.tasks[task].let:
        return []
    after = _depends(setup.edges, task)
    found = []
    for number, edge in enumerate(setup.edges):
        if edge.target != task or edge.task in after:
            continue
        try:
            roots = arrivals.behind(number)
        except AnalysisNotApplicable:
            continue
        if all(root.rate_hz == activation.rate_hz for root in roots):
            found.append(number)
    return found


def _depends(edges: Sequence[EdgeRow], task: int) -> set[int]:
    """The task and all that reads it, directly or not."""
    found = {task}
    grown = True
    while grown:
        more = {edge.target for edge in edges if edge.task in found} - found
        grown = bool(more)
        found |= more
    return found


class _Builder:
    """Jobs, lags and limits, task by task."""

    def __init__(
        self,
        system: model.System,
        arrivals: Arrivals,
        first: Mapping[int, int],
        count: Mapping[int, int],
        cycle_ns: int,
        margin_ns: int,
    ) -> None:
        self._system, self._arrivals = system, arrivals
        self._first, self._count, self._cycle_ns, self._margin_ns = first, count, cycle_ns, margin_ns
        self._jobs: dict[int, TableJob] = {}
        self._roots: dict[int, tuple[Root, ...]] = {}
        self._lane: dict[int, int] = {}
        self.lags: list[Lag] = []
        self.limits: list[Limit] = []

    def add(self, task: int, lane: int, read: tuple[Root, ...] | None) -> None:
        """`read`: roots of what a task with a free offset waits for; None for all others."""
        self._lane[task] = lane
        self._roots[task] = self._arrivals.of(task) if read is None else read
        row = self._arrivals.longest.tasks[task]
        length_ns = self._arrivals.entry_ns(task)
        for number in range(self._count[task]):
            job = self._first[task] + number
            for root in self._roots[task]:
                if root.task is not None:
                    lag_ns = root.worst_ns + row.jitter_ns + self._margin_ns
                    self.lags.append(Lag(self._first[root.task] + number, job, lag_ns))
            if read is None:
                due = tuple(self._earliest(root, number, row.deadline_ns - length_ns) for root in self._roots[task])
                following = tuple(self._earliest(root, number + 1, -1) for root in self._roots[task])
                self.limits.append(Limit(job, due, f"its deadline of {format_ns(row.deadline_ns)}"))
                self.limits.append(Limit(job, following, "the next job may arrive before it starts"))
        if read is not None:
            self._keep_rate(task, length_ns)

    def jobs(self) -> tuple[TableJob, ...]:
        """All jobs by place."""
        found = {}
        for task, first in self._first.items():
            for number in range(self._count[task]):
                found[first + number] = TableJob(
                    self._system.tasks[task].name,
                    number,
                    self._lane[task],
                    self._arrivals.entry_ns(task),
                    self._release_ns(task, number),
                    self._origin_ns(task, number),
                )
        return tuple(found[place] for place in sorted(found))

    def _earliest(self, root: Root, number: int, more_ns: int) -> tuple[int | None, int]:
        """A term of a limit: the earliest arrival `number` behind a root, and `more_ns`."""
        if root.task is None:
            return None, root.instant_ns(number) + root.best_ns + more_ns
        cycles, place = divmod(number, self._count[root.task])
        return self._first[root.task] + place, cycles * self._cycle_ns + root.best_ns + more_ns

    def _release_ns(self, task: int, number: int) -> int:
        known = [
            root.instant_ns(number) + root.worst_ns + self._arrivals.longest.tasks[task].jitter_ns + self._margin_ns
            for root in self._roots[task]
            if root.task is None
        ]
        return max([0, *known])

    def _origin_ns(self, task: int, number: int) -> int:
        return min(
            root.instant_ns(number) if root.task is None else self._origin_ns(root.task, number)
            for root in self._roots[task]
        )

    def _keep_rate(self, task: int, length_ns: int) -> None:
        """Jobs of a task with a free offset lie so that one offset suits all: arrivals at its rate, each job's end
        within its deadline.
        """
        rate_hz = self._arrivals.of(task)[0].rate_hz
        window_ns = min(self._arrivals.longest.tasks[task].deadline_ns, floor_int(NS_PER_S / rate_hz)) - length_ns
        at = [int(number * NS_PER_S / rate_hz) for number in range(self._count[task])]
        first = self._first[task]
        for one, other in permutations(range(len(at)), 2):
            self.lags.append(Lag(first + one, first + other, -(at[one] - at[other] + window_ns), is_order=False))
