"""When the jobs of a core would end at the latest where each task has a reservation that it may use up."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Mapping

from rt_sched.analysis.loads.load import ProcessorLoad
from rt_sched.analysis.measured.declared_schedule import MOST_BEGINS
from rt_sched.analysis.measured.present_jobs import PresentJobs
from rt_sched.analysis.methods.reservations import Reservation


class Reserved:
    """A core of reservations by EDF. `woken`: tasks whose reservation may begin its period before a job comes.

    The deadline by which the kernel serves a job may lie earlier than a period after the one before. So of the jobs of
    others all count that were there, or whose period was not over; but never more of a reservation than it may have
    with deadlines up to that of the job at stake.
    """

    def __init__(
        self,
        load: ProcessorLoad,
        jobs: PresentJobs,
        reservations: Mapping[int, Reservation],
        woken: Collection[int],
    ) -> None:
        self._jobs, self._reservations, self._woken = jobs, reservations, woken
        self._others = {task.index for task in load.tasks} | set(jobs.task)
        self._unseen = {index for index in self._others if index >= jobs.known_tasks or index in woken}
        self._begins_ns: dict[int, list[int]] = {index: [] for index in self._others}
        self._gone_ns: dict[int, list[int]] = {index: [] for index in self._others}
        for index, begin_ns, end_ns in zip(jobs.task, jobs.begin_ns, jobs.end_ns, strict=True):
            gone_ns = max(end_ns, begin_ns + reservations[index].period_ns)
            self._begins_ns[index].append(begin_ns)
            self._gone_ns[index].append(max([gone_ns, *self._gone_ns[index][-1:]]))

    def latest_ns(self, place: int, until_ns: int) -> int:
        """When the job at a place ends at the latest; no less than `until_ns` where it may be that late."""
        jobs, mine = self._jobs, self._jobs.task[place]
        if mine in self._woken:
            return jobs.begin_ns[place] + self._reservations[mine].period_ns
        latest_ns = 0
        for begin_ns in self._begins(place):
            latest_ns = max(latest_ns, self._end_ns(place, begin_ns, until_ns))
            if latest_ns >= until_ns:
                break
        return latest_ns

    def _begins(self, place: int) -> Iterator[int]:
        """Backwards from the job's own."""
        begins_ns = self._jobs.begin_ns
        for earlier in range(place, max(-1, place - MOST_BEGINS), -1):
            if earlier == place or begins_ns[earlier] != begins_ns[earlier + 1]:
                yield begins_ns[earlier]

    def _end_ns(self, place: int, begin_ns: int, until_ns: int) -> int:
        """Of the interval without rest that begins then, where the job comes within it, else 0."""
        jobs, mine = self._jobs, self._jobs.task[place]
        own = self._begins_ns[mine]
        own_jobs = bisect_right(own, jobs.begin_ns[place]) - bisect_left(own, begin_ns)
        window_ns, work_ns = 0, 1
        while work_ns > window_ns:
            window_ns = work_ns
            if begin_ns + window_ns >= until_ns:
                return until_ns
            there = min(own_jobs, bisect_left(own, begin_ns + window_ns) - bisect_left(own, begin_ns))
            work_ns = there * self._reservations[mine].runtime_ns + sum(
                self._count(index, begin_ns, window_ns, jobs.key[place]) * self._reservations[index].runtime_ns
                for index in self._others
                if index != mine
            )
        return begin_ns + window_ns if begin_ns + window_ns > jobs.begin_ns[place] else 0

    def _count(self, index: int, begin_ns: int, window_ns: int, deadline_ns: int) -> int:
        """Jobs of another reservation in an interval, with deadlines up to that of the job at stake."""
        one = self._reservations[index]
        due = (deadline_ns - begin_ns - one.deadline_ns) // one.period_ns + 1
        most = max(0, min(-(-window_ns // one.period_ns), due))
        if index in self._unseen or not most:
            return most
        seen = bisect_left(self._begins_ns[index], begin_ns + window_ns) - bisect_right(self._gone_ns[index], begin_ns)
        return min(most, max(0, seen))
