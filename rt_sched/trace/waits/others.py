"""Who had the core while a job waited for it, and why (semantics 4 to 6, 14)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from rt_sched.trace.checker.keys import preempts
from rt_sched.trace.checker.windows import SLACK_KEY
from rt_sched.trace.records import SliceKind
from rt_sched.trace.setup import Policy, Protocol
from rt_sched.trace.waits.kinds import Cause, Part, PartKind, Reason
from rt_sched.trace.waits.schedule import Schedule

#: What makes a key better, where it is not the level.
_BETTER = {Policy.EDF: Reason.EARLIER_DEADLINE, Policy.FIFO: Reason.EARLIER_RELEASE}


@dataclass(frozen=True, slots=True)
class _Window:
    """A slice or table entry, or the time between entries: whose it is, and whether anybody may run in it.

    `tasks`: of a slice; `mine`: whether it belongs to the job that waits; `shared`: whether others may use its slack.
    """

    name: str
    reason: Reason
    mine: bool
    usable: bool = True
    shared: bool = False
    tasks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _Occupant:
    """A job that has a core, and what the core does for it."""

    job: int
    kind: SliceKind


def waiting_parts(schedule: Schedule, job: int, start_ns: int, end_ns: int) -> Iterator[Part]:
    """[start_ns, end_ns), in which the job was ready without a core, split by who had the cores and why."""
    for begin_ns, until_ns, window in _windows(schedule, job, start_ns, end_ns):
        for first_ns, last_ns, occupants in _occupancy(schedule, job, begin_ns, until_ns):
            changes = _changes(schedule, [job, *(one.job for one in occupants if one is not None)])
            edges = [first_ns, *sorted(t for t in changes if first_ns < t < last_ns), last_ns]
            for at_ns, to_ns in pairwise(edges):
                yield _part(schedule, job, at_ns, to_ns, occupants, window)


def _changes(schedule: Schedule, jobs: list[int]) -> set[int]:
    """Instants at which something may change in how the first of some jobs stands to the others."""
    ceilings = schedule.locks.ceilings.get(int(schedule.history.row[jobs[0]]), ())
    return {time_ns for time_ns, _, _ in ceilings}.union(*(schedule.key_changes(job) for job in jobs))


def _windows(schedule: Schedule, job: int, start_ns: int, end_ns: int) -> Iterator[tuple[int, int, _Window | None]]:
    """[start_ns, end_ns) by the slices or entries of the job's processor; whole under other policies."""
    row, processor = int(schedule.history.row[job]), schedule.processor(job)
    if processor.policy not in (Policy.TIME_SLICED, Policy.TABLE):
        yield start_ns, end_ns, None
        return
    sliced = processor.policy is Policy.TIME_SLICED
    spans, begins, owners = schedule.windows(row)
    between = _Window("between entries", Reason.ENTRY, False, usable=False)
    at_ns, place = start_ns, max(bisect_right(begins, start_ns) - 1, 0)
    while at_ns < end_ns and place < len(begins):
        begin_ns, usable_ns, until_ns = begins[place], int(spans.usable_ns[place]), int(spans.end_ns[place])
        index = int(spans.index[place])
        if at_ns < min(begin_ns, end_ns):
            yield at_ns, min(begin_ns, end_ns), between
            at_ns = min(begin_ns, end_ns)
        if at_ns < min(usable_ns, end_ns):
            yield at_ns, min(usable_ns, end_ns), _Window(f"switch to slice {index}", Reason.SLICE, False, usable=False)
            at_ns = min(usable_ns, end_ns)
        if at_ns < min(until_ns, end_ns):
            if sliced:
                tasks = processor.slices[index].tasks
                mine = int(schedule.trace.jobs.task[job]) in tasks
                window = _Window(
                    f"slice {index}", Reason.SLICE, mine, shared=processor.slack_sharing and not mine, tasks=tasks
                )
            else:
                window = _Window(f"entry {index}", Reason.ENTRY, owners[place] == job)
            yield at_ns, min(until_ns, end_ns), window
            at_ns = min(until_ns, end_ns)
        place += 1
    if at_ns < end_ns:
        yield at_ns, end_ns, between


