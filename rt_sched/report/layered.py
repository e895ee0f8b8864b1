"""Layered layout of a directed graph: every edge leads to a later layer, long ones bend through the layers between.

After Sugiyama, Tagawa, Toda 1981: break circles, give layers by longest path, order each layer by barycentres.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

#: Passes over all layers; more change little on graphs of this size.
_SWEEPS = 12
#: Nodes without an edge stand below all others, at least so many side by side.
_SIDE_BY_SIDE = 6


@dataclass(frozen=True, slots=True)
class Layout:
    """`layer`, `row`: of each node. `bends`: of each edge, the (layer, row) it passes on its way, its ends left out.

    Rows are counted from 0, each taken once in a layer, bends included. `reversed_edges`: those that led back.
    """

    layer: tuple[int, ...]
    row: tuple[int, ...]
    bends: tuple[tuple[tuple[int, int], ...], ...]
    reversed_edges: frozenset[int]
    layers: int
    rows: int


def layered_layout(nodes: int, edges: Sequence[tuple[int, int]]) -> Layout:
    """The layout of `nodes` nodes with `edges` (from, to), which may form circles. Deterministic.

    Nodes without an edge to another one fill rows below.
    """
    joined = sorted({end for edge in edges if edge[0] != edge[1] for end in edge})
    alone = sorted(set(range(nodes)) - set(joined))
    number = {node: position for position, node in enumerate((*joined, *alone))}
    told = _layered(len(joined), [(number[a], number[b]) for a, b in edges if a != b])
    layers = max(told.layers, min(len(alone), _SIDE_BY_SIDE), 1)
    layer = [*told.layer, *(position % layers for position in range(len(alone)))]
    row = [*told.row, *(told.rows + position // layers for position in range(len(alone)))]
    between = [place for place, edge in enumerate(edges) if edge[0] != edge[1]]
    bends = dict(zip(between, told.bends, strict=True))
    return Layout(
        layer=tuple(layer[number[node]] for node in range(nodes)),
        row=tuple(row[number[node]] for node in range(nodes)),
        bends=tuple(bends.get(place, ()) for place in range(len(edges))),
        reversed_edges=frozenset(between[place] for place in told.reversed_edges),
        layers=layers,
        rows=told.rows + -(-len(alone) // layers),
    )


def _layered(nodes: int, edges: Sequence[tuple[int, int]]) -> Layout:
    """The layout of nodes each of which has an edge."""
    back = _edges_that_lead_back(nodes, edges)
    forward = [(b, a) if index in back else (a, b) for index, (a, b) in enumerate(edges)]
    layer = _layers(nodes, forward)
    places: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    for node in range(nodes):
        places[layer[node]].append(node)
    # A long edge becomes a path of places, one per layer, numbered after the nodes.
    paths: list[list[int]] = []
    steps: list[tuple[int, int]] = []
    count = nodes
    for start, end in forward:
        path = []
        for between in range(layer[start] + 1, layer[end]):
            places[between].append(count)
            path.append(count)
            count += 1
        paths.append(path)
        stops = [start, *path, end]
        steps += [pair for pair in pairwise(stops) if pair[0] != pair[1]]
    row = _ordered(places, steps, count)
    tallest = max((len(members) for members in places), default=0)
    for members in places:
        # Short layers stand in the middle; layers of almost the same height begin together, so that lines are straight.
        shift = (tallest - len(members)) // 2 if 2 * len(members) <= tallest else 0
        for place in members:
            row[place] += shift
    depth = {place: index for index, members in enumerate(places) for place in members}
    return Layout(
        layer=tuple(layer),
        row=tuple(row[:nodes]),
        bends=tuple(
            tuple((depth[place], row[place]) for place in (reversed(path) if index in back else path))
            for index, path in enumerate(paths)
        ),
        reversed_edges=frozenset(back),
        layers=len(places),
        rows=tallest,
    )


def _edges_that_lead_back(nodes: int, edges: Sequence[tuple[int, int]]) -> set[int]:
    """Edges whose reversal leaves no circle, found by a walk in depth from the nodes in order."""
    outgoing: list[list[int]] = [[] for _ in range(nodes)]
    for index, (start, end) in enumerate(edges):
        if start != end:
            outgoing[start].append(index)
    back: set[int] = set()
    state = [0] * nodes  # 1: on the way from the root, 2: done
    for root in range(nodes):
        if state[root]:
            continue
        state[root] = 1
        stack = [(root, iter(outgoing[root]))]
        while stack:
            node, rest = stack[-1]
            index = next(rest, -1)
            if index < 0:
                state[node] = 2
                stack.pop()
            elif state[edges[index][1]] == 1:
                back.add(index)
            elif state[edges[index][1]] == 0:
                state[edges[index][1]] = 1
                stack.append((edges[index][1], iter(outgoing[edges[index][1]])))
    return back


def _layers(nodes: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """The longest path from any source to each node of a graph without circles."""
    layer = [0] * nodes
    waiting = [0] * nodes
    for start, end in edges:
        waiting[end] += start != end
    ready = [node for node in range(nodes) if not waiting[node]]
    for node in ready:
        for start, end in edges:
            if start == node and end != node:
                layer[end] = max(layer[end], layer[node] + 1)
                waiting[end] -= 1
                if not waiting[end]:
                    ready.append(end)
    return layer


def _ordered(places: list[list[int]], steps: Sequence[tuple[int, int]], count: int) -> list[int]:
    """The row of each place: layers sorted by the mean row of neighbours, from the left and from the right in turn."""
    before: list[list[int]] = [[] for _ in range(count)]
    after: list[list[int]] = [[] for _ in range(count)]
    for start, end in steps:
        before[end].append(start)
        after[start].append(end)
    row = [0] * count
    for members in places:
        for position, place in enumerate(members):
            row[place] = position
    best, fewest = list(row), _crossings(places, after, row)
    for sweep in range(_SWEEPS):
        neighbours = before if sweep % 2 == 0 else after
        for members in places if sweep % 2 == 0 else reversed(places):
            wish = {
                place: sum(row[other] for other in neighbours[place]) / len(neighbours[place])
                if neighbours[place]
                else row[place]
                for place in members
            }
            members.sort(key=lambda place: (wish[place], row[place]))
            for position, place in enumerate(members):
                row[place] = position
        crossings = _crossings(places, after, row)
        if crossings < fewest:
            best, fewest = list(row), crossings
    return best


def _crossings(places: Sequence[Sequence[int]], after: Sequence[Sequence[int]], row: Sequence[int]) -> int:
    """How many pairs of steps between neighbouring layers cross."""
    total = 0
    for members in places:
        from_top = sorted(members, key=row.__getitem__)
        ends = [end_row for place in from_top for end_row in sorted(row[end] for end in after[place])]
        total += sum(second < first for index, first in enumerate(ends) for second in ends[index + 1 :])
    return total
