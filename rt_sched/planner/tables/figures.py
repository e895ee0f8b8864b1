"""What a table is worth: critical path, speed-up, efficiency, load imbalance, and how frames overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from rt_sched.planner.tables.critical_path import critical_path, longest_to_sink_ns
from rt_sched.planner.tables.problem import TableProblem


@dataclass(frozen=True, slots=True)
class LaneFigures:
    """One core over one cycle. `bubbles`: (begin, end) of the times in which it has nothing to do."""

    name: str
    busy_ns: int
    bubbles: tuple[tuple[int, int], ...]

    @property
    def idle_ns(self) -> int:
        """The length of all bubbles."""
        return sum(end - begin for begin, end in self.bubbles)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """How the frames of a task that nothing comes after follow each other.

    `interval_ns`: mean distance of two of its jobs (initiation interval). `latency_ns`: largest time from the origin of
    a frame to its end. `frames_in_flight`: how many frames are on their way at one time, at most.
    """

    sink: str
    interval_ns: Fraction
    latency_ns: int
    frames_in_flight: int


@dataclass(frozen=True, slots=True)
class TableFigures:
    """`critical_path`: tasks of the longest path by execution and hand-over, `critical_path_ns` its length. `work_ns`:
    of all jobs of a cycle. `latency_ns`: the largest of all frames; `span_ns`: from the first origin of the cycle's
    jobs to their last end.
    """

    cycle_ns: int
    work_ns: int
    latency_ns: int
    span_ns: int
    critical_path: tuple[str, ...]
    critical_path_ns: int
    lanes: tuple[LaneFigures, ...]
    pipelines: tuple[Pipeline, ...]

    @property
    def speed_up(self) -> Fraction:
        """How many times faster than one core that does all of one after the other: work / time in which any works."""
        busy_ns = self.cycle_ns - _common_idle_ns(self.lanes)
        return Fraction(self.work_ns, busy_ns) if busy_ns else Fraction(1)

    @property
    def efficiency(self) -> Fraction:
        """Speed-up by core."""
        return self.speed_up / max(1, len(self.lanes))

    @property
    def imbalance(self) -> Fraction:
        """By how much the busiest core exceeds the mean: 0 when all are equally busy."""
        if not self.work_ns:
            return Fraction(0)
        mean = Fraction(self.work_ns, len(self.lanes))
        return max(lane.busy_ns for lane in self.lanes) / mean - 1


def table_figures(problem: TableProblem, starts: Sequence[int]) -> TableFigures:
    """The figures of a legal table."""
    jobs = problem.jobs
    levels = longest_to_sink_ns(problem)
    path = critical_path(problem, levels)
    ends = [start + job.length_ns for start, job in zip(starts, jobs, strict=True)]
    return TableFigures(
        cycle_ns=problem.cycle_ns,
        work_ns=sum(job.length_ns for job in jobs),
        latency_ns=problem.latency_ns(starts),
        span_ns=max(ends, default=0) - min((job.origin_ns for job in jobs), default=0),
        critical_path=tuple(jobs[job].task for job in path),
        critical_path_ns=max(levels, default=0),
        lanes=tuple(_lane(problem, starts, lane) for lane in range(len(problem.lanes))),
        pipelines=_pipelines(problem, ends),
    )


def _lane(problem: TableProblem, starts: Sequence[int], lane: int) -> LaneFigures:
    spans = sorted(
        (start % problem.cycle_ns, start % problem.cycle_ns + job.length_ns)
        for start, job in zip(starts, problem.jobs, strict=True)
        if job.lane == lane
    )
    bubbles, free_from = [], 0
    for begin, end in spans:
        if begin > free_from:
            bubbles.append((free_from, begin))
        free_from = end
    if free_from < problem.cycle_ns:
        bubbles.append((free_from, problem.cycle_ns))
    return LaneFigures(problem.lanes[lane], sum(end - begin for begin, end in spans), tuple(bubbles))


def _pipelines(problem: TableProblem, ends: Sequence[int]) -> tuple[Pipeline, ...]:
    before_others = {problem.jobs[lag.before].task for lag in problem.orders}
    by_task: dict[str, list[int]] = {}
    for place, job in enumerate(problem.jobs):
        if job.task not in before_others:
            by_task.setdefault(job.task, []).append(place)
    found = []
    for task, places in by_task.items():
        interval_ns = Fraction(problem.cycle_ns, len(places))
        latency_ns = max(ends[place] - problem.jobs[place].origin_ns for place in places)
        found.append(Pipeline(task, interval_ns, latency_ns, -(-latency_ns // interval_ns)))
    return tuple(found)


def _common_idle_ns(lanes: Sequence[LaneFigures]) -> int:
    """The time of a cycle in which no core works."""
    changes: list[tuple[int, int]] = []
    for lane in lanes:
        changes += [change for begin, end in lane.bubbles for change in ((begin, 1), (end, -1))]
    idle_ns, free, since = 0, 0, 0
    for at, step in sorted(changes):
        if free == len(lanes):
            idle_ns += at - since
        free, since = free + step, at
    return idle_ns
