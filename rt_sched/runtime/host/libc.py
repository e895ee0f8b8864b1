"""The C library and system calls that Python's own modules do not offer."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
from typing import Any

from rt_sched.runtime.host.refusal import Refused
from rt_sched.units import NS_PER_S

#: Every call through it releases the interpreter lock, so that other threads run meanwhile.
LIBC = ctypes.CDLL(None, use_errno=True)

#: Numbers of system calls by machine, from the kernel's tables (arch/*/entry/syscalls, asm-generic/unistd.h).
_SYSCALLS = {
    "x86_64": {"sched_setattr": 314, "sched_getattr": 315},
    "aarch64": {"sched_setattr": 274, "sched_getattr": 275},
    "riscv64": {"sched_setattr": 274, "sched_getattr": 275},
}


class Timespec(ctypes.Structure):
    """struct timespec of machines with 64 bits."""

    _fields_ = (("seconds", ctypes.c_int64), ("nanoseconds", ctypes.c_int64))

    @classmethod
    def of(cls, time_ns: int) -> Timespec:
        return cls(*divmod(time_ns, NS_PER_S))

    @property
    def ns(self) -> int:
        return int(self.seconds) * NS_PER_S + int(self.nanoseconds)


def function(name: str) -> Any:
    """A function of the C library. Raises Refused where this one does not have it."""
    try:
        return getattr(LIBC, name)
    except AttributeError:
        raise Refused(name, "the C library of this machine does not have it (glibc 2.35 has all)") from None


def call(name: str, *arguments: Any) -> int:
    """Calls a function that returns -1 on failure and sets errno. Raises OSError."""
    result = int(function(name)(*arguments))
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), name)
    return result


def system_call(name: str, *arguments: Any) -> int:
    """Calls the kernel directly. Raises OSError, with ENOSYS where the kernel does not have the call."""
    numbers = _SYSCALLS.get(platform.machine())
    if numbers is None:
        raise OSError(errno.ENOSYS, f"the number of the call on {platform.machine()} is not known", name)
    return call("syscall", ctypes.c_long(numbers[name]), *arguments)