def _occupancy(
    schedule: Schedule, job: int, start_ns: int, end_ns: int
) -> Iterator[tuple[int, int, tuple[_Occupant | None, ...]]]:
    """Pieces of [start_ns, end_ns) with what every core of the job's queue did, None where it did nothing."""
    cores = [list(schedule.on_core(core, start_ns, end_ns)) for core in schedule.cores(job)]
    edges = {start_ns, end_ns}
    for slices in cores:
        edges.update(t for begin, end, _, _ in slices for t in (begin, end) if start_ns < t < end_ns)
    places = [0] * len(cores)
    for first_ns, last_ns in pairwise(sorted(edges)):
        occupants: list[_Occupant | None] = []
        for core, slices in enumerate(cores):
            while places[core] < len(slices) and slices[places[core]][1] <= first_ns:
                places[core] += 1
            here = slices[places[core]] if places[core] < len(slices) else None
            occupants.append(_Occupant(here[2], here[3]) if here is not None and here[0] <= first_ns else None)
        yield first_ns, last_ns, tuple(occupants)


def _part(
    schedule: Schedule,
    job: int,
    start_ns: int,
    end_ns: int,
    occupants: tuple[_Occupant | None, ...],
    window: _Window | None,
) -> Part:
    present = [one for one in occupants if one is not None]
    tasks = schedule.trace.jobs.task
    if window is not None and not window.mine:
        others = [one for one in present if not window.tasks or int(tasks[one.job]) in window.tasks]
        if not window.usable or not window.shared or others:
            causes = tuple(Cause(one.job, window.reason) for one in present)
            return Part(PartKind.WINDOW, start_ns, end_ns, causes, window.name)
    reasons = [_reason(schedule, job, one, start_ns, window) for one in present]
    if None not in reasons and len(present) == len(occupants):
        causes = tuple(
            Cause(one.job, reason, schedule.resources_of(one.job, start_ns) if reason is Reason.LOCK_HELD else ())
            for one, reason in zip(present, reasons, strict=True)
            if reason is not None
        )
        return Part(PartKind.CORE, start_ns, end_ns, causes)
    barring = tuple(_barring(schedule, job, start_ns))
    return Part(PartKind.CORE if barring else PartKind.UNEXPLAINED, start_ns, end_ns, barring)


def _reason(schedule: Schedule, job: int, other: _Occupant, at_ns: int, window: _Window | None) -> Reason | None:
    """Why `other` has the core and `job` does not; None where the trace gives no reason."""
    processor = schedule.processor(job)
    mine, theirs = schedule.key(job, at_ns), schedule.key(other.job, at_ns)
    declared = schedule.served_key(other.job, at_ns)
    if window is not None and window.tasks:
        behind = SLACK_KEY if int(schedule.trace.jobs.task[other.job]) not in window.tasks else 0
        theirs, declared = theirs + behind, declared + behind
        mine += 0 if window.mine else SLACK_KEY
    if theirs <= mine:
        if declared > mine or (declared == mine and theirs < mine):
            return Reason.LOCK_HELD
        if processor.policy is Policy.EDF and declared > schedule.own_key(job):
            return Reason.BUDGET
        return Reason.CAME_FIRST if theirs == mine else _BETTER.get(processor.policy, Reason.HIGHER_PRIORITY)
    if schedule.locks.fixed_at(other.job, at_ns):
        return Reason.LOCK_HELD
    points = schedule.history.task_row(other.job).preemption_points_ns
    if other.kind is not SliceKind.EXECUTE or points is not None or not preempts(processor):
        return Reason.NON_PREEMPTIVE
    return None


def _barring(schedule: Schedule, job: int, at_ns: int) -> Iterator[Cause]:
    """Under EDF, who holds locks below whose ceiling the job may not start."""
    steps = schedule.locks.ceilings.get(int(schedule.history.row[job]), [])
    place = bisect_right([time_ns for time_ns, _, _ in steps], at_ns) - 1
    start_ns = int(schedule.trace.jobs.start_ns[job])
    if place < 0 or 0 <= start_ns < at_ns or schedule.history.task_row(job).deadline_ns < steps[place][1]:
        return
    for index, resource in enumerate(schedule.setup.resources):
        if resource.protocol is not Protocol.PRIORITY_CEILING:
            continue
        for _, _, owner in schedule.owner_spans(index, at_ns, at_ns + 1):
            if owner != job and schedule.history.row[owner] == schedule.history.row[job]:
                yield Cause(owner, Reason.CEILING, (resource.name,))
