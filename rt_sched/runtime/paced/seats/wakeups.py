"""What a process takes that wakes up for messages, and the reservation that is enough for all of them.

A reservation whose deadline is its period serves wake-ups at any distance: the kernel gives it a new deadline whenever
what is left of its runtime is too much for what is left of its period (Abeni, Buttazzo 1998; kernel/sched/deadline.c).
If its runtime is the most that may be asked of it in a period, it is never used up before its deadline, so each wake-up
is served within one period. For a shorter deadline that does not hold: between the deadline and the end of the period
whoever wakes up waits for the next one.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from rt_sched.analysis.methods.reservations import Reservation
from rt_sched.units import NS_PER_S, ceil_int

#: The part of a core that the shortest period takes, as a multiple of the load in the long run.
_DENSEST = 2
#: By how much the part of a core becomes smaller from one reservation to the next that is worth a try.
_SMALLER = Fraction(9, 10)
#: Where there is no more to gain from longer periods, as a multiple of the load in the long run.
_LEAST = Fraction(11, 10)


@dataclass(frozen=True, slots=True)
class Wakeups:
    """Of one kind, `cost_ns` each: at most ceil((length + jitter_ns) / period_ns) in a half-open interval."""

    name: str
    cost_ns: int
    period_ns: int
    jitter_ns: int = 0

    @property
    def load(self) -> Fraction:
        """Part of a core in the long run."""
        return Fraction(self.cost_ns, self.period_ns)

    def most_in(self, length_ns: int) -> int:
        """How many a half-open interval has at most."""
        return -(-(length_ns + self.jitter_ns) // self.period_ns)


def demand_ns(wakeups: Sequence[Wakeups], length_ns: int) -> int:
    """The most that they ask for in a half-open interval."""
    return sum(one.cost_ns * one.most_in(length_ns) for one in wakeups)


def with_switches(one: Reservation, wakeups: Sequence[Wakeups], switch_ns: int) -> Reservation:
    """What the reservation takes from the core where every wake-up but the first costs two switches more."""
    more = max(0, sum(kind.most_in(one.period_ns) for kind in wakeups) - 1)
    return Reservation(one.runtime_ns + 2 * switch_ns * more, one.deadline_ns, one.period_ns)


def reservations_of(wakeups: Sequence[Wakeups], shortest_ns: int | None = None) -> Iterator[Reservation]:
    """Each of which is enough, with growing periods, and ever smaller parts of the core.

    `shortest_ns`: the shortest period that is worth a try; None: that of twice the load in the long run.
    """
    load = sum((one.load for one in wakeups), Fraction(0))
    if not load:
        yield Reservation(1, NS_PER_S, NS_PER_S)
        return
    part = Fraction(_DENSEST) * load / _SMALLER if shortest_ns is None else Fraction(1) / _SMALLER
    for period_ns in _periods_ns(wakeups, load):
        runtime_ns = demand_ns(wakeups, period_ns)
        if period_ns >= (shortest_ns or 0) and runtime_ns <= part * _SMALLER * period_ns:
            part = Fraction(runtime_ns, period_ns)
            yield Reservation(runtime_ns, period_ns, period_ns)
        if part <= _LEAST * load:
            return


def _periods_ns(wakeups: Sequence[Wakeups], load: Fraction) -> Iterator[int]:
    """The longest intervals in which no more is asked for than in shorter ones, until all of it is asked for."""
    above = sum((one.cost_ns + one.load * one.jitter_ns for one in wakeups), Fraction(0))
    most_ns = ceil_int(above / ((_LEAST - 1) * load))
    yield from heapq.merge(*(range(_first_ns(one), most_ns + one.period_ns, one.period_ns) for one in wakeups))


def _first_ns(one: Wakeups) -> int:
    """The longest interval in which no more come than at an instant."""
    return one.period_ns - one.jitter_ns % one.period_ns
