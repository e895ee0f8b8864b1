"""Adaptive mixed criticality (AMC) on one preemptive processor: a HI job that exceeds its LO wcet ends the LO tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rt_sched.analysis.theory.fixed_points import fixed_point_within
from rt_sched.errors import AnalysisNotApplicable


@dataclass(frozen=True, slots=True)
class DualTiming:
    """A task with two wcets; `wcet_hi_ns` None for a LO task. Sequences stand in priority order.

    `blocking_ns`: longest delay by tasks of lower priority, in either mode.
    """

    wcet_lo_ns: int
    period_ns: int
    deadline_ns: int
    wcet_hi_ns: int | None = None
    blocking_ns: int = 0

    @property
    def high(self) -> bool:
        """Whether the task goes on in HI mode."""
        return self.wcet_hi_ns is not None

    @property
    def highest_ns(self) -> int:
        """The wcet of the task's own criticality."""
        return self.wcet_lo_ns if self.wcet_hi_ns is None else self.wcet_hi_ns


@dataclass(frozen=True, slots=True)
class AmcResponse:
    """Bounds in LO mode, in HI mode long after the switch, and for jobs that the switch meets.

    None where the recurrence exceeds the deadline, since it then bounds no later job, and for HI modes of LO tasks.
    `switch_at_ns`: the switch that `switch_ns` belongs to, from the begin of the job; None for AMC-rtb.
    """

    high: bool
    low_ns: int | None
    high_ns: int | None
    switch_ns: int | None
    switch_at_ns: int | None = None

    @property
    def worst_ns(self) -> int | None:
        """The largest of those that the task needs, None when one of them is missing."""
        needed = (self.low_ns, self.high_ns, self.switch_ns) if self.high else (self.low_ns,)
        found = [bound_ns for bound_ns in needed if bound_ns is not None]
        return max(found) if len(found) == len(needed) else None


#: Bound for a job of a task under higher ones that the switch meets, given its LO response.
_Switch = Callable[[DualTiming, Sequence[DualTiming], int], tuple[int | None, int | None]]


def amc_rtb(tasks: Sequence[DualTiming]) -> list[AmcResponse]:
    """AMC-rtb: interference of LO tasks across the switch is that of the whole LO response.

    Assumes deadline <= period, no jitter; all three bounds of a HI task have to meet its deadline.
    Sufficient. Source: Baruah, Burns, Davis 2011, AMC-rtb.
    """
    return _analyse(tasks, _switch_rtb)


def amc_max(tasks: Sequence[DualTiming]) -> list[AmcResponse]:
    """AMC-max: every instant s of the switch within the LO response is looked at, and HI jobs that end before it cost
    their LO wcet; never above AMC-rtb.

    Assumptions as for `amc_rtb`, and a HI task above a HI task has to meet its deadlines in LO mode, or that gets no
    bound. Sufficient. Source: Baruah, Burns, Davis 2011, AMC-max.
    """
    return _analyse(tasks, _switch_max)


def static_mixed_criticality(tasks: Sequence[DualTiming]) -> list[int | None]:
    """SMC: responses when LO tasks are never ended but their wcet is enforced. Source: Baruah, Burns 2011."""
    _require(tasks)
    return [
        _respond(
            mine,
            mine.highest_ns,
            [(task.highest_ns if mine.high else task.wcet_lo_ns, task.period_ns) for task in tasks[:own]],
        )
        for own, mine in enumerate(tasks)
    ]


def _analyse(tasks: Sequence[DualTiming], switch: _Switch) -> list[AmcResponse]:
    _require(tasks)
    responses: list[AmcResponse] = []
    for own, mine in enumerate(tasks):
        higher = tasks[:own]
        low_ns = _respond(mine, mine.wcet_lo_ns, [(task.wcet_lo_ns, task.period_ns) for task in higher])
        high_ns = switch_ns = at_ns = None
        if mine.high:
            high_ns = _respond(mine, mine.highest_ns, [(t.highest_ns, t.period_ns) for t in higher if t.high])
            met = switch is _switch_rtb or all(one.low_ns is not None for one in responses if one.high)
            if low_ns is not None and met:
                switch_ns, at_ns = switch(mine, higher, low_ns)
        responses.append(AmcResponse(mine.high, low_ns, high_ns, switch_ns, at_ns))
    return responses


def _switch_rtb(mine: DualTiming, higher: Sequence[DualTiming], low_ns: int) -> tuple[int | None, None]:
    frozen_ns = sum(-(-low_ns // task.period_ns) * task.wcet_lo_ns for task in higher if not task.high)
    return _respond(mine, mine.highest_ns + frozen_ns, [(t.highest_ns, t.period_ns) for t in higher if t.high]), None


def _switch_max(mine: DualTiming, higher: Sequence[DualTiming], low_ns: int) -> tuple[int | None, int | None]:
    low = [task for task in higher if not task.high]
    worst_ns, worst_at_ns = 0, 0
    for at_ns in sorted({0, *(at_ns for task in low for at_ns in range(0, low_ns, task.period_ns))}):
        response_ns = _switch_at(mine, higher, at_ns)
        if response_ns is None:
            return None, None
        if response_ns > worst_ns:
            worst_ns, worst_at_ns = response_ns, at_ns
    return worst_ns, worst_at_ns


def late_jobs(task: DualTiming, window_ns: int, at_ns: int) -> tuple[int, int]:
    """Jobs of a HI task within a window, and how many of them may cost its HI wcet after a switch at `at_ns`."""
    jobs = -(-window_ns // task.period_ns)
    late = -(-(window_ns - at_ns - (task.period_ns - task.deadline_ns)) // task.period_ns) + 1
    return jobs, max(0, min(late, jobs))


def _switch_at(mine: DualTiming, higher: Sequence[DualTiming], at_ns: int) -> int | None:
    fixed_ns = mine.blocking_ns + mine.highest_ns
    fixed_ns += sum((at_ns // t.period_ns + 1) * t.wcet_lo_ns for t in higher if not t.high)
    high = [task for task in higher if task.high]

    def needed(window_ns: int) -> int:
        total_ns = fixed_ns
        for task in high:
            jobs, late = late_jobs(task, window_ns, at_ns)
            total_ns += late * task.highest_ns + (jobs - late) * task.wcet_lo_ns
        return total_ns

    return fixed_point_within(needed, fixed_ns, mine.deadline_ns)


def _respond(mine: DualTiming, own_ns: int, higher: Sequence[tuple[int, int]]) -> int | None:
    """Response of a job of `mine` with `own_ns` of work under tasks (wcet, period)."""
    start_ns = own_ns + mine.blocking_ns
    return fixed_point_within(
        lambda window_ns: start_ns + sum(-(-window_ns // period_ns) * wcet_ns for wcet_ns, period_ns in higher),
        start_ns + sum(wcet_ns for wcet_ns, _ in higher),
        mine.deadline_ns,
    )


def _require(tasks: Sequence[DualTiming]) -> None:
    for position, task in enumerate(tasks):
        if not 1 <= task.wcet_lo_ns <= task.highest_ns or not 1 <= task.deadline_ns <= task.period_ns:
            raise AnalysisNotApplicable(
                f"tasks[{position}]: AMC needs 1 <= LO wcet <= HI wcet and 1 <= deadline <= period, not {task}"
            )
