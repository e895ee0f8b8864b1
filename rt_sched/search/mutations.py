"""Small changes of a candidate around the worst job that it has shown, most of them so that instants coincide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rt_sched.search.candidates import Candidate, put
from rt_sched.search.goals import Goal, Seen
from rt_sched.search.random_choices import Generator
from rt_sched.search.shifts import Root, rearranged, root_of, shifted, shifted_arrivals, shifted_group
from rt_sched.search.space import Space
from rt_sched.trace.records import Int64s, Trace


@dataclass(frozen=True)
class Scene:
    """A candidate, what it showed, and the jobs that matter for the goal there. `rows`: of these jobs, by arrival.

    `instants_ns`: when something happened to them.
    """

    space: Space
    goal: Goal
    candidate: Candidate
    trace: Trace
    seen: Seen | None
    rows: Int64s
    instants_ns: Int64s


def scene_of(
    space: Space, goal: Goal, relevant: Sequence[int], candidate: Candidate, trace: Trace, seen: Seen | None
) -> Scene:
    """`relevant`: the tasks that may matter. Jobs count in the time that the worst value spans, and as long before."""
    jobs = trace.jobs
    here = np.isin(jobs.task, np.array(relevant, np.int32)) & (jobs.release_ns >= 0)
    if seen is not None:
        end_ns, begin_ns = seen.end_ns, seen.end_ns - 2 * seen.value_ns
        here &= (jobs.arrival_ns <= end_ns) & ((jobs.finish_ns < 0) | (jobs.finish_ns >= begin_ns))
    rows = np.flatnonzero(here)
    times = np.concatenate([getattr(jobs, f"{name}_ns")[rows] for name in ("arrival", "release", "start", "finish")])
    return Scene(space, goal, candidate, trace, seen, rows, np.unique(times[times >= 0]))


#: Changes a scene; None where there is nothing of this kind to change.
Move = Callable[[Scene, Generator], Candidate | None]


def mutated(scene: Scene, rng: Generator) -> Candidate:
    """One change or a few; the candidate itself when nothing is open."""
    candidate, wanted = scene.candidate, 1 + int(rng.integers(0, 3) == 0) + int(rng.integers(0, 6) == 0)
    for _ in range(8 * wanted):
        move = MOVES[int(rng.integers(0, len(MOVES)))]
        changed = move(replace(scene, candidate=candidate), rng)
        if changed is not None:
            candidate, wanted = changed, wanted - 1
        if not wanted:
            break
    return candidate


def _job(scene: Scene, rng: Generator, of: Sequence[int] | None = None) -> int | None:
    """A row of a job that matters, of one of these tasks."""
    rows = scene.rows if of is None else scene.rows[np.isin(scene.trace.jobs.task[scene.rows], np.array(of, np.int32))]
    return int(rng.choice(rows)) if len(rows) else None


def _instant(scene: Scene, rng: Generator) -> int | None:
    """One at which something happened, or 1 ns beside it."""
    if not len(scene.instants_ns):
        return None
    return max(int(rng.choice(scene.instants_ns)) + int(rng.integers(-1, 2)), 0)


def _other(rng: Generator, least: int, most: int, near: int | None) -> int:
    """An end, the value that was asked for, or any."""
    manner = rng.integers(0, 4)
    if manner == 0:
        return least
    if manner == 1:
        return most
    if manner == 2 and near is not None:
        return min(max(near, least), most)
    return int(rng.integers(least, most, endpoint=True))


def demand(scene: Scene, rng: Generator) -> Candidate | None:
    """One job needs more or less: an end, or so much that it would finish when something else happens."""
    return _demands(scene, rng, several=False)


def demands_from(scene: Scene, rng: Generator) -> Candidate | None:
    """A job and those of its task around it need their longest or shortest times."""
    return _demands(scene, rng, several=True)


def _demands(scene: Scene, rng: Generator, *, several: bool) -> Candidate | None:
    able = [task for task, values in enumerate(scene.candidate.demands) if values is not None]
    row = _job(scene, rng, able)
    if row is None:
        return None
    jobs, freedoms = scene.trace.jobs, scene.space.freedoms.tasks
    task, number = int(jobs.task[row]), int(jobs.number[row])
    values = scene.candidate.demands[task]
    if values is None or number >= len(values):
        return None
    least, most = freedoms[task].shortest_ns, freedoms[task].longest_ns
    changed, at_ns = values.copy(), _instant(scene, rng)
    if several:
        first = max(number - int(rng.integers(0, 3)), 0)
        changed[first : number + 1 + int(rng.integers(0, 3))] = (least, most)[int(rng.integers(0, 2))]
    else:
        finish_ns = int(jobs.finish_ns[row])
        near = None if at_ns is None or finish_ns < 0 else int(values[number]) + at_ns - finish_ns
        changed[number] = _other(rng, least, most, near)
    return replace(scene.candidate, demands=put(scene.candidate.demands, task, changed))


def wait(scene: Scene, rng: Generator) -> Candidate | None:
    """One job waits longer or shorter inside: once, or every time."""
    able = [task for task, values in enumerate(scene.candidate.waits) if values is not None]
    row = _job(scene, rng, able)
    if row is None:
        return None
    task, number = int(scene.trace.jobs.task[row]), int(scene.trace.jobs.number[row])
    values = scene.candidate.waits[task]
    if values is None or number >= len(values):
        return None
    changed, ends = values.copy(), scene.space.freedoms.tasks[task].suspensions_ns
    if rng.random() < 0.6:
        side = int(rng.integers(0, 2))
        changed[number] = [bounds[side] for bounds in ends]
    else:
        place = int(rng.integers(0, len(ends)))
        step = int(values[number, place]) + int(rng.integers(-2, 3))
        changed[number, place] = _other(rng, *ends[place], step)
    return replace(scene.candidate, waits=put(scene.candidate.waits, task, changed))


def jitter(scene: Scene, rng: Generator) -> Candidate | None:
    """One job is released later or earlier after its arrival."""
    able = [task for task, values in enumerate(scene.candidate.jitters) if values is not None]
    row, at_ns = _job(scene, rng, able), _instant(scene, rng)
    if row is None:
        return None
    jobs = scene.trace.jobs
    task, number = int(jobs.task[row]), int(jobs.number[row])
    values = scene.candidate.jitters[task]
    if values is None or number >= len(values):
        return None
    changed = values.copy()
    near = None if at_ns is None else at_ns - int(jobs.arrival_ns[row])
    changed[number] = _other(rng, 0, scene.space.freedoms.tasks[task].jitter_ns, near)
    if rng.random() < 0.3:
        changed[number + 1 :] = 0
    return replace(scene.candidate, jitters=put(scene.candidate.jitters, task, changed))


def arrival(scene: Scene, rng: Generator) -> Candidate | None:
    """One sporadic arrival comes when something else happens, and those behind it as densely as they may."""
    able = [task for task, values in enumerate(scene.candidate.arrivals) if values is not None]
    row, at_ns = _job(scene, rng, able), _instant(scene, rng)
    if row is None or at_ns is None:
        return None
    jobs = scene.trace.jobs
    task = int(jobs.task[row])
    # A job that is released with the largest jitter arrives so much earlier.
    early_ns = int(jobs.release_ns[row] - jobs.arrival_ns[row])
    return rearranged(scene.space, scene.candidate, task, int(jobs.number[row]), max(at_ns - early_ns, 0))


def series(scene: Scene, rng: Generator) -> Candidate | None:
    """All arrivals of a sporadic task move by a little."""
    able = [task for task, values in enumerate(scene.candidate.arrivals) if values is not None]
    row, at_ns = _job(scene, rng, able), _instant(scene, rng)
    if row is None or at_ns is None:
        return None
    by_ns = at_ns - int(scene.trace.jobs.arrival_ns[row])
    return shifted_arrivals(scene.space, scene.candidate, int(scene.trace.jobs.task[row]), by_ns)


def root(scene: Scene, rng: Generator) -> Candidate | None:
    """What set a job off comes so much later or earlier that the job is released, or done, when something happens."""
    row, at_ns = _job(scene, rng), _instant(scene, rng)
    if row is None or at_ns is None:
        return None
    jobs = scene.trace.jobs
    times = (int(jobs.release_ns[row]), int(jobs.start_ns[row]), int(jobs.finish_ns[row]))
    from_ns = times[int(rng.integers(0, 3))]
    found = root_of(scene.space, scene.trace, row)
    if found is None or from_ns < 0:
        return None
    return shifted(scene.space, scene.candidate, found, at_ns - from_ns)


def sample(scene: Scene, rng: Generator) -> Candidate | None:
    """One sample of a sensor is early or late, perhaps those behind it too."""
    found = _sensor_root(scene, rng)
    if found is None:
        return None
    freedom, off = scene.space.freedoms.sensors[found.index], scene.candidate.off[found.index]
    most = (freedom.capture_jitter_ns, freedom.jitter_ns)
    if not any(most) or found.number >= len(off):
        return None
    changed = off.copy()
    number = max(found.number + int(rng.integers(-1, 2)), 0)
    last = len(off) if rng.random() < 0.4 else number + 1
    for column, width_ns in enumerate(most):
        if width_ns and rng.random() < 0.7:
            changed[number:last, column] = _other(rng, -width_ns, width_ns, None)
    return replace(scene.candidate, off=put(scene.candidate.off, found.index, changed))


def phase(scene: Scene, rng: Generator) -> Candidate | None:
    """All sensors of a group come a little later or earlier."""
    found = _sensor_root(scene, rng)
    if found is None:
        return None
    sensor = scene.space.freedoms.sensors[found.index]
    widths = (1, sensor.jitter_ns + 1, sensor.nominal_ns(1) - sensor.nominal_ns(0))
    width_ns = max(widths[int(rng.integers(0, 3))], 1)
    by_ns = int(rng.integers(-width_ns, width_ns, endpoint=True))
    return shifted_group(scene.space, scene.candidate, sensor.group, by_ns)


def _sensor_root(scene: Scene, rng: Generator) -> Root | None:
    if not scene.space.freedoms.sensors:
        return None
    row = _job(scene, rng)
    found = None if row is None else root_of(scene.space, scene.trace, row)
    return found if found is not None and found.sensor else None


def clock(scene: Scene, rng: Generator) -> Candidate | None:
    """A device's clock is off by another error."""
    clocks = scene.space.freedoms.clocks
    if not clocks:
        return None
    place = int(rng.integers(0, len(clocks)))
    _, least_ns, most_ns = clocks[place]
    near = scene.candidate.clocks[place] + int(rng.integers(-2, 3))
    late_ns = _other(rng, least_ns, most_ns, near)
    return replace(scene.candidate, clocks=put(scene.candidate.clocks, place, late_ns))


MOVES: tuple[Move, ...] = (
    demand,
    demand,
    demands_from,
    wait,
    wait,
    jitter,
    jitter,
    arrival,
    arrival,
    series,
    root,
    root,
    sample,
    phase,
    clock,
)
