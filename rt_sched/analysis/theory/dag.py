"""Response times of task graphs (DAG tasks) that have their cores to themselves: one type of cores, or several.

A vertex is ready once all vertices before it have ended. Of the ready vertices of one type, a work-conserving
scheduler leaves none waiting while a core of that type idles. Cores of another type do not serve a vertex.

All bounds rest on one argument (Graham 1969). Walk back from the end of a vertex to that of the vertex before it that
ended last, and so on to one that was ready from the start. While a vertex of this path is ready and does not execute,
all cores of its type execute others, which neither come before it in the graph, as those have ended, nor after it.
So no shorter execution time, other order or later start makes anything end after its bound: there are no anomalies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import lcm

from rt_sched.errors import AnalysisNotApplicable

#: Sets of vertices that delay a path which are told apart at one vertex; more are merged, which is safe.
_MOST_SETS = 64


@dataclass(frozen=True, slots=True)
class Dag:
    """A task graph. `wcet_ns[v]`, `types[v]`: of vertex v; `edges`: (before, after); `cores[s]`: cores of type s.

    Raises AnalysisNotApplicable for a vertex below 1 ns, an unknown vertex or type, a type without cores, a circle.
    """

    wcet_ns: tuple[int, ...]
    edges: tuple[tuple[int, int], ...]
    types: tuple[int, ...]
    cores: tuple[int, ...]

    def __post_init__(self) -> None:
        count = len(self.wcet_ns)
        for vertex, wcet_ns in enumerate(self.wcet_ns):
            if wcet_ns < 1:
                raise AnalysisNotApplicable(f"wcet_ns[{vertex}] is {wcet_ns} ns; a vertex takes at least 1 ns")
        if len(self.types) != count or any(not 0 <= one < len(self.cores) for one in self.types):
            raise AnalysisNotApplicable(f"types must name one of {len(self.cores)} types for each of {count} vertices")
        if any(cores < 1 for cores in self.cores):
            raise AnalysisNotApplicable("every type of cores needs at least one core")
        for before, after in self.edges:
            if not (0 <= before < count and 0 <= after < count):
                raise AnalysisNotApplicable(f"edge ({before}, {after}) names none of the vertices 0 ... {count - 1}")
        if len(in_order(count, self.edges)) < count:
            raise AnalysisNotApplicable("the edges form a circle; a task graph has none")


def in_order(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Vertices 0 ... count - 1, each after all before it; those on or behind a circle are left out."""
    missing = [0] * count
    for _, after in edges:
        missing[after] += 1
    found = [vertex for vertex in range(count) if not missing[vertex]]
    for vertex in found:
        for before, after in edges:
            if before == vertex:
                missing[after] -= 1
                if not missing[after]:
                    found.append(after)
    return found


def volume_ns(wcet_ns: Sequence[int]) -> int:
    """Work of all vertices together."""
    return sum(wcet_ns)


def longest_path_ns(dag: Dag) -> int:
    """Work of the longest path: what the graph takes on any number of cores."""
    return max(_longest_to(dag, lambda vertex: dag.wcet_ns[vertex]), default=0)


def graham_response_ns(wcet_ns: Sequence[int], edges: Sequence[tuple[int, int]], cores: int) -> int:
    """Bound on the response of a whole graph on identical cores: len + (vol - len) / m, rounded down to whole ns.

    Holds for any work-conserving scheduler, preemptive or not, with execution times up to the worst ones.
    Source: Graham 1969.

    Raises AnalysisNotApplicable as `Dag` does.
    """
    dag = Dag(tuple(wcet_ns), tuple(edges), (0,) * len(wcet_ns), (cores,))
    longest_ns = longest_path_ns(dag)
    return longest_ns + (volume_ns(wcet_ns) - longest_ns) // cores


def vertex_responses_ns(dag: Dag, levels: Sequence[int] | None = None) -> list[int]:
    """Bounds on the time from the instant at which each vertex is ready until it ends.

    `levels`: as for `finish_bounds_ns`.
    """
    delaying = _delaying(dag, levels)
    return [dag.wcet_ns[vertex] + _delay_ns(dag, delaying[vertex]) for vertex in range(len(dag.wcet_ns))]


def finish_bounds_ns(dag: Dag, levels: Sequence[int] | None = None) -> list[int]:
    """Bounds on the time from the start of the graph until each vertex has ended; the largest is that of the graph.

    For every path to the vertex: its length and, type by type, the longest time for which the vertices that can delay
    one of the path fill all cores of that type: their work divided by the cores, or less where few vertices have most
    of the work, as each executes on one core at a time. `levels`: of the vertices, lower is more urgent, where the
    cores of a type always execute the most urgent ready vertices of that type, preempting others at any instant; only
    vertices of the same or a more urgent level then delay. None: any work-conserving order, preemptive or not. The
    number of paths may be exponential; sets of delaying vertices beyond a limit are merged, and the longest path with
    all other work is never exceeded.

    Source: Graham 1969 (one type, any order); He, Jiang, Guan, Guo 2019 (one type, priorities); Jaffe 1980 and Han et
    al. 2019 (types).

    Raises AnalysisNotApplicable for `levels` of another length.
    """
    simple = _simple_bounds_ns(dag)
    return [
        min(simple_ns, max(length_ns + _delay_ns(dag, delayed) for delayed, length_ns in states.items()))
        for simple_ns, states in zip(simple, _paths(dag, _delaying(dag, levels)), strict=True)
    ]


