"""Waits between clock-driven segments whose phases are known: the worst instant of a hyperperiod, walked through."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import gcd, lcm

from rt_sched.units import NS_PER_S, ceil_int, floor_int

#: Reading instants of the first segment that are looked at before the phases count as not known.
_MOST_INSTANTS = 50_000


@dataclass(frozen=True, slots=True)
class Grid:
    """Instants first_ns + floor(k / rate), and the delay from one until the next segment surely reads what was read."""

    rate_hz: Fraction
    first_ns: int
    delay_ns: int

    def instant_ns(self, number: int) -> int:
        """Instant `number`, counted from 0; the grid is thought to reach into the past."""
        return self.first_ns + floor_int(Fraction(number * NS_PER_S) / self.rate_hz)

    def first_from(self, at_ns: int) -> int:
        """Number of the first instant at or after `at_ns`."""
        number = ceil_int(Fraction(at_ns - self.first_ns) * self.rate_hz / NS_PER_S)
        while self.instant_ns(number) < at_ns:
            number += 1
        while self.instant_ns(number - 1) >= at_ns:
            number -= 1
        return number


def phased_waits(
    grids: Sequence[Grid | None], gaps_ns: Sequence[int], *, backward: bool, event: bool = False
) -> list[int] | None:
    """For each segment but the last the wait until the next one reads, of the instant for which all waits together are
    longest; None where no two segments in a row have a grid, or a hyperperiod holds too many instants.

    `backward`: waits for data age, from what a reader finds back to the instant at which that was read. Hops without
    two grids wait a whole gap: that of the reading segment, backward that of the one read. `event`: a wait more,
    at the begin, of an event right after the instant before (first grid known).
    """
    waits: list[int] = []
    known = False
    place = 0
    if event and (len(grids) < 2 or grids[0] is None or grids[1] is None):
        return None
    while place < len(grids):
        run = place
        while run + 1 < len(grids) and grids[run] is not None and grids[run + 1] is not None:
            run += 1
        if run > place:
            block = [grid for grid in grids[place : run + 1] if grid is not None]
            found = _worst(block, backward, event and place == 0)
            if found is None:
                return None
            known, waits = True, [*waits, *found]
        if run + 1 < len(grids):
            waits.append(gaps_ns[run] if backward else gaps_ns[run + 1])
        place = run + 1
    return waits if known else None


def _worst(block: Sequence[Grid], backward: bool, event: bool) -> list[int] | None:
    period = _hyperperiod_ns([grid.rate_hz for grid in block])
    start = block[-1] if backward else block[0]
    count = period * start.rate_hz / NS_PER_S
    if count > _MOST_INSTANTS:
        return None
    worst: list[int] = []
    for number in range(int(count) + 1):
        waits = _walk_back(block, number) if backward else _walk_on(block, number)
        if event:
            waits = [block[0].instant_ns(number) - block[0].instant_ns(number - 1), *waits]
        if not worst or sum(waits) > sum(worst):
            worst = waits
    return worst


def _walk_on(block: Sequence[Grid], number: int) -> list[int]:
    waits, instant_ns = [], block[0].instant_ns(number)
    for before, after in pairwise(block):
        visible_ns = instant_ns + before.delay_ns
        instant_ns = after.instant_ns(after.first_from(visible_ns))
        waits.append(instant_ns - visible_ns)
    return waits


def _walk_back(block: Sequence[Grid], number: int) -> list[int]:
    waits: list[int] = []
    instant_ns = block[-1].instant_ns(number)
    for before in block[-2::-1]:
        earlier_ns = before.instant_ns(before.first_from(instant_ns - before.delay_ns + 1) - 1)
        waits.insert(0, instant_ns - before.delay_ns - earlier_ns)
        instant_ns = earlier_ns
    return waits


def _hyperperiod_ns(rates_hz: Sequence[Fraction]) -> Fraction:
    """Least common multiple of the periods, exact."""
    periods = [Fraction(NS_PER_S) / rate_hz for rate_hz in rates_hz]
    numerator, denominator = 1, 0
    for period in periods:
        numerator = lcm(numerator, period.numerator)
        denominator = gcd(denominator, period.denominator)
    return Fraction(numerator, denominator)
