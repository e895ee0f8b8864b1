"""The loads of a run while it changes from one mode to another.

A run that contains one change is a legal run of all tasks of both modes together: those that are removed stop arriving,
and their jobs end early; those that are added arrive late. Jobs execute no longer than at the slower of both
frequencies, plus the rounding of what is left at the change. So every bound for sporadic arrivals on these loads holds
across the change (Tindell, Burns, Wellings 1992); `methods` looks at the position of the change for less.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum

from rt_sched.analysis.loads.resolve import ModeLoad, loads_of, setups_of
from rt_sched.trace.setup import SectionRow, Setup, TaskRow


class Presence(Enum):
    """What a change of mode does to a task that exists before or after it."""

    KEPT = "kept"
    REMOVED = "removed"
    ADDED = "added"


@dataclass(frozen=True, slots=True)
class Transition:
    """A change from `old` to `new`. `load`: what processors carry while it lasts.

    `presence`: by index of the tasks of either mode. `latency_ns`: of added tasks, from the change to their first
    arrival.
    """

    old: ModeLoad
    new: ModeLoad
    load: ModeLoad
    presence: dict[int, Presence]
    latency_ns: dict[int, int]

    @property
    def name(self) -> str:
        """Such as normal->limp."""
        return f"{self.old.name}->{self.new.name}"

    def of(self, presence: Presence) -> tuple[int, ...]:
        """Indices of the tasks to which the change does this."""
        return tuple(index for index, one in sorted(self.presence.items()) if one is presence)


def transition(old: ModeLoad, new: ModeLoad) -> Transition:
    """The change from mode `old` to mode `new` of one system and plan."""
    presence = {
        index: Presence.KEPT if after and before else Presence.REMOVED if before else Presence.ADDED
        for index, (before, after) in enumerate(zip(old.active, new.active, strict=True))
        if before or after
    }
    longest = tuple(
        _longest_row(old.setup, new.setup, index, presence.get(index)) for index in range(len(old.setup.tasks))
    )
    shortest = _shortest_rows(old, new)
    load = loads_of(
        f"{old.name}->{new.name}",
        new.system,
        new.plan,
        replace(new.setup, tasks=longest),
        replace(new.setup, tasks=shortest),
        tuple(index in presence for index in range(len(longest))),
    )
    slower = {place: max(old.slower.get(place, ratio), ratio) for place, ratio in new.slower.items()}
    load = replace(load, slower=slower)
    latency_ns = {index: longest[index].start_latency_ns for index, one in presence.items() if one is Presence.ADDED}
    return Transition(old, new, load, presence, latency_ns)


def _longest_row(old: Setup, new: Setup, index: int, presence: Presence | None) -> TaskRow:
    """A task with the longest parts that a job of the transition may have."""
    before, after = old.tasks[index], new.tasks[index]
    old_khz = old.processors[before.processor].frequency_khz
    new_khz = new.processors[after.processor].frequency_khz
    if presence is Presence.ADDED:
        return after
    # A removed job goes on until it holds no lock, and so may execute at the new frequency.
    if old_khz == new_khz or (presence is Presence.REMOVED and not before.sections):
        return before
    slow = before if old_khz < new_khz else after
    if before.sections or before.preemption_points_ns:
        ratio_ns = -(-max(old_khz, new_khz) // min(old_khz, new_khz))
        return stretched(slow, ratio_ns + 2)
    longest_ns = max(_demand_ns(before), _demand_ns(after), _changed_at_once_ns(before, old_khz, new_khz))
    extra_ns = longest_ns - _demand_ns(slow)
    low_ns = None if slow.low_budget_ns is None else slow.low_budget_ns + extra_ns
    return replace(slow, demand_ns=longest_ns, low_budget_ns=low_ns)


def _changed_at_once_ns(row: TaskRow, old_khz: int, new_khz: int) -> int:
    """Executed time of the longest job when the frequency changes after its first nanosecond.

    On a change to a lower frequency no later instant makes it longer: each nanosecond that is executed before takes at
    least one off the rest, rounded up.
    """
    left_ns = _demand_ns(row) - 1
    compute_ns = max(left_ns - row.memory_ns, 0)
    return 1 + -(-compute_ns * old_khz // new_khz) + left_ns - compute_ns


def stretched(row: TaskRow, extra_ns: int) -> TaskRow:
    """The task with every part between two marks inside its jobs longer by `extra_ns`.

    Where a change of frequency falls into a part, that part, and each one after it, are rounded up on their own.
    """
    demand_ns = _demand_ns(row)
    marks = {demand_ns, *_marks(row)}
    place = {mark: mark + extra_ns * rank for rank, mark in enumerate(sorted({0, *marks}))}
    points = row.preemption_points_ns
    return replace(
        row,
        demand_ns=place[demand_ns],
        sections=tuple(SectionRow(one.resource, place[one.start_ns], place[one.end_ns]) for one in row.sections),
        preemption_points_ns=None if points is None else tuple(place[point] for point in points),
        low_budget_ns=None if row.low_budget_ns is None else row.low_budget_ns + place[demand_ns] - demand_ns,
    )


def _marks(row: TaskRow) -> Iterable[int]:
    yield from row.preemption_points_ns or ()
    for one in row.sections:
        yield one.start_ns
        yield one.end_ns


def _demand_ns(row: TaskRow) -> int:
    return row.demand_ns if isinstance(row.demand_ns, int) else row.demand_ns[-1]


def _shortest_rows(old: ModeLoad, new: ModeLoad) -> tuple[TaskRow, ...]:
    """Every task with the shorter of its shortest jobs in both modes."""
    pairs = zip(setups_of(old.system, old.plan)[1].tasks, setups_of(new.system, new.plan)[1].tasks, strict=True)
    return tuple(min(before, after, key=_demand_ns) for before, after in pairs)
