"""The process of one device: starts a worker for each of its tasks, and goes on with a spare where one is lost."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rt_sched.runtime.host.affinity import pin
from rt_sched.runtime.host.child import fork, name_process
from rt_sched.runtime.host.processes import demote
from rt_sched.runtime.host.scheduling import Scheduling, set_scheduling
from rt_sched.runtime.host.signals import SignalDescriptor
from rt_sched.runtime.paced.journal import Journal
from rt_sched.runtime.paced.oversight import Oversight
from rt_sched.runtime.paced.process import Employment, work
from rt_sched.runtime.paced.roster import BEFORE_NS, State
from rt_sched.runtime.paced.tier import SUPERVISOR_PRIORITY
from rt_sched.runtime.paced.turns import Turns
from rt_sched.trace.records import JobStatus
from rt_sched.units import NS_PER_MS

#: How long a worker has, once the run is over, to end by itself.
_GRACE_MS = 2000
_LOOK_MS = 50


@dataclass(frozen=True, slots=True)
class Charge:
    """A task that a supervisor answers for. `keeps_spare`: another process stands by, started and warm."""

    employment: Employment
    journal: Journal
    turns: Turns
    keeps_spare: bool


class Supervisor:
    """`cores`: where it runs; wherever it may, if none are given.

    `real_time`: whether it stands above its workers in the class of the kernel.
    """

    def __init__(
        self, charges: Sequence[Charge], cores: Sequence[int], oversight: Oversight, *, real_time: bool
    ) -> None:
        self._charges, self._cores, self._real_time = charges, cores, real_time
        self._oversight = oversight
        self._roster = charges[0].employment.roster
        self._clock = charges[0].employment.clock
        self._serves: dict[int, Charge] = {}
        self._spares: dict[int, Charge] = {}

    def run(self) -> None:
        """Until every worker has ended."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        name_process("rt-supervisor")
        if self._cores:
            pin(self._cores)
        ended = SignalDescriptor([signal.SIGCHLD])
        for charge in self._charges:
            self._start(charge, is_spare=False)
        for charge in self._charges:
            if charge.keeps_spare:
                self._start(charge, is_spare=True)
        if self._real_time:
            set_scheduling(Scheduling.fifo(SUPERVISOR_PRIORITY))
        poll = select.poll()
        poll.register(ended, select.POLLIN)
        grace_ms = _GRACE_MS
        while self._serves:
            poll.poll(self._look_ms())
            ended.read()
            self._look_after()
            self._oversight.look()
            if self._clock.ended:
                grace_ms -= _LOOK_MS
                if grace_ms <= 0:
                    self._end_all()
        self._end_all()

    def _look_ms(self) -> int:
        """Until it is time to look, unless a child ends before."""
        wait_ns = self._oversight.wait_ns
        return _LOOK_MS if wait_ns is None else min(_LOOK_MS, 1 + wait_ns // NS_PER_MS)

    def _start(self, charge: Charge, *, is_spare: bool) -> None:
        index = charge.employment.index
        places = self._roster.places
        places["spare_state" if is_spare else "state"][index] = State.STARTING

        def serve() -> None:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
            work(charge.employment, is_spare=is_spare)

        pid = fork(serve)
        places["spare_pid" if is_spare else "pid"][index] = pid
        (self._spares if is_spare else self._serves)[pid] = charge

    def _look_after(self) -> None:
        """Takes note of every child that was stopped, goes on, or has ended; ends those that stand still too long."""
        for pid, status in _changes():
            if os.WIFSTOPPED(status):
                self._stopped(pid)
                continue
            self._oversight.goes_on(pid)
            if not os.WIFCONTINUED(status):
                self._replace(pid)
        for pid in self._oversight.overdue():
            self._oversight.goes_on(pid)
            self._end(pid)

    def _stopped(self, pid: int) -> None:
        """Its budget is used up, and it is ended; or it was stopped by others, and may stand still for a while."""
        charge = self._serves.get(pid)
        if charge is not None and not charge.employment.marks.is_used_up(charge.employment.index, pid):
            self._oversight.stopped(charge.employment.index, pid)
            return
        if charge is not None:
            self._roster.stopped(charge.employment.index)
        self._end(pid)

    def _end(self, pid: int) -> None:
        """Ends what stands still already. It does so below all tasks, but before ordinary processes, which may be many:
        its ends of the edges are free only when it is gone.
        """
        demote(pid, Scheduling.fifo(1) if self._real_time else None)
        os.kill(pid, signal.SIGKILL)

    def _replace(self, pid: int) -> None:
        spare_of = self._spares.pop(pid, None)
        if spare_of is not None and not self._is_over(spare_of):
            self._start(spare_of, is_spare=True)
        charge = self._serves.pop(pid, None)
        if charge is None or self._is_over(charge):
            return
        index, places = charge.employment.index, self._roster.places
        by_budget = self._roster.lose(index, pid, self._clock.now_ns() if self._clock.begun else BEFORE_NS)
        charge.turns.lost()
        charge.journal.close_open(pid, JobStatus.ABORTED if by_budget else JobStatus.LOST)
        spare = next((spare for spare, other in self._spares.items() if other is charge), None)
        if spare is not None and places["spare_state"][index] == State.READY:
            self._spares.pop(spare)
            self._serves[spare] = charge
            places["pid"][index] = spare
            self._roster.call_spare(index)
        else:
            self._start(charge, is_spare=False)
        if charge.keeps_spare:
            self._start(charge, is_spare=True)

    def _is_over(self, charge: Charge) -> bool:
        """Whether nobody is to take the place of a worker that has ended."""
        state = self._roster.places["state"][charge.employment.index]
        return self._clock.ended or state in (State.ENDED, State.FAILED)

    def _end_all(self) -> None:
        for pid in (*self._serves, *self._spares):
            try:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            except (ProcessLookupError, ChildProcessError):
                continue
        self._serves.clear()
        self._spares.clear()


def _changes() -> Iterator[tuple[int, int]]:
    """Every child that was stopped, goes on or has ended since this was last asked, and how."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
        except ChildProcessError:
            return
        if pid == 0:
            return
        yield pid, status
