"""What the processes of emulated links take from the tasks: where they run, and how much of that core.

They stand above all tasks, so each is one more task of a processor to every analysis beside a run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from rt_sched.analysis.faults.takeover_detection import concept_of
from rt_sched.analysis.methods.reservations import Reservation
from rt_sched.model import Plan, System
from rt_sched.runtime.paced.deployment import core_mates
from rt_sched.runtime.paced.feed.publisher import LATE_TIMES, Publisher, message_ns
from rt_sched.runtime.paced.jobs.edges import source_of
from rt_sched.runtime.paced.seats.density import MOST_LATE_NS, Density, densities
from rt_sched.runtime.paced.seats.fitting import Room
from rt_sched.runtime.paced.seats.wakeups import Wakeups, demand_ns
from rt_sched.trace.setup import Setup
from rt_sched.units import NS_PER_MS, NS_PER_US

#: To send or deliver a sign of life.
_BEAT_NS = 100 * NS_PER_US
#: A message wakes the process and is copied when it is sent, and once more when it is delivered.
_TIMES = 2
#: How late a link may be that has a reservation: the first of these for which there is room.
_LATE_NS = (*(n * NS_PER_MS for n in (2, 3, 5, 7, 10, 15, 20, 25, 30, 40, 50, 60, 80)), MOST_LATE_NS)


@dataclass(frozen=True, slots=True)
class LinkSeat:
    """`name`: of the link. On `processor` of the plan, by its index, it wakes up for every message.

    `late_ns`: by how much a message may be delivered later than the link would have it. `reservation`: in the tier
    `deadline`, else None.
    """

    name: str
    processor: int
    wakeups: tuple[Wakeups, ...]
    late_ns: int
    reservation: Reservation | None = None


def link_seats(
    system: System,
    plan: Plan,
    setup: Setup,
    bytes_of: Mapping[tuple[str, str | None], int],
    publisher: Publisher,
    room: Room | None,
    watched: Collection[str] = (),
) -> tuple[LinkSeat, ...]:
    """Of every link that anything goes over, on a processor whose core has the fewest tasks, or where there is room.

    `bytes_of`: largest messages. `room`: in the tier `deadline`, else None. `watched`: links with signs of life.
    """
    used = [
        link
        for link, row in enumerate(setup.links)
        if row.name in watched or any(edge.link == link for edge in setup.edges)
    ]
    each_ns = [message_ns(bytes_of.get(source_of(system, number), 0)) for number in range(len(setup.edges))]

    def seats(late_ns: Mapping[int, int]) -> list[tuple[str, tuple[Wakeups, ...], int]]:
        found = densities(system, setup, late_ns, publisher.late_ns)
        return [
            (setup.links[link].name, tuple(_wakeups(system, setup, link, found, each_ns, watched)), late_ns[link])
            for link in used
        ]

    if room is None:
        tasks = [sum(one.processor in mates for one in plan.placements) for mates in core_mates(system, plan)]
        chosen = tasks.index(min(tasks))
        one_each_ns = {
            link: sum(each_ns[n] for n, edge in enumerate(setup.edges) if edge.link == link) for link in used
        }
        sooner_ns = {link: LATE_TIMES * _TIMES * whole_ns for link, whole_ns in one_each_ns.items()}
        return tuple(LinkSeat(name, chosen, wakeups, late_ns) for name, wakeups, late_ns in seats(sooner_ns))
    for tried, late_ns in product((room, room.greedy()), _LATE_NS):
        found = _placed(seats(dict.fromkeys(used, late_ns)), tried.copy(), plan)
        if all(fits for _, fits in found):
            break
    return tuple(seat for seat, _ in found)


def _placed(
    wanted: Sequence[tuple[str, tuple[Wakeups, ...], int]], room: Room, plan: Plan
) -> list[tuple[LinkSeat, bool]]:
    """Each with whether it fits; one that does not is where least is taken."""
    found = []
    for name, wakeups, late_ns in wanted:
        order = sorted(range(len(plan.processors)), key=room.part)
        one = Reservation(demand_ns(wakeups, late_ns), late_ns, late_ns)
        place = room.place([(processor, one) for processor in order], wakeups)
        processor = order[0] if place is None else place[0]
        found.append((LinkSeat(name, processor, wakeups, late_ns, one), place is not None))
    return found


def _wakeups(
    system: System,
    setup: Setup,
    link: int,
    found: Mapping[int, Density],
    each_ns: Sequence[int],
    watched: Collection[str],
) -> Iterator[Wakeups]:
    """For every message when it is published, when it begins to count if that is later, and when it is due."""
    for number, density in found.items():
        edge = setup.edges[number]
        if edge.link != link:
            continue
        name = f"{setup.tasks[edge.target].name}.{edge.input}"
        later = density.counting is not density.published
        kinds = (("taken", density.published), ("sent", density.counting if later else ()), ("due", density.due))
        for kind, flows in kinds:
            for flow in flows:
                yield Wakeups(f"{name} {kind}", each_ns[number], flow.period_ns, flow.jitter_ns)
    if setup.links[link].name in watched:
        period_ns = concept_of(system).heartbeat.period_ns
        yield from (Wakeups(f"signs {kind}", _BEAT_NS, period_ns) for kind in ("sent", "due"))


def seat_of(seats: Sequence[LinkSeat], link: str) -> LinkSeat | None:
    """That of a link, None where nothing does."""
    return next((seat for seat in seats if seat.name == link), None)
