"""Waits between clock-driven segments whose phases are known: the worst instant of a hyperperiod, walked through.

Instant k of a grid is first_ns + floor(k * period). The walk takes exact fractions of nanoseconds instead: where an
exact instant lies at or behind another plus whole nanoseconds, so do the two rounded down, and a whole walk gets at
most a nanosecond shorter by rounding, which the sum of the waits, rounded up, contains.

Grids of different devices are shifted against each other by the errors of both clocks, constant during a run. A reader
surely finds what became visible before its instant less both errors; the walk as a whole ends by the errors of its
first and last clock later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import lcm

from rt_sched.units import NS_PER_S

#: Reading instants of the first segment that are looked at before the phases count as not known.
_MOST_INSTANTS = 50_000


@dataclass(frozen=True, slots=True)
class Grid:
    """Instants first_ns + floor(k / rate) on a device's clock, which is off by a constant of at most `error_ns`."""

    rate_hz: Fraction
    first_ns: int
    device: str = ""
    error_ns: int = 0

    def apart_ns(self, other: Grid) -> int:
        """How far the two clocks may be apart."""
        return 0 if self.device == other.device else self.error_ns + other.error_ns


@dataclass(frozen=True, slots=True)
class Hop:
    """What one segment gives to the walk: its grid, where known, its largest delay to the next, its largest gap."""

    grid: Grid | None
    delay_ns: int
    gap_ns: int


@dataclass(frozen=True, slots=True)
class Read:
    """A segment, by its place, reads at instant `number` of its grid, which is `at_ns`."""

    place: int
    number: int
    at_ns: int


@dataclass(frozen=True, slots=True)
class Waits:
    """`waits_ns`: one for each segment but the last, with one more at the begin for an event; `clock_ns`: errors.

    `reads`: the instants of the walk with these waits, of all segments that it knows the grid of.
    """

    waits_ns: tuple[int, ...]
    clock_ns: int = 0
    reads: tuple[Read, ...] = ()


def phased_waits(hops: Sequence[Hop], *, backward: bool, event: bool = False) -> Waits | None:
    """For each segment but the last the wait until the next one reads, of the instant for which all waits together are
    longest; None where no two segments in a row have a grid, or a hyperperiod holds too many instants.

    `backward`: waits for data age, from what a reader finds back to the instant at which that was read. Hops without
    two grids wait a whole gap: that of the reading segment, backward that of the one read. `event`: a wait more,
    at the begin, of an event right after the instant before (first grid known).
    """
    if event and (len(hops) < 2 or hops[0].grid is None or hops[1].grid is None):
        return None
    waits: list[int] = []
    reads: list[Read] = []
    clock_ns, known, place = 0, False, 0
    while place < len(hops):
        run = place
        while run + 1 < len(hops) and hops[run].grid is not None and hops[run + 1].grid is not None:
            run += 1
        if run > place:
            found = _worst(hops[place : run + 1], backward, event and place == 0)
            if found is None:
                return None
            known, waits, clock_ns = True, [*waits, *found.waits_ns], clock_ns + found.clock_ns
            reads += [Read(place + one.place, one.number, one.at_ns) for one in found.reads]
        if run + 1 < len(hops):
            waits.append(hops[run].gap_ns if backward else hops[run + 1].gap_ns)
        place = run + 1
    return Waits(tuple(waits), clock_ns, tuple(reads)) if known else None


def _worst(run: Sequence[Hop], backward: bool, event: bool) -> Waits | None:
    """The longest walk through segments that all have grids; None where there are too many instants."""
    walk = _Walk([hop.grid for hop in run if hop.grid is not None], [hop.delay_ns for hop in run])
    start = len(run) - 1 if backward else 0
    count = walk.instants(start)
    if count > _MOST_INSTANTS:
        return None
    steps = walk.back if backward else walk.on
    worst = max((steps(number) for number in range(count)), key=lambda instants: instants[-1] - instants[0])
    waits = walk.waits(worst)
    return Waits(tuple(walk.rounded([walk.periods[0], *waits] if event else waits)), walk.clock_ns, walk.reads(worst))


class _Walk:
    """Grids in a row, all times in whole parts of a nanosecond: `scale` of them make one."""

    def __init__(self, grids: Sequence[Grid], delays_ns: Sequence[int]) -> None:
        exact = [Fraction(NS_PER_S) / grid.rate_hz for grid in grids]
        self.scale = lcm(*(period.denominator for period in exact))
        self.periods = [int(period * self.scale) for period in exact]
        self._firsts = [grid.first_ns * self.scale for grid in grids]
        self._delays = [delay_ns * self.scale for delay_ns in delays_ns]
        self._margins = [a.apart_ns(b) * self.scale for a, b in pairwise(grids)]
        self.clock_ns = grids[0].apart_ns(grids[-1])

    def instants(self, place: int) -> int:
        """How many instants of grid `place` a hyperperiod holds."""
        return lcm(*self.periods) // self.periods[place]

    def on(self, number: int) -> list[int]:
        """Instants at which the segments read what goes on from instant `number` of the first grid."""
        instants = [self._firsts[0] + number * self.periods[0]]
        for place in range(1, len(self.periods)):
            surely = instants[-1] + self._delays[place - 1] + self._margins[place - 1]
            instants.append(surely + (self._firsts[place] - surely) % self.periods[place])
        return instants

    def back(self, number: int) -> list[int]:
        """Instants at which the segments read what instant `number` of the last grid finds."""
        instants = [self._firsts[-1] + number * self.periods[-1]]
        for place in range(len(self.periods) - 2, -1, -1):
            latest = instants[0] - self._delays[place] - self._margins[place]
            instants.insert(0, latest - (latest - self._firsts[place]) % self.periods[place])
        return instants

    def waits(self, instants: Sequence[int]) -> list[int]:
        """From where something is visible until it is read."""
        steps = zip(pairwise(instants), self._delays, strict=False)
        return [after - before - delay for (before, after), delay in steps]

    def reads(self, instants: Sequence[int]) -> tuple[Read, ...]:
        """The instants as those of the grids, moved by whole hyperperiods so that none has a negative number."""
        numbers = [
            (at - first) // period for at, first, period in zip(instants, self._firsts, self.periods, strict=True)
        ]
        whole = lcm(*self.periods)
        moved = max(-(number * period // whole) for number, period in zip(numbers, self.periods, strict=True))
        shift = max(moved, 0) * whole
        return tuple(
            Read(place, number + shift // period, (at + shift) // self.scale)
            for place, (number, period, at) in enumerate(zip(numbers, self.periods, instants, strict=True))
        )

    def rounded(self, waits: Sequence[int]) -> list[int]:
        """The waits in nanoseconds; their sum is the exact one rounded up."""
        ends = [-(-sum(waits[: count + 1]) // self.scale) for count in range(len(waits))]
        return [ends[0], *(after - before for before, after in pairwise(ends))]
