"""What the process that watches sensors is asked to do, and what has become of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rt_sched.units import NS_PER_MS
from safety.monitors.delivery import Monitor
from safety.monitors.silence import Silence

#: Who sends the reports, as the arbiter's check takes it.
HEALTH_SOURCE = "rt-health.health"
#: How long the process may stand still before another takes its place, at least, and how often it is looked at then;
#: of the host's clock.
PATIENCE_NS, LOOK_NS = 1000 * NS_PER_MS, 100 * NS_PER_MS


@dataclass(frozen=True, slots=True)
class WatchedSensor:
    """`monitors`, `silence`: new ones, which know nothing yet; the latter is given the run time at which it begins."""

    name: str
    monitors: Callable[[], Sequence[Monitor]]
    silence: Callable[[int], Silence]


@dataclass(frozen=True, slots=True)
class HealthOrder:
    """`sensors`: that are watched. `device`: whose supervisor starts the process and watches over it.

    `period_ns`: of its cycles, in each of which it reports. `cycle_wcet_ns`: declared CPU time of one. `processor`: of
    the plan, by its index, on whose core it runs where no core is free. `age_limit_ns`: after which a report counts no
    more. `good_samples`: in a row, that give trust back. `reader`: the task that its reports are fed to, None for none.
    `is_ordinary`: where no core is free it has no real-time class, as it would leave other processes too little.
    """

    sensors: Sequence[WatchedSensor]
    device: str
    period_ns: int
    cycle_wcet_ns: int
    processor: int
    age_limit_ns: int
    good_samples: int
    reader: str | None
    is_ordinary: bool = False

    @property
    def delay_ns(self) -> int:
        """By how much it may notice later than a monitor declares: a cycle until it looks, and one to look in."""
        return 2 * self.period_ns


@dataclass(frozen=True, slots=True)
class Noticed:
    """At `time_ns` a monitor was known to find something in a message that had come at `arrival_ns`.

    Of silence the latter is the instant of the look.
    """

    time_ns: int
    arrival_ns: int
    sensor: str
    monitor: str
    worst_case_ns: int
    reason: str


@dataclass(frozen=True, slots=True)
class Change:
    """At `time_ns` a sensor was trusted again, or, not `trusted`, no more; `monitor`: that took the trust away."""

    time_ns: int
    sensor: str
    trusted: bool
    monitor: str | None


@dataclass(frozen=True, slots=True)
class WatchLoss:
    """The watching process itself: at `noticed_ns` it had ended, or stood `still`; `back_ns`: of its next report.

    `last_ns`: of its last report before, 0 before the first.
    """

    noticed_ns: int
    still: bool
    back_ns: int | None
    last_ns: int


@dataclass(frozen=True, slots=True)
class HealthRecord:
    """What became of the watch. `late`: cycles that ended later than their period; `cycle_max_ns`: the longest."""

    order: HealthOrder
    noticed: tuple[Noticed, ...]
    changes: tuple[Change, ...]
    losses: tuple[WatchLoss, ...]
    cycles: int
    late: int
    samples: int
    missed: int
    cpu_ns: int
    cycle_cpu_max_ns: int
    cycle_max_ns: int
