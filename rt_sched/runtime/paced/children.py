"""The processes of a run beside its workers: started, watched, ended and reaped by the one that made them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Collection

from rt_sched.errors import DeploymentError
from rt_sched.runtime.host.child import fork
from rt_sched.runtime.host.processes import is_stopped

_LOOK_S = 0.01
#: A process that stands still at so many looks in a row, 50 ms apart, does not do its work. Looks are counted, and not
#: time, as whoever stops all processes stops this one as well.
_STILL_LOOKS = 20


class Children:
    """By name; at most one of a name lives at a time."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._still: dict[int, int] = {}

    def start(self, name: str, work: Callable[[], None]) -> None:
        """Forks a process that does `work` and dies with this one."""
        self._names[fork(work)] = name

    def has(self, name: str) -> bool:
        """Whether one of this name has been started and not been seen to end."""
        return name in self._names.values()

    def check(self, may_fail: Collection[str] = ()) -> None:
        """Reaps what has ended. Raises DeploymentError where one did so before its work was done, or stands still."""
        for pid in list(self._names):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                name = self._names.pop(pid)
                self._still.pop(pid, None)
                if status and name not in may_fail:
                    raise DeploymentError(f"{name} ended early: {_how(status)}")
            elif is_stopped(pid):
                self._still[pid] = self._still.get(pid, 0) + 1
                if self._still[pid] >= _STILL_LOOKS and self._names[pid] not in may_fail:
                    raise DeploymentError(f"{self._names[pid]} stands still: somebody has stopped it")
            else:
                self._still.pop(pid, None)

    def wait(self, limit_s: float) -> None:
        """Until all have ended, at most so long; one that is stopped, and will not end by itself, is killed."""
        until = time.monotonic() + limit_s
        for pid in list(self._names):
            if is_stopped(pid):
                os.kill(pid, signal.SIGKILL)
            while time.monotonic() < until:
                ended, _ = os.waitpid(pid, os.WNOHANG)
                if ended:
                    del self._names[pid]
                    break
                time.sleep(_LOOK_S)

    def kill(self) -> None:
        """None of them is left."""
        for pid in self._names:
            try:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            except (ProcessLookupError, ChildProcessError):
                continue
        self._names.clear()


def _how(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
