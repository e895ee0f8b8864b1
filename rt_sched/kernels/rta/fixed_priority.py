"""Response times under fixed priorities on one processor, for any kind of preemption.

For job q of a task i in the longest busy period of its level, let w be one more than the start of its last region:

    w(q) = B_i + (q+1) C_i - (Q_i - 1) + sum over higher or equal j of ceil((w(q) + J_j) / T_j) C_j
    R_i  = max over q of w(q) + Q_i - 1 - max(q T_i - J_i, F_i)

F is minus the jitter J where all of it follows the arrival, and nearer to 0 where a part of it precedes the arrival.
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

#: A level whose busy period is known not to end.
ENDLESS = np.int8(2)


@part
def _level(
    own, count, work_ns, earliest_ns, due_ns, end_due_ns, wcet_ns, period_ns, jitter_ns, floor_ns, region_ns, steps
):
    """Worst response of task `own` among tasks 0 ... count-1.

    `work_ns`: blocking and work of others counted so far, all of it due before the first job can end; `due_ns`,
    `earliest_ns`: see `absorb`; NEVER_NS for `own`. `end_due_ns`: scratch, or no elements to look at every job.
    Returns the response (-1 when not converged), its job and its window; the length of the busy period, the first
    arrival and the earliest release of others after it; whether `end_due_ns`, not `due_ns` with that arrival, holds the
    releases after it; the steps left.
    """
    rest_ns = region_ns - 1
    arrival_ns = -jitter_ns
    response_ns, worst_job, worst_window_ns = np.int64(-1), np.int64(0), np.int64(0)
    end_ns, end_earliest_ns = NEVER_NS, NEVER_NS
    job = np.int64(0)
    while True:
        window_ns, earliest_ns, steps = absorb(
            work_ns + wcet_ns[own] - rest_ns, WINDOW_LIMIT_NS, earliest_ns, due_ns, wcet_ns, period_ns, count, steps
        )
        work_ns = window_ns + rest_ns
        if work_ns > WINDOW_LIMIT_NS or steps < 0:
            response_ns = np.int64(-1)
            break
        if work_ns - max(arrival_ns, floor_ns) > response_ns:
            response_ns, worst_job, worst_window_ns = work_ns - max(arrival_ns, floor_ns), job, window_ns
        arrival_ns += period_ns[own]
        job += 1
        steps -= 1
        if arrival_ns >= work_ns and end_ns == NEVER_NS:
            work_ns, earliest_ns, steps = absorb(
                work_ns, WINDOW_LIMIT_NS, earliest_ns, due_ns, wcet_ns, period_ns, count, steps
            )
            if arrival_ns >= work_ns:
                break
        if len(end_due_ns) > 0:
            # No job ends after the busy period, so the later ones need not be looked at once they cannot be worse.
            if end_ns == NEVER_NS:
                for j in range(count):
                    end_due_ns[j] = due_ns[j]
                end_due_ns[own] = arrival_ns
                end_ns, end_earliest_ns, steps = absorb(
                    work_ns, WINDOW_LIMIT_NS, np.int64(-NEVER_NS), end_due_ns, wcet_ns, period_ns, count, steps
                )
                if end_ns > WINDOW_LIMIT_NS or steps < 0:
                    response_ns = np.int64(-1)
                    break
            if arrival_ns >= end_ns or end_ns - arrival_ns <= response_ns:
                break
    if end_ns < NEVER_NS:
        return response_ns, worst_job, worst_window_ns, end_ns, end_due_ns[own], end_earliest_ns, True, steps
    return response_ns, worst_job, worst_window_ns, work_ns, arrival_ns, earliest_ns, False, steps


@part
def _set(
    wcet_ns,
    period_ns,
    jitter_ns,
    floor_ns,
    blocking_ns,
    region_ns,
    group_end,
    overloaded,
    steps,
    base_due_ns,
    due_ns,
    end_due_ns,
    response_ns,
    status,
    worst_job,
    worst_window_ns,
):
    """All tasks of one set. `base_due_ns`, `due_ns`, `end_due_ns`: scratch int64[n].

    The base is the busy period of all levels above that begins with the least blocking so far: a lower bound of every
    window of the level. For a task alone on its level with that blocking, its own busy period is the next base.
    """
    count = len(wcet_ns)
    base_ns, base_earliest_ns, base_blocking_ns = np.int64(0), NEVER_NS, np.int64(0)
    first = 0
    while first < count:
        end = group_end[first]
        alone = end == first + 1
        least_ns = blocking_ns[first]
        for own in range(first, end):
            if wcet_ns[own] > 0:
                least_ns = min(least_ns, blocking_ns[own])
        if first == 0 or least_ns < base_blocking_ns:
            base_blocking_ns = base_ns = least_ns
            base_earliest_ns = np.int64(-NEVER_NS)
            for j in range(first):
                if base_due_ns[j] < NEVER_NS:
                    base_ns = min(base_ns + wcet_ns[j], WINDOW_LIMIT_NS + 1)
                    base_due_ns[j] = period_ns[j] - jitter_ns[j]
            base_ns, base_earliest_ns, steps = absorb(
                base_ns, WINDOW_LIMIT_NS, base_earliest_ns, base_due_ns, wcet_ns, period_ns, first, steps
            )
            base_ns = min(base_ns, WINDOW_LIMIT_NS + 1)
        carried = False
        for own in range(first, end):
            response_ns[own] = -1
            worst_job[own] = worst_window_ns[own] = 0
            base_due_ns[own] = NEVER_NS
            if wcet_ns[own] == 0 or overloaded[own] != 0 or steps < 0:
                if wcet_ns[own] == 0:
                    response_ns[own], status[own] = 0, OK
                else:
                    status[own] = UNBOUNDED if overloaded[own] == 1 else NOT_CONVERGED
                carried = alone
                continue
            carried = alone and blocking_ns[own] == base_blocking_ns
            level_due_ns, earliest_ns = base_due_ns, base_earliest_ns
            if not carried or region_ns[own] > 1:
                level_due_ns = due_ns
                for j in range(first):
                    due_ns[j] = base_due_ns[j]
                for j in range(first, end):
                    due_ns[j] = NEVER_NS
                    if j != own and wcet_ns[j] > 0:
                        due_ns[j] = -jitter_ns[j]
                        earliest_ns = min(earliest_ns, due_ns[j])
                due_ns[own] = NEVER_NS
            response, job, window_ns, length_ns, next_ns, earliest_ns, at_end, steps = _level(
                own,
                end,
                base_ns + (blocking_ns[own] - base_blocking_ns),
                earliest_ns,
                level_due_ns,
                end_due_ns if not carried or region_ns[own] > 1 else end_due_ns[:0],
                wcet_ns,
                period_ns,
                jitter_ns[own],
                floor_ns[own],
                region_ns[own],
                steps,
            )
            response_ns[own], worst_job[own], worst_window_ns[own] = response, job, window_ns
            status[own] = OK if response >= 0 else NOT_CONVERGED
            if carried:
                base_ns, base_earliest_ns = min(length_ns, WINDOW_LIMIT_NS + 1), min(earliest_ns, next_ns)
                if region_ns[own] > 1:
                    for j in range(first):
                        base_due_ns[j] = end_due_ns[j] if at_end else due_ns[j]
                base_due_ns[own] = next_ns
        if not carried and end < count:
            for own in range(first, end):
                if wcet_ns[own] > 0 and overloaded[own] == 0 and base_ns <= WINDOW_LIMIT_NS:
                    base_ns += wcet_ns[own]
                    base_due_ns[own] = period_ns[own] - jitter_ns[own]
                    base_earliest_ns = min(base_earliest_ns, base_due_ns[own])
            base_ns, base_earliest_ns, steps = absorb(
                base_ns, WINDOW_LIMIT_NS, base_earliest_ns, base_due_ns, wcet_ns, period_ns, end, steps
            )
            base_ns = min(base_ns, WINDOW_LIMIT_NS + 1)
        first = end


def _entry(sources: int) -> Callable[..., Any]:
    def respond(
        wcet_ns,
        period_ns,
        jitter_ns,
        floor_ns,
        blocking_ns,
        region_ns,
        group_end,
        overloaded,
        skip,
        most_steps,
        scratch_ns,
        first,
        last,
        response_ns,
        status,
        worst_job,
        worst_window_ns,
    ):
        """Worst-case response times of the sets in rows `first` ... `last`-1.

        wcet_ns, period_ns, jitter_ns, floor_ns, blocking_ns, region_ns: int64[n_sets, n_tasks]; the last four and
        group_end may have one row for all. floor_ns: earliest arrival, from the begin of a busy period, of its jobs.
        group_end: int64[rows, n_tasks], index after the last task of the same priority level; tasks stand by level.
        overloaded: int8[n_sets, n_tasks], 1 where the level needs more than the processor has, ENDLESS where it needs
        all of it and its busy period does not end.
        skip: bool[n_sets], rows to leave alone. scratch_ns: int64[3, n_tasks].
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
                    floor_ns[min(row, len(floor_ns) - 1)],
                    blocking_ns[min(row, len(blocking_ns) - 1)],
                    region_ns[min(row, len(region_ns) - 1)],
                    group_end[min(row, len(group_end) - 1)],
                    overloaded[row],
                    most_steps,
                    scratch_ns[0],
                    scratch_ns[1],
                    scratch_ns[2],
                    response_ns[row],
                    status[row],
                    worst_job[min(row, len(worst_job) - 1)],
                    worst_window_ns[min(row, len(worst_window_ns) - 1)],
                )

    return respond


#: Worst-case response times under fixed priorities, by row.
respond = versioned(_entry)
