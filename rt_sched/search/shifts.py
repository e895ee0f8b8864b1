"""Moving arrivals: what set a job off, and candidates in which that comes earlier or later."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rt_sched.search.candidates import Candidate, period_ns, put, shortened
from rt_sched.search.space import Space
from rt_sched.trace.records import Trace, sample_of


@dataclass(frozen=True, slots=True)
class Root:
    """What set a job off at last: arrival `number` of a task that is not activated by messages, or of a sensor."""

    sensor: bool
    index: int
    number: int


def root_of(space: Space, trace: Trace, row: int) -> Root | None:
    """The root of a job; None where that cannot be told. `row`: of the job."""
    jobs = trace.jobs
    for _ in range(len(space.given.tasks) + 1):
        task = int(jobs.task[row])
        if space.given.tasks[task].timed:
            return Root(False, task, int(jobs.number[row]))
        messages = [int(jobs.inputs[row, slot]) for _, slot in space.activators(task)]
        messages = [one for one in messages if one != -1]
        if not messages:
            return None
        newest = max(messages, key=lambda one: _sent_ns(trace, one))
        if newest < 0:
            sample = int(sample_of(newest))
            return Root(True, int(trace.samples.sensor[sample]), int(trace.samples.number[sample]))
        row = newest
    return None


def _sent_ns(trace: Trace, message: int) -> int:
    if message < 0:
        return int(trace.samples.arrival_ns[sample_of(message)])
    return int(trace.jobs.finish_ns[message])


def shifted(space: Space, candidate: Candidate, root: Root, by_ns: int) -> Candidate:
    """The candidate in which the root, and all else of its kind with it, comes so much later, as far as that may be."""
    if root.sensor:
        return shifted_group(space, candidate, space.freedoms.sensors[root.index].group, by_ns)
    if candidate.arrivals[root.index] is not None:
        return shifted_arrivals(space, candidate, root.index, by_ns)
    return _shifted_release(space, candidate, root, by_ns)


def shifted_group(space: Space, candidate: Candidate, group: str, by_ns: int) -> Candidate:
    """All sensors of a group so much later, whole periods apart from that."""
    length_ns = max(period_ns(next(one for one in space.freedoms.sensors if one.group == group)), 1)
    periods, phase_ns = divmod(candidate.phase_ns(group) + by_ns, length_ns)
    off = tuple(
        np.roll(mine, periods, axis=0) if sensor.group == group and periods else mine
        for sensor, mine in zip(space.freedoms.sensors, candidate.off, strict=True)
    )
    phases = tuple((name, phase_ns if name == group else value) for name, value in candidate.phases)
    return replace(candidate, off=off, phases=phases)


def shifted_arrivals(space: Space, candidate: Candidate, task: int, by_ns: int) -> Candidate:
    """All arrivals of a sporadic task so much later; those before the begin of the run, or behind its end, are gone."""
    before = candidate.arrivals[task]
    if before is None or not len(before):
        return candidate
    moved = before + by_ns
    gone = int(np.count_nonzero(moved < 0))
    moved = moved[gone:]
    separation_ns = space.freedoms.tasks[task].separation_ns
    last_ns = int(moved[-1]) if len(moved) else (int(before[-1]) + by_ns) % separation_ns - separation_ns
    more = np.arange(last_ns + separation_ns, space.horizon_ns, separation_ns, dtype=np.int64)
    moved = np.concatenate((moved[moved < space.horizon_ns], more))
    return replace(
        candidate,
        arrivals=put(candidate.arrivals, task, moved),
        jitters=put(candidate.jitters, task, shortened(candidate.jitters, task, gone)),
        demands=put(candidate.demands, task, shortened(candidate.demands, task, gone)),
        waits=put(candidate.waits, task, shortened(candidate.waits, task, gone)),
    )


def _shifted_release(space: Space, candidate: Candidate, root: Root, by_ns: int) -> Candidate:
    """A periodic task: by the jitter of this job, and the error of its clock, whichever is open."""
    jitters = candidate.jitters[root.index]
    if jitters is not None and root.number < len(jitters):
        values = jitters.copy()
        most_ns = space.freedoms.tasks[root.index].jitter_ns
        values[root.number] = min(max(int(values[root.number]) + by_ns, 0), most_ns)
        by_ns -= int(values[root.number] - jitters[root.number])
        candidate = replace(candidate, jitters=put(candidate.jitters, root.index, values))
    for place, (device, least_ns, most_ns) in enumerate(space.freedoms.clocks):
        if by_ns and device == space.device[root.index]:
            late_ns = min(max(candidate.clocks[place] + by_ns, least_ns), most_ns)
            candidate = replace(candidate, clocks=put(candidate.clocks, place, late_ns))
    return candidate


def rearranged(space: Space, candidate: Candidate, task: int, number: int, arrival_ns: int) -> Candidate:
    """Arrival `number` of a sporadic task moved there, those behind it as densely as they may be.

    Those before it that would be too near come earlier; those that would come before the run are gone.
    """
    before, freedom = candidate.arrivals[task], space.freedoms.tasks[task]
    if before is None or number >= len(before):
        return candidate
    separation_ns, most_ns = freedom.separation_ns, freedom.most_separation_ns
    head = before[: number + 1].copy()
    head[number] = min(max(arrival_ns, 0), space.horizon_ns - 1)
    for place in range(number - 1, -1, -1):
        head[place] = min(head[place], head[place + 1] - separation_ns)
        if most_ns is not None:
            head[place] = max(head[place], head[place + 1] - most_ns)
    gone = int(np.count_nonzero(head < 0))
    tail = np.arange(int(head[number]) + separation_ns, space.horizon_ns, separation_ns, dtype=np.int64)
    return replace(
        candidate,
        arrivals=put(candidate.arrivals, task, np.concatenate((head[gone:], tail))),
        jitters=put(candidate.jitters, task, shortened(candidate.jitters, task, gone)),
        demands=put(candidate.demands, task, shortened(candidate.demands, task, gone)),
        waits=put(candidate.waits, task, shortened(candidate.waits, task, gone)),
    )
