"""A function carried out in a child process, which may change its class, hang or be killed without harm to this one."""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

from rt_sched.errors import DeploymentError
from rt_sched.runtime.host import libc
from rt_sched.runtime.host.affinity import pin
from rt_sched.runtime.host.polling import comes

T = TypeVar("T")

_PR_SET_PDEATHSIG, _PR_SET_NAME = 1, 15
_AT_ONCE = 1 << 16


class ChildFailed(DeploymentError):
    """The child was killed, or did not end in time."""


def fork(work: Callable[[], None]) -> int:
    """Forks a child that does `work` and ends with exit code 0, or 1 where it raises; dies with the calling thread, and
    not with the terminal.

    Returns its number; the caller reaps it. Exit handlers and buffers of this process are left alone.
    """
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        libc.call("prctl", _PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


@contextmanager
def on_cores(cores: Iterable[int], work: Callable[[], None]) -> Iterator[None]:
    """Meanwhile a child on each of `cores` does `work`, which need not end: all are killed behind the block."""

    def there(core: int) -> None:
        pin([core])
        work()

    pids = [fork(partial(there, core)) for core in cores]
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def name_process(name: str) -> None:
    """What ps and top call the calling thread, by its first 15 bytes."""
    libc.call("prctl", _PR_SET_NAME, ctypes.c_char_p(name.encode()[:15]), 0, 0, 0)


def in_child(work: Callable[[], T], limit_s: float = 10.0) -> T:
    """What `work` returns, or the exception it raises, from a child process; both must be picklable.

    Raises ChildFailed where the child dies, or has to be killed after `limit_s`. Call it from a process without further
    threads that could hold a lock at that moment.
    """
    reader, writer = os.pipe()

    def child() -> None:
        os.close(reader)
        answer: tuple[bool, object]
        try:
            answer = (True, work())
        except BaseException as error:
            answer = (False, error)
        with os.fdopen(writer, "wb") as file:
            pickle.dump(answer, file)

    pid = fork(child)
    os.close(writer)
    try:
        data = _read_all(reader, limit_s)
    finally:
        os.close(reader)
        if _is_running(pid):
            os.kill(pid, signal.SIGKILL)
        ended = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if data is None:
        raise ChildFailed(f"a child process did not end within {limit_s:g} s and was killed")
    try:
        is_result, answer = pickle.loads(data)  # noqa: S301 - written by our own child
    except (EOFError, pickle.UnpicklingError):
        raise ChildFailed(f"a child process ended with {_told(ended)} before it had a result") from None
    if is_result:
        return answer  # type: ignore[no-any-return]
    raise answer


def _read_all(reader: int, limit_s: float) -> bytes | None:
    """Everything up to the end; None when that does not come in time."""
    end = time.monotonic() + limit_s
    pieces: list[bytes] = []
    while True:
        left = end - time.monotonic()
        if left <= 0 or not comes(reader, left):
            return None
        piece = os.read(reader, _AT_ONCE)
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)


def _is_running(pid: int) -> bool:
    """Whether a child has not ended. One that has only just written its answer is given time to end by itself."""
    descriptor = os.pidfd_open(pid)
    try:
        return not comes(descriptor, 1.0)
    finally:
        os.close(descriptor)


def _told(code: int) -> str:
    return f"exit code {code}" if code >= 0 else signal.Signals(-code).name
