"""Task graphs in a system: tasks that one source sets off, on processors that nothing else uses (federated scheduling).

Every job of the source sets off one job of each task of the graph: by a message from one task before it, or by one from
each of several, which are paired. Source: Li, Chen, Agrawal, Lu, Gill, Saifullah 2014 for giving a graph its own cores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rt_sched.analysis.loads.load import LoadTask, TaskGraph
from rt_sched.analysis.loads.resolve import ModeLoad
from rt_sched.analysis.system.propagation import MessageStream, Streams, as_arrivals, sensor_streams
from rt_sched.analysis.theory.dag import in_order
from rt_sched.lowering.machine_input import Role
from rt_sched.trace.setup import EdgeKind, EdgeRow

#: A sensor or a task outside of some processors, by kind and index.
Origin = tuple[str, int]


@dataclass(frozen=True, slots=True)
class GraphShape:
    """`vertices`: tasks, each after those before it; `edges`: (before, after) tasks; `entry`: a task that the source
    sets off, with the arrivals of the source; `joins`: tasks that are set off by several before them.
    """

    processors: tuple[int, ...]
    vertices: tuple[int, ...]
    edges: tuple[tuple[int, int], ...]
    entry: int
    source: str
    joins: frozenset[int]


#: For every processor its graph, or why its tasks are none.
GraphShapes = Mapping[int, GraphShape | str]


def graph_shapes(mode: ModeLoad) -> GraphShapes:
    """The graph of every processor: with all processors that its messages lead to, else by itself."""
    looked_at = _Look(mode)
    shapes: dict[int, GraphShape | str] = {}
    for processors in looked_at.connected():
        together = looked_at.shape(processors)
        for number in processors:
            alone = isinstance(together, str) and len(processors) > 1
            shapes[number] = looked_at.shape((number,)) if alone else together
    return shapes


def graph_of(mode: ModeLoad, shape: GraphShape | str, arrivals: Mapping[int, Streams]) -> TaskGraph | str:
    """The graph as methods see it, with the current arrivals of its source."""
    if isinstance(shape, str):
        return shape
    tasks = {task.index: (task, number) for number in shape.processors for task in mode.loads[number].tasks}
    place = {vertex: position for position, vertex in enumerate(shape.vertices)}
    streams = arrivals[shape.entry]
    found: list[LoadTask] = [tasks[vertex][0] for vertex in shape.vertices]
    return TaskGraph(
        tuple(found),
        tuple(shape.processors.index(tasks[vertex][1]) for vertex in shape.vertices),
        tuple(mode.loads[number].row for number in shape.processors),
        tuple((place[before], place[after]) for before, after in shape.edges),
        () if isinstance(streams, str) else as_arrivals(streams),
        shape.source,
    )


def joins_of(shapes: GraphShapes) -> frozenset[int]:
    """Tasks of which each job is set off by messages that stem from one job of one source."""
    return frozenset(task for shape in shapes.values() if not isinstance(shape, str) for task in shape.joins)


def latest_end_ns(shape: GraphShape | str, since_source_ns: int | None, arrivals: Mapping[int, Streams]) -> int | None:
    """The latest end of a job behind the instant of the grid to which the arrival of the source belongs."""
    if isinstance(shape, str) or since_source_ns is None:
        return None
    streams = arrivals[shape.entry]
    return None if isinstance(streams, str) or len(streams) != 1 else streams[0].worst_ns + since_source_ns


class _Look:
    """What sets off what in one mode."""

    def __init__(self, mode: ModeLoad) -> None:
        self._mode, self._setup = mode, mode.setup
        self._by_processor = [[task.index for task in load.tasks] for load in mode.loads]
        self._into: dict[int, list[EdgeRow]] = {}
        for edge in mode.setup.edges:
            if edge.role is not Role.READ and mode.active[edge.target]:
                self._into.setdefault(edge.target, []).append(edge)
        self._sensors: list[MessageStream] = sensor_streams(mode.system)

    def connected(self) -> list[tuple[int, ...]]:
        """Processors whose tasks one source sets off, together with those that their messages lead to."""
        used = [number for number, tasks in enumerate(self._by_processor) if tasks]
        pure = {}
        for number in used:
            sources = frozenset(source for task in self._by_processor[number] for source in self._sources(task))
            pure[number] = next(iter(sources)) if len(sources) == 1 else None
        group = {number: number for number in used}
        for target, edges in self._into.items():
            for edge in edges:
                if edge.task is None or not self._mode.active[edge.task]:
                    continue
                one, other = (self._setup.tasks[task].processor for task in (edge.task, target))
                if pure[one] is not None and pure[one] == pure[other] and group[one] != group[other]:
                    old, new = group[other], group[one]
                    group = {number: new if name == old else name for number, name in group.items()}
        return [tuple(n for n in used if group[n] == name) for name in dict.fromkeys(group.values())]

    def shape(self, processors: tuple[int, ...]) -> GraphShape | str:
        """The graph that all tasks of these processors form, or why they form none."""
        tasks = [task for number in processors for task in self._by_processor[number]]
        inside = set(tasks)
        origins = {origin for task in tasks for origin in self._origins(task, inside)}
        if len(origins) != 1:
            names = " and ".join(sorted(map(self._name, origins))[:2])
            return f"its tasks are not one graph: {names} set them off" if origins else "nothing sets off its tasks"
        (origin,) = origins
        problem = next((text for task in tasks if (text := self._problem(task))), None) or self._join_problem(
            tasks, origin
        )
        if problem:
            return problem
        edges = [(edge.task, task) for task in tasks for edge in self._into.get(task, ()) if edge.task in inside]
        place = {task: position for position, task in enumerate(tasks)}
        pairs = sorted({(place[before], place[after]) for before, after in edges if before is not None})
        order = in_order(len(tasks), pairs)
        return GraphShape(
            processors,
            tuple(tasks[position] for position in order),
            tuple((tasks[before], tasks[after]) for before, after in pairs),
            tasks[order[0]],
            self._name(origin),
            frozenset(task for task in tasks if self._paired(task)),
        )

    def _origins(self, task: int, inside: set[int]) -> set[Origin]:
        """What sets off a task from outside; itself when the clock does."""
        if self._setup.tasks[task].timed:
            return {("task", task)}
        outside = [edge for edge in self._into.get(task, ()) if edge.task not in inside]
        return {("sensor", e.sensor) if e.sensor is not None else ("task", e.task or 0) for e in outside}

    def _sources(self, task: int, seen: frozenset[int] = frozenset()) -> set[Origin]:
        """The sensors and timed tasks that a task goes back to."""
        if self._setup.tasks[task].timed:
            return {("task", task)}
        found: set[Origin] = set()
        for edge in self._into.get(task, ()):
            if edge.sensor is not None:
                found.add(("sensor", edge.sensor))
            elif edge.task is not None and edge.task not in seen:
                found |= self._sources(edge.task, seen | {task})
        return found

    def _problem(self, task: int) -> str | None:
        """Why the jobs of a task do not follow at once, one by one, from those before it."""
        row, edges = self._setup.tasks[task], self._into.get(task, [])
        if any(edge.task is not None and not self._mode.active[edge.task] for edge in edges):
            return f"task {row.name} waits for a task that this mode lacks"
        if any(edge.link is not None for edge in edges):
            return f"a link delays what sets off task {row.name}"
        if row.let:
            return f"task {row.name} publishes at its deadline (LET), not at its end"
        if len(edges) > 1 and not all(edge.role is Role.PAIRED for edge in edges):
            return f"several messages set off task {row.name} one by one"
        return None

    def _join_problem(self, tasks: Sequence[int], origin: Origin) -> str | None:
        """Why messages of different jobs of the source might be paired."""
        joins = [task for task in tasks if self._paired(task)]
        if not joins:
            return None
        gap_ns = self._stamp_gap_ns(origin)
        for task in joins:
            row = self._setup.tasks[task]
            if gap_ns is None:
                return f"stamps of {self._name(origin)} may be equal, so task {row.name} may pair different jobs"
            if row.tolerance_ns >= gap_ns:
                return f"task {row.name} may pair messages of different jobs within its tolerance"
        overwritten = (t for t in tasks for e in self._into.get(t, ()) if e.kind is EdgeKind.LATEST)
        latest = next(overwritten, None)
        if latest is not None:
            return f"task {self._setup.tasks[latest].name} may read a newer message than the one that sets it off"
        return None

    def _stamp_gap_ns(self, origin: Origin) -> int | None:
        """Least distance of the stamps of two jobs or samples; None where it is not known."""
        kind, index = origin
        while kind == "task" and not self._setup.tasks[index].timed:
            edges = self._into.get(index, [])
            if len(edges) != 1 or edges[0].kind is EdgeKind.LATEST:
                return None
            kind, index = ("sensor", edges[0].sensor) if edges[0].sensor is not None else ("task", edges[0].task or 0)
        if kind == "sensor":
            return self._sensors[index].period_ns - self._sensors[index].stamp_lag_ns
        if any(edge.target == index for edge in self._setup.edges):
            return None
        return self._setup.tasks[index].separation_ns

    def _paired(self, task: int) -> bool:
        return any(edge.role is Role.PAIRED for edge in self._into.get(task, ()))

    def _name(self, origin: Origin) -> str:
        kind, index = origin
        return self._setup.sensors[index] if kind == "sensor" else self._setup.tasks[index].name
