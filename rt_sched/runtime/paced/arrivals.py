"""Waiting for the next job of a task: for an instant of the clock, or for messages."""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

from rt_sched.runtime.paced.clock import PacedClock
from rt_sched.runtime.paced.inbox import Arrival, Inbox
from rt_sched.runtime.paced.journal import Journal
from rt_sched.trace.setup import TaskRow
from rt_sched.transport.bell import Bell
from rt_sched.units import NS_PER_S


class Arrivals(Protocol):
    """`wait` returns the next job of the task when it has arrived, None when the run has ended."""

    def wait(self) -> Arrival | None: ...


class TimedArrivals:
    """Arrival k at offset + floor(k / rate), as long as it lies before `horizon_ns`.

    When several have passed before the task could look, the newest is served and those before it are noted in the
    journal as suppressed: a timer that overran makes no burst. The journal tells how far the task had come, so another
    process can go on.
    """

    def __init__(self, row: TaskRow, clock: PacedClock, journal: Journal, horizon_ns: int, pid: int) -> None:
        if row.rate_hz is None:
            raise ValueError(f"{row.name} is not timed")
        self._rate: Fraction = row.rate_hz
        self._offset_ns, self._deadline_ns = row.offset_ns, row.deadline_ns
        self._clock, self._journal, self._horizon_ns, self._pid = clock, journal, horizon_ns, pid

    def wait(self) -> Arrival | None:
        number = self._journal.count
        arrival_ns = self._instant(number)
        if arrival_ns >= self._horizon_ns or not self._clock.sleep_until(arrival_ns):
            return None
        now_ns = self._clock.now_ns()
        while self._instant(number + 1) <= min(now_ns, self._horizon_ns - 1) and not self._journal.full:
            self._journal.suppress(arrival_ns, arrival_ns + self._deadline_ns, self._pid)
            number += 1
            arrival_ns = self._instant(number)
        return Arrival(arrival_ns, {})

    def _instant(self, number: int) -> int:
        return self._offset_ns + number * NS_PER_S * self._rate.denominator // self._rate.numerator


class MessageArrivals:
    """Jobs of a task that messages activate. `bell`: whoever publishes to it rings, and so does the end of the run.

    It is never looked in between: under SCHED_DEADLINE a look would use up some of the reservation of the next job.
    """

    def __init__(self, inbox: Inbox, bell: Bell, clock: PacedClock) -> None:
        self._inbox, self._bell, self._clock = inbox, bell, clock

    def wait(self) -> Arrival | None:
        while True:
            seen = self._bell.count()
            arrival = self._inbox.next_arrival()
            if arrival is not None:
                return arrival
            if self._clock.ended:
                return None
            self._bell.wait(seen, None)
