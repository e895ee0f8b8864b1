"""Bounds on task graphs, against every work-conserving schedule of small ones and against what papers print."""

from __future__ import annotations

from functools import cache
from itertools import combinations, product

import numpy as np
import pytest

from rt_sched.analysis.theory.dag import Dag, finish_bounds_ns, graham_response_ns, longest_path_ns, vertex_responses_ns
from rt_sched.errors import AnalysisNotApplicable


def latest_ends(dag: Dag, levels: list[int] | None = None, *, preemptive: bool = True) -> list[int]:
    """The latest end of every vertex over all schedules that leave no core idle, tick by tick; at each tick a vertex
    that executes may end, however much of its worst case is left. With `levels` the most urgent ready ones execute.
    """
    count = len(dag.wcet_ns)
    before = [[a for a, b in dag.edges if b == v] for v in range(count)]

    def choices(ready: list[int], running: frozenset[int], cores: int) -> list[tuple[int, ...]]:
        kept = [v for v in ready if v in running] if not preemptive else []
        free = [v for v in ready if v not in kept]
        size = min(cores - len(kept), len(free))
        if levels is None:
            return [(*kept, *some) for some in combinations(free, size)]
        order = sorted(free, key=lambda v: levels[v])
        return [(*kept, *order[:size])]

    @cache
    def ends(left: tuple[int, ...], running: frozenset[int]) -> tuple[int, ...]:
        ready = [v for v in range(count) if left[v] and not any(left[u] for u in before[v])]
        if not ready:
            return (0,) * count
        worst = [0] * count
        per_type = [
            choices([v for v in ready if dag.types[v] == s], running, cores) for s, cores in enumerate(dag.cores)
        ]
        for chosen in product(*per_type):
            run = [v for some in chosen for v in some]
            for early in product((False, True), repeat=len(run)):
                after = list(left)
                for v, stops in zip(run, early, strict=True):
                    after[v] = 0 if stops else left[v] - 1
                later = ends(tuple(after), frozenset(v for v in run if after[v]))
                for v in range(count):
                    if left[v]:
                        worst[v] = max(worst[v], 1 + (later[v] if after[v] else 0))
        return tuple(worst)

    return list(ends(dag.wcet_ns, frozenset()))


def random_dag(rng: np.random.Generator, types: int) -> Dag:
    count = int(rng.integers(1, 6))
    edges = tuple((a, b) for a in range(count) for b in range(a + 1, count) if rng.random() < 0.35)
    return Dag(
        tuple(int(w) for w in rng.integers(1, 4, count)),
        edges,
        tuple(int(t) for t in rng.integers(0, types, count)),
        tuple(int(m) for m in rng.integers(1, 4, types)),
    )


@pytest.mark.parametrize("types", [1, 2])
@pytest.mark.parametrize("preemptive", [True, False])
def test_no_schedule_of_a_small_graph_ends_after_its_bounds(types: int, preemptive: bool) -> None:
    rng = np.random.default_rng(71 + types)
    attained = total = 0
    for _ in range(40):
        dag = random_dag(rng, types)
        seen, found = latest_ends(dag, preemptive=preemptive), finish_bounds_ns(dag)
        assert all(end <= limit for end, limit in zip(seen, found, strict=True)), dag
        attained += sum(end == limit for end, limit in zip(seen, found, strict=True))
        total += len(seen)
        if types == 1:
            assert max(found) <= graham_response_ns(dag.wcet_ns, dag.edges, dag.cores[0])
    assert 10 * attained > 8 * total


@pytest.mark.parametrize("types", [1, 2])
def test_priorities_inside_a_graph_tighten_its_bounds(types: int) -> None:
    rng = np.random.default_rng(81 + types)
    attained = total = tighter = 0
    for _ in range(60):
        dag = random_dag(rng, types)
        levels = [int(level) for level in rng.permutation(len(dag.wcet_ns))]
        seen, found, plain = latest_ends(dag, levels), finish_bounds_ns(dag, levels), finish_bounds_ns(dag)
        assert all(end <= limit for end, limit in zip(seen, found, strict=True)), (dag, levels)
        assert all(limit <= other for limit, other in zip(found, plain, strict=True))
        tighter += sum(found) < sum(plain)
        attained += sum(end == limit for end, limit in zip(seen, found, strict=True))
        total += len(seen)
    assert tighter > 10
    assert 10 * attained > 8 * total


#: Graham 1969: nine tasks, the first before the ninth, the fourth before the fifth to the eighth.
_GRAHAM = ((3, 2, 2, 2, 4, 4, 4, 4, 9), ((0, 8), (3, 4), (3, 5), (3, 6), (3, 7)))


def _list_schedule(wcet: tuple[int, ...], edges: tuple[tuple[int, int], ...], cores: int) -> int:
    """The length of the schedule that starts ready tasks in the order of the list and never preempts."""
    left, running, done, now = list(range(len(wcet))), {}, set(), 0
    while left or running:
        for task in [t for t in left if all(a in done for a, b in edges if b == t)]:
            if len(running) < cores:
                running[task] = now + wcet[task]
                left.remove(task)
        now = min(running.values())
        done |= {task for task, end in running.items() if end == now}
        running = {task: end for task, end in running.items() if end > now}
    return now


