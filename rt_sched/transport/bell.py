"""What a process sleeps on until one of its channels has something for it."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic_ns
from typing import TYPE_CHECKING

import numpy as np

from rt_sched.kernels.ring import bell as kernel

if TYPE_CHECKING:
    from rt_sched.transport.ring_reader import RingReader

#: A signal that comes just before the process sleeps does not wake it: its handler runs after this time at the latest.
_LONGEST_NS = 1_000_000_000


class Bell:
    """A bell in shared memory. It rings with every message for one of its readers, and when somebody rings it.

        seen = bell.count()
        ... look whether there is something to do ...
        bell.wait(seen, until_ns)     # nothing that came since `count` is missed

    Not for several threads at once: each makes its own `Bell`. `address`: where its count lies in this process.
    """

    def __init__(self, address: int) -> None:
        self.address = address
        self._time = np.zeros(2, np.int64)
        self._time_address = self._time.ctypes.data

    def ring(self) -> None:
        """Wakes everyone who waits."""
        kernel.ring_bell(self.address)

    def count(self) -> int:
        """How often it rang so far, modulo 2^32."""
        return int(kernel.count(self.address))

    def wait(self, seen: int, until_ns: int | None) -> bool:
        """Sleeps until the count is not `seen`, at most until `until_ns` of CLOCK_MONOTONIC. Whether it is not."""
        while True:
            result = kernel.wait(self.address, seen, look_up_ns(until_ns), self._time_address)
            if result == kernel.CHANGED:
                return True
            if is_over(result, until_ns):
                return False


def look_up_ns(until_ns: int | None) -> int:
    """Until when to sleep at most before handlers of signals may run."""
    look_ns = monotonic_ns() + _LONGEST_NS
    return look_ns if until_ns is None else min(look_ns, until_ns)


def is_over(result: int, until_ns: int | None) -> bool:
    """Whether a wait that answered this, not `CHANGED`, was long enough; OSError where it failed.

    If not it is to be called again: handlers have run by then, and one that wants to end the wait has raised.
    """
    if result < 0:
        raise OSError(-result, "futex")
    return until_ns is not None and monotonic_ns() >= until_ns


def wait_for_any(readers: Sequence[RingReader], timeout_ns: int | None) -> bool:
    """Sleeps until one of the readers, which all have the same bell, has something unread. Whether one has."""
    bell = readers[0].bell
    until_ns = None if timeout_ns is None else monotonic_ns() + timeout_ns
    while True:
        seen = bell.count()
        if any(reader.unread() for reader in readers):
            return True
        if not bell.wait(seen, until_ns):
            return any(reader.unread() for reader in readers)