def _simple_bounds_ns(dag: Dag) -> list[int]:
    """For each vertex the longest path to it with all work that does not come after it, shared by the cores."""
    scale = lcm(*dag.cores)

    def shared(vertex: int) -> int:
        return dag.wcet_ns[vertex] * (scale // dag.cores[dag.types[vertex]])

    after = _reachable(dag, [(second, first) for first, second in dag.edges])
    # A vertex of the path does not delay it: what `shared` counts of it is taken off again.
    longest = _longest_to(dag, lambda vertex: dag.wcet_ns[vertex] * scale - shared(vertex))
    count = len(dag.wcet_ns)
    return [
        (longest[vertex] + sum(shared(other) for other in range(count) if not after[vertex] >> other & 1)) // scale
        for vertex in range(count)
    ]


def _delay_ns(dag: Dag, vertices: int) -> int:
    """How long a set of vertices can fill all cores of their types, one type after the other."""
    total_ns = 0
    for number, cores in enumerate(dag.cores):
        work_ns = [w for v, w in enumerate(dag.wcet_ns) if dag.types[v] == number and vertices >> v & 1]
        total_ns += _filled_ns(work_ns, cores)
    return total_ns


def _filled_ns(work_ns: Sequence[int], cores: int) -> int:
    """The largest x for which vertices that each give at most x give `cores` * x together."""
    left_ns = sum(work_ns)
    for largest_ns in sorted(work_ns, reverse=True):
        if largest_ns * cores <= left_ns:
            break
        # It occupies one core all the time.
        left_ns -= largest_ns
        cores -= 1
    return left_ns // cores if left_ns else 0


def _paths(dag: Dag, delaying: Sequence[int]) -> list[dict[int, int]]:
    """For every vertex the longest paths to it, by the set of vertices that can delay one of theirs."""
    found: list[dict[int, int]] = [{} for _ in dag.wcet_ns]
    before = _before(dag)
    for vertex in in_order(len(dag.wcet_ns), dag.edges):
        states: dict[int, int] = {}
        for earlier in before[vertex]:
            for delayed, length_ns in found[earlier].items():
                wider = delayed | delaying[vertex]
                states[wider] = max(states.get(wider, 0), length_ns)
        states = states or {delaying[vertex]: 0}
        if len(states) > _MOST_SETS:
            union = 0
            for delayed in states:
                union |= delayed
            states = {union: max(states.values())}
        found[vertex] = {delayed: length_ns + dag.wcet_ns[vertex] for delayed, length_ns in states.items()}
    return found


def _delaying(dag: Dag, levels: Sequence[int] | None) -> list[int]:
    """For each vertex the set of those of its type that may execute while it is ready and waits; bit v is vertex v."""
    count = len(dag.wcet_ns)
    if levels is not None and len(levels) != count:
        raise AnalysisNotApplicable(f"{len(levels)} levels for {count} vertices; every vertex needs one")
    related = [
        one | other
        for one, other in zip(_reachable(dag, dag.edges), _reachable(dag, [(b, a) for a, b in dag.edges]), strict=True)
    ]
    return [
        sum(
            1 << other
            for other in range(count)
            if other != vertex
            and dag.types[other] == dag.types[vertex]
            and not related[vertex] >> other & 1
            and (levels is None or levels[other] <= levels[vertex])
        )
        for vertex in range(count)
    ]


def _reachable(dag: Dag, edges: Sequence[tuple[int, int]]) -> list[int]:
    """For each vertex the set of those from which `edges` lead to it."""
    found = [0] * len(dag.wcet_ns)
    for vertex in in_order(len(dag.wcet_ns), edges):
        for before, after in edges:
            if before == vertex:
                found[after] |= found[vertex] | 1 << vertex
    return found


def _longest_to(dag: Dag, weight: Callable[[int], int]) -> list[int]:
    """For each vertex the largest sum of weights of a path that ends with it."""
    found = [0] * len(dag.wcet_ns)
    before = _before(dag)
    for vertex in in_order(len(dag.wcet_ns), dag.edges):
        found[vertex] = weight(vertex) + max((found[earlier] for earlier in before[vertex]), default=0)
    return found


def _before(dag: Dag) -> list[list[int]]:
    """The direct predecessors of each vertex."""
    found: list[list[int]] = [[] for _ in dag.wcet_ns]
    for before, after in dag.edges:
        found[after].append(before)
    return found