def test_grahams_anomalies_stay_below_his_bound() -> None:
    wcet, edges = _GRAHAM
    shorter = tuple(one - 1 for one in wcet)
    assert _list_schedule(wcet, edges, 3) == 12
    assert _list_schedule(shorter, edges, 3) == 13
    assert _list_schedule(wcet, edges, 4) == 15
    assert _list_schedule(wcet, edges[:2] + edges[4:], 3) == 16
    assert graham_response_ns(wcet, edges, 3) == 12 + 22 // 3
    assert graham_response_ns(shorter, edges, 3) == 10 + 15 // 3
    assert graham_response_ns(wcet, edges, 4) == 12 + 22 // 4


@pytest.mark.parametrize("cores", [1, 2, 3, 7])
def test_grahams_bound_is_attained(cores: int) -> None:
    wcet = (*[1] * (cores * (cores - 1)), cores)
    assert graham_response_ns(wcet, (), cores) == _list_schedule(wcet, (), cores) == 2 * cores - 1


def test_a_graph_of_four_on_two_devices() -> None:
    wcet, edges = (2, 3, 3, 1), ((0, 1), (0, 3), (2, 3))
    assert _list_schedule(wcet, edges, 1) == sum(wcet) == 9 == graham_response_ns(wcet, edges, 1)
    assert _list_schedule(wcet, edges, 2) == 5
    assert graham_response_ns(wcet, edges, 2) == 7


def test_a_graph_over_cpu_and_gpu_by_hand() -> None:
    """Four cores prepare and fuse four cameras (2, and 3 for all), one GPU infers (5 each)."""
    wcet = (2, 2, 2, 2, 5, 5, 5, 5, 3)
    edges = ((0, 4), (1, 5), (2, 6), (3, 7), (4, 8), (5, 8), (6, 8), (7, 8))
    dag = Dag(wcet, edges, (0, 0, 0, 0, 1, 1, 1, 1, 0), (4, 1))
    # 2, 5 and 3; the three others never fill four cores, but their 15 fill one.
    assert finish_bounds_ns(dag)[8] == 25
    assert vertex_responses_ns(dag) == [2, 2, 2, 2, 20, 20, 20, 20, 3]
    # With priorities the first camera waits for nobody.
    levels = [0, 1, 2, 3, 0, 1, 2, 3, 9]
    assert finish_bounds_ns(dag, levels)[4:] == [7, 12, 17, 22, 25]
    # On two cores the other three can be 3 each while one waits.
    assert vertex_responses_ns(Dag(wcet, edges, dag.types, (2, 1)))[:4] == [5, 5, 5, 5]
    assert longest_path_ns(dag) == 10


def test_many_paths_are_merged_and_stay_below_the_simple_bound() -> None:
    """A ladder of forty rungs has 2**40 paths."""
    rungs = 40
    wcet = tuple(1 + vertex % 7 for vertex in range(2 * rungs))
    edges = tuple((2 * r + a, 2 * r + 2 + b) for r in range(rungs - 1) for a in range(2) for b in range(2))
    dag = Dag(wcet, edges, tuple(v % 2 for v in range(2 * rungs)), (2, 2))
    levels = list(range(2 * rungs))
    found = finish_bounds_ns(dag, levels)
    assert longest_path_ns(dag) <= max(found) <= sum(wcet)
    assert all(limit <= other for limit, other in zip(found, finish_bounds_ns(dag), strict=True))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (((0,), (), (0,), (1,)), "at least 1 ns"),
        (((1, 1), ((0, 2),), (0, 0), (1,)), "names none of"),
        (((1, 1), ((0, 1), (1, 0)), (0, 0), (1,)), "circle"),
        (((1,), (), (1,), (1,)), "types"),
        (((1,), (), (0,), (0,)), "at least one core"),
    ],
)
def test_what_is_no_graph_is_refused(given: tuple, says: str) -> None:
    with pytest.raises(AnalysisNotApplicable, match=says):
        Dag(*given)


@pytest.mark.parametrize(
    ("work", "cores", "filled"),
    [((), 2, 0), ((9,), 2, 0), ((9, 2), 2, 2), ((9, 2, 2), 2, 4), ((9, 9, 3), 3, 3), ((3, 3, 3), 2, 4), ((5, 4), 1, 9)],
)
def test_one_vertex_fills_one_core(work: tuple[int, ...], cores: int, filled: int) -> None:
    """A vertex of 1 ns beside others, whatever their work is, waits while they fill all cores."""
    alone = Dag((*work, 1), (), (0,) * (len(work) + 1), (cores,))
    assert vertex_responses_ns(alone)[-1] == 1 + filled
    assert max(x for x in range(20) if sum(min(w, x) for w in work) >= cores * x) == filled


def test_levels_are_one_a_vertex() -> None:
    with pytest.raises(AnalysisNotApplicable, match="2 levels for 1 vertices"):
        finish_bounds_ns(Dag((1,), (), (0,), (1,)), [0, 1])
