"""The process of one device: starts a worker for each of its tasks, and goes on with a spare where one is lost."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum
from typing import Protocol

from rt_sched.runtime.host.affinity import pin
from rt_sched.runtime.host.child import fork, name_process
from rt_sched.runtime.host.processes import demote
from rt_sched.runtime.host.scheduling import Scheduling, set_scheduling
from rt_sched.runtime.host.signals import SignalDescriptor
from rt_sched.runtime.paced.clock import PacedClock
from rt_sched.runtime.paced.devices.answers import NOBODY, NOMINAL
from rt_sched.runtime.paced.devices.standby import stand_by
from rt_sched.runtime.paced.faults.oversight import Oversight
from rt_sched.runtime.paced.jobs.journal import Journal
from rt_sched.runtime.paced.jobs.process import Employment, work
from rt_sched.runtime.paced.roster import BEFORE_NS, Roster, State
from rt_sched.runtime.paced.seats.tier import SUPERVISOR_PRIORITY
from rt_sched.runtime.paced.seats.turns import Turns
from rt_sched.trace.records import JobStatus
from rt_sched.units import NS_PER_MS, NS_PER_S

#: How long a worker has, once the run is over, to end by itself.
_GRACE_MS = 2000
_LOOK_MS = 50
#: Of its process, before that of the device.
NAME = "rt-sup-"


class Change(Enum):
    """What has become of a child."""

    STOPPED = "stopped"
    GOES_ON = "goes on"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Charge:
    """A task that a supervisor answers for. `keeps_spare`: another process stands by, started and warm."""

    employment: Employment
    journal: Journal
    turns: Turns
    keeps_spare: bool

    @property
    def is_standby(self) -> bool:
        """Whether it is a task of another device, until a takeover brings it here."""
        return self.employment.tenure.owner != NOMINAL

    @property
    def owns(self) -> bool:
        """Whether the task is served here now."""
        return self.employment.tenure.holds


class Duty(Protocol):
    """What a supervisor does beside its work, by the host's clock: at `next_ns`, or when a descriptor is readable."""

    @property
    def next_ns(self) -> int: ...
    def descriptors(self) -> Sequence[int]: ...
    def do(self, now_ns: int) -> None: ...


