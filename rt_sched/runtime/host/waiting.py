"""How long a thread waited of its own accord: neither executed, nor was ready while others had its core.

The kernel counts all that: CPU time, the time in which a thread was ready and did not run (/proc/PID/schedstat, Linux,
Documentation/scheduler/sched-stats.rst), and how often it went to sleep (getrusage(2), ru_nvcsw). What a hypervisor
takes away meanwhile counts as waited, or as executed, as the kernel of the guest sees it: never as less.
"""

from __future__ import annotations

import os
import resource
import time
from dataclasses import dataclass
from pathlib import Path

_STATISTICS = Path("/proc/thread-self/schedstat")
_LONGEST_LINE = 96


def waits_are_known() -> bool:
    """Whether this kernel counts for how long threads were ready and did not run."""
    return _STATISTICS.exists()


@dataclass(frozen=True, slots=True)
class Waited:
    """`total_ns` of the host's time, in `count` sleeps."""

    total_ns: int
    count: int


class WaitMeter:
    """Of the thread that makes it; to begin and to end costs a few microseconds."""

    def __init__(self) -> None:
        self._file = os.open(_STATISTICS, os.O_RDONLY | os.O_CLOEXEC)
        self._before = (0, 0, 0, 0)

    def close(self) -> None:
        """It is asked no more."""
        os.close(self._file)

    def begin(self) -> None:
        """What is waited counts from now on."""
        self._before = self._now()

    def end(self) -> Waited:
        """What was waited since `begin`."""
        wall_ns, executed_ns, ready_ns, count = (
            now - before for now, before in zip(self._now(), self._before, strict=True)
        )
        return Waited(max(0, wall_ns - executed_ns - ready_ns) if count else 0, count)

    def _now(self) -> tuple[int, int, int, int]:
        """All of one moment: once more where others had the core in between."""
        before_ns = -1
        while (ready_ns := self._ready_ns()) != before_ns:
            before_ns = ready_ns
            count = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
            wall_ns, executed_ns = time.monotonic_ns(), time.thread_time_ns()
        return wall_ns, executed_ns, ready_ns, count

    def _ready_ns(self) -> int:
        return int(os.pread(self._file, _LONGEST_LINE, 0).split()[1])
