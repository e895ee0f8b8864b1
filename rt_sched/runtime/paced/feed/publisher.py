"""What the process that publishes samples takes from the tasks: where it runs, and how much of that core.

It stands above all tasks, so it is one more task of a processor to every analysis beside a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from rt_sched.analysis.methods.reservations import Reservation
from rt_sched.model import Plan, System
from rt_sched.runtime.paced.deployment import core_mates
from rt_sched.runtime.paced.seats.density import sensor_flow
from rt_sched.runtime.paced.seats.fitting import Room
from rt_sched.runtime.paced.seats.wakeups import Wakeups, reservations_of
from rt_sched.units import NS_PER_US, ceil_int

#: To wake up and publish one message, and to copy a byte of it: at least twice of what slow virtual machines need.
MESSAGE_NS = 500 * NS_PER_US
BYTE_NS = Fraction(3, 5)
#: How late a message may be where nothing is reserved, as a multiple of what one of each kind takes.
LATE_TIMES = 2


@dataclass(frozen=True, slots=True)
class Publisher:
    """On `processor` of the plan, by its index, it wakes up for every sample.

    `reservation`: in the tier `deadline`, else None.
    """

    processor: int
    wakeups: tuple[Wakeups, ...]
    reservation: Reservation | None = None

    @property
    def late_ns(self) -> int:
        """By how much a sample may be published after its instant."""
        if self.reservation is not None:
            return self.reservation.period_ns
        return LATE_TIMES * sum(one.cost_ns for one in self.wakeups)


def publisher_of(
    system: System, plan: Plan, bytes_of: Mapping[tuple[str, str | None], int], room: Room | None
) -> Publisher:
    """On a processor on whose core it delays the fewest tasks; where reservations have to fit, on the first with room.

    `bytes_of`: largest message of each sensor, port None. `room`: in the tier `deadline`, else None.
    """
    wakeups = tuple(
        Wakeups(sensor.name, message_ns(bytes_of[sensor.name, None]), flow.period_ns, flow.jitter_ns)
        for sensor in system.sensors
        if (sensor.name, None) in bytes_of and (flow := sensor_flow(sensor))
    )
    tasks, load = [0] * len(plan.processors), [0.0] * len(plan.processors)
    for task, placement in zip(system.tasks, plan.placements, strict=True):
        tasks[placement.processor] += 1
        load[placement.processor] += task.execution.wcet_ns / max(task.separation_ns, 1)
    mates = core_mates(system, plan)
    order = sorted(
        range(len(plan.processors)),
        key=lambda one: (sum(tasks[mate] for mate in mates[one]), sum(load[mate] for mate in mates[one])),
    )
    if room is None:
        return Publisher(order[0], wakeups)
    tries = [(place, one) for place in order for one in reservations_of(wakeups)]
    processor, reservation = room.place(tries, wakeups) or room.greedy().place(tries, wakeups) or tries[0]
    return Publisher(processor, wakeups, reservation)


def message_ns(size: int) -> int:
    """To wake up for a message of so many bytes, and to copy it."""
    return MESSAGE_NS + ceil_int(BYTE_NS * size)
