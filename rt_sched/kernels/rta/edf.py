"""Earliest deadline first on one processor: the processor demand test and response times, for any kind of preemption.

`due_ns[i]` = D_i - J_i is the shortest time from a release of task i to its absolute deadline, which the densest
releases reach. Blocking depends on the absolute deadline d at stake, counted from the begin of the busy period: only a
job with a later deadline blocks. It is given as steps: `block_ns[k]` holds for `edge_ns[k]` <= d < `edge_ns[k+1]`.
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
def _blocking_steps(wcet_ns, deadline_ns, jitter_ns, blocking_ns, region_ns, by_deadline, edge_ns, block_ns):
    """Fill the steps of the blocking; returns how many there are.

    A job whose longest region is `region_ns[k]` blocks a deadline d < D_k for `region_ns[k]` - 1, since it must have
    started before. `blocking_ns[i]` holds for deadlines from D_i to the next longer relative deadline; with jitter some
    deadlines lie before D_i, and the largest holds for all.
    """
    jitters, common_ns = False, np.int64(0)
    for k in range(len(by_deadline)):
        jitters = jitters or jitter_ns[k] > 0
        common_ns = max(common_ns, blocking_ns[k])
    if not jitters:
        common_ns = np.int64(0)
    steps = len(by_deadline) + 1
    edge_ns[0], block_ns[0] = -NEVER_NS, common_ns
    for k in range(1, steps):
        task = by_deadline[k - 1]
        edge_ns[k], block_ns[k] = deadline_ns[task], max(blocking_ns[task], common_ns)
        if k > 1 and edge_ns[k] == edge_ns[k - 1]:
            block_ns[k] = max(block_ns[k], block_ns[k - 1])
    later_ns = np.int64(0)
    for k in range(steps - 1, -1, -1):
        block_ns[k] = max(block_ns[k], later_ns)
        if k > 0 and wcet_ns[by_deadline[k - 1]] > 0:
            later_ns = max(later_ns, region_ns[by_deadline[k - 1]] - 1)
    return steps


@part
def _busy_period(limit_ns, start_ns, wcet_ns, period_ns, jitter_ns, next_ns, steps):
    """Longest busy period that begins with `start_ns` of other work, or a value above `limit_ns`; and steps left."""
    window_ns = start_ns
    for j in range(len(wcet_ns)):
        next_ns[j] = NEVER_NS
        if wcet_ns[j] > 0:
            if window_ns > limit_ns:
                return window_ns, steps
            window_ns += wcet_ns[j]
            next_ns[j] = period_ns[j] - jitter_ns[j]
    window_ns, _, steps = absorb(
        window_ns, limit_ns, np.int64(-NEVER_NS), next_ns, wcet_ns, period_ns, len(wcet_ns), steps
    )
    return window_ns, steps


@part
def _last_due(at_most_ns, wcet_ns, period_ns, first_ns):
    """The latest of first_ns[j] + k * period_ns[j], k >= 0, up to `at_most_ns`; -NEVER_NS when there is none."""
    last_ns = -NEVER_NS
    for j in range(len(wcet_ns)):
        if wcet_ns[j] > 0 and first_ns[j] <= at_most_ns:
            last_ns = max(last_ns, at_most_ns - (at_most_ns - first_ns[j]) % period_ns[j])
    return last_ns


@part
def _demand(at_ns, start_ns, wcet_ns, period_ns, due_ns):
    """`start_ns` and the work that arrives and is due within [0, at_ns]; stops counting above `at_ns`."""
    demand_ns = start_ns
    for j in range(len(wcet_ns)):
        if demand_ns > at_ns:
            break
        if wcet_ns[j] > 0 and due_ns[j] <= at_ns:
            demand_ns += ((at_ns - due_ns[j]) // period_ns[j] + 1) * wcet_ns[j]
    return demand_ns


@part
def _analytic_limit(wcet_ns, period_ns, due_ns, most_blocking_ns):
    """No demand exceeds its interval from here on, WINDOW_LIMIT_NS when the load is too near 1 to tell.

    (B + sum of U_i max(0, T_i + J_i - D_i)) / (1 - U), Baruah, Mok, Rosier 1990; rounded up by more than the floating
    point can be wrong.
    """
    load = 0.0
    work_ns = float(most_blocking_ns)
    for j in range(len(wcet_ns)):
        if wcet_ns[j] > 0:
            share = wcet_ns[j] / period_ns[j]
            load += share
            work_ns += share * max(period_ns[j] - due_ns[j], 0)
    gap = 1.0 - load - 1e-15 * (len(wcet_ns) + 2)
    if gap < 1e-9:
        return WINDOW_LIMIT_NS
    limit = work_ns * (1.0 + 1e-12 * (len(wcet_ns) + 2)) / gap + 2.0
    return np.int64(limit) if limit < 1e18 else WINDOW_LIMIT_NS


@part
def _first_violation(wcet_ns, period_ns, jitter_ns, due_ns, edge_ns, block_ns, blocks, next_ns, steps):
    """(status, t): t is an interval length whose demand exceeds it, -1 when there is none.

    From the longest relative deadline on the blocking stays what it is, so a violation there shows before the end of a
    busy period that begins with that much of it.
    """
    count = len(wcet_ns)
    earliest_ns = NEVER_NS
    for j in range(count):
        if wcet_ns[j] > 0:
            if due_ns[j] < wcet_ns[j]:
                return OK, max(due_ns[j], 0)
            earliest_ns = min(earliest_ns, due_ns[j])
    longest_ns = edge_ns[blocks - 1]
    limit_ns = max(_analytic_limit(wcet_ns, period_ns, due_ns, block_ns[blocks - 1]), longest_ns)
    busy_ns, steps = _busy_period(limit_ns, block_ns[blocks - 1], wcet_ns, period_ns, jitter_ns, next_ns, steps)
    limit_ns = min(limit_ns, max(busy_ns, longest_ns))
    if limit_ns >= WINDOW_LIMIT_NS or steps < 0:
        return NOT_CONVERGED, np.int64(-1)
    block = blocks - 1
    at_ns = _last_due(limit_ns, wcet_ns, period_ns, due_ns)
    while at_ns >= earliest_ns:
        while edge_ns[block] > at_ns:
            block -= 1
        demand_ns = _demand(at_ns, block_ns[block], wcet_ns, period_ns, due_ns)
        if demand_ns > at_ns:
            return OK, at_ns
        steps -= count
        if steps < 0:
            return NOT_CONVERGED, np.int64(-1)
        if demand_ns == at_ns:
            demand_ns = _last_due(at_ns - 1, wcet_ns, period_ns, due_ns)
        if demand_ns < edge_ns[block]:
            # Blocking grows towards shorter deadlines, so what was learnt here says nothing below this step.
            demand_ns = _last_due(edge_ns[block] - 1, wcet_ns, period_ns, due_ns)
        at_ns = demand_ns
    return OK, np.int64(-1)


@part
def _finish_window(
    window_ns, own, deadline_ns, start_ns, wcet_ns, period_ns, jitter_ns, due_ns
):
    """Right side of the fixed point: `start_ns`, and the work of others released before `window_ns` that is due by then.

    `deadline_ns`: absolute deadline of the job at stake.
    """
    total_ns = start_ns
    for j in range(len(wcet_ns)):
        if j != own and wcet_ns[j] > 0 and due_ns[j] <= deadline_ns:
            released = (window_ns + jitter_ns[j] + period_ns[j] - 1) // period_ns[j]
            total_ns += min(released, (deadline_ns - due_ns[j]) // period_ns[j] + 1) * wcet_ns[j]
    return total_ns


@part
def _response(
    own,
    last_ns,
    wcet_ns,
    period_ns,
    jitter_ns,
    deadline_ns,
    due_ns,
    region_ns,
    edge_ns,
    block_ns,
    blocks,
    offset_ns,
    steps,
):
    """Worst response of task `own`, the arrival at which it happens, and the steps left.

    `last_ns`: latest arrival, from the begin of a busy period, that can matter. Arrivals are tried from there towards
    the begin. Windows only shrink on this way while the blocking stays the same, so a window w rules out every arrival
    from which even w would not be a worse response.
    """
    count = len(wcet_ns)
    rest_ns = region_ns[own] - 1
    for j in range(count):
        offset_ns[j] = due_ns[j] - deadline_ns[own]
    first_ns = -jitter_ns[own]
    response_ns, worst_arrival_ns = wcet_ns[own] + jitter_ns[own], first_ns
    block = blocks - 1
    arrival_ns = max(_last_due(last_ns, wcet_ns, period_ns, offset_ns), first_ns)
    while True:
        absolute_ns = arrival_ns + deadline_ns[own]
        while edge_ns[block] > absolute_ns:
            block -= 1
        jobs = (arrival_ns - first_ns) // period_ns[own] + 1
        start_ns = block_ns[block] + jobs * wcet_ns[own] - rest_ns
        window_ns = arrival_ns + response_ns - rest_ns
        restart = True
        while True:
            needed_ns = _finish_window(window_ns, own, absolute_ns, start_ns, wcet_ns, period_ns, jitter_ns, due_ns)
            steps -= count
            if restart and needed_ns > window_ns:
                # Work released after the job's end may fill a later window: its own one is sought from below.
                restart = False
                window_ns = max(arrival_ns, 0) + wcet_ns[own] - rest_ns
                continue
            if needed_ns <= window_ns or needed_ns > WINDOW_LIMIT_NS or steps < 0:
                break
            window_ns = needed_ns
        if needed_ns > WINDOW_LIMIT_NS or steps < 0:
            return np.int64(-1), arrival_ns, steps
        if window_ns + rest_ns - arrival_ns > response_ns:
            response_ns, worst_arrival_ns = window_ns + rest_ns - arrival_ns, arrival_ns
        next_ns = min(arrival_ns - 1, needed_ns + rest_ns - response_ns - 1)
        if next_ns < edge_ns[block] - deadline_ns[own]:
            next_ns = edge_ns[block] - deadline_ns[own] - 1
        if arrival_ns == first_ns:
            return response_ns, worst_arrival_ns, steps
        arrival_ns = max(_last_due(next_ns, wcet_ns, period_ns, offset_ns), first_ns)


def _demand_entry(sources: int) -> Callable[..., Any]:
    def demand_test(
        wcet_ns,
        period_ns,
        deadline_ns,
        jitter_ns,
        blocking_ns,
        region_ns,
        by_deadline,
        overloaded,
        skip,
        most_steps,
        scratch_ns,
        first,
        last,
        violation_ns,
        status,
    ):
        """Processor demand test of the sets in rows `first` ... `last`-1, by QPA (Zhang, Burns 2009).

        wcet_ns ... region_ns: int64[n_sets, n_tasks]; jitter, blocking and region may have one row for all.
        by_deadline: int64[n_sets, n_tasks], tasks by relative deadline, or no column when nothing blocks.
        overloaded: bool[n_sets]. skip: bool[n_sets], rows to leave alone. scratch_ns: int64[4, n_tasks + 1].
        Writes violation_ns int64[n_sets] (an interval whose demand exceeds it, -1 for none) and status.
        """
        _ = sources
        due_ns, next_ns, edge_ns, block_ns = scratch_ns[0], scratch_ns[1], scratch_ns[2], scratch_ns[3]
        for row in range(first, last):
            if skip[row]:
                continue
            violation_ns[row] = -1
            if overloaded[row]:
                status[row] = UNBOUNDED
                continue
            jitters_ns = jitter_ns[min(row, len(jitter_ns) - 1)]
            for j in range(wcet_ns.shape[1]):
                due_ns[j] = deadline_ns[row, j] - jitters_ns[j]
            blocks = np.int64(1)
            edge_ns[0], block_ns[0] = -NEVER_NS, 0
            if by_deadline.shape[1] > 0:
                blocks = _blocking_steps(
                    wcet_ns[row],
                    deadline_ns[row],
                    jitters_ns,
                    blocking_ns[min(row, len(blocking_ns) - 1)],
                    region_ns[min(row, len(region_ns) - 1)],
                    by_deadline[row],
                    edge_ns,
                    block_ns,
                )
            status[row], violation_ns[row] = _first_violation(
                wcet_ns[row], period_ns[row], jitters_ns, due_ns, edge_ns, block_ns, blocks, next_ns, most_steps
            )

    return demand_test


def _respond_entry(sources: int) -> Callable[..., Any]:
    def respond(
        wcet_ns,
        period_ns,
        deadline_ns,
        jitter_ns,
        blocking_ns,
        region_ns,
        by_deadline,
        overloaded,
        skip,
        most_steps,
        scratch_ns,
        first,
        last,
        response_ns,
        status,
        worst_arrival_ns,
    ):
        """Worst-case response times of the sets in rows `first` ... `last`-1, every arrival that may be the worst tried.

        Arguments as for `demand_test`, scratch_ns int64[5, n_tasks + 1]. Writes response_ns, status and
        worst_arrival_ns (from the begin of the busy period; one row suffices when nobody reads it).
        """
        _ = sources
        count = wcet_ns.shape[1]
        due_ns, next_ns, offset_ns = scratch_ns[0], scratch_ns[1], scratch_ns[4]
        edge_ns, block_ns = scratch_ns[2], scratch_ns[3]
        for row in range(first, last):
            if skip[row]:
                continue
            jitters_ns = jitter_ns[min(row, len(jitter_ns) - 1)]
            regions_ns = region_ns[min(row, len(region_ns) - 1)]
            longest_ns = -NEVER_NS
            for j in range(count):
                due_ns[j] = deadline_ns[row, j] - jitters_ns[j]
                if wcet_ns[row, j] > 0:
                    longest_ns = max(longest_ns, deadline_ns[row, j])
            blocks = np.int64(1)
            edge_ns[0], block_ns[0] = -NEVER_NS, 0
            if by_deadline.shape[1] > 0:
                blocks = _blocking_steps(
                    wcet_ns[row],
                    deadline_ns[row],
                    jitters_ns,
                    blocking_ns[min(row, len(blocking_ns) - 1)],
                    regions_ns,
                    by_deadline[row],
                    edge_ns,
                    block_ns,
                )
            busy_ns, steps = np.int64(0), most_steps
            if not overloaded[row]:
                busy_ns, steps = _busy_period(
                    WINDOW_LIMIT_NS,
                    block_ns[blocks - 1],
                    wcet_ns[row],
                    period_ns[row],
                    jitters_ns,
                    next_ns,
                    steps,
                )
            for own in range(count):
                response_ns[row, own] = -1
                worst_row = min(row, len(worst_arrival_ns) - 1)
                worst_arrival_ns[worst_row, own] = 0
                if wcet_ns[row, own] == 0:
                    response_ns[row, own], status[row, own] = 0, OK
                elif overloaded[row]:
                    status[row, own] = UNBOUNDED
                elif busy_ns > WINDOW_LIMIT_NS or steps < 0:
                    status[row, own] = NOT_CONVERGED
                else:
                    last_ns = busy_ns - 1
                    if blocks > 1:
                        last_ns = max(last_ns, longest_ns - deadline_ns[row, own])
                    response_ns[row, own], worst_arrival_ns[worst_row, own], steps = _response(
                        own,
                        last_ns,
                        wcet_ns[row],
                        period_ns[row],
                        jitters_ns,
                        deadline_ns[row],
                        due_ns,
                        regions_ns,
                        edge_ns,
                        block_ns,
                        blocks,
                        offset_ns,
                        steps,
                    )
                    status[row, own] = OK if response_ns[row, own] >= 0 else NOT_CONVERGED

    return respond


#: Processor demand test under EDF, by row.
demand_test = versioned(_demand_entry)
#: Worst-case response times under EDF, by row.
respond = versioned(_respond_entry)
