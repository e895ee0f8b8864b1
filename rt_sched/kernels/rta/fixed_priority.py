"""Response times under fixed priorities on one processor, for any kind of preemption.

For job q of a task i in the longest busy period of its level, let w be one more than the start of its last region:

    w(q) = B_i + (q+1) C_i - (Q_i - 1) + sum over higher or equal j of ceil((w(q) + J_j) / T_j) C_j
    R_i  = max over q of w(q) + Q_i - 1 - (q T_i - J_i)

With Q = 1 that is the preemptive recurrence of Lehoczky 1990 and Tindell, Burns, Wellings 1994, with Q = C the
non-preemptive one of Davis, Burns, Bril, Lukkien 2007, whose start time is w - 1, and in between the one of Bril,
Lukkien, Verhaegh 2009. q runs over all jobs that arrive in the busy period.

The fixed points are reached without divisions: the least window of a level contains that of the level above, so a
window grows from level to level and from job to job, and each task remembers the release that is to be counted next.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rt_sched.kernels.compiled import part
from rt_sched.kernels.rta.common import (
    NEVER_NS,
    NOT_CONVERGED,
    OK,
    UNBOUNDED,
    WINDOW_LIMIT_NS,
    absorb,
    versioned,
)


@part
def _level(own, count, work_ns, due_ns, wcet_ns, period_ns, jitter_ns, region_ns, steps):
    """Worst response of task `own` among tasks 0 ... count-1.

    `work_ns`: blocking and work of others counted so far, all of it due before the first job can end; `due_ns`: see
    `absorb`; NEVER_NS for `own`. Returns response (-1 when not converged), its job, its window and the steps left.
    """
    rest_ns = region_ns - 1
    arrival_ns = -jitter_ns
    response_ns, worst_job, worst_window_ns = np.int64(-1), np.int64(0), np.int64(0)
    job = np.int64(0)
    while True:
        window_ns, steps = absorb(
            work_ns + wcet_ns[own] - rest_ns, WINDOW_LIMIT_NS, due_ns, wcet_ns, period_ns, count, steps
        )
        work_ns = window_ns + rest_ns
        if work_ns > WINDOW_LIMIT_NS or steps < 0:
            return np.int64(-1), job, window_ns, steps
        if work_ns - arrival_ns > response_ns:
            response_ns, worst_job, worst_window_ns = work_ns - arrival_ns, job, window_ns
        arrival_ns += period_ns[own]
        job += 1
        if arrival_ns >= work_ns:
            if rest_ns > 0:
                work_ns, steps = absorb(work_ns, WINDOW_LIMIT_NS, due_ns, wcet_ns, period_ns, count, steps)
                if work_ns > WINDOW_LIMIT_NS or steps < 0:
                    return np.int64(-1), job, work_ns, steps
            if arrival_ns >= work_ns:
                return response_ns, worst_job, worst_window_ns, steps


@part
def _set(
    wcet_ns,
    period_ns,
    jitter_ns,
    blocking_ns,
    region_ns,
    group_end,
    overloaded,
    steps,
    base_due_ns,
    due_ns,
    response_ns,
    status,
    worst_job,
    worst_window_ns,
):
    """All tasks of one set. `base_due_ns`, `due_ns`: scratch int64[n]."""
    count = len(wcet_ns)
    base_ns = np.int64(0)
    first = 0
    while first < count:
        end = group_end[first]
        for own in range(first, end):
            response_ns[own] = -1
            worst_job[own] = worst_window_ns[own] = 0
            if wcet_ns[own] == 0:
                response_ns[own], status[own] = 0, OK
                continue
            if overloaded[own]:
                status[own] = UNBOUNDED
                continue
            if steps < 0:
                status[own] = NOT_CONVERGED
                continue
            for j in range(first):
                due_ns[j] = base_due_ns[j]
            for j in range(first, end):
                due_ns[j] = -jitter_ns[j] if wcet_ns[j] > 0 else NEVER_NS
            due_ns[own] = NEVER_NS
            response_ns[own], worst_job[own], worst_window_ns[own], steps = _level(
                own,
                end,
                base_ns + blocking_ns[own],
                due_ns,
                wcet_ns,
                period_ns,
                jitter_ns[own],
                region_ns[own],
                steps,
            )
            status[own] = OK if response_ns[own] >= 0 else NOT_CONVERGED
        if end < count and steps >= 0 and base_ns <= WINDOW_LIMIT_NS:
            for j in range(first, end):
                base_due_ns[j] = NEVER_NS
                if wcet_ns[j] > 0 and not overloaded[j] and base_ns <= WINDOW_LIMIT_NS:
                    base_ns += wcet_ns[j]
                    base_due_ns[j] = period_ns[j] - jitter_ns[j]
            if base_ns <= WINDOW_LIMIT_NS:
                base_ns, steps = absorb(base_ns, WINDOW_LIMIT_NS, base_due_ns, wcet_ns, period_ns, end, steps)
            base_ns = min(base_ns, WINDOW_LIMIT_NS + 1)
        first = end


def _entry(sources: int) -> Callable[..., Any]:
    def respond(
        wcet_ns,
        period_ns,
        jitter_ns,
        blocking_ns,
        region_ns,
        group_end,
        overloaded,
        skip,
        most_steps,
        base_due_ns,
        due_ns,
        first,
        last,
        response_ns,
        status,
        worst_job,
        worst_window_ns,
    ):
        """Worst-case response times of the sets in rows `first` ... `last`-1.

        wcet_ns, period_ns, jitter_ns, blocking_ns, region_ns: int64[n_sets, n_tasks] (jitter, blocking and group_end may
        have one row for all). group_end: int64[rows, n_tasks], index after the last task of the same priority level;
        tasks stand by level. overloaded: bool[n_sets, n_tasks], whether the level needs more than the processor has.
        skip: bool[n_sets], rows to leave alone. base_due_ns, due_ns: scratch int64[n_tasks].
        Writes response_ns, status; worst_job, worst_window_ns (number and window of the worst job; one row suffices
        when nobody reads them).
        """
        _ = sources
        for row in range(first, last):
            if not skip[row]:
                _set(
                    wcet_ns[row],
                    period_ns[row],
                    jitter_ns[min(row, len(jitter_ns) - 1)],
                    blocking_ns[min(row, len(blocking_ns) - 1)],
                    region_ns[min(row, len(region_ns) - 1)],
                    group_end[min(row, len(group_end) - 1)],
                    overloaded[row],
                    most_steps,
                    base_due_ns,
                    due_ns,
                    response_ns[row],
                    status[row],
                    worst_job[min(row, len(worst_job) - 1)],
                    worst_window_ns[min(row, len(worst_window_ns) - 1)],
                )

    return respond


#: Worst-case response times under fixed priorities, by row.
respond = versioned(_entry)
