"""CPU clocks of threads and processes, and timers on them that send a signal: how budgets are kept.

The kernel looks at these timers at each tick, in the thread that runs at that moment (Linux,
kernel/time/posix-cpu-timers.c). So a timer is up to one tick late, in CPU time of its thread, and later where others
take the core just when ticks come. The clock of a process may be read, and timed, from any process; that of a
thread only from its own process.
"""

from __future__ import annotations

import ctypes
import errno
import threading
import time
from types import TracebackType

from rt_sched.runtime.host import libc
from rt_sched.runtime.host.libc import Timespec
from rt_sched.runtime.host.refusal import Refused

_SCHEDULED_TIME, _PER_THREAD = 2, 4
_SIGEV_THREAD_ID = 4
_TIMER_ABSTIME = 1


class _SigEvent(ctypes.Structure):
    """struct sigevent for SIGEV_THREAD_ID, 64 bytes."""

    _fields_ = (
        ("value", ctypes.c_int64),
        ("signal_number", ctypes.c_int32),
        ("notify", ctypes.c_int32),
        ("thread", ctypes.c_int32),
        ("_rest", ctypes.c_int32 * 11),
    )


class _Setting(ctypes.Structure):
    """struct itimerspec."""

    _fields_ = (("interval", Timespec), ("value", Timespec))


def thread_clock(tid: int) -> int:
    """The clock of the CPU time of a thread of this process."""
    return ~tid << 3 | _SCHEDULED_TIME | _PER_THREAD


def process_clock(pid: int) -> int:
    """The clock of the CPU time of all threads of any process."""
    return ~pid << 3 | _SCHEDULED_TIME


def cpu_time_ns(clock: int) -> int:
    """The CPU time used so far. Raises ProcessLookupError when thread or process is gone."""
    try:
        return time.clock_gettime_ns(clock)
    except OSError as error:
        if error.errno == errno.EINVAL:
            raise ProcessLookupError(errno.ESRCH, "its CPU clock is gone, so the thread or process is") from error
        raise


class CpuTimer:
    """A timer on a CPU clock; when it expires, `signal_number` goes to a thread of the process that made the timer.

    With SIGKILL or SIGSTOP, or another signal left to its default action, this ends or stops the thread's process even
    inside compiled code. `value` comes with the signal (`signals.Delivered`). `thread`: the calling one unless given.
    A child does not inherit timers. Raises ProcessLookupError when the clock's owner is gone.
    """

    def __init__(self, clock: int, signal_number: int, *, value: int = 0, thread: int | None = None) -> None:
        receiver = threading.get_native_id() if thread is None else thread
        event = _SigEvent(value, signal_number, _SIGEV_THREAD_ID, receiver)
        self._timer: ctypes.c_void_p | None = ctypes.c_void_p()
        try:
            libc.call("timer_create", ctypes.c_int(clock), ctypes.byref(event), ctypes.byref(self._timer))
        except OSError as error:
            self._timer = None
            raise _why(error) from error

    def __enter__(self) -> CpuTimer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def arm(self, budget_ns: int) -> None:
        """Expires once, when `budget_ns` more CPU time has been used; a timer that already runs starts anew."""
        if budget_ns < 1:
            raise ValueError(f"a budget is at least 1 ns, not {budget_ns}")
        self._set(budget_ns, 0)

    def arm_at(self, cpu_instant_ns: int) -> None:
        """Expires once, when the clock shows `cpu_instant_ns`; at the next tick where it already does."""
        if cpu_instant_ns < 1:
            raise ValueError(f"an instant of a CPU clock is at least 1 ns, not {cpu_instant_ns}")
        self._set(cpu_instant_ns, _TIMER_ABSTIME)

    def disarm(self) -> None:
        """Does not expire any more; a signal on its way still comes."""
        self._set(0, 0)

    @property
    def remaining_ns(self) -> int:
        """CPU time until it expires; 0 when it is not armed."""
        setting = _Setting()
        libc.call("timer_gettime", self._open(), ctypes.byref(setting))
        return int(setting.value.ns)

    def close(self) -> None:
        """Gives the timer back to the kernel."""
        if self._timer is not None:
            timer, self._timer = self._timer, None
            libc.call("timer_delete", timer)

    def _set(self, value_ns: int, flags: int) -> None:
        setting = _Setting(Timespec(), Timespec.of(value_ns))
        try:
            libc.call("timer_settime", self._open(), flags, ctypes.byref(setting), None)
        except OSError as error:
            raise _why(error) from error

    def _open(self) -> ctypes.c_void_p:
        if self._timer is None:
            raise ValueError("the timer is closed")
        return self._timer


def _why(error: OSError) -> Exception:
    if error.errno in (errno.EINVAL, errno.ESRCH):
        return ProcessLookupError(errno.ESRCH, "no such thread in this process, no such process, or no such signal")
    if error.errno == errno.EAGAIN:
        return Refused(
            "a CPU timer", "RLIMIT_SIGPENDING allows no further one", "ulimit -i, or end processes of the user"
        )
    return error
