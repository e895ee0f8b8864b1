"""Critical instants: candidates in which all that delays a job is released together with it, or just before it.

The classic ones: interference is released with the job at stake, as late as its jitter allows, and comes as densely as
it may from then on (Liu, Layland 1973; Tindell, Burns, Wellings 1994); what blocks it begins 1 ns before (Davis, Burns,
Bril, Lukkien 2007); under EDF interference has the deadline of the job at stake (Spuri 1996). A chain waits longest
when what it samples is just missed (Davare et al. 2007).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rt_sched.lowering.machine_input import Policy, TaskRow
from rt_sched.search.candidates import Candidate, put
from rt_sched.search.random_choices import Generator
from rt_sched.search.shifts import rearranged, root_of, shifted, shifted_group
from rt_sched.search.space import Space
from rt_sched.trace.records import Int64s, Trace, sample_of


def critical_instant(space: Space, candidate: Candidate, trace: Trace, row: int, rng: Generator) -> Candidate:
    """What shares the processor of a job is released with it, one that is less urgent just before. `row`: of the job.

    Jobs that messages activate are moved by what set them off in `trace`, so they may end up elsewhere.
    """
    jobs, mine = trace.jobs, int(trace.jobs.task[row])
    at_ns = int(jobs.release_ns[row])
    candidate, later_ns = _released_late(space, candidate, mine, int(jobs.number[row]), rng)
    at_ns += later_ns
    others = [one for one in space.beside({mine}) if one != mine and space.freedoms.tasks[one].active]
    less_urgent = [one for one in others if not _is_urgent(space, one, mine)]
    blocker = int(rng.choice(less_urgent)) if less_urgent and rng.random() < 0.85 else None
    for other in others:
        if other in less_urgent and other != blocker:
            continue
        wanted_ns = at_ns
        if other == blocker:
            wanted_ns -= 1 + _into_region_ns(space.given.tasks[other], rng)
        elif _policy(space, mine) is Policy.EDF and rng.random() < 0.5:
            own_ns, its_ns = (space.given.tasks[task].deadline_ns for task in (mine, other))
            wanted_ns += min(own_ns - its_ns, 0) if rng.random() < 0.5 else own_ns - its_ns
        candidate = released_at(space, candidate, trace, other, wanted_ns, rng)
    return candidate


def _policy(space: Space, task: int) -> Policy:
    return space.given.processors[space.given.tasks[task].processor].policy


def _is_urgent(space: Space, other: int, mine: int) -> bool:
    """Whether jobs of another task may go before a job that is released with them."""
    if _policy(space, mine) is Policy.FIXED_PRIORITY:
        return space.given.tasks[other].level <= space.given.tasks[mine].level
    if _policy(space, mine) is Policy.EDF:
        return space.given.tasks[other].deadline_ns <= space.given.tasks[mine].deadline_ns
    return True


def _into_region_ns(row: TaskRow, rng: Generator) -> int:
    """Executed time at which a job becomes hard to preempt: its begin, a section, or a preemption point."""
    places = [0, *(section.start_ns for section in row.sections), *(row.preemption_points_ns or ())]
    return int(rng.choice(places))


def _released_late(space: Space, candidate: Candidate, task: int, number: int, rng: Generator) -> tuple[Candidate, int]:
    """The job's own jitter at its largest, mostly, as a response counts from the arrival; by how much that is more."""
    jitters = candidate.jitters[task]
    if jitters is None or number >= len(jitters) or rng.random() < 0.2:
        return candidate, 0
    values = jitters.copy()
    values[number], values[number + 1 :] = space.freedoms.tasks[task].jitter_ns, 0
    return replace(candidate, jitters=put(candidate.jitters, task, values)), int(values[number] - jitters[number])


def released_at(space: Space, candidate: Candidate, trace: Trace, task: int, at_ns: int, rng: Generator) -> Candidate:
    """A job of the task is released then, as late as its jitter allows, and those behind it at once.

    As near to that as what is open of the task, or of what sets it off, allows.
    """
    freedom = space.freedoms.tasks[task]
    arrivals, jitters = candidate.arrivals[task], candidate.jitters[task]
    if arrivals is not None and len(arrivals):
        late_ns = freedom.jitter_ns if rng.random() < 0.8 else 0
        arrival_ns = max(at_ns - late_ns, 0)
        number = int(np.argmin(np.abs(arrivals - arrival_ns)))
        candidate = rearranged(space, candidate, task, number, arrival_ns)
        moved = candidate.arrivals[task]
        number = 0 if moved is None else int(np.searchsorted(moved, arrival_ns))
        return _burst(candidate, task, number, min(max(at_ns - arrival_ns, 0), freedom.jitter_ns))
    mine = np.flatnonzero((trace.jobs.task == task) & (trace.jobs.release_ns >= 0))
    if not len(mine):
        return candidate
    if space.given.tasks[task].timed and jitters is not None:
        early = trace.jobs.arrival_ns[mine]
        fits = np.flatnonzero((early <= at_ns) & (early + freedom.jitter_ns >= at_ns))
        if len(fits):
            row = int(mine[rng.choice(fits)])
            return _burst(candidate, task, int(trace.jobs.number[row]), at_ns - int(trace.jobs.arrival_ns[row]))
    row = int(mine[np.argmin(np.abs(trace.jobs.release_ns[mine] - at_ns))])
    root, by_ns = root_of(space, trace, row), at_ns - int(trace.jobs.release_ns[row])
    if root is None:
        return candidate
    if root.sensor and rng.random() < 0.6:
        candidate, more_ns = _late_sample(space, candidate, root.index, root.number)
        by_ns -= more_ns
    return shifted(space, candidate, root, by_ns)


