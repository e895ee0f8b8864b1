"""Codes, limits and the busy window that the kernels of this package share."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rt_sched.kernels.compiled import entry, part
from rt_sched.kernels.compiling.kernel import Kernel

#: A bound was found; no bound exists; none was found within the limits; a number is outside of what kernels take.
OK, UNBOUNDED, NOT_CONVERGED, OUT_OF_RANGE = (np.int64(code) for code in range(4))

#: Largest wcet, period, deadline, jitter and blocking: 2**60 ns, about 36 years.
LIMIT_NS = np.int64(2**60)
#: Longest window that is looked at; twice this and a period more still fit into int64.
WINDOW_LIMIT_NS = np.int64(2**61)
#: Later than every release that is looked at.
NEVER_NS = np.int64(2**62)


def versioned(make: Callable[[int], Callable[..., Any]]) -> Kernel:
    """The entry that `make` returns, compiled and cached under a checksum of the sources of this package.

    `make` takes the checksum; the function that it returns must refer to it.
    """
    checksum = 0
    for path in sorted(Path(__file__).parent.glob("*.py")):
        checksum = zlib.crc32(path.read_bytes(), checksum)
    return entry(make(checksum))


@part
def absorb(window_ns, limit_ns, earliest_ns, due_ns, wcet_ns, period_ns, count, steps):
    """The least window that holds its own work and that of all jobs of tasks 0 ... count-1 released before its end.

    `due_ns[j]`: release of the first job of task j that `window_ns` does not count yet, moved on as jobs are counted;
    `earliest_ns`: at most the least of them. `steps`: how many more tasks may be looked at. Returns window, earliest
    release and steps left; a window above `limit_ns`, or negative steps, say that the fixed point lies beyond.
    """
    while earliest_ns < window_ns and window_ns <= limit_ns and steps >= 0:
        earliest_ns = NEVER_NS
        steps -= count
        for j in range(count):
            if due_ns[j] < window_ns:
                jobs = np.int64(1)
                if due_ns[j] + period_ns[j] < window_ns:
                    jobs = (window_ns - due_ns[j] + period_ns[j] - 1) // period_ns[j]
                window_ns += jobs * wcet_ns[j]
                due_ns[j] += jobs * period_ns[j]
                if window_ns > limit_ns:
                    break
            earliest_ns = min(earliest_ns, due_ns[j])
    return window_ns, earliest_ns, steps
