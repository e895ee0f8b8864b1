"""Waiting for the next job of a task: for an instant of the clock, or for messages."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from fractions import Fraction
from typing import Protocol

import numpy as np

from rt_sched.runtime.paced.clock import PacedClock
from rt_sched.runtime.paced.devices.ownership import Tenure
from rt_sched.runtime.paced.jobs.inbox import Arrival, Inbox, Letter
from rt_sched.runtime.paced.jobs.journal import Journal
from rt_sched.trace.records import JobStatus
from rt_sched.trace.setup import TaskRow
from rt_sched.transport.bell import Bell
from rt_sched.units import NS_PER_S

#: How often a worker looks, while run time stands still, whether a message counts that lies there already.
_LOOK_NS = 10_000_000


class Arrivals(Protocol):
    """`wait` returns the next job of the task when it has arrived, None when the run has ended.

    `take_over`: called once before by a process that goes on with the task from a switch on. What arrived while nobody
    served it is lost; `redo`: the message that came last makes one more job.
    """

    def wait(self) -> Arrival | None: ...
    def take_over(self, switch_ns: int, *, redo: bool) -> None: ...


class TimedArrivals:
    """Arrival k at offset + floor(k / rate), as long as it lies before `horizon_ns`, and those at once of takeovers.

    When several have passed before the task could look, the newest is served and those before it are noted in the
    journal as suppressed: a timer that overran makes no burst. The journal tells how far the task had come, so another
    process can go on.
    """

    def __init__(
        self, row: TaskRow, clock: PacedClock, journal: Journal, horizon_ns: int, pid: int, tenure: Tenure
    ) -> None:
        if row.rate_hz is None:
            raise ValueError(f"{row.name} is not timed")
        self._rate: Fraction = row.rate_hz
        self._offset_ns, self._deadline_ns = row.offset_ns, row.deadline_ns
        self._clock, self._journal, self._horizon_ns, self._pid = clock, journal, horizon_ns, pid
        self._tenure = tenure
        rows = journal.rows[: journal.count]
        self._next = len(rows) - int(np.count_nonzero(rows["extra"]))
        self._extra_after_ns = int(rows["arrival_ns"].max(initial=-1))

    def wait(self) -> Arrival | None:
        while True:
            arrival_ns, extra_ns, known = self._instant(self._next), self._extra_ns(), self._epochs()
            is_extra = extra_ns is not None and extra_ns < arrival_ns
            at_ns = extra_ns if is_extra and extra_ns is not None else arrival_ns
            if at_ns >= self._horizon_ns or not self._clock.sleep_until(at_ns, self._has_changed(known)):
                return None
            if self._epochs() == known:
                return self._extra(at_ns) if is_extra else self._newest(arrival_ns)

    def take_over(self, switch_ns: int, *, redo: bool) -> None:
        self._extra_after_ns = max(self._extra_after_ns, switch_ns - 1)
        while (arrival_ns := self._instant(self._next)) < min(switch_ns, self._horizon_ns) and not self._journal.full:
            self._journal.note(JobStatus.LOST, arrival_ns, arrival_ns + self._deadline_ns, self._pid)
            self._next += 1

    def _newest(self, arrival_ns: int) -> Arrival:
        now_ns = self._clock.now_ns()
        while self._instant(self._next + 1) <= min(now_ns, self._horizon_ns - 1) and not self._journal.full:
            self._journal.suppress(arrival_ns, arrival_ns + self._deadline_ns, self._pid)
            self._next += 1
            arrival_ns = self._instant(self._next)
        self._next += 1
        return Arrival(arrival_ns, {})

    def _extra(self, arrival_ns: int) -> Arrival:
        self._extra_after_ns = arrival_ns
        return Arrival(arrival_ns, {}, is_extra=True)

    def _extra_ns(self) -> int | None:
        """The first additional arrival that has not been served."""
        return next((at_ns for at_ns in self._tenure.extra_arrivals() if at_ns > self._extra_after_ns), None)

    def _epochs(self) -> int:
        return self._tenure.ownership.count

    def _has_changed(self, known: int) -> Callable[[], bool]:
        return lambda: self._epochs() != known

    def _instant(self, number: int) -> int:
        return self._offset_ns + number * NS_PER_S * self._rate.denominator // self._rate.numerator


class MessageArrivals:
    """Jobs of a task that messages activate. `bell`: whoever publishes to it rings, and so does the end of the run.

    It is never looked in between: under SCHED_DEADLINE a look would use up some of the reservation of the next job.
    Only for messages that lie there before they count it wakes up by itself.
    """

    def __init__(self, row: TaskRow, inbox: Inbox, bell: Bell, clock: PacedClock, journal: Journal, pid: int) -> None:
        self._inbox, self._bell, self._clock = inbox, bell, clock
        self._deadline_ns, self._journal, self._pid = row.deadline_ns, journal, pid
        self._arrived: deque[Arrival] = deque()

    def wait(self) -> Arrival | None:
        while True:
            seen = self._bell.count()
            arrival = self._arrived.popleft() if self._arrived else self._inbox.next_arrival()
            if arrival is not None:
                return arrival
            if self._clock.ended:
                return None
            self._bell.wait(seen, self._due_host_ns())

    def _due_host_ns(self) -> int | None:
        """When a message counts that lies there already, on the host's clock; None where no such one waits."""
        due_ns = self._inbox.due_ns()
        if due_ns is None:
            return None
        return time.monotonic_ns() + _LOOK_NS if self._clock.paused else self._clock.host_ns(due_ns)

    def take_over(self, switch_ns: int, *, redo: bool) -> None:
        last: dict[int, Letter] = {}
        while (arrival := self._inbox.next_arrival()) is not None and arrival.arrival_ns < switch_ns:
            numbers = {slot: letter.head.number for slot, letter in arrival.bound.items()}
            deadline_ns = arrival.arrival_ns + self._deadline_ns
            self._journal.note(JobStatus.LOST, arrival.arrival_ns, deadline_ns, self._pid, numbers)
            for slot, letter in arrival.bound.items():
                if slot in last:
                    last[slot].release()
                last[slot] = letter
        kept = self._inbox.kept(last, switch_ns) if redo else {}
        if kept:
            self._arrived.append(Arrival(switch_ns, kept, is_extra=True))
        elif not redo:
            for letter in last.values():
                letter.release()
        if arrival is not None:
            self._arrived.append(arrival)
