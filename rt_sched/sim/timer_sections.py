"""Where the timers of a machine stand, and which it needs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rt_sched.kernels import codes
from rt_sched.kernels.timers import BLOCK, BLOCK_BITS
from rt_sched.lowering.machine_input import MachineInput

Int64s = npt.NDArray[np.int64]

#: Up to so many timers in a section, looking through their blocks takes no longer than keeping groups of blocks.
FEW = 512


class Timers:
    """The sections of the timers: progress, deadlines, arrivals of tasks, then those that only some machines need.

    What is due between two instants comes before what is only ever due at the present one. `top_bits`: each of the
    nodes that are looked at first is the least of 2 to this many timers; they begin at `first_top` in `soonest`.
    """

    def __init__(self, given: MachineInput) -> None:
        count = len(given.tasks)
        rows = (*given.tasks, *(change.row for change in given.task_changes))
        waits = any(task.jitter_ns or task.explicit_jitters_ns or task.suspensions for task in rows)
        budgets = any(task.budget_ns is not None or task.low_budget_ns is not None for task in rows)
        cyclic = [number for number, p in enumerate(given.processors) if p.slices or p.table]
        self._in_groups = max(count, len(given.links), len(cyclic)) > FEW
        self.top_bits = 2 * BLOCK_BITS if self._in_groups else BLOCK_BITS
        self._size = 0
        self.deadlines, self.arrivals, self.rest = (self._after(count) for _ in range(3))
        self.wake = self._section(count if waits else 0)
        self.let = self._section(count if any(task.let for task in given.tasks) else 0)
        self.lanes = self._section(len(given.links))
        self.spans = self._section(len(cyclic))
        self.last = self._size
        self.messages = self._section(count if given.edges else 0)
        self.checks = self._section(count if budgets else 0)
        self.span_of = {number: self.spans + place for place, number in enumerate(cyclic)}
        self.values = np.full(self._size, codes.NEVER_NS, np.int64)
        self.first_top = self._size // BLOCK if self._in_groups else 0

    def _after(self, size: int) -> int:
        """Where the next section begins when this one has so many timers: behind whole blocks, or groups of them."""
        under_top = 1 << self.top_bits
        self._size += -(-size // under_top) * under_top
        return self._size

    def _section(self, size: int) -> int:
        """Where a section begins; NONE when it is not needed."""
        first = self._size
        self._after(size)
        return first if size else int(codes.NONE)

    def soonest(self) -> Int64s:
        """The least of every block, then that of every group of blocks where there are any."""
        blocks: Int64s = self.values.reshape(-1, BLOCK).min(axis=1, initial=codes.NEVER_NS)
        if not self._in_groups:
            return blocks
        return np.concatenate([blocks, blocks.reshape(-1, BLOCK).min(axis=1)])
