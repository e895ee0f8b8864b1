"""Placement problems: the one of the literature, and random ones."""

from __future__ import annotations

import random
from collections.abc import Sequence

from rt_sched.planner.placing.problem import Hop, PlacementProblem

#: Topcuoglu, Hariri, Wu 2002, figure 2: computation costs on three processors, and (before, after, communication).
_COSTS = (
    (14, 16, 9), (13, 19, 18), (11, 13, 19), (13, 8, 17), (12, 13, 10),
    (13, 16, 9), (7, 15, 11), (5, 11, 14), (18, 12, 20), (21, 7, 16),
)  # fmt: skip
_EDGES = (
    (1, 2, 18), (1, 3, 12), (1, 4, 9), (1, 5, 11), (1, 6, 14), (2, 8, 19), (2, 9, 16), (3, 7, 23),
    (4, 8, 27), (4, 9, 23), (5, 9, 13), (6, 8, 15), (7, 10, 17), (8, 10, 11), (9, 10, 13),
)  # fmt: skip


def topcuoglu() -> PlacementProblem:
    """The ten tasks on which HEFT takes 80 and the best schedule 73."""
    names = tuple(f"n{number}" for number in range(1, 11))
    hops = _uniform_hops([(before - 1, after - 1, cost) for before, after, cost in _EDGES], 3)
    return PlacementProblem(names, ("p1", "p2", "p3"), (1, 1, 1), (0, 1, 2), _COSTS, hops)


def random_graph(seed: int, tasks: int, places: int = 3) -> PlacementProblem:
    """A random graph: costs 1 to 30 on each place, messages 0 to 20, some two in three tasks fed by earlier ones."""
    source = random.Random(seed)  # noqa: S311  # for tests
    costs = tuple(tuple(source.randint(1, 30) for _ in range(places)) for _ in range(tasks))
    edges = [
        (before, after, source.randint(0, 20))
        for after in range(1, tasks)
        for before in sorted(source.sample(range(after), min(after, source.choice((0, 1, 1, 2)))))
    ]
    names = tuple(f"t{number}" for number in range(tasks))
    return PlacementProblem(
        names, tuple(f"p{p}" for p in range(places)), (1,) * places, tuple(range(places)), costs,
        _uniform_hops(edges, places),
    )  # fmt: skip


def _uniform_hops(edges: Sequence[tuple[int, int, int]], groups: int) -> tuple[Hop, ...]:
    """Hops that cost the same between any two groups: (before, after, cost)."""
    return tuple(
        Hop(before, after, tuple(tuple(0 if g == h else cost for h in range(groups)) for g in range(groups)))
        for before, after, cost in edges
    )
