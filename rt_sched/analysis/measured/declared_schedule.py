"""When the jobs of a core would end at the latest if all of them, as they came, took their declared times."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from rt_sched.analysis.loads.load import ProcessorLoad
from rt_sched.analysis.measured.present_jobs import PresentJobs
from rt_sched.analysis.theory.fixed_points import least_fixed_point
from rt_sched.model import Policy

#: Jobs before another one, from whose begin on the core may never have been free, that are looked at.
MOST_BEGINS = 1000


class Ends(Protocol):
    """Of the jobs of one core."""

    def latest_ns(self, place: int, until_ns: int) -> int:
        """When the job at a place ends at the latest; no less than `until_ns` where it may be that late."""


@dataclass(frozen=True, slots=True)
class _Flow:
    """Jobs that no trace tells of. `level`: as tasks have it, None for what goes before them all."""

    cost_ns: int
    period_ns: int
    jitter_ns: int
    level: int | None

    def within_ns(self, window_ns: int) -> int:
        """What as many as can come in a half-open window take."""
        return self.cost_ns * max(0, -(-(window_ns + self.jitter_ns) // self.period_ns))


class Core:
    """A core where keys order the jobs: levels, deadlines, or their releases.

    A job ends at the latest when an interval is over in which the core always has something to do that goes first. It
    may begin with any of the jobs that do: what nobody preempts, and what no trace tells of, may come right then.
    """

    def __init__(self, load: ProcessorLoad, jobs: PresentJobs) -> None:
        self._jobs, self._count, self._load = jobs, len(jobs.rows), load
        self._is_preemptive = load.row.preemptive and load.policy is not Policy.FIFO
        self._tasks = {task.index: task for task in load.tasks}
        own = [task.level for task in load.tasks if task.index < jobs.known_tasks]
        first = min(own) if own and load.policy is Policy.FIXED_PRIORITY else None
        more_ns = 0 if self._is_preemptive else load.row.switch_ns
        self._flows = [
            _Flow(
                task.cost_ns + more_ns,
                one.period_ns,
                one.jitter_ns + task.release_jitter_ns,
                None if first is None or task.level < first else task.level,
            )
            for task in load.tasks
            if task.index >= jobs.known_tasks
            for one in task.streams
        ]

    def latest_ns(self, place: int, until_ns: int) -> int:
        """When the job at a place ends at the latest; no less than `until_ns` where it may be that late."""
        latest_ns = 0
        for begin_ns in self._begins(place):
            latest_ns = max(latest_ns, self._end_ns(place, begin_ns, until_ns))
            if latest_ns >= until_ns:
                break
        return latest_ns

    def _begins(self, place: int) -> Iterator[int]:
        """Backwards from the job's own."""
        jobs, before_ns = self._jobs, -1
        for earlier in range(place, max(-1, place - MOST_BEGINS), -1):
            begin_ns = jobs.begin_ns[earlier]
            if begin_ns != before_ns and (earlier == place or self._goes_first(earlier, place)):
                before_ns = begin_ns
                yield begin_ns

    def _goes_first(self, one: int, place: int) -> bool:
        jobs = self._jobs
        if jobs.key[one] != jobs.key[place]:
            return jobs.key[one] < jobs.key[place]
        return jobs.task[one] != jobs.task[place] or one < place

    def _end_ns(self, place: int, begin_ns: int, until_ns: int) -> int:
        """Of the interval that begins then, where the job comes within it, else 0."""
        jobs = self._jobs
        flows = [one for one in self._flows if one.level is None or one.level <= jobs.key[place]]
        work_ns = self._blocked_ns(place, begin_ns)
        window_ns, following, contained = max(work_ns, 1), bisect_left(jobs.begin_ns, begin_ns), False
        if not self._is_preemptive:
            window_ns = work_ns
        # Without preemption the interval is over when the job starts, which what comes right then may prevent.
        beyond_ns = 0 if self._is_preemptive else 1
        while begin_ns + window_ns < until_ns:
            while following < self._count and jobs.begin_ns[following] < begin_ns + window_ns + beyond_ns:
                if following == place:
                    contained = True
                    work_ns += jobs.cost_ns[place] if self._is_preemptive else 0
                elif self._goes_first(following, place):
                    work_ns += jobs.cost_ns[following]
                following += 1
            needed_ns = work_ns + sum(one.within_ns(window_ns + beyond_ns) for one in flows)
            if needed_ns <= window_ns:
                break
            window_ns = needed_ns
        else:
            return until_ns
        if not contained:
            return 0
        return begin_ns + (window_ns if self._is_preemptive else self._ended_ns(work_ns + jobs.cost_ns[place], flows))

    def _ended_ns(self, work_ns: int, flows: Sequence[_Flow]) -> int:
        """How long it is with the job that started last in it, which only what no trace tells of interrupts."""
        return least_fixed_point(lambda w: work_ns + sum(one.within_ns(w) for one in flows), max(work_ns, 1))

    def _blocked_ns(self, place: int, begin_ns: int) -> int:
        """By less urgent jobs that hold what the job needs, or that nobody preempts."""
        jobs, task = self._jobs, self._tasks.get(self._jobs.task[place])
        held_ns = 0 if task is None or task.blocking is None else task.blocking.total_ns
        if self._load.policy is Policy.FIFO:
            return held_ns
        if self._load.policy is Policy.FIXED_PRIORITY:
            lower = (one for one in self._load.tasks if one.level > jobs.key[place])
        else:
            lower = (one for one in self._load.tasks if one.deadline_ns > jobs.key[place] - begin_ns)
        return held_ns + max((one.region_ns - 1 for one in lower), default=0)
