"""Timers: when something is due, found without looking at all of them.

Timers stand in sections, each of which begins at a multiple of the block size; `soonest` holds the least timer of every
block. Setting a timer looks at one block at most, and finding what is due at blocks alone, so that many tasks cost
little more than few. `m` is a `tables.Machine`.
"""

from __future__ import annotations

from rt_sched.kernels.codes import NEVER_NS
from rt_sched.kernels.compiled import part

#: Timers of a block: 2 to this power.
BLOCK_BITS = 5
BLOCK = 1 << BLOCK_BITS


@part
def set_timer(m, timer, due_ns):
    """Have a timer due at an instant; NEVER_NS for never."""
    block = timer >> BLOCK_BITS
    before_ns = m.timers[timer]
    m.timers[timer] = due_ns
    if due_ns <= m.soonest[block]:
        m.soonest[block] = due_ns
    elif before_ns == m.soonest[block]:
        soonest_ns = NEVER_NS
        for other in range(block << BLOCK_BITS, (block + 1) << BLOCK_BITS):
            soonest_ns = min(soonest_ns, m.timers[other])
        m.soonest[block] = soonest_ns


@part
def earliest(m, first, last):
    """The least of the timers in the sections from `first` to `last`, NEVER_NS when there are none."""
    earliest_ns = NEVER_NS
    for block in range(first >> BLOCK_BITS, last >> BLOCK_BITS):
        earliest_ns = min(earliest_ns, m.soonest[block])
    return earliest_ns


@part
def next_due(m, timer, last):
    """The first timer from `timer` on that is due now, `last` when none before that is."""
    now_ns = m.clock[0]["now_ns"]
    while timer < last:
        if m.soonest[timer >> BLOCK_BITS] != now_ns:
            timer = ((timer >> BLOCK_BITS) + 1) << BLOCK_BITS
        elif m.timers[timer] == now_ns:
            return timer
        else:
            timer += 1
    return last
