"""How a response time comes about, step by step: the iterations of every window of the busy period, in plain integers.

This repeats what the methods for one core compute, slowly and for one task, so that a person can follow it. Windows
count from the begin of the busy period, in nanoseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rt_sched.analysis.loads.load import LoadTask, ProcessorLoad
from rt_sched.analysis.methods.curves import curve_task
from rt_sched.analysis.methods.rows import Row, rows_of
from rt_sched.analysis.result import Bound, TermKind
from rt_sched.analysis.theory.curves import Curves, CurveTask, arrivals_within
from rt_sched.analysis.theory.fixed_points import HORIZON_NS
from rt_sched.model import Policy

#: Jobs or arrivals that are followed, iterations of one window that are kept, and arrivals shown beside the worst.
MOST_JOBS, MOST_ITERATIONS, BESIDE = 2000, 200, 4


@dataclass(frozen=True, slots=True)
class JobStep:
    """One job of a busy period. `arrival_ns`: after its begin, negative when before; `blocking_ns`: that counts for it.

    `windows_ns`: iterates of the length from the begin to the begin of the job's last region (to its end when it can be
    preempted anywhere), the last one the fixed point; at most `MOST_ITERATIONS` of them, `iterations` in all.
    """

    job: int
    arrival_ns: int
    blocking_ns: int
    windows_ns: tuple[int, ...]
    iterations: int
    finish_ns: int

    @property
    def response_ns(self) -> int:
        """From the arrival."""
        return self.finish_ns - self.arrival_ns


@dataclass(frozen=True, slots=True)
class Derivation:
    """The steps to a bound. `busy_ns`: iterates of the length of the busy period; `jobs`: what was looked at, in order
    of arrival; `last_region_ns`: what is added to a window. `complete`: whether no job of the busy period was left out.
    """

    busy_ns: tuple[int, ...]
    jobs: tuple[JobStep, ...]
    last_region_ns: int
    complete: bool

    @property
    def worst(self) -> JobStep:
        """The job with the largest response."""
        return max(self.jobs, key=lambda step: step.response_ns)


def derive(load: ProcessorLoad, task: LoadTask, bound: Bound) -> Derivation | None:
    """The steps to `bound` of `task`, None for methods that do not follow one window of one core."""
    if bound.method in ("fp_response_time", "fp_curve_response_time"):
        return _fixed_priority(load, task)
    if bound.method in ("edf_response_time", "edf_curve_response_time"):
        return _edf(load, task, bound)
    if load.policy is Policy.FIFO and bound.method in ("fifo_response_time", "fifo_curve_response_time"):
        return _fifo(load, task, bound)
    return None


def _fixed_priority(load: ProcessorLoad, task: LoadTask) -> Derivation:
    """Of several streams of a task, the one with the worst job."""
    rows = rows_of(load)
    locks_ns = 0 if task.blocking is None else task.blocking.total_ns
    blocking_ns = locks_ns + max((o.region_ns for o in load.tasks if o.level > task.level), default=1) - 1
    found = [_busy_period(load, row, blocking_ns) for row in rows if row.task.index == task.index]
    return max(found, key=lambda one: one.worst.response_ns)


def _busy_period(load: ProcessorLoad, mine: Row, blocking_ns: int) -> Derivation:
    """Every job of one stream, up to a number."""
    own = curve_task(mine)
    others = [curve_task(row) for row in rows_of(load) if row != mine and row.task.level <= mine.task.level]
    everyone = [own, *others]
    busy = _iterates(lambda w: blocking_ns + _work(everyone, w), blocking_ns + sum(one.cost_ns for one in everyone))
    count = own.jobs_within(busy[-1])
    jobs = []
    for job in range(min(count, MOST_JOBS)):
        before_ns = blocking_ns + (job + 1) * own.cost_ns - own.last_region_ns

        def right(start_ns: int, before_ns: int = before_ns) -> int:
            return before_ns + _work(others, start_ns + 1)

        jobs.append(_step(job, own, blocking_ns, right, own.arrival_ns(job)))
    return Derivation(_kept(busy), tuple(jobs), own.last_region_ns, count <= MOST_JOBS)


def _edf(load: ProcessorLoad, task: LoadTask, bound: Bound) -> Derivation:
    """Of several streams of a task, the one that has the bound."""
    found = [_arrivals(load, row, bound) for row in rows_of(load) if row.task.index == task.index]
    return next((one for one in found if one.worst.response_ns == bound.value_ns), found[0])


def _arrivals(load: ProcessorLoad, mine: Row, bound: Bound) -> Derivation:
    """The arrivals beside the worst one, and that."""
    rows, task = rows_of(load), mine.task
    own = curve_task(mine)
    others = [(row, curve_task(row)) for row in rows if row != mine]
    worst_ns = _arrival_ns(bound)
    held_ns = sum(t.value_ns for t in bound.terms if t.kind in (TermKind.BLOCKING, TermKind.NON_PREEMPTIVE_REGION))
    sources = [curve_task(row) for row in rows]
    points = Curves(sources).edf_arrivals(rows.index(mine), worst_ns + 4 * max(s.curve.horizon_ns for s in sources))
    jobs = []
    for arrival_ns in _around(points, worst_ns):
        due_ns = arrival_ns + task.deadline_ns
        blocking_ns = held_ns
        if not load.row.preemptive:
            blocking_ns = max((o.cost_ns - 1 for o in load.tasks if o.deadline_ns > due_ns), default=0)
        count = arrivals_within(own.curve, arrival_ns + own.jitter_ns + 1)
        before_ns = blocking_ns + count * own.cost_ns - own.last_region_ns

        def right(start_ns: int, before_ns: int = before_ns, due_ns: int = due_ns) -> int:
            return before_ns + sum(
                arrivals_within(one.curve, min(start_ns, due_ns - row.task.deadline_ns) + 1 + one.jitter_ns)
                * one.cost_ns
                for row, one in others
            )

        jobs.append(_step(count - 1, own, blocking_ns, right, arrival_ns))
    busy = _iterates(lambda w: _work(sources, w), sum(one.cost_ns for one in sources))
    return Derivation(_kept(busy), tuple(jobs), own.last_region_ns, complete=False)


def _fifo(load: ProcessorLoad, task: LoadTask, bound: Bound) -> Derivation:
    """The job of the bound alone: it ends when all that is released up to its own release is done."""
    rows = rows_of(load)
    mine = next(row for row in rows if row.task.index == task.index)
    own = curve_task(mine)
    arrival_ns = _arrival_ns(bound)
    window_ns = bound.window_ns or 1
    behind_ns = own.jitter_ns - own.release_jitter_ns
    count = arrivals_within(own.curve, window_ns + behind_ns)
    finish_ns = count * own.cost_ns + _work([curve_task(row) for row in rows if row is not mine], window_ns)
    step = JobStep(count - 1, arrival_ns, 0, (finish_ns,), 1, finish_ns)
    busy = _iterates(lambda w: _work([curve_task(row) for row in rows], w), sum(row.task.cost_ns for row in rows))
    return Derivation(_kept(busy), (step,), 0, complete=False)


def _arrival_ns(bound: Bound) -> int:
    kinds = (TermKind.RELEASE_JITTER, TermKind.EARLIER_ARRIVAL)
    return -sum(term.value_ns for term in bound.terms if term.kind in kinds)


def _around(points: Iterable[int], worst_ns: int) -> list[int]:
    """The worst arrival with a few before and after it."""
    before: list[int] = []
    after: list[int] = []
    for point_ns in points:
        if point_ns < worst_ns:
            before = [*before[1 - BESIDE :], point_ns] if BESIDE > 1 else [point_ns]
        elif point_ns > worst_ns:
            after.append(point_ns)
            if len(after) == BESIDE:
                break
    return [*before, worst_ns, *after]


def _work(tasks: Sequence[CurveTask], window_ns: int) -> int:
    return sum(task.jobs_within(window_ns) * task.cost_ns for task in tasks)


def _step(job: int, own: CurveTask, blocking_ns: int, right: Callable[[int], int], arrival_ns: int) -> JobStep:
    starts = _iterates(right, right(0))
    # A job that can be preempted anywhere has a last region of 1 ns: its end is what people look for.
    shift_ns = 1 if own.last_region_ns == 1 else 0
    windows = [start_ns + shift_ns for start_ns in starts]
    return JobStep(job, arrival_ns, blocking_ns, _kept(windows), len(windows), starts[-1] + own.last_region_ns)


def _iterates(right: Callable[[int], int], first_ns: int) -> list[int]:
    """From `first_ns` to the least fixed point above it; it exists, as the bound does."""
    found = [first_ns]
    while found[-1] <= HORIZON_NS:
        next_ns = right(found[-1])
        if next_ns <= found[-1]:
            break
        found.append(next_ns)
    return found


def _kept(values: Sequence[int]) -> tuple[int, ...]:
    if len(values) <= MOST_ITERATIONS:
        return tuple(values)
    return (*values[: MOST_ITERATIONS - 1], values[-1])
