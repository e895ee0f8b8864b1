"""The bounds of one mode: every applicable method on every processor, until arrivals and responses agree.

Arrivals of message-activated tasks follow from the responses of their predecessors and the other way round. Beginning
with no delay, both only grow, so the least fixed point is reached from below; what has not settled after
`MOST_ROUNDS`, or lies beyond the horizon, has no bound, nor has what that delays (Tindell, Clark 1994).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rt_sched.analysis.loads.load import LoadTask, ProcessorLoad
from rt_sched.analysis.loads.resolve import ModeLoad
from rt_sched.analysis.methods import METHODS, Found, Method
from rt_sched.analysis.methods.ways_out import with_ways_out
from rt_sched.analysis.result import Bound, Refusal
from rt_sched.analysis.system.graphs import graph_of, graph_shapes, joins_of, latest_end_ns
from rt_sched.analysis.system.propagation import (
    MessageStream,
    Streams,
    activations,
    as_arrivals,
    clock_stream,
    sensor_streams,
)
from rt_sched.analysis.system.spinning import with_fewer_spins
from rt_sched.analysis.theory.fixed_points import HORIZON_NS

#: Rounds over all processors before arrivals count as not settling.
MOST_ROUNDS = 150
#: How often spins are counted anew, with the responses that the last count gave.
SPIN_ROUNDS = 2
#: Arrivals that are later than this, in periods, and still come later after a round for each processor have no bound:
#: by then all has settled that does not depend on itself, and what does hardly ever settles so late.
MOST_PERIODS_LATE = 1000
_RUNS_AWAY = f"arrivals came later with every round, and more than {MOST_PERIODS_LATE} periods late"
_UNSETTLED = f"arrivals had not settled after {MOST_ROUNDS} rounds"


@dataclass(frozen=True, slots=True)
class TaskBound:
    """What was found for one task: the least bound of all applicable methods, or why there is none.

    `streams`: its arrivals, with their delay behind the instants of sensor or clock; () when they have no bound.
    `refusals`: methods for its processor that do not apply. `unbounded`: no bound exists. `lost`: arrivals of it, or of
    another task of its processor, have no bound. `since_source_ns`, `ends_ns`: as `Found` has them;
    `latest_ns`: the latest end by either, from the instants of sensor or clock on. `of_one_source`: whether each job is
    known to go back to one job or sample of what sets off its graph.
    """

    task: LoadTask
    bound: Bound | None
    reason: str
    streams: tuple[MessageStream, ...]
    refusals: tuple[Refusal, ...]
    unbounded: bool = False
    lost: bool = False
    since_source_ns: int | None = None
    latest_ns: int | None = None
    ends_ns: tuple[int, int] | None = None
    of_one_source: bool = False


#: Bounds of processors that were met before, by their load and arrivals; for one and the same methods.
Known = dict[tuple[ProcessorLoad, tuple[Streams, ...]], list[TaskBound]]


def mode_bounds(mode: ModeLoad, methods: Sequence[Method], known: Known | None = None) -> dict[int, TaskBound]:
    """Bound of every task of the mode by its index in the system.

    `known`: is looked up and added to, for whoever asks about many loads of which most processors stay the same.
    """
    memory = {} if known is None else known
    found = _settled_bounds(mode, methods, memory)
    for _ in range(SPIN_ROUNDS):
        pending = {index: (one.bound, one.streams) for index, one in found.items()}
        fewer = with_fewer_spins(mode, pending)
        if fewer is mode:
            break
        found = _settled_bounds(fewer, methods, memory)
    return found


def _settled_bounds(mode: ModeLoad, methods: Sequence[Method], memory: Known) -> dict[int, TaskBound]:
    """Bounds with the spins that the loads have."""
    sensors = sensor_streams(mode.system)
    shapes = graph_shapes(mode)
    joins = joins_of(shapes)
    processor_of = {task.index: number for number, load in enumerate(mode.loads) for task in load.tasks}
    arrivals: dict[int, Streams] = {}
    found: dict[int, TaskBound] = {}
    outputs: dict[int, Streams] = dict.fromkeys(processor_of, ())
    given_up: dict[int, Streams] = {}
    for number in range(MOST_ROUNDS + 2 * len(processor_of)):
        wanted = {
            task.index: activations(mode, sensors, outputs, task.index, one_source=task.index in joins)
            if task.message_activated
            else clock_stream(task, load.processor.device)
            for load in mode.loads
            for task in load.tasks
        } | given_up
        moved = {index for index in wanted if wanted[index] != arrivals.get(index)}
        if not moved:
            return found
        # What has no bound once will not get one from arrivals that only come later.
        given_up |= {index: wanted[index] for index in moved if isinstance(wanted[index], str)}
        if number > len(mode.loads):
            given_up |= {index: _RUNS_AWAY for index in moved if index not in given_up and _runs_away(wanted[index])}
            wanted |= given_up
        if number >= MOST_ROUNDS:
            given_up |= {index: _UNSETTLED for index in moved if index not in given_up}
            wanted |= given_up
        arrivals = wanted
        changed = {processor_of[index] for index in moved}
        changed |= {n for n, shape in shapes.items() if not isinstance(shape, str) and shape.entry in moved}
        for number in sorted(changed):
            shape = shapes.get(number, "")
            load = _with_arrivals(mode.loads[number], arrivals)
            load = replace(load, graph=graph_of(mode, shape, arrivals))
            key = load, tuple(arrivals[task.index] for task in load.tasks)
            if key not in memory:
                memory[key] = processor_bounds(load, methods, arrivals)
            for kept in memory[key]:
                one = _with_latest_end(mode, kept, latest_end_ns(shape, kept.since_source_ns, arrivals))
                found[one.task.index] = one
                outputs[one.task.index] = _output(mode, one, arrivals[one.task.index])
    return {index: replace(one, bound=None, reason=_UNSETTLED) for index, one in found.items()}


def _with_latest_end(mode: ModeLoad, one: TaskBound, in_graph_ns: int | None) -> TaskBound:
    """The bound with the latest end of a job; under LET its end is not when it publishes."""
    ends_ns = [] if in_graph_ns is None else [in_graph_ns]
    if one.ends_ns is not None and len(one.streams) == 1 and not mode.setup.tasks[one.task.index].let:
        ends_ns.append(one.streams[0].best_ns + one.ends_ns[1])
    return replace(one, latest_ns=min(ends_ns, default=None), of_one_source=in_graph_ns is not None)


def _runs_away(streams: Streams) -> bool:
    return not isinstance(streams, str) and any(one.jitter_ns > MOST_PERIODS_LATE * one.period_ns for one in streams)


def loads_with_arrivals(mode: ModeLoad, methods: Sequence[Method]) -> tuple[ProcessorLoad, ...]:
    """The loads of a mode with the arrivals of its bounds; tasks whose arrivals have no bound are left out."""
    bounds = mode_bounds(mode, methods)
    return tuple(
        replace(
            load,
            tasks=tuple(
                replace(bounds[task.index].task, streams=as_arrivals(bounds[task.index].streams))
                for task in load.tasks
                if bounds[task.index].streams
            ),
        )
        for load in mode.loads
    )


def _with_arrivals(load: ProcessorLoad, arrivals: dict[int, Streams]) -> ProcessorLoad:
    tasks = []
    for task in load.tasks:
        streams = arrivals[task.index]
        tasks.append(replace(task, streams=() if isinstance(streams, str) else as_arrivals(streams)))
    return replace(load, tasks=tuple(tasks))


def processor_bounds(load: ProcessorLoad, methods: Sequence[Method], arrivals: dict[int, Streams]) -> list[TaskBound]:
    """The least bound of each task of one processor.

    A task whose arrivals have no bound leaves none to those that it can delay; tasks that have not been reached yet
    (no streams) count from the round in which they are.
    """
    lost = [f"task {task.name}: {arrivals[task.index]}" for task in load.tasks if isinstance(arrivals[task.index], str)]
    present = replace(load, tasks=tuple(task for task in load.tasks if task.streams))
    refusals: list[Refusal] = []
    best: dict[int, Found] = {}
    since_source_ns: dict[int, int] = {}
    ends_ns: dict[int, tuple[int, int]] = {}
    for method in () if lost else methods:
        if load.policy not in method.policies or not present.tasks:
            continue
        refusal = method.refuse(present)
        if refusal is not None:
            refusals.append(refusal)
            continue
        for task, one in zip(present.tasks, method.find(present), strict=True):
            best[task.index] = _better(best.get(task.index), one)
            if one.since_source_ns is not None:
                since_source_ns[task.index] = one.since_source_ns
            if one.ends_ns is not None:
                ends_ns[task.index] = _within(one.ends_ns, ends_ns.get(task.index, one.ends_ns))
    advised = with_ways_out(present, refusals, METHODS)
    nothing = Found(None, lost[0] if lost else _why_nothing(load, advised))
    results = []
    for task in load.tasks:
        one = best.get(task.index, nothing)
        streams = arrivals[task.index]
        known = () if isinstance(streams, str) else streams
        since_ns = since_source_ns.get(task.index)
        ends = ends_ns.get(task.index)
        results.append(
            TaskBound(task, one.bound, one.reason, known, advised, one.unbounded, bool(lost), since_ns, ends_ns=ends)
        )
    return results


def _within(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    """What two methods say together of the earliest and the latest end."""
    return max(one[0], other[0]), min(one[1], other[1])


def _better(old: Found | None, new: Found) -> Found:
    """The lesser bound; of equal ones that which some run attains."""
    if old is None or old.bound is None:
        return old if old is not None and new.bound is None and old.unbounded else new
    if new.bound is None:
        return old
    ranks = ((one.value_ns, not one.exact) for one in (new.bound, old.bound))
    return new if next(ranks) < next(ranks) else old


def _why_nothing(load: ProcessorLoad, refusals: Sequence[Refusal]) -> str:
    if not refusals:
        return f"no method for {load.policy.value} was asked for"
    first = next((refusal for refusal in refusals if not refusal.elsewhere), refusals[0])
    return first.reason + (f"; {first.instead} would apply" if first.instead else "")


def outputs_of(mode: ModeLoad, bounds: Mapping[int, TaskBound]) -> dict[int, Streams]:
    """What every task publishes, by its index, given its bound."""
    return {index: _output(mode, one, one.streams or one.reason) for index, one in bounds.items()}


def _output(mode: ModeLoad, one: TaskBound, arrivals: Streams) -> Streams:
    """When the messages of a task become visible: at completion, or under LET at arrival + deadline.

    What has not been reached yet publishes nothing, which is less than no bound.
    """
    row = mode.setup.tasks[one.task.index]
    if isinstance(arrivals, str) or not arrivals:
        return arrivals
    if row.let:
        return tuple(stream.delayed(row.deadline_ns, row.deadline_ns) for stream in one.streams)
    if one.bound is None:
        known = one.reason.find("no bound on")
        return one.reason[known:] if known >= 0 else f"no bound on {one.task.name}: {one.reason}"
    if any(stream.worst_ns + one.bound.value_ns > HORIZON_NS for stream in one.streams):
        return f"no bound on {one.task.name}"
    if one.latest_ns is not None and len(one.streams) == 1:
        (stream,) = one.streams
        least_ns = one.task.bcet_ns if one.ends_ns is None else one.ends_ns[0]
        worst_ns = min(stream.worst_ns + one.bound.value_ns, one.latest_ns)
        return (replace(stream, best_ns=stream.best_ns + least_ns, worst_ns=worst_ns),)
    return tuple(stream.delayed(one.task.bcet_ns, one.bound.value_ns) for stream in one.streams)
