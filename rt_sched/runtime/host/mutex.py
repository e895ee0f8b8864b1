"""Mutexes in shared memory, between processes: POSIX mutexes with a protocol against priority inversion.

INHERIT: whoever holds the mutex runs at the priority of the most urgent one that waits (Sha, Rajkumar, Lehoczky 1990).
CEILING: whoever holds it runs at a priority given beforehand. NONE: inversion is unbounded. A robust mutex whose owner
dies passes to the next one that asks, who is told so; mutexes with a ceiling cannot be robust in glibc.

A mutex with a ceiling sets the class of its owner, from what glibc took for the class of the thread when it locked one
for the first time: give threads their class before that, and do not change it from outside while they use ceilings.
"""

from __future__ import annotations

import ctypes
import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum, IntEnum
from typing import Any

from rt_sched.runtime.host import libc
from rt_sched.runtime.host.libc import Timespec
from rt_sched.runtime.host.refusal import Refused
from rt_sched.runtime.host.scheduling import SchedulingClass, scheduling_of

#: Shared memory that a mutex takes: a cache line; pthread_mutex_t has 40 bytes on x86-64, 48 on 64-bit Arm.
MUTEX_BYTES = 64

_ATTRIBUTE_BYTES = 64
_PROCESS_SHARED, _ROBUST, _ERROR_CHECK = 1, 1, 2


class Protocol(IntEnum):
    """As in pthread_mutexattr_setprotocol."""

    NONE = 0
    INHERIT = 1
    CEILING = 2


class Acquired(Enum):
    """How a mutex was acquired. OWNER_DIED: what it guards may be half-written, and the mutex is in order again."""

    CLEAN = "clean"
    OWNER_DIED = "owner_died"


