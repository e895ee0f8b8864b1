"""Faults that strike processes while a paced run goes on, at an instant of run time or when something happens in it."""

from __future__ import annotations

import gc
import heapq
import signal
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from itertools import count

import numpy as np
import numpy.typing as npt

from rt_sched.runtime.host.child import name_process
from rt_sched.runtime.host.processes import ProcessHandle
from rt_sched.runtime.host.scheduling import Scheduling, set_scheduling
from rt_sched.runtime.host.sleeping import set_timer_slack_ns
from rt_sched.runtime.paced.clock import PacedClock
from rt_sched.runtime.paced.faults.marks import Marks
from rt_sched.runtime.paced.faults.strike import strike
from rt_sched.runtime.paced.jobs.journal import NONE, Journal
from rt_sched.runtime.paced.roster import Roster
from rt_sched.runtime.paced.sections.locks import Locks
from rt_sched.runtime.paced.sections.records import NOBODY
from rt_sched.runtime.paced.shared import shared_array

#: Below supervisors, which have to see what it does, and above everything else.
INJECTOR_PRIORITY = 88
#: How often it is looked whether that has happened which sets a fault off.
_LOOK_NS = 500_000
#: How long before the loss of a link its process knows of it, so that it takes nothing that is published behind it.
_AHEAD_NS = 1_000_000


@dataclass(frozen=True, slots=True)
class Moment:
    """`after_ns` of run time after the start of the run, or of an event.

    `sample`: a row of the samples is published. `job`: task and number of a job that begins.
    """

    after_ns: int = 0
    sample: int | None = None
    job: tuple[int, int] | None = None

    @property
    def is_known(self) -> bool:
        """Whether it is an instant of the run, whatever happens."""
        return self.sample is None and self.job is None


class Deed(Enum):
    """What is done: a worker is killed, or stands still for a while; every process of a device is killed, and started
    anew after a while; a resource is held, by nobody who needs it; or nothing goes over a link.
    """

    KILL = "kill"
    STALL = "stall"
    LOSE = "lose"
    HOLD = "hold"
    CUT = "cut"


@dataclass(frozen=True, slots=True)
class Blow:
    """`task`: whose worker it strikes; `process`: of the run itself, by its name; `device`, `link`: that is lost;
    `resource`: that is held. `lasts_ns`: how long a worker stands still or the resource is held, or until the task is
    served again (None: as soon as it can be), or until the device is started anew or the link is back (None: never).
    """

    moment: Moment
    deed: Deed
    task: int | None = None
    lasts_ns: int | None = None
    device: str | None = None
    resource: int | None = None
    link: str | None = None
    process: str | None = None


@dataclass(frozen=True, slots=True)
class Landed:
    """What became of a blow. `time_ns`: just before it took effect, None where it never did. `hit`: how many
    processes or groups it reached. `pid`: of the worker, 0 where no worker was struck. Of a resource: when it was got.
    """

    time_ns: int | None
    hit: int
    pid: int


_RECORD = np.dtype([("time_ns", np.int64), ("hit", np.int64), ("pid", np.int64)])


