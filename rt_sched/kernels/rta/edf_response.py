"""Worst-case response times under EDF on one processor, for any kind of preemption; names as in `deadlines`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rt_sched.kernels.compiled import part
from rt_sched.kernels.rta.common import NEVER_NS, NOT_CONVERGED, OK, UNBOUNDED, WINDOW_LIMIT_NS, versioned
from rt_sched.kernels.rta.deadlines import busy_period, deadlines_at_stake, last_due


@part
def _finish_window(window_ns, own, deadline_ns, start_ns, wcet_ns, period_ns, jitter_ns, due_ns):
    """Right side of the fixed point: `start_ns` and the work of others that is released before `window_ns` and due by
    `deadline_ns`, the absolute deadline of the job at stake.
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
    floor_ns,
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
    from which even w would not be a worse response. `floor_ns`: earliest arrival of its jobs.
    """
    count = len(wcet_ns)
    rest_ns = region_ns[own] - 1
    for j in range(count):
        offset_ns[j] = due_ns[j] - deadline_ns[own]
    first_ns = -jitter_ns[own]
    least_ns = floor_ns[own]
    response_ns, worst_arrival_ns = wcet_ns[own] - least_ns, least_ns
    block = blocks - 1
    arrival_ns = max(last_due(last_ns, wcet_ns, period_ns, offset_ns), least_ns)
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
        if arrival_ns == least_ns:
            return response_ns, worst_arrival_ns, steps
        arrival_ns = max(last_due(next_ns, wcet_ns, period_ns, offset_ns), least_ns)


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
        floor_ns,
        scratch_ns,
        first,
        last,
        response_ns,
        status,
        worst_arrival_ns,
    ):
        """Worst-case response times of the sets in rows `first` ... `last`-1.

        Arguments as for `edf_demand.demand_test`, scratch_ns int64[5, n_tasks + 1]; floor_ns: int64[n_sets or 1,
        n_tasks], earliest arrival, from the begin of a busy period, of the jobs of a task. Writes response_ns, status
        and worst_arrival_ns (from the begin of the busy period; one row suffices when nobody reads it).
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
            blocks = deadlines_at_stake(
                wcet_ns[row],
                deadline_ns[row],
                jitters_ns,
                blocking_ns[min(row, len(blocking_ns) - 1)],
                regions_ns,
                by_deadline[min(row, len(by_deadline) - 1)],
                due_ns,
                edge_ns,
                block_ns,
            )
            longest_ns = -NEVER_NS
            for j in range(count):
                if wcet_ns[row, j] > 0:
                    longest_ns = max(longest_ns, deadline_ns[row, j])
            busy_ns, steps = np.int64(0), most_steps
            if not overloaded[row]:
                busy_ns, steps = busy_period(
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
                        floor_ns[min(row, len(floor_ns) - 1)],
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


#: Worst-case response times under EDF, by row.
respond = versioned(_respond_entry)
