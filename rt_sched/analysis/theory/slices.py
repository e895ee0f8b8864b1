"""Time slices: the least supply of a cycle of slices, and response times of the tasks that share them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

from rt_sched.analysis.theory.fixed_points import NotConverged, Timing, least_fixed_point, utilisation
from rt_sched.errors import AnalysisNotApplicable


@dataclass(frozen=True, slots=True)
class Supply:
    """Windows [start, end) of each cycle in which a group of tasks has the processor, ascending, without overlap."""

    cycle_ns: int
    windows_ns: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        end_ns = 0
        for start_ns, stop_ns in self.windows_ns:
            if not end_ns <= start_ns < stop_ns <= self.cycle_ns:
                raise AnalysisNotApplicable(
                    f"window [{start_ns}, {stop_ns}) ns: windows ascend within the cycle of {self.cycle_ns} ns"
                )
            end_ns = stop_ns
        if not self.windows_ns:
            raise AnalysisNotApplicable("no slice of the cycle leaves time beside its switch: nothing is supplied")

    @property
    def per_cycle_ns(self) -> int:
        """Supply of one cycle."""
        return sum(stop_ns - start_ns for start_ns, stop_ns in self.windows_ns)

    def bound_ns(self, window_ns: int) -> int:
        """Least supply in any interval of this length (supply bound function, Shin, Lee 2003)."""
        return min(self._from(phase, window_ns) for phase in range(len(self.windows_ns)))

    def time_for_ns(self, work_ns: int) -> int:
        """Least length whose supply is at least `work_ns` wherever the interval begins."""
        if work_ns <= 0:
            return 0
        return max(self._until(phase, work_ns) for phase in range(len(self.windows_ns)))

    def _pieces(self, phase: int) -> list[tuple[int, int]]:
        """Windows of one cycle counted from the end of window `phase`: an interval that begins there gets the least."""
        origin_ns = self.windows_ns[phase][1]
        later = self.windows_ns[phase + 1 :]
        earlier = self.windows_ns[: phase + 1]
        return [(start - origin_ns, stop - origin_ns) for start, stop in later] + [
            (start + self.cycle_ns - origin_ns, stop + self.cycle_ns - origin_ns) for start, stop in earlier
        ]

    def _from(self, phase: int, window_ns: int) -> int:
        cycles, rest_ns = divmod(window_ns, self.cycle_ns)
        partial = sum(max(0, min(stop, rest_ns) - start) for start, stop in self._pieces(phase))
        return cycles * self.per_cycle_ns + partial

    def _until(self, phase: int, work_ns: int) -> int:
        cycles, rest_ns = divmod(work_ns - 1, self.per_cycle_ns)
        pieces = self._pieces(phase)
        filled = list(accumulate((stop - start for start, stop in pieces), initial=0))
        piece = bisect_right(filled, rest_ns) - 1
        return cycles * self.cycle_ns + pieces[piece][0] + (rest_ns - filled[piece]) + 1


def supply_of_slices(
    lengths_ns: Sequence[int], switches_ns: Sequence[int], mine: Sequence[bool], *, switch_every_slice: bool = True
) -> Supply:
    """Supply of those slices of a cycle that are `mine`; every slice begins with its switch cost.

    `switch_every_slice` False: only the first slice of the cycle pays its switch.
    """
    windows, start_ns = [], 0
    for position, (length_ns, switch_ns, own) in enumerate(zip(lengths_ns, switches_ns, mine, strict=True)):
        paid_ns = switch_ns if switch_every_slice or position == 0 else 0
        if own and paid_ns < length_ns:
            windows.append((start_ns + paid_ns, start_ns + length_ns))
        start_ns += length_ns
    return Supply(start_ns, tuple(windows))


def sliced_response_times(tasks: Sequence[Timing], supply: Supply) -> list[int]:
    """Worst-case responses, by priority, of all tasks that share the slices of `supply` and nothing else.

    Within a slice a job runs until it ends or the slice does, so a lower job that has just started delays for what it
    has left, at most the longest window less 1 ns, once. Preemption by others is counted as if it were immediate.
    Arbitrary deadlines, jitter. Sufficient: the phase between releases and the cycle is taken to be the worst.

    Assumes that every task may use exactly these slices.
    Source: Shin, Lee 2003 (supply); Tindell, Burns, Wellings 1994 (responses).

    Raises NotConverged when a level needs all of its supply or more, and its window does not end within the horizon.
    """
    longest_ns = max(stop - start for start, stop in supply.windows_ns)
    responses = []
    for own, mine in enumerate(tasks):
        lower_ns = max((min(task.wcet_ns, longest_ns) - 1 for task in tasks[own + 1 :]), default=0)
        higher = [(task, task.jitter_ns) for task in tasks[:own]]
        case = sliced_worst_case(mine, higher, max(lower_ns, mine.blocking_ns), supply)
        responses.append(case.window_ns - case.arrival_ns)
    return responses


@dataclass(frozen=True, slots=True)
class SlicedCase:
    """Job `job` of a busy period: its arrival and its end from the begin of that, and the jobs of others that count."""

    job: int
    arrival_ns: int
    window_ns: int
    jobs: tuple[int, ...]


#: Jobs of one busy period before it counts as not ending.
_MOST_JOBS = 100_000


def sliced_worst_case(
    mine: Timing,
    higher: Sequence[tuple[Timing, int]],
    blocking_ns: int,
    supply: Supply,
    release_jitter_ns: int | None = None,
) -> SlicedCase:
    """The worst job of a task under those that go before it, each with what makes its window longer.

    `release_jitter_ns`: the part of the jitter that follows the arrival, from which responses count; by default all.
    Raises NotConverged when the level needs more than its supply, or its busy period does not end.
    """
    if utilisation([*(task for task, _ in higher), mine]) > Fraction(supply.per_cycle_ns, supply.cycle_ns):
        raise NotConverged("the level needs more than its slices supply")
    floor_ns = -(mine.jitter_ns if release_jitter_ns is None else release_jitter_ns)
    worst: SlicedCase | None = None
    window_ns = 0

    def counted(width_ns: int) -> list[int]:
        return [-(-(width_ns + extra_ns) // task.period_ns) for task, extra_ns in higher]

    for job in range(_MOST_JOBS):
        demand_ns = blocking_ns + (job + 1) * mine.wcet_ns

        def needed(width_ns: int, demand_ns: int = demand_ns) -> int:
            jobs = zip(counted(width_ns), higher, strict=True)
            return supply.time_for_ns(demand_ns + sum(n * task.wcet_ns for n, (task, _) in jobs))

        window_ns = least_fixed_point(needed, max(window_ns, 1))
        arrival_ns = job * mine.period_ns - mine.jitter_ns
        case = SlicedCase(job, max(arrival_ns, floor_ns), window_ns, tuple(counted(window_ns)))
        if worst is None or window_ns - case.arrival_ns > worst.window_ns - worst.arrival_ns:
            worst = case
        if arrival_ns + mine.period_ns >= window_ns:
            return worst
    raise NotConverged("the busy period of a level does not end")
