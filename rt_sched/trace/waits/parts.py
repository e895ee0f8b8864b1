"""A job from its arrival to its end, in parts without a gap."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from rt_sched.trace.records import EventKind, SliceKind
from rt_sched.trace.waits.kinds import Cause, Part, PartKind, Reason, merged
from rt_sched.trace.waits.others import waiting_parts
from rt_sched.trace.waits.schedule import Schedule

#: What becomes of a stretch of time that the parts before it leave open.
_Rest = Callable[[int, int], Iterator[Part]]


def job_parts(schedule: Schedule, job: int) -> tuple[Part, ...]:
    """What the job did and waited for in [arrival, end), in order; the lengths add up to its response.

    The end is that of the job, however it ended, and the horizon for one that did not. Nothing for a job that ended as
    it arrived.
    """
    jobs, history = schedule.trace.jobs, schedule.history
    arrival_ns, end_ns = int(jobs.arrival_ns[job]), schedule.end_ns(job)
    release_ns = min(int(jobs.release_ns[job]), end_ns)
    head_ns = min(int(history.head_ns[job]), end_ns)
    parts = [Part(PartKind.RELEASE_JITTER, arrival_ns, release_ns)]
    parts += _behind_earlier_jobs(schedule, job, release_ns, head_ns)
    layers = (_on_core(schedule, job), _for_locks(schedule, job), *_held_back(schedule, job))
    parts += _layered(head_ns, end_ns, layers, lambda start, end: waiting_parts(schedule, job, start, end))
    return tuple(merged(parts))


def _layered(start_ns: int, end_ns: int, layers: Sequence[Sequence[Part]], rest: _Rest) -> Iterator[Part]:
    """[start_ns, end_ns) as the first layer that covers it says, and `rest` where none does."""
    if not layers:
        yield from rest(start_ns, end_ns)
        return
    at_ns = start_ns
    for part in layers[0]:
        piece = part.cut(at_ns, end_ns)
        if piece.length_ns <= 0:
            continue
        if at_ns < piece.start_ns:
            yield from _layered(at_ns, piece.start_ns, layers[1:], rest)
        yield piece
        at_ns = piece.end_ns
    if at_ns < end_ns:
        yield from _layered(at_ns, end_ns, layers[1:], rest)


def _behind_earlier_jobs(schedule: Schedule, job: int, start_ns: int, end_ns: int) -> list[Part]:
    """Jobs of one task run in order: the ones before it, oldest first, each until it ended."""
    mine = schedule.history.jobs_of_task[int(schedule.trace.jobs.task[job])]
    earlier = mine[: int(np.searchsorted(mine, job))]
    parts, at_ns = [], start_ns
    for other in earlier[schedule.history.end_ns[earlier] > start_ns].tolist():
        until_ns = min(schedule.end_ns(other), end_ns)
        if until_ns > at_ns:
            parts.append(Part(PartKind.EARLIER_JOB, at_ns, until_ns, (Cause(other, Reason.BEFORE),)))
            at_ns = until_ns
    if at_ns < end_ns:
        parts.append(Part(PartKind.UNEXPLAINED, at_ns, end_ns))
    return parts


def _on_core(schedule: Schedule, job: int) -> list[Part]:
    """Execution, split by frequency; switch costs; spinning, split by who held the lock."""
    parts: list[Part] = []
    for start_ns, end_ns, kind in schedule.slices_of(job):
        if kind is SliceKind.EXECUTE:
            parts += [
                Part(PartKind.EXECUTION, begin_ns, until_ns, frequency_khz=khz)
                for begin_ns, until_ns, khz in schedule.frequencies(job, start_ns, end_ns)
            ]
        elif kind is SliceKind.SPIN:
            parts += _spinning(schedule, job, start_ns, end_ns)
        else:
            parts.append(Part(PartKind.SWITCH, start_ns, end_ns))
    return parts


def _spinning(schedule: Schedule, job: int, start_ns: int, end_ns: int) -> Iterator[Part]:
    resource = next(
        (which for begin_ns, until_ns, which, _ in schedule.lock_waits.get(job, ()) if begin_ns <= start_ns < until_ns),
        None,
    )
    if resource is None:
        yield Part(PartKind.SPIN, start_ns, end_ns)
        return
    yield from _until_owned(schedule, job, resource, PartKind.SPIN, start_ns, end_ns)


def _for_locks(schedule: Schedule, job: int) -> list[Part]:
    """Waits for locks without the core, split by who held them."""
    return [
        part
        for begin_ns, end_ns, resource, spins in schedule.lock_waits.get(job, ())
        if not spins
        for part in _until_owned(schedule, job, resource, PartKind.LOCK, begin_ns, end_ns)
    ]


def _until_owned(
    schedule: Schedule, job: int, resource: int, kind: PartKind, start_ns: int, end_ns: int
) -> Iterator[Part]:
    name, at_ns = schedule.setup.resources[resource].name, start_ns
    for begin_ns, until_ns, owner in schedule.owner_spans(resource, start_ns, end_ns):
        if owner == job:
            continue
        if at_ns < begin_ns:
            yield Part(kind, at_ns, begin_ns, resource=name)
        yield Part(kind, begin_ns, until_ns, (Cause(owner, Reason.OWNER),), name)
        at_ns = until_ns
    if at_ns < end_ns:
        yield Part(kind, at_ns, end_ns, resource=name)


def _held_back(schedule: Schedule, job: int) -> Iterator[list[Part]]:
    """Suspensions, and waits for the budget to be paid again."""
    for kind, begin, end in (
        (PartKind.SUSPENSION, EventKind.SUSPEND, EventKind.WAKE),
        (PartKind.BUDGET, EventKind.THROTTLE, EventKind.REPLENISH),
    ):
        yield [Part(kind, begin_ns, end_ns) for begin_ns, end_ns in schedule.between(job, begin, end)]
