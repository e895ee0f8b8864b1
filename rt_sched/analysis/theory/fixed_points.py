"""Task parameters and least fixed points in plain integers, for the analyses that look at one set at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from rt_sched.errors import AnalysisNotApplicable, RtSchedError

#: Windows longer than this, about 36 years, are not followed.
HORIZON_NS = 2**60
#: Steps of one fixed point before it counts as not converging.
MOST_STEPS = 1_000_000


class NotConverged(RtSchedError):
    """A fixed point lies beyond the horizon or was not reached in time: inconclusive, not unschedulable."""


@dataclass(frozen=True, slots=True)
class Timing:
    """What analyses of one processor need to know of a task; sequences of them stand in priority order.

    `wcet_ns` includes overheads; `deadline_ns` counts, like every response, from the arrival; `jitter_ns`: the release
    follows the arrival by at most this; `blocking_ns`: longest delay by tasks of lower priority.
    """

    wcet_ns: int
    period_ns: int
    deadline_ns: int
    jitter_ns: int = 0
    blocking_ns: int = 0

    def __post_init__(self) -> None:
        if self.wcet_ns < 1 or self.period_ns < 1 or self.deadline_ns < 1 or self.jitter_ns < 0 or self.blocking_ns < 0:
            raise AnalysisNotApplicable(
                f"{self}: wcet, period and deadline must be at least 1 ns, jitter and blocking at least 0"
            )

    def releases(self, window_ns: int) -> int:
        """Most jobs released within a half-open window of this length."""
        return -(-(window_ns + self.jitter_ns) // self.period_ns) if window_ns > 0 else 0


def exact_sum(values: Iterable[Fraction]) -> Fraction:
    """The sum of many fractions; halves are summed first, so that few additions have long denominators."""
    left = list(values) or [Fraction(0)]
    while len(left) > 1:
        left = [sum(left[place : place + 2], Fraction(0)) for place in range(0, len(left), 2)]
    return left[0]


def utilisation(tasks: Sequence[Timing]) -> Fraction:
    """Exact sum of wcet / period."""
    return exact_sum(Fraction(task.wcet_ns, task.period_ns) for task in tasks)


def least_fixed_point(right_side: Callable[[int], int], start_ns: int, horizon_ns: int = HORIZON_NS) -> int:
    """Least w >= start_ns with right_side(w) <= w, for a right side that does not descend.

    Raises NotConverged beyond `horizon_ns` or after MOST_STEPS.
    """
    window_ns = start_ns
    for _ in range(MOST_STEPS):
        needed_ns = right_side(window_ns)
        if needed_ns <= window_ns:
            return window_ns
        if needed_ns > horizon_ns:
            raise NotConverged(f"the window exceeds {horizon_ns} ns")
        window_ns = needed_ns
    raise NotConverged(f"no fixed point after {MOST_STEPS} steps, at a window of {window_ns} ns")


def fixed_point_within(right_side: Callable[[int], int], start_ns: int, limit_ns: int) -> int | None:
    """As `least_fixed_point`, None when it lies above `limit_ns`."""
    window_ns = least_fixed_point(lambda w: w if w > limit_ns else right_side(w), start_ns)
    return window_ns if window_ns <= limit_ns else None


def busy_period_ns(tasks: Sequence[Timing], blocking_ns: int = 0) -> int:
    """Length of the longest busy period of all `tasks`; raises NotConverged when it does not end."""
    load = utilisation(tasks)
    if load > 1:
        raise NotConverged("the load exceeds 1, so the busy period does not end")
    if load == 1 and (blocking_ns > 0 or any(task.jitter_ns > 0 for task in tasks)):
        raise NotConverged("the load is 1 and something jitters or blocks, so the busy period does not end")
    return least_fixed_point(
        lambda window_ns: blocking_ns + sum(task.releases(window_ns) * task.wcet_ns for task in tasks),
        blocking_ns + sum(task.wcet_ns for task in tasks),
    )


def require_constrained(tasks: Sequence[Timing], method: str, instead: str, *, jitter: bool = False) -> None:
    """Raise AnalysisNotApplicable for the first task with D > T, or with jitter unless that is allowed."""
    for position, task in enumerate(tasks):
        if task.deadline_ns > task.period_ns:
            raise AnalysisNotApplicable(
                f"tasks[{position}]: deadline {task.deadline_ns} ns exceeds the period {task.period_ns} ns; "
                f"{method} needs deadline <= period. {instead}"
            )
        if task.jitter_ns and not jitter:
            raise AnalysisNotApplicable(
                f"tasks[{position}]: release jitter {task.jitter_ns} ns; {method} needs releases without it. {instead}"
            )
