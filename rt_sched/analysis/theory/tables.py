"""Service by the entries of a table: a job begins with the first entry at whose begin it is released."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from rt_sched.units import NS_PER_S

#: Jobs of one backlog, or of one run, before it counts as not ending.
MOST_JOBS = 20_000


@dataclass(frozen=True, slots=True)
class Entries:
    """The entries of one task: start and usable length of each, from the begin of the cycle of `cycle_ns`."""

    cycle_ns: int
    starts_ns: tuple[int, ...]
    usable_ns: tuple[int, ...]

    def start_ns(self, number: int) -> int:
        """Start of entry `number`, counted on through the cycles."""
        cycles, place = divmod(number, len(self.starts_ns))
        return cycles * self.cycle_ns + self.starts_ns[place]

    def first_from(self, at_ns: int) -> int:
        """The first entry that starts at `at_ns` or later."""
        cycles, rest_ns = divmod(at_ns, self.cycle_ns)
        return cycles * len(self.starts_ns) + bisect_left(self.starts_ns, rest_ns)

    def serve(self, first: int, work_ns: int) -> tuple[int, int, int]:
        """A job of `work_ns` that begins with entry `first`: its last entry, what that gives it, how many it uses."""
        per_cycle_ns, count = sum(self.usable_ns), len(self.starts_ns)
        cycles = (work_ns - 1) // per_cycle_ns
        number, left_ns = first + cycles * count, work_ns - cycles * per_cycle_ns
        while left_ns > (usable_ns := self.usable_ns[number % count]):
            left_ns, number = left_ns - usable_ns, number + 1
        return number, left_ns, number - first + 1

    def jobs_per_ns(self, work_ns: int) -> Fraction:
        """How many jobs of `work_ns` the entries serve in the long run."""
        seen: dict[int, int] = {}
        first = 0
        while (place := first % len(self.starts_ns)) not in seen:
            seen[place] = first
            first = self.serve(first, work_ns)[0] + 1
        cycles = (first - seen[place]) // len(self.starts_ns)
        jobs = len(seen) - list(seen).index(place)
        return Fraction(jobs, cycles * self.cycle_ns)


@dataclass(frozen=True, slots=True)
class ServedJob:
    """Job number `job` arrives at `arrival_ns`, and is done at `done_ns` with its `used` th entry."""

    job: int
    arrival_ns: int
    done_ns: int
    used: int

    @property
    def response_ns(self) -> int:
        """From the arrival."""
        return self.done_ns - self.arrival_ns


def earliest_of_known_phase(entries: Entries, work_ns: int, switch_ns: int, rate_hz: Fraction, offset_ns: int) -> int:
    """The least time from offset + floor(k / rate), where no job k is released earlier, to the end of job k.

    None needs less than `work_ns`. As if no other job were there, and instants count from a cycle.
    """
    period = NS_PER_S / rate_hz
    least_ns: int | None = None
    for job in range(min(MOST_JOBS, int(lcm(period.numerator, entries.cycle_ns) / period))):
        arrival_ns = offset_ns + int(job * period)
        last, left_ns, _ = entries.serve(entries.first_from(arrival_ns), work_ns)
        response_ns = entries.start_ns(last) + switch_ns + left_ns - arrival_ns
        least_ns = response_ns if least_ns is None else min(least_ns, response_ns)
    return work_ns if least_ns is None else least_ns


def worst_of_known_phase(
    entries: Entries, work_ns: int, switch_ns: int, rate_hz: Fraction, offset_ns: int, jitter_ns: int
) -> ServedJob | None:
    """The job with the largest response when job k arrives at offset + floor(k / rate); instants count from a cycle.

    Every job is released `jitter_ns` late and needs `work_ns`: none ends later when it, or one before it, is released
    earlier or needs less, since it then begins with the same entry or an earlier one. So that run is followed until it
    repeats itself. Every entry begins with a switch of `switch_ns`. None when the run is too long, or jobs arrive
    faster than they are served.
    """
    period = NS_PER_S / rate_hz
    repeat_ns = lcm(period.numerator, entries.cycle_ns)
    jobs = int(repeat_ns / period)
    if jobs > MOST_JOBS:
        return None
    entries_in_repeat = repeat_ns // entries.cycle_ns * len(entries.starts_ns)
    worst: ServedJob | None = None
    free, before = 0, -1
    for job in range(MOST_JOBS + 1):
        arrival_ns = offset_ns + int(job * period)
        first = max(free, entries.first_from(arrival_ns + jitter_ns))
        if job % jobs == 0:
            phase = first - job // jobs * entries_in_repeat
            if phase == before:
                return worst
            before = phase
        last, left_ns, used = entries.serve(first, work_ns)
        one = ServedJob(job, arrival_ns, entries.start_ns(last) + switch_ns + left_ns, used)
        if worst is None or one.response_ns > worst.response_ns:
            worst = one
        free = last + 1
    return None
