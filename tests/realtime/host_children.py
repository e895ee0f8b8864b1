"""Children of these tests: without privileges, or computing without end."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from rt_sched.runtime.host.child import fork, in_child
from rt_sched.runtime.host.privileges import capabilities

T = TypeVar("T")

NOBODY = 65534


def without_privileges(work: Callable[[], T]) -> T:
    """What `work` does in a process without capabilities; the result, or its exception."""

    def dropped() -> T:
        if capabilities():
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
        return work()

    return in_child(dropped)


def spin_for_ever() -> None:
    """Waits in compiled code for a lock that it holds itself: no Python runs any more, no handler, no other thread."""
    library = ctypes.PyDLL(None)
    lock = ctypes.c_int()
    library.pthread_spin_init(ctypes.byref(lock), 0)
    library.pthread_spin_lock(ctypes.byref(lock))
    library.pthread_spin_lock(ctypes.byref(lock))


@contextmanager
def running(work: Callable[[], None]) -> Iterator[int]:
    """A child that does `work`; killed, where it has not ended, and reaped afterwards."""
    pid = fork(work)
    try:
        yield pid
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def burn(cpu_ns: int) -> None:
    """Uses CPU time of the calling thread."""
    end = time.thread_time_ns() + cpu_ns
    while time.thread_time_ns() < end:
        pass
