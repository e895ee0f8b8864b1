"""How much longer jobs may execute until some deadline is no longer proven to be met."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from rt_sched.analysis.loads.load import Blocking, LoadTask
from rt_sched.analysis.loads.resolve import ModeLoad
from rt_sched.analysis.methods import Method
from rt_sched.analysis.system.engine import Known, mode_bounds

#: Scaling factors are found as whole parts of a million.
MILLION = 10**6
#: Largest factor that is looked for.
_MOST = 1000 * MILLION


@dataclass(frozen=True, slots=True)
class TaskMargin:
    """`margin_ns`: by how much more one task may execute, all else unchanged, with every verdict kept."""

    task: str
    wcet_ns: int
    margin_ns: int


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """Margins of one mode. `scaling_ppm`: the largest factor, in parts of a million, by which all execution times,
    sections and overheads included, may grow together; below a million when deadlines are met only if they shrink, None
    when not even then. `tasks`: () when not every task is proven to meet its deadline.
    """

    mode: str
    scaling_ppm: int | None
    tasks: tuple[TaskMargin, ...]


def sensitivity(
    mode: ModeLoad, methods: Sequence[Method], progress: Callable[[int, int], None] = lambda _done, _all: None
) -> Sensitivity:
    """Margin of every task and the critical scaling factor, over all processors of a mode together.

    Searches by bisection, which is right because every bound grows with execution times: the methods are sustainable
    (Baruah, Burns 2006), and so is the propagation of jitter. `progress` is told how many searches are done.
    Source: Bini, Di Natale, Buttazzo 2008 for the notions.
    """
    known: Known = {}
    bounds = mode_bounds(mode, methods, known)
    searches = len(bounds) + 1
    scaling = _largest(lambda factor: _all_meet(scaled(mode, factor), methods, known), 1, _MOST)
    progress(1, searches)
    margins = []
    for done, index in enumerate(sorted(bounds) if scaling is not None and scaling >= MILLION else (), 2):
        one = bounds[index]
        bound_ns = one.task.deadline_ns if one.bound is None else one.bound.value_ns

        def holds(extra_ns: int, index: int = index) -> bool:
            return _all_meet(_with_more(mode, index, extra_ns), methods, known)

        found = _largest(holds, 0, one.task.deadline_ns - bound_ns)
        margins.append(TaskMargin(one.task.name, one.task.wcet_ns, found or 0))
        progress(done, searches)
    return Sensitivity(mode.name, scaling, tuple(margins))


def _largest(holds: Callable[[int], bool], least: int, most: int) -> int | None:
    """The largest number in [least, most] of which `holds` is true, for a property that stays false once it is."""
    if not holds(least):
        return None
    if holds(most):
        return most
    while most - least > 1:
        middle = (least + most) // 2
        if holds(middle):
            least = middle
        else:
            most = middle
    return least


def _all_meet(mode: ModeLoad, methods: Sequence[Method], known: Known) -> bool:
    return all(
        one.bound is not None and one.bound.value_ns <= one.task.deadline_ns
        for one in mode_bounds(mode, methods, known).values()
    )


def _changed(mode: ModeLoad, change: Callable[[LoadTask], LoadTask]) -> ModeLoad:
    return replace(
        mode, loads=tuple(replace(load, tasks=tuple(change(task) for task in load.tasks)) for load in mode.loads)
    )


def _with_more(mode: ModeLoad, index: int, extra_ns: int) -> ModeLoad:
    """Task `index` executes `extra_ns` longer, in the last part of its job."""

    def change(task: LoadTask) -> LoadTask:
        if task.index != index:
            return task
        preemptible = task.last_region_ns == 1
        return replace(
            task,
            wcet_ns=task.wcet_ns + extra_ns,
            last_region_ns=1 if preemptible else task.last_region_ns + extra_ns,
            region_ns=task.region_ns if preemptible else max(task.region_ns, task.last_region_ns + extra_ns),
        )

    return _changed(mode, change)


def scaled(mode: ModeLoad, factor: int) -> ModeLoad:
    """All execution times are `factor` / 10**6 of what they are, rounded up."""

    def times(value_ns: int) -> int:
        return -(-value_ns * factor // MILLION)

    def change(task: LoadTask) -> LoadTask:
        blocking = task.blocking
        scaled = None if blocking is None else _scaled_blocking(blocking, times)
        return replace(
            task,
            wcet_ns=times(task.wcet_ns),
            bcet_ns=min(task.bcet_ns, times(task.wcet_ns)),
            overhead_ns=times(task.overhead_ns),
            spin_ns=times(task.spin_ns),
            region_ns=max(1, times(task.region_ns)) if task.region_ns > 1 else 1,
            last_region_ns=max(1, times(task.last_region_ns)) if task.last_region_ns > 1 else 1,
            low_wcet_ns=None if task.low_wcet_ns is None else times(task.low_wcet_ns),
            blocking=scaled,
        )

    return _changed(mode, change)


def _scaled_blocking(blocking: Blocking, times: Callable[[int], int]) -> Blocking:
    parts = tuple((by, times(part_ns)) for by, part_ns in blocking.by)
    return replace(blocking, total_ns=sum(part_ns for _, part_ns in parts), by=parts)
