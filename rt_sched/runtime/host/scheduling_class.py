"""Scheduling classes with their parameters, as data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from rt_sched.units import format_ns

#: The kernel admits no shorter runtime under DEADLINE (its scale of bandwidths is 2**10 ns).
MIN_RUNTIME_NS = 1024


class SchedulingClass(IntEnum):
    """What the kernel calls a policy."""

    OTHER = 0
    FIFO = 1
    RR = 2
    BATCH = 3
    IDLE = 5
    DEADLINE = 6
    EXT = 7

    @property
    def is_real_time(self) -> bool:
        """Whether a thread of it runs before all of OTHER, BATCH, IDLE and EXT."""
        return self in (SchedulingClass.FIFO, SchedulingClass.RR, SchedulingClass.DEADLINE)


@dataclass(frozen=True, slots=True)
class Scheduling:
    """The class of a thread with its parameters; use the constructors `other`, `fifo` and `deadline`.

    `priority`: 1 (lowest) to 99, FIFO and RR only. `nice`: -20 to 19. `runtime_ns` in every `period_ns`, due
    `deadline_ns` after its start: DEADLINE only. `reset_on_fork`: children begin under OTHER. `overrun_signal`: SIGXCPU
    when a DEADLINE thread has used up its runtime.
    """

    scheduling_class: SchedulingClass
    priority: int = 0
    nice: int = 0
    runtime_ns: int = 0
    deadline_ns: int = 0
    period_ns: int = 0
    reset_on_fork: bool = False
    overrun_signal: bool = False

    @classmethod
    def other(cls, nice: int = 0) -> Scheduling:
        """The class of ordinary processes."""
        if not -20 <= nice <= 19:
            raise ValueError(f"nice is from -20 to 19, not {nice}")
        return cls(SchedulingClass.OTHER, nice=nice)

    @classmethod
    def fifo(cls, priority: int, *, reset_on_fork: bool = True) -> Scheduling:
        """Fixed priority; runs until it blocks or something of higher priority wakes."""
        if not 1 <= priority <= 99:
            raise ValueError(f"a priority of SCHED_FIFO is from 1 to 99, not {priority}")
        return cls(SchedulingClass.FIFO, priority=priority, reset_on_fork=reset_on_fork)

    @classmethod
    def deadline(cls, runtime_ns: int, deadline_ns: int, period_ns: int, *, overrun_signal: bool = False) -> Scheduling:
        """EDF with a constant-bandwidth server. A thread under it may only fork with RESET_ON_FORK, which is set."""
        if not MIN_RUNTIME_NS <= runtime_ns <= deadline_ns <= period_ns < 1 << 63:
            raise ValueError(
                f"SCHED_DEADLINE needs {MIN_RUNTIME_NS} ns <= runtime <= deadline <= period, "
                f"not {runtime_ns}, {deadline_ns} and {period_ns} ns"
            )
        return cls(
            SchedulingClass.DEADLINE,
            runtime_ns=runtime_ns,
            deadline_ns=deadline_ns,
            period_ns=period_ns,
            reset_on_fork=True,
            overrun_signal=overrun_signal,
        )

    def __str__(self) -> str:
        name = f"SCHED_{self.scheduling_class.name}"
        if self.scheduling_class is SchedulingClass.DEADLINE:
            times = (self.runtime_ns, self.deadline_ns, self.period_ns)
            return f"{name} {' / '.join(format_ns(time) for time in times)}"
        if self.scheduling_class.is_real_time:
            return f"{name} priority {self.priority}"
        return f"{name} nice {self.nice}" if self.nice else name
