"""A cyclic scheduling problem: jobs on cores, with their order, over one cycle that repeats.

All times are integer ns from the begin of a cycle; a start may lie in a later cycle, where the entry of the table then
stands in the cycle by its remainder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from rt_sched.units import format_ns


@dataclass(frozen=True, slots=True)
class TableJob:
    """Job `number` of the cycle of a task. It keeps the core `lane` for `length_ns`, switch and worst case.

    `earliest_ns`: it is released by then at the latest, as far as clocks and sensors decide that. `origin_ns`: the
    instant from which its latency counts: the arrival or the capture that all began with.
    """

    task: str
    number: int
    lane: int
    length_ns: int
    earliest_ns: int = 0
    origin_ns: int = 0

    @property
    def name(self) -> str:
        """Such as detect[2]."""
        return f"{self.task}[{self.number}]"


@dataclass(frozen=True, slots=True)
class Lag:
    """Job `after` starts at least `ns` after the start of job `before`; both are places in `TableProblem.jobs`.

    `is_order`: what comes after needs what comes before; otherwise the two only keep a distance.
    """

    before: int
    after: int
    ns: int
    is_order: bool = True


@dataclass(frozen=True, slots=True)
class Limit:
    """Job `job` starts at the latest at the largest of its terms: (job, ns) ns after the start of that job, (None, ns)
    at ns. `why` says what it is for.
    """

    job: int
    terms: tuple[tuple[int | None, int], ...]
    why: str

    def latest_ns(self, starts: Sequence[int]) -> int:
        """By the starts of the jobs that it depends on."""
        return max(ns if job is None else starts[job] + ns for job, ns in self.terms)


@dataclass(frozen=True)
class TableProblem:
    """What a table has to keep. `lanes`: the cores by name; an entry lies in one cycle, [0, cycle_ns)."""

    cycle_ns: int
    lanes: tuple[str, ...]
    jobs: tuple[TableJob, ...]
    lags: tuple[Lag, ...] = ()
    limits: tuple[Limit, ...] = ()

    @cached_property
    def orders(self) -> tuple[Lag, ...]:
        """The lags that order jobs."""
        return tuple(lag for lag in self.lags if lag.is_order)

    def latency_ns(self, starts: Sequence[int]) -> int:
        """The largest time from the origin of a job to its end. With one frame that begins at 0 it is the makespan."""
        ends = (start + job.length_ns - job.origin_ns for job, start in zip(self.jobs, starts, strict=True))
        return max(ends, default=0)


def violations(problem: TableProblem, starts: Sequence[int]) -> list[str]:
    """Everything that a table with these starts does not keep, in words; empty when it is legal."""
    jobs, cycle_ns = problem.jobs, problem.cycle_ns
    found = []
    for job, start in zip(jobs, starts, strict=True):
        if start < job.earliest_ns:
            found.append(f"{job.name} starts at {format_ns(start)}, before its release at {format_ns(job.earliest_ns)}")
        if start % cycle_ns + job.length_ns > cycle_ns:
            found.append(f"{job.name} at {format_ns(start)} crosses the end of the cycle")
    found += [
        f"{jobs[lag.after].name} starts less than {format_ns(lag.ns)} after {jobs[lag.before].name}"
        for lag in problem.lags
        if starts[lag.after] < starts[lag.before] + lag.ns
    ]
    for limit in problem.limits:
        late_ns = starts[limit.job] - limit.latest_ns(starts)
        if late_ns > 0:
            found.append(f"{jobs[limit.job].name} starts {format_ns(late_ns)} too late: {limit.why}")
    for lane in range(len(problem.lanes)):
        mine = sorted(
            ((start % cycle_ns, job) for job, start in zip(jobs, starts, strict=True) if job.lane == lane),
            key=lambda pair: pair[0],
        )
        found += [
            f"{one.name} and {other.name} overlap on {problem.lanes[lane]}"
            for (begin, one), (next_begin, other) in pairwise(mine)
            if begin + one.length_ns > next_begin
        ]
    return found
