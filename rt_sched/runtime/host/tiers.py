"""Which tiers of the paced runtime this machine allows: each is tried out in a child process, none is guessed."""

from __future__ import annotations

import mmap
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from rt_sched.errors import DeploymentError
from rt_sched.runtime.host.affinity import allowed_cores, pin
from rt_sched.runtime.host.child import in_child
from rt_sched.runtime.host.cpu_time import CpuTimer, process_clock, thread_clock
from rt_sched.runtime.host.cpuset import ExclusiveCpuset
from rt_sched.runtime.host.memory import lock_memory
from rt_sched.runtime.host.mutex import Protocol, SharedMutex
from rt_sched.runtime.host.processes import ProcessHandle
from rt_sched.runtime.host.refusal import Refused
from rt_sched.runtime.host.scheduling import Scheduling, scheduling_of, set_scheduling
from rt_sched.runtime.host.sleeping import now_ns, sleep_until_ns
from rt_sched.units import NS_PER_MS, NS_PER_S

#: The lowest and the highest priority that the runtime gives away; the highest is the supervisor's.
LOWEST_PRIORITY, HIGHEST_PRIORITY = 1, 90

_PATIENCE_NS = 5 * NS_PER_S


class Tier(str, Enum):
    """How a paced run is scheduled, the best first; stamped into every result."""

    DEADLINE = "deadline"
    FIFO = "fifo"
    USER = "user"


@dataclass(frozen=True, slots=True)
class TierReport:
    """Whether a tier is there. `reasons`: what is missing for it, or, where it is available, what it goes without."""

    tier: Tier
    available: bool
    reasons: tuple[str, ...]


def available_tiers() -> tuple[TierReport, ...]:
    """Every tier, the best first, as this process would have it. Takes about a tenth of a second.

    Trying the first one makes an exclusive cpuset of one core and removes it. Call it before starting threads.
    """
    return tuple(_report(tier, attempt) for tier, attempt in _ATTEMPTS.items())


def _report(tier: Tier, attempt: Callable[[], tuple[str, ...]]) -> TierReport:
    try:
        return TierReport(tier, True, in_child(attempt, limit_s=30.0))
    except (DeploymentError, OSError) as error:
        return TierReport(tier, False, (str(error),))


def _try_deadline() -> tuple[str, ...]:
    """One core of its own, and three periods under a reservation on it."""
    wanted = Scheduling.deadline(NS_PER_MS, 5 * NS_PER_MS, 5 * NS_PER_MS, overrun_signal=True)
    with ExclusiveCpuset({max(allowed_cores())}, patience_ns=_PATIENCE_NS) as cpuset:
        cpuset.admit(os.getpid())
        set_scheduling(wanted)
        _must_be_told(wanted)
        _sleep_thrice()
        set_scheduling(Scheduling.other())
    return _common()


def _try_fifo() -> tuple[str, ...]:
    """Priorities on one core, a mutex with inheritance, a budget on the own thread and on another process."""
    for priority in (LOWEST_PRIORITY, HIGHEST_PRIORITY):
        wanted = Scheduling.fifo(priority)
        set_scheduling(wanted)
        _must_be_told(wanted)
    pin({min(allowed_cores())})
    _lock_once(Protocol.INHERIT)
    for clock in (thread_clock(os.getpid()), process_clock(os.getppid())):
        with CpuTimer(clock, signal.SIGXCPU) as timer:
            timer.arm(NS_PER_S)
            timer.disarm()
    _sleep_thrice()
    return _common()


def _try_user() -> tuple[str, ...]:
    """A mutex between processes, an instant to sleep until, and descriptors of processes."""
    _lock_once(Protocol.NONE)
    _sleep_thrice()
    with ProcessHandle(os.getpid()):
        return ()


def _common() -> tuple[str, ...]:
    try:
        lock_memory()
    except Refused as refusal:
        return (f"jobs may wait for pages of memory. {refusal}",)
    return ()


def _must_be_told(wanted: Scheduling) -> None:
    """Sandboxes may accept a class and not carry it out."""
    found = scheduling_of()
    if found != wanted:
        raise Refused(str(wanted), f"the kernel accepted it, and runs {found}")


def _lock_once(protocol: Protocol) -> None:
    with mmap.mmap(-1, mmap.PAGESIZE) as memory:
        mutex = SharedMutex.create(memory, protocol=protocol)
        with mutex.held():
            pass
        mutex.destroy()


def _sleep_thrice() -> None:
    instant = now_ns()
    for _ in range(3):
        instant += NS_PER_MS
        sleep_until_ns(instant)


_ATTEMPTS = {Tier.DEADLINE: _try_deadline, Tier.FIFO: _try_fifo, Tier.USER: _try_user}