def _burst(candidate: Candidate, task: int, number: int, late_ns: int) -> Candidate:
    """Jitter of one job, and none of those behind it."""
    jitters = candidate.jitters[task]
    if jitters is None or number >= len(jitters):
        return candidate
    values = jitters.copy()
    values[number], values[number + 1 :] = late_ns, 0
    return replace(candidate, jitters=put(candidate.jitters, task, values))


def _late_sample(space: Space, candidate: Candidate, sensor: int, number: int) -> tuple[Candidate, int]:
    """One sample as late as it may be, all behind it as early; by how much later it comes."""
    freedom, off = space.freedoms.sensors[sensor], candidate.off[sensor]
    if number >= len(off) or not (freedom.jitter_ns or freedom.capture_jitter_ns):
        return candidate, 0
    most = np.array([freedom.capture_jitter_ns, freedom.jitter_ns], np.int64)
    values = off.copy()
    values[number], values[number + 1 :] = most, -most
    return replace(candidate, off=put(candidate.off, sensor, values)), int((most - off[number]).sum())


def just_missed(
    space: Space, candidate: Candidate, trace: Trace, path: tuple[str, ...], row: int, rng: Generator
) -> Candidate:
    """One reader along a chain begins 1 ns before what it would have read is there. `row`: last job of an instance."""
    hops = [(message, reader) for message, reader, activated in instance(space, trace, path, row) if not activated]
    if not hops:
        return candidate
    message, reader = hops[int(rng.integers(0, len(hops)))]
    jobs = trace.jobs
    task = int(jobs.task[reader])
    rows = np.flatnonzero((jobs.task == task) & (jobs.start_ns >= 0))
    place = int(np.searchsorted(rows, reader))
    reads = _read_ns(space, trace, rows)
    # The read before, which would have been the first to see the message, or the read itself.
    missed_ns = int(reads[max(place - 1, 0)]) if rng.random() < 0.7 else int(reads[place])
    by_ns = missed_ns + 1 - _visible_ns(space, trace, message)
    if message >= 0 and rng.random() < 0.75:
        root = root_of(space, trace, message)
        return candidate if root is None else shifted(space, candidate, root, by_ns)
    if message < 0 and rng.random() < 0.75:
        group = space.freedoms.sensors[int(trace.samples.sensor[sample_of(message)])].group
        return shifted_group(space, candidate, group, by_ns)
    root = root_of(space, trace, reader)
    return candidate if root is None else shifted(space, candidate, root, -by_ns)


def instance(space: Space, trace: Trace, path: tuple[str, ...], row: int) -> list[tuple[int, int, bool]]:
    """What lies behind an output of a chain, last hop first: message, row of its reader, whether it activated that."""
    index = {task.name: number for number, task in enumerate(space.given.tasks)}
    sensor = {name: number for number, name in enumerate(space.given.sensors)}
    hops = []
    for source, target in zip(reversed(path[:-1]), reversed(path[1:]), strict=True):
        wanted = (sensor.get(source), None) if source in sensor else (None, index[source])
        edges = space.into[index[target]]
        place = next(
            one for one in edges if (space.given.edges[one[0]].sensor, space.given.edges[one[0]].task) == wanted
        )
        message = int(trace.jobs.inputs[row, place[1]])
        if message == -1:
            break
        hops.append((message, row, place in space.activators(index[target])))
        if message < 0:
            break
        row = message
    return hops


def _read_ns(space: Space, trace: Trace, rows: Int64s) -> Int64s:
    """When jobs of one task read their inputs."""
    let = bool(len(rows)) and space.given.tasks[int(trace.jobs.task[rows[0]])].let
    return trace.jobs.arrival_ns[rows] if let else trace.jobs.start_ns[rows]


def _visible_ns(space: Space, trace: Trace, message: int) -> int:
    """When a message is there, its time on a link left out."""
    if message < 0:
        return int(trace.samples.arrival_ns[sample_of(message)])
    task = int(trace.jobs.task[message])
    times = trace.jobs.deadline_ns if space.given.tasks[task].let else trace.jobs.finish_ns
    return int(times[message])
