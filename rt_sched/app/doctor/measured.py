"""What is measured: wake-ups under every class that is there, the tick, and CPU timers."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from rt_sched.app.doctor.finding import Finding, Severity
from rt_sched.errors import DeploymentError
from rt_sched.runtime.host.affinity import allowed_cores, pin
from rt_sched.runtime.host.child import fork, in_child
from rt_sched.runtime.host.cpuset import ExclusiveCpuset
from rt_sched.runtime.host.measure import coarse_steps_ns, cpu_timer_lateness_ns, quantile, tick_ns, wake_up_lateness_ns
from rt_sched.runtime.host.memory import lock_memory
from rt_sched.runtime.host.refusal import Refused
from rt_sched.runtime.host.scheduling import Scheduling, scheduled, set_scheduling
from rt_sched.runtime.host.sleeping import set_timer_slack_ns
from rt_sched.runtime.host.tiers import HIGHEST_PRIORITY, LOWEST_PRIORITY, Tier
from rt_sched.units import NS_PER_MS, NS_PER_S, NS_PER_US

PERIOD_NS = NS_PER_MS
_AREA = "measured"
_TIMER_BUDGET_NS, _TIMER_SIGNAL = 5 * NS_PER_MS, signal.SIGRTMIN + 7
_PATIENCE_NS = 5 * NS_PER_S
_TICKS, _TICKS_LIMIT_NS = 9, NS_PER_S


@dataclass(frozen=True, slots=True)
class WakeUps:
    """How late a process of one tier was woken, every millisecond. `histogram`: doubling limits with counts."""

    tier: Tier
    count: int
    p50_ns: int
    p99_ns: int
    max_ns: int
    histogram: tuple[tuple[int, int], ...]


def wake_ups(tier: Tier, count: int) -> WakeUps | DeploymentError | OSError:
    """Measured in a child process of that tier, or why it could not be."""
    try:
        lateness = in_child(lambda: _measured(tier, count), limit_s=30 + 10 * count * PERIOD_NS / NS_PER_S)
    except (DeploymentError, OSError) as error:
        return error
    p50_ns, p99_ns = (quantile(lateness, share) for share in (0.5, 0.99))
    return WakeUps(tier, count, p50_ns, p99_ns, max(lateness), histogram(lateness))


def histogram(lateness_ns: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Counts up to 1, 2, 4 ... microseconds, from the first to the last class that has any."""
    counts: dict[int, int] = {}
    for late in lateness_ns:
        limit = NS_PER_US
        while limit < late:
            limit *= 2
        counts[limit] = counts.get(limit, 0) + 1
    limit, classes = min(counts, default=0), []
    while counts and limit <= max(counts):
        classes.append((limit, counts.get(limit, 0)))
        limit *= 2
    return tuple(classes)


def tick_finding(*, in_fifo: bool) -> Finding:
    """The length of a tick, which is how coarse budgets are: as the kernel tells it, and as it is seen."""
    tick = tick_ns()
    try:
        seen = in_child(lambda: _ticks(in_fifo=in_fifo))
    except DeploymentError:  # this process does not come to run; other findings tell why
        seen = []
    costs = f"budgets are kept to {tick / NS_PER_MS:g} ms"
    severity = Severity.OK if tick <= NS_PER_MS else Severity.NOTE
    found = f"{tick / NS_PER_MS:g} ms ({NS_PER_S / tick:g} Hz)"
    if seen:
        found += f", seen {quantile(seen, 0.5) / NS_PER_MS:.2f} ms apart"
    return Finding(_AREA, "tick", severity, found, costs, "" if severity is Severity.OK else "a kernel with HZ=1000")


def cpu_timer_finding(times: int, *, in_fifo: bool) -> tuple[Finding, tuple[int, ...]]:
    """How late timers on a CPU clock are, in time of that clock, with what was measured.

    `in_fifo`: both run under SCHED_FIFO, as worker and supervisor do; otherwise others delay who is told.
    """
    try:
        lateness = in_child(lambda: _cpu_timers(times, in_fifo=in_fifo), limit_s=30 + 3 * times)
    except (DeploymentError, OSError) as error:
        return Finding(_AREA, "CPU timers", Severity.WARNING, f"not measured: {error}", "budgets cannot be kept"), ()
    if not lateness:
        costs = "budgets cannot be kept, or the machine is too busy to tell"
        return Finding(_AREA, "CPU timers", Severity.WARNING, "none expired", costs), ()
    middle, largest = quantile(lateness, 0.5), max(lateness)
    found = f"p50 {middle / NS_PER_US:.0f} us, max {largest / NS_PER_US:.0f} us late"
    if largest <= tick_ns() + NS_PER_MS:
        return Finding(
            _AREA, "CPU timers", Severity.OK, found, "a runaway is noticed that much after its budget"
        ), lateness
    costs = "a runaway is noticed later than a tick after its budget"
    return Finding(_AREA, "CPU timers", Severity.WARNING, found, costs, "a quiet machine, not a virtual one"), lateness


def _ticks(*, in_fifo: bool) -> list[int]:
    if in_fifo:
        set_scheduling(Scheduling.fifo(HIGHEST_PRIORITY))
    return coarse_steps_ns(_TICKS, _TICKS_LIMIT_NS)


def _measured(tier: Tier, count: int) -> list[int]:
    """Pages are locked first, where that is allowed; where it is not, a finding on rights says so."""
    with suppress(Refused):
        lock_memory()
    return _IN_TIER[tier](count)


def _cpu_timers(times: int, *, in_fifo: bool) -> tuple[int, ...]:
    if in_fifo:
        set_scheduling(Scheduling.fifo(HIGHEST_PRIORITY))
    pid = fork(lambda: _compute_for_ever(in_fifo=in_fifo))
    try:
        return tuple(cpu_timer_lateness_ns(pid, _TIMER_BUDGET_NS, times, _TIMER_SIGNAL))
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _compute_for_ever(*, in_fifo: bool) -> None:
    if in_fifo:
        set_scheduling(Scheduling.fifo(LOWEST_PRIORITY))
    while True:
        pass


def _in_deadline(count: int) -> list[int]:
    with ExclusiveCpuset({max(allowed_cores())}, patience_ns=_PATIENCE_NS) as cpuset:
        cpuset.admit(os.getpid())
        with scheduled(Scheduling.deadline(PERIOD_NS // 2, PERIOD_NS, PERIOD_NS)):
            return wake_up_lateness_ns(PERIOD_NS, count)


def _in_fifo(count: int) -> list[int]:
    pin({max(allowed_cores())})
    with scheduled(Scheduling.fifo(HIGHEST_PRIORITY)):
        return wake_up_lateness_ns(PERIOD_NS, count)


def _in_user(count: int) -> list[int]:
    set_timer_slack_ns(1)
    return wake_up_lateness_ns(PERIOD_NS, count)


_IN_TIER = {Tier.DEADLINE: _in_deadline, Tier.FIFO: _in_fifo, Tier.USER: _in_user}
