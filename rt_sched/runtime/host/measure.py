"""What this machine really does: lateness of wake-ups, length of a tick, granularity of CPU timers, lost time."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rt_sched.runtime.host.cpu_time import CpuTimer, cpu_time_ns, process_clock
from rt_sched.runtime.host.polling import comes
from rt_sched.runtime.host.signals import SignalDescriptor
from rt_sched.runtime.host.sleeping import now_ns, sleep_until_ns
from rt_sched.units import NS_PER_S

_CLOCK_MONOTONIC_COARSE = 6


def wake_up_lateness_ns(period_ns: int, wake_ups: int) -> list[int]:
    """How late the calling thread, in the class it has, is woken: `wake_ups` times in a row, every `period_ns`.

    An instant that has passed already when its turn comes is skipped, as a timer that overran would skip it.
    """
    lateness: list[int] = []
    instant = now_ns() + period_ns
    with _without_collection():
        while len(lateness) < wake_ups:
            sleep_until_ns(instant)
            now = now_ns()
            lateness.append(now - instant)
            instant += period_ns * (1 + max(0, now - instant) // period_ns)
    return lateness


def tick_ns() -> int:
    """The kernel's tick, 1/HZ: the step of CLOCK_MONOTONIC_COARSE, which the kernel moves on at every tick."""
    return round(time.clock_getres(_CLOCK_MONOTONIC_COARSE) * 1e9)


def coarse_steps_ns(steps: int, limit_ns: int) -> list[int]:
    """Distances of CLOCK_MONOTONIC between `steps` steps of the coarse clock, watched without sleeping.

    Fewer where `limit_ns` passes before. A busy core takes the watcher away, so single distances may be long.
    """
    end = now_ns() + limit_ns
    found: list[int] = []
    coarse, before = time.clock_gettime_ns(_CLOCK_MONOTONIC_COARSE), 0
    while len(found) < steps and now_ns() < end:
        now = time.clock_gettime_ns(_CLOCK_MONOTONIC_COARSE)
        if now != coarse:
            seen, coarse = now_ns(), now
            if before:
                found.append(seen - before)
            before = seen
    return found


def clock_gaps_ns(watch_ns: int, least_ns: int, burst_ns: int, rest_ns: int) -> tuple[int, list[int]]:
    """For how long the calling thread watched the clock without a pause, and every gap of `least_ns` or more in it.

    It watches in bursts with rests between them, which do not count, until these are `watch_ns` together.
    """
    watched_ns, gaps_ns = 0, []
    with _without_collection():
        while watched_ns < watch_ns:
            begin = before = now_ns()
            end = begin + burst_ns
            while before < end:
                now = now_ns()
                if now - before >= least_ns:
                    gaps_ns.append(now - before)
                before = now
            watched_ns += before - begin
            sleep_until_ns(before + rest_ns)
    return watched_ns, gaps_ns


def cpu_timer_lateness_ns(
    pid: int, budget_ns: int, times: int, signal_number: int, limit_ns: int = 2 * NS_PER_S
) -> list[int]:
    """How much CPU time process `pid`, which computes without end, uses beyond a budget until a timer on it is seen.

    `signal_number` is blocked in the calling thread from then on. Stops early when one timer does not expire within
    `limit_ns`, because the process computes nothing or does not come to it.
    """
    clock, lateness = process_clock(pid), []
    with SignalDescriptor([signal_number]) as signals, CpuTimer(clock, signal_number) as timer:
        for turn in range(times):
            # Budgets of unequal lengths, so that they do not all end at the same place between two ticks.
            due = cpu_time_ns(clock) + budget_ns + turn * budget_ns // times
            timer.arm_at(due)
            if not comes(signals, limit_ns / NS_PER_S):
                break
            lateness.append(cpu_time_ns(clock) - due)
            signals.read()
    return lateness


def quantile(values: Sequence[int], share: float) -> int:
    """The smallest value that at least `share` of `values` do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-round(share * 1000) * len(ordered) // 1000) - 1)]


@contextmanager
def _without_collection() -> Iterator[None]:
    """No garbage collection meanwhile: a full one takes a tenth of a second in a large process."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