class SharedMutex:
    """A mutex that lies in a buffer shared between processes, at `offset`; a multiple of 8.

    `create` it once; every process then makes a SharedMutex of the same place. It is held by threads: the one that
    acquired it releases it, before the memory may go: glibc links what a thread holds. The buffer cannot be closed
    before `detach`.
    """

    def __init__(self, buffer: Any, offset: int = 0) -> None:
        memory = (ctypes.c_char * MUTEX_BYTES).from_buffer(buffer, offset)
        address = ctypes.addressof(memory)
        if address % 8:
            raise ValueError(f"a mutex at offset {offset} is not aligned to 8 bytes")
        self._memory: Any = memory  # keeps the buffer where it is
        self._address: ctypes.c_void_p | None = ctypes.c_void_p(address)
        self.ceiling = self._ceiling()

    @classmethod
    def create(
        cls,
        buffer: Any,
        offset: int = 0,
        *,
        protocol: Protocol = Protocol.INHERIT,
        ceiling: int | None = None,
        robust: bool | None = None,
    ) -> SharedMutex:
        """Writes a new mutex, and gives it back. `ceiling`: 1 to 99, for CEILING only. `robust`: unless CEILING.

        Raises Refused where C library or kernel lack the protocol.
        """
        if (ceiling is not None) != (protocol is Protocol.CEILING):
            raise ValueError("a ceiling belongs to the protocol CEILING, which needs one")
        if robust and protocol is Protocol.CEILING:
            raise ValueError("a mutex with a ceiling cannot be robust: glibc does not have this")
        attributes = ctypes.create_string_buffer(_ATTRIBUTE_BYTES)
        _must("pthread_mutexattr_init", attributes)
        _must("pthread_mutexattr_setpshared", attributes, _PROCESS_SHARED)
        _must("pthread_mutexattr_settype", attributes, _ERROR_CHECK)
        _must("pthread_mutexattr_setprotocol", attributes, int(protocol))
        if ceiling is not None:
            _must("pthread_mutexattr_setprioceiling", attributes, ceiling)
        elif robust is not False:
            _must("pthread_mutexattr_setrobust", attributes, _ROBUST)
        made = cls(buffer, offset)
        _must("pthread_mutex_init", made._at, attributes)
        made.ceiling = ceiling
        return made

    def _ceiling(self) -> int | None:
        """The ceiling of the mutex that lies there; None for other protocols."""
        found = ctypes.c_int()
        code = libc.function("pthread_mutex_getprioceiling")(self._at, ctypes.byref(found))
        return None if code else found.value

    def acquire(self, timeout_ns: int | None = None) -> Acquired | None:
        """Waits for the mutex; None when it did not come within `timeout_ns`.

        Raises RuntimeError when this thread holds it already; for one with a ceiling also Refused when the caller is
        not under SCHED_FIFO, or above the ceiling, and PermissionError when it may not be raised to that (glibc then
        takes the thread for raised: it must not ask again).
        """
        self._check_caller()
        if timeout_ns is None:
            code = libc.LIBC.pthread_mutex_lock(self._at)
        else:
            until = Timespec.of(time.monotonic_ns() + max(0, timeout_ns))
            code = libc.function("pthread_mutex_clocklock")(self._at, time.CLOCK_MONOTONIC, ctypes.byref(until))
        return self._acquired(code)

    def try_acquire(self) -> Acquired | None:
        """The mutex when nobody holds it, else None at once."""
        self._check_caller()
        return self._acquired(libc.LIBC.pthread_mutex_trylock(self._at))

    def release(self) -> None:
        """Raises RuntimeError where the calling thread does not hold it."""
        code = libc.LIBC.pthread_mutex_unlock(self._at)
        if code == errno.EPERM:
            raise RuntimeError("a mutex is released by the thread that acquired it")
        _check("pthread_mutex_unlock", code)

    @contextmanager
    def held(self) -> Iterator[Acquired]:
        """The calling thread holds the mutex meanwhile."""
        how = self.acquire()
        if how is None:
            raise AssertionError("without a timeout it always comes")
        try:
            yield how
        finally:
            self.release()

    def destroy(self) -> None:
        """Ends the mutex itself, for everybody. Raises RuntimeError while somebody holds it; nobody may wait for it."""
        # glibc itself would destroy a robust mutex while it is held.
        is_held = self.ceiling is None and self.try_acquire() is None
        if self.ceiling is None and not is_held:
            self.release()
        code = errno.EBUSY if is_held else libc.LIBC.pthread_mutex_destroy(self._at)
        if code == errno.EBUSY:
            raise RuntimeError("a mutex that is held cannot be destroyed")
        _check("pthread_mutex_destroy", code)
        self.detach()

    def detach(self) -> None:
        """Lets go of the buffer; the mutex stays for others."""
        self._address = self._memory = None

    @property
    def _at(self) -> ctypes.c_void_p:
        if self._address is None:
            raise ValueError("the mutex has been detached")
        return self._address

    def _check_caller(self) -> None:
        """A caller that glibc refuses leaves its books in disorder, so it is refused before."""
        if self.ceiling is None:
            return
        found = scheduling_of()
        if found.scheduling_class not in (SchedulingClass.FIFO, SchedulingClass.RR):
            raise Refused(f"a mutex with ceiling {self.ceiling}", f"the caller is under {found}, not under SCHED_FIFO")
        if found.priority > self.ceiling:
            raise Refused(f"a mutex with ceiling {self.ceiling}", f"the caller, {found}, is above it")

    def _acquired(self, code: int) -> Acquired | None:
        if code == 0:
            return Acquired.CLEAN
        if code in (errno.EBUSY, errno.ETIMEDOUT):
            return None
        if code == errno.EOWNERDEAD:
            _must("pthread_mutex_consistent", self._at)
            return Acquired.OWNER_DIED
        if code == errno.EDEADLK:
            raise RuntimeError("this thread holds the mutex already")
        if code == errno.EINVAL:
            raise Refused(
                "a mutex",
                "none lies there, or timeouts with inheritance are missing (Linux 5.14 and glibc 2.35 have them)",
            )
        _check("pthread_mutex_lock", code)
        raise AssertionError("an error has been raised")


def _must(name: str, *arguments: Any) -> None:
    _check(name, libc.function(name)(*arguments))


def _check(name: str, code: int) -> None:
    """Functions on mutexes return what others would set errno to."""
    if code in (errno.ENOTSUP, errno.ENOSYS):
        raise Refused("a mutex between processes", f"{name}: {os.strerror(code)} in this C library or kernel")
    if code:
        raise OSError(code, os.strerror(code), name)
