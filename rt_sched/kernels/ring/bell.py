"""Bells: a count in shared memory that a process sleeps on until it changes.

Who waits reads the count, then looks whether there is something to do, then sleeps unless the count has changed since:
nothing that happens in between is missed. Who rings raises the count and wakes. No list of who waits is kept, so nobody
who died can be in it. System call: futex(2), on memory that processes share. Linux on x86-64 and aarch64.
"""

from __future__ import annotations

import platform
import sys
from typing import Any

from numba import types

from rt_sched.kernels.ring.atomics import increase_half, load_half, store
from rt_sched.kernels.ring.compiled import operation, part, sources_digest, waiting

_FUTEX = {"x86_64": 202, "aarch64": 98}.get(platform.machine(), -1) if sys.platform == "linux" else -1
#: Whether the number of the system call is known here.
SUPPORTED = _FUTEX >= 0
_WAIT_UNTIL = 9  # FUTEX_WAIT_BITSET: the time is an instant of CLOCK_MONOTONIC
_WAKE = 1
_EVERYONE = 0x7FFFFFFF
_ANY_BIT = 0xFFFFFFFF
_SECOND = 1_000_000_000

_INTERRUPTED, _CHANGED_BEFORE, _TIMED_OUT = 4, 11, 110

#: What `wait` returns.
CHANGED, LATE, SIGNAL = 0, 1, 2

_syscall: Any = types.ExternalFunction("syscall", types.int64(*[types.int64] * 7))
_errno: Any = types.ExternalFunction("__errno_location", types.int64())


@part
def toll(bell):
    """Raises the count and wakes everyone who waits."""
    increase_half(bell)
    _syscall(_FUTEX, bell, _WAKE, _EVERYONE, 0, 0, 0)


@part
def sleep(bell, seen, until_ns, time):
    """`wait`, for operations that look for themselves why they wait."""
    until_ns = max(until_ns, 0)
    store(time, until_ns // _SECOND)
    store(time + 8, until_ns % _SECOND)
    while load_half(bell) == seen:
        if _syscall(_FUTEX, bell, _WAIT_UNTIL, seen, time, 0, _ANY_BIT) == -1:
            error = load_half(_errno())
            if error == _TIMED_OUT:
                return LATE
            if error == _INTERRUPTED:
                return SIGNAL
            if error != _CHANGED_BEFORE:
                return -error
    return CHANGED


def _operations(sources):
    """`ring_bell`, `count` and `wait`, compiled for these sources."""

    @operation
    def ring_bell(bell):
        """`toll`, for Python."""
        _ = sources
        toll(bell)

    @operation
    def count(bell):
        """How often it rang, modulo 2^32."""
        _ = sources
        return load_half(bell)

    @waiting
    def wait(bell, seen, until_ns, time):
        """Sleeps until the count is not `seen` (`CHANGED`), `until_ns` of CLOCK_MONOTONIC (`LATE`), or a `SIGNAL`.

        `time`: address of 16 bytes that only the caller uses. Any other failure: its error number, negative.
        """
        _ = sources
        return sleep(bell, seen, until_ns, time)

    return ring_bell, count, wait


ring_bell, count, wait = _operations(sources_digest())