class Injector:
    """Carries out `blows` in a process of its own; made before forks. `processes_of`: those of a device, as kill(2)
    takes them; `restart`: starts a device anew at an instant.

    `journals`: by task. `published_ns`: by sample, negative before. `cut`: loses a link from an instant until another.
    `process_of`: the process of the run that has a name, 0 while there is none.
    """

    def __init__(
        self,
        blows: Sequence[Blow],
        clock: PacedClock,
        roster: Roster,
        marks: Marks,
        journals: Sequence[Journal],
        published_ns: npt.NDArray[np.int64],
        processes_of: Callable[[str], Sequence[int]],
        locks: Locks,
        restart: Callable[[str, int], None],
        cut: Callable[[str, int, int | None], int],
        process_of: Callable[[str], int],
    ) -> None:
        self._blows, self._clock, self._roster, self._marks = blows, clock, roster, marks
        self._journals, self._published_ns, self._processes_of = journals, published_ns, processes_of
        self._locks, self._restart, self._cut, self._process_of = locks, restart, cut, process_of
        self._holds: list[threading.Thread] = []
        self._real_time = False
        self._records = shared_array(_RECORD, len(blows))
        self._records["time_ns"] = NONE
        self._due: list[tuple[int, int, Callable[[], None]]] = []
        self._orders = count()

    def run(self, *, real_time: bool) -> None:
        """Until everything is done, or the run has ended."""
        name_process("rt-inject")
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        set_timer_slack_ns(1)
        gc.freeze()
        gc.disable()
        self._real_time = real_time
        self._take_class()
        if not self._clock.wait_until_begun():
            return
        waiting = set(range(len(self._blows)))
        while waiting or self._due:
            for index in sorted(waiting):
                time_ns = self._instant(self._blows[index].moment)
                if time_ns is not None:
                    waiting.discard(index)
                    self._at(time_ns, lambda index=index: self._land(index))  # type: ignore[misc]
            look_ns = self._clock.now_ns() + self._clock.run_span_ns(_LOOK_NS)
            next_ns = self._due[0][0] if self._due else look_ns
            if not self._clock.sleep_until(min(next_ns, look_ns) if waiting else next_ns):
                break
            while self._due and self._due[0][0] <= self._clock.now_ns():
                heapq.heappop(self._due)[2]()
        for hold in self._holds:
            hold.join()

    def landed(self) -> tuple[Landed, ...]:
        """What became of each, in their order."""
        return tuple(
            Landed(None if time_ns == NONE else time_ns, hit, pid) for time_ns, hit, pid in self._records.tolist()
        )

    def _instant(self, moment: Moment) -> int | None:
        """When it is; None as long as its event has not come."""
        event_ns = 0
        if moment.sample is not None:
            event_ns = int(self._published_ns[moment.sample])
        elif moment.job is not None:
            task, number = moment.job
            journal = self._journals[task]
            event_ns = int(journal.rows[number]["start_ns"]) if number < journal.count else NONE
        return None if event_ns < 0 else event_ns + moment.after_ns

    def _at(self, time_ns: int, act: Callable[[], None]) -> None:
        """It is carried out then, after what was ordered for the same instant before."""
        heapq.heappush(self._due, (time_ns, next(self._orders), act))

    def _land(self, index: int) -> None:
        blow, record = self._blows[index], self._records[index]
        now_ns = self._clock.now_ns()
        if blow.resource is not None:
            hold = threading.Thread(target=self._hold, args=(blow.resource, blow.lasts_ns or 0, record), daemon=True)
            self._holds.append(hold)
            hold.start()
            return
        if blow.device is not None:
            record["hit"] = strike(self._processes_of(blow.device), signal.SIGKILL)
            if blow.lasts_ns is not None:
                self._restart(blow.device, now_ns + blow.lasts_ns)
        elif blow.link is not None:
            now_ns += self._clock.run_span_ns(_AHEAD_NS)
            until_ns = None if blow.lasts_ns is None else now_ns + blow.lasts_ns
            record["hit"] = self._cut(blow.link, now_ns, until_ns)
        elif blow.process is not None:
            record["pid"] = pid = self._process_of(blow.process)
            if pid and blow.deed is Deed.STALL:
                record["hit"] = self._stall(pid, now_ns + (blow.lasts_ns or 0))
            elif pid:
                record["hit"] = _kill(pid)
        elif blow.task is not None:
            record["pid"] = pid = int(self._roster.places["pid"][blow.task])
            if blow.deed is Deed.STALL:
                record["hit"] = self._stall(pid, now_ns + (blow.lasts_ns or 0))
            else:
                if blow.lasts_ns is not None:
                    self._marks.keep_away(blow.task, now_ns + blow.lasts_ns)
                record["hit"] = _kill(pid)
        record["time_ns"] = now_ns

    def _hold(self, resource: int, lasts_ns: int, record: np.void) -> None:
        """In a thread of its own, which waits for the resource as the most urgent one, and then sleeps with it."""
        self._take_class()
        self._locks.acquire(resource, NOBODY, self._clock.now_ns)
        now_ns = self._clock.now_ns()
        record["time_ns"], record["hit"] = now_ns, 1
        self._clock.sleep_until(now_ns + lasts_ns)
        self._locks.release(resource)

    def _take_class(self) -> None:
        if self._real_time:
            set_scheduling(Scheduling.fifo(INJECTOR_PRIORITY))

    def _stall(self, pid: int, until_ns: int) -> int:
        """Stops a process, and lets it go on later, by a handle that never means another one."""
        handle = _living(pid)
        if handle is None:
            return 0
        with suppress(ProcessLookupError):
            handle.send(signal.SIGSTOP)
        self._at(until_ns, lambda: _go_on(handle))
        return 1


def _living(pid: int) -> ProcessHandle | None:
    """Of a process that runs or stands still; None for one that has ended, even where it is still listed."""
    try:
        handle = ProcessHandle(pid)
    except ProcessLookupError:
        return None
    if handle.wait_end(0):
        handle.close()
        return None
    return handle


def _kill(pid: int) -> int:
    """How many were there to be killed."""
    handle = _living(pid)
    if handle is None:
        return 0
    with handle, suppress(ProcessLookupError):
        handle.send(signal.SIGKILL)
    return 1


def _go_on(handle: ProcessHandle) -> None:
    with handle:
        try:
            handle.send(signal.SIGCONT)
        except ProcessLookupError:
            return  # its supervisor has ended it meanwhile
