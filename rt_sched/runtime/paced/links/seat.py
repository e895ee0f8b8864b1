"""What the processes of emulated links take from the tasks: where they run, and how much of that core.

They stand above all tasks, so each is one more task of a processor to every analysis beside a run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rt_sched.analysis.methods.reservations import Reservation
from rt_sched.model import Plan, System
from rt_sched.runtime.paced.feed.publisher import BYTE_NS, DEADLINE_TIMES, MESSAGE_NS
from rt_sched.runtime.paced.jobs.edges import apart_ns, source_of
from rt_sched.trace.setup import Setup
from rt_sched.units import NS_PER_S, ceil_int

#: A message wakes the process and is copied when it is sent, and once more when it is delivered.
_TIMES = 2


@dataclass(frozen=True, slots=True)
class LinkSeat:
    """It takes at most that of `reservation` from `processor` of the plan, by its index; `name`: of the link."""

    name: str
    processor: int
    reservation: Reservation

    @property
    def late_ns(self) -> int:
        """By how much a message may be delivered later than the link would have it."""
        return self.reservation.deadline_ns


def link_seats(
    system: System, plan: Plan, setup: Setup, bytes_of: Mapping[tuple[str, str | None], int]
) -> tuple[LinkSeat, ...]:
    """Of every link that messages go over, on the processor with the fewest tasks. `bytes_of`: largest messages."""
    tasks = [sum(one.processor == index for one in plan.placements) for index in range(len(plan.processors))]
    chosen = min(range(len(plan.processors)), key=tasks.__getitem__)
    found = []
    for index, link in enumerate(setup.links):
        edges = [(number, edge) for number, edge in enumerate(setup.edges) if edge.link == index]
        if edges:
            sizes = [bytes_of.get(source_of(system, number), 0) for number, _ in edges]
            runtime_ns = sum(_TIMES * (MESSAGE_NS + ceil_int(BYTE_NS * size)) for size in sizes)
            deadline_ns = DEADLINE_TIMES * runtime_ns
            period_ns = min((apart_ns(system, edge) for _, edge in edges), default=NS_PER_S)
            found.append(LinkSeat(link.name, chosen, Reservation(runtime_ns, deadline_ns, max(deadline_ns, period_ns))))
    return tuple(found)


def seat_of(seats: Sequence[LinkSeat], link: str) -> LinkSeat | None:
    """That of a link, None where nothing goes over it."""
    return next((seat for seat in seats if seat.name == link), None)
