"""Whoever watches the sensors is watched: a supervisor starts the process, and notices when it ends or stands still."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from contextlib import suppress

from rt_sched.runtime.health_order import LOOK_NS, PATIENCE_NS
from rt_sched.runtime.host.child import fork
from rt_sched.runtime.host.processes import ProcessHandle
from rt_sched.runtime.paced.clock import PacedClock
from rt_sched.runtime.paced.health.notes import HealthNotes
from rt_sched.units import NS_PER_MS

#: After how long a process that has not started is ended once the run goes on; of the host's clock.
_START_NS = 5000 * NS_PER_MS


class HealthGuard:
    """What the supervisor does beside its work. `run`: the life of the process. `still_ns`: without a cycle for so long
    it stands still; of the host's clock.

    The end of the process is told by the kernel. A pause of the run is no standstill.
    """

    def __init__(self, run: Callable[[], None], notes: HealthNotes, clock: PacedClock, still_ns: int) -> None:
        self._run, self._notes, self._clock, self._still_ns = run, notes, clock, still_ns
        self._process: ProcessHandle | None = None
        self._started_ns = self._since_ns = 0
        self._told = False
        self.next_ns = 0

    def descriptors(self) -> Sequence[int]:
        """Readable when the process has ended."""
        return () if self._process is None else (self._process.fileno(),)

    def do(self, now_ns: int) -> None:
        """Looks after it, from the start of the supervisor until the run has ended."""
        self.next_ns = now_ns + LOOK_NS
        if self._clock.ended:
            self._kill()
            return
        if self._process is not None and self._process.wait_end(0):
            self._process.close()  # it is reaped with all others, when the supervisor has no class any more
            self._process = None
            if not self._told:
                self._lose(still=False)
        if self._process is None:
            self._start(now_ns)
        elif self._clock.begun:
            self._look(now_ns)

    def _start(self, now_ns: int) -> None:
        self._notes.life["ready"] = 0
        self._started_ns = self._since_ns = now_ns
        self._told = False

        def live() -> None:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
            self._run()

        pid = fork(live)
        self._notes.life["pid"] = pid
        self._process = ProcessHandle(pid)

    def _look(self, now_ns: int) -> None:
        begin_ns, is_ready = self._clock.host_ns(0), bool(self._notes.life["ready"])
        if self._clock.paused or not is_ready:
            self._since_ns = now_ns
        if not is_ready:
            if now_ns > max(self._started_ns, begin_ns) + _START_NS:
                self._kill()
            return
        since_ns = max(int(self._notes.life["beat_ns"]), self._since_ns, begin_ns)
        if now_ns <= since_ns + self._still_ns:
            self._told = False
            self.next_ns = since_ns + self._still_ns + 1
            return
        if not self._told:
            self._told = True
            self._lose(still=True)
        if now_ns > since_ns + max(PATIENCE_NS, 2 * self._still_ns):
            self._kill()

    def _lose(self, *, still: bool) -> None:
        if self._clock.begun:
            self._notes.lost(self._clock.now_ns(), still=still)

    def _kill(self) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.send(signal.SIGKILL)
