"""How much longer jobs may execute: one task alone, the tasks of a chain together, all tasks together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from rt_sched.analysis.loads.load import Blocking, LoadTask
from rt_sched.analysis.loads.resolve import ModeLoad, regions_ns, regions_with_spin_ns
from rt_sched.analysis.result import Quantity
from rt_sched.analysis.sensitivity.promises import Promises
from rt_sched.analysis.sensitivity.search import Search
from rt_sched.model import CauseEffectChain

#: Factors are found as whole parts of a million.
MILLION = 10**6
#: Largest factor that is looked for.
MOST_PPM = 1000 * MILLION


@dataclass(frozen=True, slots=True)
class Scaling:
    """`ppm`: the largest factor, in parts of a million, by which all execution times may grow together; below a million
    when promises are kept only if they shrink, None when not even then. `limited_by`: what a larger one breaks, None
    at the largest factor that is looked for.
    """

    ppm: int | None
    limited_by: str | None


@dataclass(frozen=True, slots=True)
class TaskMargin:
    """`margin_ns`: by how much more one task may execute, all else unchanged, with every promise kept.

    `limited_by`: what one nanosecond more breaks.
    """

    task: str
    wcet_ns: int
    margin_ns: int
    limited_by: str | None


@dataclass(frozen=True, slots=True)
class ChainMargin:
    """`bounds`: quantity, bound and limit in ns of each limit. `scaling_ppm`: the largest factor by which the tasks of
    the chain may grow together with every promise kept, those of others included; `limited_by`: what more breaks.
    """

    chain: str
    bounds: tuple[tuple[Quantity, int, int], ...]
    scaling_ppm: int
    limited_by: str | None


def critical_scaling(mode: ModeLoad, promises: Promises, margins: Sequence[TaskMargin]) -> Scaling:
    """The factor for all execution times, sections, switches and spinning included; `margins`: of the tasks, if known.

    Source: Bini, Di Natale, Buttazzo 2008 for the notions.
    """
    search = Search(lambda ppm: promises.broken(scaled(mode, ppm)))
    if not search.holds(1):
        return Scaling(None, search.reason(1))
    found = search.largest(1, MOST_PPM, None if promises.broken_now else least_growth_ppm(margins))
    return Scaling(found, None if found == MOST_PPM else search.reason(found + 1))


def least_growth_ppm(margins: Sequence[TaskMargin]) -> int:
    """The largest factor that asks of no task for more than its own margin: what several can do at most together."""
    return min([MOST_PPM, *(MILLION + one.margin_ns * MILLION // one.wcet_ns for one in margins)])


def task_margin(mode: ModeLoad, promises: Promises, index: int) -> TaskMargin:
    """The margin of task `index` of a mode whose promises are all kept."""
    one = promises.bounds[index]
    # A response grows by at least what its own job does; of a task that may miss some deadlines, some job is in time.
    hard = one.bound is not None and not promises.may_miss(index)
    most_ns = one.task.deadline_ns - (one.bound.value_ns if hard and one.bound is not None else one.task.wcet_ns)
    chains = [chain for chain in promises.chains if one.task.name in chain.path]
    guess_ns = min([most_ns, promises.least_slack_beside_ns(index), *(promises.slack_ns(chain) for chain in chains)])
    search = Search(lambda extra_ns: promises.broken(with_more(mode, {index: extra_ns})))
    found = search.largest(0, most_ns, guess_ns)
    return TaskMargin(one.task.name, one.task.wcet_ns, found, search.reason(found + 1))


def chain_margin(
    mode: ModeLoad, promises: Promises, chain: CauseEffectChain, margins: Sequence[TaskMargin]
) -> ChainMargin:
    """The margin of a chain with limits, in a mode whose promises are all kept; `margins`: of all tasks."""
    found = promises.chain_bounds(chain)
    rows = tuple((quantity, found[quantity].value_ns, limit_ns) for quantity, limit_ns in promises.chains[chain])
    mine = {index: one.task.wcet_ns for index, one in promises.bounds.items() if one.task.name in chain.path}

    def broken(ppm: int) -> str | None:
        more = {index: -(-wcet_ns * (ppm - MILLION) // MILLION) for index, wcet_ns in mine.items()}
        return promises.broken(with_more(mode, more))

    search = Search(broken)
    ppm = search.largest(MILLION, MOST_PPM, least_growth_ppm([one for one in margins if one.task in chain.path]))
    return ChainMargin(chain.name, rows, ppm, None if ppm == MOST_PPM else search.reason(ppm + 1))


def _changed(mode: ModeLoad, change: Callable[[LoadTask], LoadTask]) -> ModeLoad:
    """The mode with changed tasks; loads in which nothing changes stay the same objects."""
    loads = []
    for load in mode.loads:
        tasks = tuple(change(task) for task in load.tasks)
        same = all(new is old for new, old in zip(tasks, load.tasks, strict=True))
        loads.append(load if same else replace(load, tasks=tasks))
    return replace(mode, loads=tuple(loads))


def with_more(mode: ModeLoad, extra_ns: Mapping[int, int]) -> ModeLoad:
    """Tasks, by index, execute so much longer, in the last part of their jobs."""

    def change(task: LoadTask) -> LoadTask:
        more_ns = extra_ns.get(task.index, 0)
        if more_ns == 0:
            return task
        row = mode.setup.tasks[task.index]
        processor = mode.setup.processors[row.processor]
        wcet_ns = task.wcet_ns + more_ns
        parts = regions_with_spin_ns(*regions_ns(row, processor, wcet_ns), processor, task.spin_ns)
        return replace(task, wcet_ns=wcet_ns, region_ns=parts[0], last_region_ns=parts[1])

    return _changed(mode, change)


def scaled(mode: ModeLoad, ppm: int) -> ModeLoad:
    """All execution times are `ppm` / 10**6 of what they are, rounded up."""

    def times(value_ns: int) -> int:
        return -(-value_ns * ppm // MILLION)

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
