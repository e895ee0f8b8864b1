"""Adaptive mixed criticality (AMC) on one preemptive processor: a HI job that exceeds its LO wcet ends the LO tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rt_sched.analysis.fixed_points import least_fixed_point
from rt_sched.errors import AnalysisNotApplicable


@dataclass(frozen=True, slots=True)
class DualTiming:
    """A task with two wcets; `wcet_hi_ns` None for a LO task. Sequences stand in priority order."""

    wcet_lo_ns: int
    period_ns: int
    deadline_ns: int
    wcet_hi_ns: int | None = None

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
    """Bounds in LO mode, in HI mode long after the switch, and for jobs that the switch meets; None for LO tasks."""

    low_ns: int
    high_ns: int | None
    switch_ns: int | None

    @property
    def worst_ns(self) -> int:
        """The largest of them."""
        return max(self.low_ns, self.high_ns or 0, self.switch_ns or 0)


def amc_rtb(tasks: Sequence[DualTiming]) -> list[AmcResponse]:
    """AMC-rtb: interference of LO tasks across the switch is that of the whole LO response.

    Assumes deadline <= period, responses within the deadlines, no jitter, no blocking; all three bounds of a HI task
    have to meet its deadline. Sufficient. Source: Baruah, Burns, Davis 2011, section IV-A.

    Raises NotConverged when a bound does not exist within the horizon.
    """
    _require(tasks)
    return [_bounds(own, tasks, _switch_rtb) for own in range(len(tasks))]


def amc_max(tasks: Sequence[DualTiming]) -> list[AmcResponse]:
    """AMC-max: every instant s of the switch within the LO response is looked at, and HI jobs that end before it cost
    their LO wcet; never above AMC-rtb.

    Assumptions as for `amc_rtb`. Sufficient. Source: Baruah, Burns, Davis 2011, section IV-B.
    """
    _require(tasks)
    return [_bounds(own, tasks, _switch_max) for own in range(len(tasks))]


def static_mixed_criticality(tasks: Sequence[DualTiming]) -> list[int]:
    """SMC: responses when LO tasks are never ended but their wcet is enforced. Source: Baruah, Burns 2011."""
    _require(tasks)
    return [
        _respond(
            mine.highest_ns,
            [(task.highest_ns if mine.high else task.wcet_lo_ns, task.period_ns) for task in tasks[:own]],
        )
        for own, mine in enumerate(tasks)
    ]


def _bounds(
    own: int, tasks: Sequence[DualTiming], switch: Callable[[DualTiming, Sequence[DualTiming], int], int]
) -> AmcResponse:
    mine, higher = tasks[own], tasks[:own]
    low_ns = _respond(mine.wcet_lo_ns, [(task.wcet_lo_ns, task.period_ns) for task in higher])
    if not mine.high:
        return AmcResponse(low_ns, None, None)
    high_ns = _respond(mine.highest_ns, [(task.highest_ns, task.period_ns) for task in higher if task.high])
    return AmcResponse(low_ns, high_ns, switch(mine, higher, low_ns))


def _switch_rtb(mine: DualTiming, higher: Sequence[DualTiming], low_ns: int) -> int:
    frozen_ns = sum(-(-low_ns // task.period_ns) * task.wcet_lo_ns for task in higher if not task.high)
    return _respond(mine.highest_ns + frozen_ns, [(t.highest_ns, t.period_ns) for t in higher if t.high])


def _switch_max(mine: DualTiming, higher: Sequence[DualTiming], low_ns: int) -> int:
    low = [task for task in higher if not task.high]
    instants = {0, *(at_ns for task in low for at_ns in range(0, low_ns, task.period_ns))}
    return max(_switch_at(mine, higher, at_ns) for at_ns in instants)


def _switch_at(mine: DualTiming, higher: Sequence[DualTiming], at_ns: int) -> int:
    fixed_ns = mine.highest_ns + sum((at_ns // t.period_ns + 1) * t.wcet_lo_ns for t in higher if not t.high)
    high = [task for task in higher if task.high]

    def needed(window_ns: int) -> int:
        total_ns = fixed_ns
        for task in high:
            jobs = -(-window_ns // task.period_ns)
            late = -(-(window_ns - at_ns - (task.period_ns - task.deadline_ns)) // task.period_ns) + 1
            late = max(0, min(late, jobs))
            total_ns += late * task.highest_ns + (jobs - late) * task.wcet_lo_ns
        return total_ns

    return least_fixed_point(needed, fixed_ns)


def _respond(own_ns: int, higher: Sequence[tuple[int, int]]) -> int:
    """Response of a job with `own_ns` of work under tasks (wcet, period)."""
    return least_fixed_point(
        lambda window_ns: own_ns + sum(-(-window_ns // period_ns) * wcet_ns for wcet_ns, period_ns in higher),
        own_ns + sum(wcet_ns for wcet_ns, _ in higher),
    )


def _require(tasks: Sequence[DualTiming]) -> None:
    for position, task in enumerate(tasks):
        if not 1 <= task.wcet_lo_ns <= task.highest_ns or not 1 <= task.deadline_ns <= task.period_ns:
            raise AnalysisNotApplicable(
                f"tasks[{position}]: AMC needs 1 <= LO wcet <= HI wcet and 1 <= deadline <= period, not {task}"
            )
