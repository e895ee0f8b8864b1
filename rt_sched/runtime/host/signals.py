"""Signals as something to poll, beside processes and heartbeats."""

from __future__ import annotations

import ctypes
import os
import signal
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from types import TracebackType

from rt_sched.runtime.host import libc

_SFD_NONBLOCK, _SFD_CLOEXEC = 0o4000, 0o2000000
_RECORD_BYTES = 128  # struct signalfd_siginfo
_SI_TIMER = -2
_MAX_SIGNALS = 1024  # bits of sigset_t


@dataclass(frozen=True, slots=True)
class Delivered:
    """A signal that came. `sender`: process, 0 for a timer. `value`: the timer's. `status`: of a child."""

    number: int
    sender: int
    value: int
    status: int


class SignalDescriptor:
    """Receives `numbers` as data: they are blocked in the calling thread, and `fileno` is readable when one came.

    Threads started later keep them blocked; make it before starting any. Closing does not unblock them: a default
    action that kills must not follow from that.
    """

    def __init__(self, numbers: Iterable[int]) -> None:
        self.numbers = frozenset(numbers)
        signal.pthread_sigmask(signal.SIG_BLOCK, self.numbers)
        mask = (ctypes.c_ulong * (_MAX_SIGNALS // (8 * ctypes.sizeof(ctypes.c_ulong))))()
        libc.call("sigemptyset", ctypes.byref(mask))
        for number in self.numbers:
            libc.call("sigaddset", ctypes.byref(mask), number)
        self._descriptor = libc.call("signalfd", -1, ctypes.byref(mask), _SFD_NONBLOCK | _SFD_CLOEXEC)

    def __enter__(self) -> SignalDescriptor:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def fileno(self) -> int:
        return self._descriptor

    def read(self) -> list[Delivered]:
        """All signals that have come, without waiting; timers that expired again meanwhile count once."""
        found: list[Delivered] = []
        while True:
            try:
                data = os.read(self._descriptor, 16 * _RECORD_BYTES)
            except BlockingIOError:
                return found
            for start in range(0, len(data), _RECORD_BYTES):
                # signo, errno, code, pid, uid, fd, tid, band, overrun, trapno, status, int, ptr
                fields = struct.unpack_from("=IiiIIiIIIIiiQ", data, start)
                is_timer = fields[2] == _SI_TIMER
                found.append(Delivered(fields[0], 0 if is_timer else fields[3], fields[11], fields[10]))

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