class Supervisor:
    """`cores`: where it runs; wherever it may, if none are given.

    `real_time`: whether it stands above its workers in the class of the kernel. `join`: done first in its process.
    With `duties` it stays until the run has ended, whether or not it has workers.
    """

    def __init__(
        self,
        device: str,
        charges: Sequence[Charge],
        cores: Sequence[int],
        oversight: Oversight,
        roster: Roster,
        clock: PacedClock,
        *,
        real_time: bool,
        duties: Sequence[Duty] = (),
        join: Callable[[], None] | None = None,
    ) -> None:
        self._device, self._charges, self._cores, self._real_time = device, charges, cores, real_time
        self._oversight, self._roster, self._clock = oversight, roster, clock
        self._duties, self._join = duties, join
        self._serves: dict[int, Charge] = {}
        self._spares: dict[int, Charge] = {}

    def run(self) -> None:
        """Until every worker has ended."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        name_process(f"{NAME}{self._device}")
        if self._join is not None:
            self._join()
        if self._cores:
            pin(self._cores)
        ended = SignalDescriptor([signal.SIGCHLD])
        for charge in self._charges:
            if self._clock.begun:  # others were here before, and are gone
                charge.turns.lost()
            self._start(charge, is_spare=False)
        for charge in self._charges:
            if charge.keeps_spare:
                self._start(charge, is_spare=True)
        if self._real_time:
            set_scheduling(Scheduling.fifo(SUPERVISOR_PRIORITY))
        end_ns = 0
        while self._serves or (self._duties and not self._clock.ended):
            self._sleep(ended)
            ended.read()
            self._look_after()
            self._oversight.look()
            if self._clock.ended:
                end_ns = end_ns or time.monotonic_ns() + _GRACE_MS * NS_PER_MS
                if time.monotonic_ns() >= end_ns:
                    break
        if self._real_time:
            set_scheduling(replace(Scheduling.other(), reset_on_fork=True))
        self._end_all()

    def _sleep(self, ended: SignalDescriptor) -> None:
        """Until a child has ended or been stopped, or it is time to look; does its duties on the way."""
        now_ns = time.monotonic_ns()
        for duty in self._duties:
            duty.do(now_ns)
        wait_ns = self._oversight.wait_ns
        look_ns = _LOOK_MS * NS_PER_MS if wait_ns is None else min(_LOOK_MS * NS_PER_MS, NS_PER_MS + wait_ns)
        until_ns = min([now_ns + look_ns, *(duty.next_ns for duty in self._duties)])
        descriptors = [ended.fileno(), *(one for duty in self._duties for one in duty.descriptors())]
        select.select(descriptors, [], [], max(0, until_ns - time.monotonic_ns()) / NS_PER_S)

    def _start(self, charge: Charge, *, is_spare: bool) -> None:
        index, waits = charge.employment.index, not charge.owns and not is_spare
        place = self._roster.places[index]
        if waits:
            place = self._roster.waiting(index, charge.employment.tenure.owner)
        place["spare_state" if is_spare else "state"] = State.STARTING
        calls = self._roster.calls_answered(index) if is_spare else None

        def serve() -> None:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
            if waits:
                stand_by(charge.employment)
            else:
                work(charge.employment, calls)

        pid = fork(serve)
        if waits or is_spare or charge.owns:  # else the device was lost meanwhile, and the task is another's
            place["spare_pid" if is_spare else "pid"] = pid
        (self._spares if is_spare else self._serves)[pid] = charge

    def _look_after(self) -> None:
        """Takes note of every child that was stopped, goes on, or has ended; ends those that stand still too long."""
        for pid, change in _changes([*self._serves, *self._spares]):
            if change is Change.STOPPED:
                self._stopped(pid)
                continue
            self._oversight.goes_on(pid)
            if change is Change.ENDED:
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
        if not charge.owns:
            self._give_up(charge, pid)
            return
        by_budget = self._roster.lose(index, pid, self._clock.now_ns() if self._clock.begun else BEFORE_NS)
        charge.turns.lost()
        charge.journal.close_open(pid, JobStatus.ABORTED if by_budget else JobStatus.LOST)
        spare = next((spare for spare, other in self._spares.items() if other is charge), None)
        if spare is not None and (self._clock.begun or places["spare_state"][index] == State.READY):
            # One that still starts serves as soon as it can, which is sooner than another could.
            self._spares.pop(spare)
            self._serves[spare] = charge
            places["pid"][index] = spare
            self._roster.call_spare(index)
        else:
            self._start(charge, is_spare=False)
        if charge.keeps_spare and charge not in self._spares.values():
            self._start(charge, is_spare=True)

    def _give_up(self, charge: Charge, pid: int) -> None:
        """What ended did not serve its task any more, or not yet: another process waits for the task to come here."""
        charge.turns.lost()
        if charge.employment.tenure.ownership.owner(charge.employment.index) == NOBODY:
            charge.journal.close_open(pid, JobStatus.ABORTED)
        if not self._clock.ended:
            self._start(charge, is_spare=False)

    def _is_over(self, charge: Charge) -> bool:
        """Whether nobody is to take the place of a worker that has ended."""
        state = self._roster.places["state"][charge.employment.index]
        return self._clock.ended or (charge.owns and state in (State.ENDED, State.FAILED))

    def _end_all(self) -> None:
        """Kills whoever is left, and reaps all that have ended."""
        for pid in (*self._serves, *self._spares):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            while True:
                os.waitpid(-1, 0)


def _changes(children: Iterable[int]) -> Iterator[tuple[int, Change]]:
    """Every one of `children` that was stopped, goes on or has ended since this was last asked.

    Those that have ended are left as they are, and reaped once the supervisor has no class any more: with that the
    kernel takes their files below /proc away, and waits for whoever reads there just then by turning in circles. An
    ordinary process on the same core would never be done.
    """
    for pid in children:
        stops = os.WSTOPPED | os.WCONTINUED | os.WNOHANG
        seen = os.waitid(os.P_PID, pid, stops | os.WEXITED | os.WNOWAIT)
        if seen is None:
            continue
        if seen.si_code in (os.CLD_STOPPED, os.CLD_CONTINUED):
            with suppress(ChildProcessError):  # it may have ended just now, which the next look tells
                os.waitid(os.P_PID, pid, stops)
            yield pid, Change.STOPPED if seen.si_code == os.CLD_STOPPED else Change.GOES_ON
        else:
            yield pid, Change.ENDED
