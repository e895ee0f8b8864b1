"""What every placement method is given: tasks, places that could run them, what that costs, and what flows between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

#: Loads are counted in millionths of one core.
WHOLE_CORE = 1_000_000


@dataclass(frozen=True, slots=True)
class Hop:
    """`after` can begin once `before` has ended and its message has come.

    `cost_ns[g][h]`: time of the message from a place of group g to one of group h, None where no way leads there.
    """

    before: int
    after: int
    cost_ns: tuple[tuple[int | None, ...], ...]


@dataclass(frozen=True)
class PlacementProblem:
    """One job of every task, and the share of its place that each task needs in the long run.

    Places are processing elements; those of one device form a group, within which messages take no time. Shapes:
    `wcet_ns`, `entry_ns`: [n_tasks][n_places], None where a task must not run; `entry_ns` is the earliest begin there,
    which is when the data of a sensor arrives. `load`: [n_tasks][n_places] in millionths of one core, rounded up.
    `cores`, `group_of`: [n_places]. `memory_bytes`: [n_tasks]; `memory_limits`: [n_groups], None: not limited.
    `together`: tasks that must share a place. `ways`: messages that only have to find a way, at whatever time.
    `ends`: tasks with whose end a chain, or a part of one, is done, with their weights. `busy_mw`: [n_places], more
    than idle, of one core; `idle_mw`: [n_places], of an element in use.
    """

    tasks: tuple[str, ...]
    places: tuple[str, ...]
    cores: tuple[int, ...]
    group_of: tuple[int, ...]
    wcet_ns: tuple[tuple[int | None, ...], ...]
    hops: tuple[Hop, ...]
    entry_ns: tuple[tuple[int | None, ...], ...] = ()
    load: tuple[tuple[int, ...], ...] = ()
    memory_bytes: tuple[int, ...] = ()
    memory_limits: tuple[int | None, ...] = ()
    together: tuple[tuple[int, ...], ...] = ()
    ends: tuple[tuple[int, int], ...] = ()
    busy_mw: tuple[int, ...] = ()
    idle_mw: tuple[int, ...] = ()
    ways: tuple[Hop, ...] = ()

    @cached_property
    def open_places(self) -> tuple[tuple[int, ...], ...]:
        """For each task the places where it may run."""
        return tuple(
            tuple(p for p, cost in enumerate(row) if cost is not None and self.entry(task, p) is not None)
            for task, row in enumerate(self.wcet_ns)
        )

    @cached_property
    def blocked(self) -> tuple[Hop, ...]:
        """The messages that do not find a way between all places."""
        return tuple(hop for hop in (*self.hops, *self.ways) if any(None in row for row in hop.cost_ns))

    @cached_property
    def before(self) -> tuple[tuple[Hop, ...], ...]:
        """For each task the hops that lead to it."""
        return tuple(tuple(hop for hop in self.hops if hop.after == task) for task in range(len(self.tasks)))

    @cached_property
    def after(self) -> tuple[tuple[Hop, ...], ...]:
        """For each task the hops that begin at it."""
        return tuple(tuple(hop for hop in self.hops if hop.before == task) for task in range(len(self.tasks)))

    def entry(self, task: int, place: int) -> int | None:
        """The earliest begin of a task on a place, None where its data does not come."""
        return self.entry_ns[task][place] if self.entry_ns else 0

    def hop_ns(self, hop: Hop, before_place: int, after_place: int) -> int | None:
        """Time of a message between two places."""
        return hop.cost_ns[self.group_of[before_place]][self.group_of[after_place]]

    def reached(self, task: int, place: int, placed: Mapping[int, int]) -> bool:
        """Whether messages find a way between a task on a place and all tasks that are placed."""
        for hop in self.blocked:
            if hop.after == task and hop.before in placed and self.hop_ns(hop, placed[hop.before], place) is None:
                return False
            if hop.before == task and hop.after in placed and self.hop_ns(hop, place, placed[hop.after]) is None:
                return False
        return True

    def restricted(self, places_of: Mapping[int, Sequence[int]]) -> PlacementProblem:
        """The problem with fewer places for some tasks."""
        wcet_ns = tuple(
            tuple(cost if task not in places_of or p in places_of[task] else None for p, cost in enumerate(row))
            for task, row in enumerate(self.wcet_ns)
        )
        return replace(self, wcet_ns=wcet_ns)

    def in_order(self) -> tuple[int, ...]:
        """The tasks so that each stands behind all that it waits for; raises ValueError for a circle."""
        missing = [len(hops) for hops in self.before]
        ready = [task for task, count in enumerate(missing) if not count]
        order = []
        while ready:
            task = ready.pop(0)
            order.append(task)
            for hop in self.after[task]:
                missing[hop.after] -= 1
                if not missing[hop.after]:
                    ready.append(hop.after)
        if len(order) < len(self.tasks):
            raise ValueError("the tasks wait for each other in a circle")
        return tuple(order)


@dataclass(frozen=True, slots=True)
class FrameSchedule:
    """One job of each task: its place, the core of that, begin and end. Shapes [n_tasks]."""

    place: tuple[int, ...]
    core: tuple[int, ...]
    start_ns: tuple[int, ...]
    end_ns: tuple[int, ...]

    @property
    def makespan_ns(self) -> int:
        """When the last job ends."""
        return max(self.end_ns, default=0)


def check_frame(problem: PlacementProblem, schedule: FrameSchedule) -> list[str]:
    """Every rule of the problem that a schedule breaks, whoever made it."""
    broken = []
    names, rows = problem.tasks, range(len(problem.tasks))
    for task in rows:
        place = schedule.place[task]
        wcet_ns, entry_ns = problem.wcet_ns[task][place], problem.entry(task, place)
        if wcet_ns is None or entry_ns is None:
            broken.append(f"{names[task]} must not run on {problem.places[place]}")
            continue
        if schedule.end_ns[task] - schedule.start_ns[task] != wcet_ns:
            broken.append(f"{names[task]} does not take {wcet_ns} ns")
        if schedule.start_ns[task] < entry_ns:
            broken.append(f"{names[task]} begins before its data comes")
        if not 0 <= schedule.core[task] < problem.cores[place]:
            broken.append(f"{names[task]} is on a core that {problem.places[place]} has not")
    for hop in problem.hops:
        cost_ns = problem.hop_ns(hop, schedule.place[hop.before], schedule.place[hop.after])
        if cost_ns is None or schedule.start_ns[hop.after] < schedule.end_ns[hop.before] + cost_ns:
            broken.append(f"{names[hop.after]} begins before the message of {names[hop.before]} comes")
    for one in rows:
        for other in range(one + 1, len(problem.tasks)):
            same = (schedule.place[one], schedule.core[one]) == (schedule.place[other], schedule.core[other])
            if same and max(schedule.start_ns[one], schedule.start_ns[other]) < min(
                schedule.end_ns[one], schedule.end_ns[other]
            ):
                broken.append(f"{names[one]} and {names[other]} overlap")
    return broken
