"""The processor demand test under EDF on one processor, for any kind of preemption; names as in `deadlines`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rt_sched.kernels.compiled import part
from rt_sched.kernels.rta.common import NEVER_NS, NOT_CONVERGED, OK, UNBOUNDED, WINDOW_LIMIT_NS, versioned
from rt_sched.kernels.rta.deadlines import busy_period, deadlines_at_stake, last_due


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
    busy_ns, steps = busy_period(limit_ns, block_ns[blocks - 1], wcet_ns, period_ns, jitter_ns, next_ns, steps)
    limit_ns = min(limit_ns, max(busy_ns, longest_ns))
    if limit_ns >= WINDOW_LIMIT_NS or steps < 0:
        return NOT_CONVERGED, np.int64(-1)
    block = blocks - 1
    at_ns = last_due(limit_ns, wcet_ns, period_ns, due_ns)
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
            demand_ns = last_due(at_ns - 1, wcet_ns, period_ns, due_ns)
        if demand_ns < edge_ns[block]:
            # Blocking grows towards shorter deadlines, so what was learnt here says nothing below this step.
            demand_ns = last_due(edge_ns[block] - 1, wcet_ns, period_ns, due_ns)
        at_ns = demand_ns
    return OK, np.int64(-1)


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
            blocks = deadlines_at_stake(
                wcet_ns[row],
                deadline_ns[row],
                jitters_ns,
                blocking_ns[min(row, len(blocking_ns) - 1)],
                region_ns[min(row, len(region_ns) - 1)],
                by_deadline[min(row, len(by_deadline) - 1)],
                due_ns,
                edge_ns,
                block_ns,
            )
            status[row], violation_ns[row] = _first_violation(
                wcet_ns[row], period_ns[row], jitters_ns, due_ns, edge_ns, block_ns, blocks, next_ns, most_steps
            )

    return demand_test


#: Processor demand test under EDF, by row.
demand_test = versioned(_demand_entry)
