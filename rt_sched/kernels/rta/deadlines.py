"""What the demand test and the response times under EDF share: blocking, busy period, deadlines.

`due_ns[i]` = D_i - J_i is the shortest time from a release of task i to its absolute deadline, which the densest
releases reach. Blocking depends on the absolute deadline d at stake, counted from the begin of the busy period: only a
job with a later deadline blocks. It is given as steps: `block_ns[k]` holds for `edge_ns[k]` <= d < `edge_ns[k+1]`.
"""

from __future__ import annotations

import numpy as np

from rt_sched.kernels.compiled import part
from rt_sched.kernels.rta.common import NEVER_NS, absorb


@part
def blocking_steps(wcet_ns, deadline_ns, jitter_ns, blocking_ns, region_ns, by_deadline, edge_ns, block_ns):
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
def deadlines_at_stake(wcet_ns, deadline_ns, jitter_ns, blocking_ns, region_ns, by_deadline, due_ns, edge_ns, block_ns):
    """Fill `due_ns` and the steps of the blocking, one of 0 where nothing can block; returns how many there are."""
    for j in range(len(wcet_ns)):
        due_ns[j] = deadline_ns[j] - jitter_ns[j]
    if len(by_deadline) == 0:
        edge_ns[0], block_ns[0] = -NEVER_NS, 0
        return 1
    return blocking_steps(wcet_ns, deadline_ns, jitter_ns, blocking_ns, region_ns, by_deadline, edge_ns, block_ns)


@part
def busy_period(limit_ns, start_ns, wcet_ns, period_ns, jitter_ns, next_ns, steps):
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
def last_due(at_most_ns, wcet_ns, period_ns, first_ns):
    """The latest of first_ns[j] + k * period_ns[j], k >= 0, up to `at_most_ns`; -NEVER_NS when there is none."""
    last_ns = -NEVER_NS
    for j in range(len(wcet_ns)):
        if wcet_ns[j] > 0 and first_ns[j] <= at_most_ns:
            last_ns = max(last_ns, at_most_ns - (at_most_ns - first_ns[j]) % period_ns[j])
    return last_ns
