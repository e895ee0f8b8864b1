"""What the process that publishes samples takes from the tasks: where it runs, and how much of that core.

It stands above all tasks, so it is one more task of a processor to every analysis beside a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from rt_sched.analysis.methods.reservations import Reservation
from rt_sched.model import Plan, System
from rt_sched.units import NS_PER_S, NS_PER_US, ceil_int, floor_int

#: To publish one message, and to copy a byte of it: at least twice of what slow virtual machines need.
MESSAGE_NS = 500 * NS_PER_US
BYTE_NS = Fraction(3, 5)
#: Its deadline, as a multiple of what it may take.
DEADLINE_TIMES = 2


@dataclass(frozen=True, slots=True)
class Publisher:
    """It takes at most that of `reservation` from `processor` of the plan, by its index."""

    processor: int
    reservation: Reservation


def publisher_of(system: System, plan: Plan, bytes_of: Mapping[tuple[str, str | None], int]) -> Publisher:
    """On the processor with the fewest tasks to delay. `bytes_of`: largest message of each sensor, port None."""
    read = [sensor for sensor in system.sensors if (sensor.name, None) in bytes_of]
    runtime_ns = sum(MESSAGE_NS + ceil_int(BYTE_NS * bytes_of[sensor.name, None]) for sensor in read)
    apart_ns = [
        floor_int(NS_PER_S / sensor.rate_hz) - 2 * (sensor.jitter_ns + sensor.capture_jitter_ns) for sensor in read
    ]
    deadline_ns = DEADLINE_TIMES * max(runtime_ns, 1)
    tasks, load = [0] * len(plan.processors), [0.0] * len(plan.processors)
    for task, placement in zip(system.tasks, plan.placements, strict=True):
        tasks[placement.processor] += 1
        load[placement.processor] += task.execution.wcet_ns / max(task.separation_ns, 1)
    chosen = min(range(len(plan.processors)), key=lambda one: (tasks[one], load[one]))
    period_ns = max(deadline_ns, min(apart_ns, default=NS_PER_S))
    return Publisher(chosen, Reservation(max(runtime_ns, 1), deadline_ns, period_ns))
