"""Utilisation tests: sufficient tests by the load alone, decided exactly on rationals.

A test that fails says nothing: use a response time analysis then.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from rt_sched.analysis.theory.fixed_points import Timing, utilisation
from rt_sched.errors import AnalysisNotApplicable

#: More tasks are not decided on rationals, whose digits grow with them, but rounded to the safe side.
MOST_EXACT = 500
#: The bound of Liu and Layland comes down to ln 2 from above.
_BELOW_LN_2 = Fraction(6931, 10_000)
#: A factor that is rounded twice in double precision is off by less than this, as a share.
_ROUNDING = 1e-15


def liu_layland(tasks: Sequence[Timing]) -> bool:
    """Whether U <= n (2^(1/n) - 1), which is enough for rate-monotonic priorities on one preemptive processor.

    Assumes implicit deadlines, no jitter, no blocking, priorities by period. Decided as (1 + U/n)^n <= 2.
    Source: Liu, Layland 1973.
    """
    _require_rate_monotonic(tasks, "the Liu-Layland test")
    if len(tasks) > MOST_EXACT:
        return utilisation(tasks) <= _BELOW_LN_2
    return not tasks or (1 + utilisation(tasks) / len(tasks)) ** len(tasks) <= 2


def hyperbolic(tasks: Sequence[Timing]) -> bool:
    """Whether the product of (U_i + 1) is at most 2, which is enough under the same assumptions and accepts more.

    Source: Bini, Buttazzo, Buttazzo 2003.
    """
    _require_rate_monotonic(tasks, "the hyperbolic test")
    if len(tasks) > MOST_EXACT:
        return math.prod(1 + task.wcet_ns / task.period_ns for task in tasks) <= 2 - len(tasks) * _ROUNDING
    return math.prod((1 + Fraction(task.wcet_ns, task.period_ns) for task in tasks), start=Fraction(1)) <= 2


def edf_load(tasks: Sequence[Timing]) -> bool:
    """Whether U <= 1, which decides EDF exactly for deadlines of at least the period, without jitter and blocking.

    Source: Liu, Layland 1973.
    """
    for position, task in enumerate(tasks):
        if task.deadline_ns < task.period_ns or task.jitter_ns or task.blocking_ns:
            raise AnalysisNotApplicable(
                f"tasks[{position}]: the load decides EDF only for deadline >= period without jitter and blocking. "
                "Use the processor demand test."
            )
    return utilisation(tasks) <= 1


def _require_rate_monotonic(tasks: Sequence[Timing], method: str) -> None:
    shortest_ns = 0
    for position, task in enumerate(tasks):
        if task.deadline_ns < task.period_ns or task.jitter_ns or task.blocking_ns or task.period_ns < shortest_ns:
            raise AnalysisNotApplicable(
                f"tasks[{position}]: {method} needs deadline >= period, no jitter, no blocking and priorities by "
                "period. Use the response time analysis."
            )
        shortest_ns = task.period_ns
