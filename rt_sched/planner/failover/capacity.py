"""Whether a processor can take further tasks, in a moment: response times of everything on it.

The bounds are those of the analysis for one core: fixed priority by start times of the whole busy period (Tindell,
Burns, Wellings 1994; George, Rivierre, Spuri 1996; Davis, Burns, Bril, Lukkien 2007), EDF by processor demand (Baruah,
Rosier, Howell 1990), FIFO by the length of the busy period. What they are not for is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from rt_sched.analysis.loads.load import LoadTask
from rt_sched.model import Policy, Processor
from rt_sched.units import format_ns

#: Steps of a fixed point, jobs of a busy period and deadlines that are looked at before it is refused.
MOST_STEPS = 2000


@dataclass(frozen=True, slots=True)
class Lodger:
    """A task on a processor: at `level` there, with arrivals `jitter_ns` behind a grid of `period_ns`, and with `more`
    additional ones at any time."""

    task: LoadTask
    level: int
    period_ns: int
    jitter_ns: int
    more: int = 0

    def jobs_within(self, window_ns: int) -> int:
        """Most releases in a half-open window."""
        late_ns = self.jitter_ns + self.task.release_jitter_ns
        return -(-(window_ns + late_ns) // self.period_ns) + self.more if window_ns > 0 else 0

    def earliest_ns(self, job: int) -> int:
        """Earliest arrival of job `job` of a busy period, counted from its begin; a late release may lie before it."""
        late_ns = self.jitter_ns + self.task.release_jitter_ns
        return max(max(0, job - self.more) * self.period_ns - late_ns, -self.task.release_jitter_ns)


class Full(Exception):
    """The processor is not known to have room; the message says why."""


def check_room(processor: Processor, lodgers: Sequence[Lodger]) -> None:
    """Raises Full unless every job of `lodgers` surely keeps its deadline on `processor`."""
    for one in lodgers:
        _refuse_unknown(one.task)
    if processor.cores > 1:
        raise Full(f"{processor.name} schedules its cores together")
    if processor.policy in (Policy.TABLE, Policy.TIME_SLICED):
        raise Full(f"{processor.name} runs by a cycle of its own")
    if sum(Fraction(one.task.cost_ns, one.period_ns) for one in lodgers) > 1:
        raise Full(f"{processor.name} would be asked for more than it has")
    if processor.policy is Policy.FIXED_PRIORITY:
        for one in lodgers:
            _check_fixed_priority(one, lodgers)
    elif processor.policy is Policy.EDF:
        _check_edf(processor, lodgers)
    else:
        length_ns = _least(lambda window_ns: _work_ns(lodgers, window_ns), 1)
        for one in lodgers:
            _check(one, length_ns + one.task.release_jitter_ns)


def _refuse_unknown(task: LoadTask) -> None:
    if task.suspensions:
        raise Full(f"task {task.name} waits inside its jobs")
    if task.locks or task.spin_ns or task.blocking is None:
        raise Full(f"task {task.name} shares resources")
    if task.throttled_beyond:
        raise Full(f"task {task.name} may need more than one budget")


def _check_fixed_priority(mine: Lodger, lodgers: Sequence[Lodger]) -> None:
    """Every job of the longest busy period of its level."""
    urgent = [one for one in lodgers if one.level < mine.level]
    blocked_ns = max((one.task.region_ns - 1 for one in lodgers if one.level > mine.level), default=0)
    blocked_ns += 0 if mine.task.blocking is None else mine.task.blocking.total_ns
    length_ns = _least(lambda window_ns: blocked_ns + _work_ns([*urgent, mine], window_ns), 1)
    jobs = mine.jobs_within(length_ns)
    if jobs > MOST_STEPS:
        raise Full(f"the busy period of task {mine.task.name} holds more than {MOST_STEPS} of its jobs")
    for job in range(jobs):
        before_ns = blocked_ns + (job + 1) * mine.task.cost_ns - mine.task.last_region_ns
        start_ns = _least(partial(_begun_ns, urgent, before_ns), max(before_ns, 0))
        _check(mine, start_ns + mine.task.last_region_ns - mine.earliest_ns(job))


def _begun_ns(urgent: Sequence[Lodger], before_ns: int, start_ns: int) -> int:
    """When the last part of a job begins that nobody preempts, if more urgent work came up to `start_ns`."""
    return before_ns + _work_ns(urgent, start_ns + 1)


def _check_edf(processor: Processor, lodgers: Sequence[Lodger]) -> None:
    """Demand of all jobs that arrive and have their deadlines in an interval, at every deadline of a busy period."""
    longest_ns = max(one.task.region_ns for one in lodgers)
    length_ns = _least(lambda window_ns: longest_ns + _work_ns(lodgers, window_ns), 1)
    deadlines: set[int] = set()
    for one in lodgers:
        first_ns = one.task.deadline_ns - one.jitter_ns - one.task.release_jitter_ns
        if first_ns <= 0:
            raise Full(f"task {one.task.name} may be released behind its deadline")
        deadlines.update((first_ns, one.task.deadline_ns))
        deadlines.update(range(first_ns, length_ns + 1, one.period_ns))
        if len(deadlines) > MOST_STEPS:
            raise Full(f"the busy period of {processor.name} holds more than {MOST_STEPS} deadlines")
    for at_ns in sorted(deadlines):
        demand_ns = sum(one.task.cost_ns * _due_within(one, at_ns) for one in lodgers)
        later = [one.task.region_ns - 1 for one in lodgers if one.task.deadline_ns > at_ns]
        if demand_ns + max(later, default=0) > at_ns:
            raise Full(f"{processor.name} may be asked for {format_ns(demand_ns)} of work within {format_ns(at_ns)}")


def _due_within(one: Lodger, length_ns: int) -> int:
    """Most jobs with release and deadline in an interval."""
    late_ns = one.jitter_ns + one.task.release_jitter_ns
    usual = max(0, (length_ns + late_ns - one.task.deadline_ns) // one.period_ns + 1)
    return usual + (one.more if length_ns >= one.task.deadline_ns - late_ns else 0)


def _check(one: Lodger, response_ns: int) -> None:
    if response_ns > one.task.deadline_ns:
        raise Full(
            f"task {one.task.name} would take up to {format_ns(response_ns)}, over its deadline of "
            f"{format_ns(one.task.deadline_ns)}"
        )


def _work_ns(lodgers: Sequence[Lodger], window_ns: int) -> int:
    return sum(one.jobs_within(window_ns) * one.task.cost_ns for one in lodgers)


def _least(right_side: Callable[[int], int], start_ns: int) -> int:
    """The least fixed point from `start_ns` on."""
    now_ns = start_ns
    for _ in range(MOST_STEPS):
        next_ns = right_side(now_ns)
        if next_ns <= now_ns:
            return now_ns
        now_ns = next_ns
    raise Full(f"a busy period had not ended after {MOST_STEPS} steps")
