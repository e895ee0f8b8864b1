"""Timers: when something is due, found without looking at all of them.

Timers stand in sections; `soonest` holds the least timer of every block. Setting a timer looks at one block at most,
and finding what is due at blocks alone. Where there are many, `soonest` goes on with the least of every group of as
many blocks as a block has timers, and groups are what is looked at first. The clock says which of both stands on top.
`m` is a `tables.Machine`.
"""

from __future__ import annotations

from rt_sched.kernels.codes import NEVER_NS
from rt_sched.kernels.compiled import part, routine

#: Timers of a block, and blocks of a group: 2 to this power.
BLOCK_BITS = 5
BLOCK = 1 << BLOCK_BITS


@part
def set_timer(m, timer, due_ns):
    """Have a timer due at an instant; NEVER_NS for never."""
    block = timer >> BLOCK_BITS
    before_ns, soonest_ns = m.timers[timer], m.soonest[block]
    m.timers[timer] = due_ns
    if due_ns <= soonest_ns:
        m.soonest[block] = due_ns
    elif before_ns == soonest_ns:
        least_ns = NEVER_NS
        for other in range(block << BLOCK_BITS, (block + 1) << BLOCK_BITS):
            least_ns = min(least_ns, m.timers[other])
        m.soonest[block] = least_ns
    first_top = m.clock[0]["first_top"]
    if first_top > 0 and m.soonest[block] != soonest_ns:
        _renew_group(m.soonest, first_top, block, soonest_ns)


@routine
def _renew_group(soonest, first_group, block, before_ns):
    """The least of a block is no longer `before_ns`."""
    group = block >> BLOCK_BITS
    place = first_group + group
    if soonest[block] <= soonest[place]:
        soonest[place] = soonest[block]
    elif before_ns == soonest[place]:
        least_ns = NEVER_NS
        for other in range(group << BLOCK_BITS, (group + 1) << BLOCK_BITS):
            least_ns = min(least_ns, soonest[other])
        soonest[place] = least_ns


@part
def earliest(m, first, last):
    """The least of the timers in the sections from `first` to `last`, NEVER_NS when there are none."""
    first_top, top_bits = m.clock[0]["first_top"], m.clock[0]["top_bits"]
    earliest_ns = NEVER_NS
    for place in range(first_top + (first >> top_bits), first_top + (last >> top_bits)):
        earliest_ns = min(earliest_ns, m.soonest[place])
    return earliest_ns


@part
def next_due(m, timer, last):
    """The first timer from `timer` on that is due now, `last` when none before that is."""
    first_top, top_bits = m.clock[0]["first_top"], m.clock[0]["top_bits"]
    now_ns = m.clock[0]["now_ns"]
    while timer < last:
        if m.soonest[first_top + (timer >> top_bits)] != now_ns:
            timer = ((timer >> top_bits) + 1) << top_bits
        elif m.soonest[timer >> BLOCK_BITS] != now_ns:
            timer = ((timer >> BLOCK_BITS) + 1) << BLOCK_BITS
        elif m.timers[timer] == now_ns:
            return timer
        else:
            timer += 1
    return last
