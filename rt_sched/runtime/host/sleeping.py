"""Sleeping until an instant, to the nanosecond as far as the kernel has it."""

from __future__ import annotations

import ctypes
import errno
import os
import time
from pathlib import Path

from rt_sched.runtime.host import libc
from rt_sched.runtime.host.libc import LIBC, Timespec

_TIMER_ABSTIME = 1
_PR_SET_TIMERSLACK, _PR_GET_TIMERSLACK = 29, 30


def now_ns() -> int:
    """CLOCK_MONOTONIC, the clock of everything that runs at a pace."""
    return time.monotonic_ns()


def sleep_until_ns(instant_ns: int) -> None:
    """Sleeps until `instant_ns` of CLOCK_MONOTONIC; returns at once when that has passed.

    A signal handled meanwhile does not end the sleep, unless its handler raises.
    """
    if instant_ns <= now_ns():  # the kernel would set up a timer even so
        return
    until = Timespec.of(instant_ns)
    while True:
        code = LIBC.clock_nanosleep(time.CLOCK_MONOTONIC, _TIMER_ABSTIME, ctypes.byref(until), None)
        if code == 0:
            return
        if code != errno.EINTR:
            raise OSError(code, os.strerror(code), "clock_nanosleep")


def set_timer_slack_ns(slack_ns: int) -> None:
    """How much later than asked the kernel may wake the calling thread under OTHER: 50 us unless set.

    Real-time classes have none. Threads and processes that are made later begin with the slack of their maker.
    """
    if slack_ns < 1:
        raise ValueError(f"the slack of timers is at least 1 ns, not {slack_ns}")
    libc.call("prctl", _PR_SET_TIMERSLACK, ctypes.c_ulong(slack_ns), 0, 0, 0)


def timer_slack_ns(pid: int | None = None) -> int:
    """The slack of the calling thread, or of another process (with the right to trace it)."""
    if pid is not None:
        return int(Path(f"/proc/{pid}/timerslack_ns").read_text(encoding="utf-8"))
    return libc.call("prctl", _PR_GET_TIMERSLACK, 0, 0, 0, 0)
