"""Processes by descriptor: a later process with the same number is never mistaken for them."""

from __future__ import annotations

import errno
import os
import select
import signal
from pathlib import Path
from types import TracebackType

from rt_sched.runtime.host.refusal import Refused
from rt_sched.runtime.host.scheduling import Scheduling, scheduling_of, set_scheduling
from rt_sched.units import NS_PER_MS


class ProcessHandle:
    """A process of this machine; readable (`fileno`) once it has ended, in under a millisecond.

    Raises ProcessLookupError for a process that is gone, Refused for a kernel without pidfd_open (Linux 5.3).
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        try:
            self._descriptor = os.pidfd_open(pid)
        except OSError as error:
            if error.errno == errno.ENOSYS:
                raise Refused("a descriptor of a process", "the kernel has no pidfd_open (Linux 5.3 has it)") from error
            raise

    def __enter__(self) -> ProcessHandle:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def fileno(self) -> int:
        return self._descriptor

    def wait_end(self, timeout_ns: int | None) -> bool:
        """Whether it has ended, within `timeout_ns` (None: however long it takes; rounded up to whole milliseconds)."""
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        return bool(poll.poll(None if timeout_ns is None else -(-timeout_ns // NS_PER_MS)))

    def send(self, number: int) -> None:
        """Raises ProcessLookupError when it has ended, PermissionError when it belongs to another user."""
        signal.pidfd_send_signal(self._descriptor, number)

    def reap(self) -> int | None:
        """The exit code of an ended child (negative: the signal that ended it); None when it still runs."""
        found = os.waitid(os.P_PIDFD, self._descriptor, os.WEXITED | os.WNOHANG)
        if found is None:
            return None
        return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status

    def is_stopped(self) -> bool:
        """Whether a child has been stopped by a signal, such as a CPU timer's, since this was last asked."""
        return os.waitid(os.P_PIDFD, self._descriptor, os.WSTOPPED | os.WNOHANG) is not None

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def threads_of(pid: int) -> tuple[int, ...]:
    """The threads of a process, its first one first. Raises ProcessLookupError when it is gone."""
    try:
        return tuple(sorted(int(entry.name) for entry in Path(f"/proc/{pid}/task").iterdir()))
    except FileNotFoundError as error:
        raise ProcessLookupError(errno.ESRCH, f"process {pid} is gone") from error


def is_stopped(pid: int) -> bool:
    """Whether the process stands still by a signal; False where it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return fields[0] in ("T", "t")


def children_of(pid: int) -> tuple[int, ...] | None:
    """What the first thread of the process has forked and nobody has reaped; None where the kernel does not tell."""
    try:
        return tuple(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()))
    except (FileNotFoundError, ProcessLookupError):
        return None


def demote(pid: int, to: Scheduling | None = None) -> int:
    """Takes every thread of a process off its real-time class, to OTHER unless given; returns how many had one.

    A thread that owns a mutex with inheritance keeps the priority of whoever waits until it gives the mutex back.
    """
    changed = 0
    for tid in threads_of(pid):
        try:
            before = scheduling_of(tid)
            if before.scheduling_class.is_real_time:
                set_scheduling(Scheduling.other() if to is None else to, tid)
                changed += 1
        except ProcessLookupError:  # a thread may end at any time
            continue
    return changed
