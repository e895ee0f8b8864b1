# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call"
"""Clusters of LiDAR points, compiled: single linkage seen from above, with a reach that grows with range.

Results are independent of the order of the points but for the numbers that clusters get. Kernels never raise.
"""

from __future__ import annotations

import math

import numpy as np

from pipelines.lidar_kernels import CELL_BIAS, CELL_MASK, cell_key, group, slot_of, table_size
from rt_sched.kernels.compiling.kernel import cached

#: Beyond this no LiDAR sees; such coordinates are broken.
_FARTHEST_M = 1000.0


@cached(nogil=True)
def _root(parent, node):
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


@cached(nogil=True)
def reach_at(range_m, tolerance_m, tolerance_per_m):
    """Largest gap inside an object at `range_m` from the frame's origin."""
    return max(tolerance_m, tolerance_per_m * range_m)


@cached(nogil=True)
def _touch(xyz_m, reach_m, members, first_start, first_end, second_start, second_end):
    """Whether two cells hold points within the smaller one of their reaches, seen from above."""
    for p in range(first_start, first_end):
        for q in range(second_start, second_end):
            one, other = members[p], members[q]
            dx = np.float64(xyz_m[one, 0]) - np.float64(xyz_m[other, 0])
            dy = np.float64(xyz_m[one, 1]) - np.float64(xyz_m[other, 1])
            reach = min(reach_m[one], reach_m[other])
            if dx * dx + dy * dy <= reach * reach:
                return True
    return False


@cached(nogil=True)
def _join(parent, one, other, xyz_m, reach_m, members, starts):
    """Unites the clusters of two cells where these touch."""
    a, b = _root(parent, one), _root(parent, other)
    if a != b and _touch(xyz_m, reach_m, members, starts[one], starts[one + 1], starts[other], starts[other + 1]):
        parent[max(a, b)] = min(a, b)


@cached(nogil=True)
def cluster_labels(xyz_m, tolerance_m, tolerance_per_m):
    """Euclidean clusters seen from above: int32[n] labels and their number.

    Two points share a cluster when a chain of points leads from one to the other in steps that are no longer than the
    reach of the nearer one of the two: `tolerance_m`, or `tolerance_per_m` times its range where that is more.
    Points that are not finite or further away than any LiDAR sees, 1 km per axis, are labelled -1.
    """
    n = xyz_m.shape[0]
    # The diagonal of a cell is the least reach: all points of a cell belong together.
    per_m = math.sqrt(2.0) / tolerance_m
    table = np.full(table_size(n), -1, np.int64)
    index_of = np.empty(table.size, np.int32)
    keys = np.empty(n, np.int64)
    cell_of = np.full(n, -1, np.int32)
    reach_m = np.zeros(n)
    cell_reach_m = np.zeros(n)
    cells = 0
    for i in range(n):
        x, y = np.float64(xyz_m[i, 0]), np.float64(xyz_m[i, 1])
        if not (abs(x) < _FARTHEST_M and abs(y) < _FARTHEST_M and abs(xyz_m[i, 2]) < _FARTHEST_M):
            continue
        key = cell_key(np.int64(math.floor(x * per_m)), np.int64(math.floor(y * per_m)), 0)
        slot = slot_of(table, key)
        if table[slot] == -1:
            table[slot] = key
            index_of[slot] = cells
            keys[cells] = key
            cells += 1
        cell_of[i] = index_of[slot]
        reach_m[i] = reach_at(math.sqrt(x * x + y * y), tolerance_m, tolerance_per_m)
        cell_reach_m[cell_of[i]] = max(cell_reach_m[cell_of[i]], reach_m[i])
    members, starts = group(cell_of, cells)
    parent = np.arange(cells)
    for c in range(cells):
        ix = ((keys[c] >> 42) & CELL_MASK) - CELL_BIAS
        iy = ((keys[c] >> 21) & CELL_MASK) - CELL_BIAS
        # A link is no longer than the reaches of both its ends, so that either end finds the other.
        window = math.floor(cell_reach_m[c] * per_m) + 1
        if (window + 1) * (2 * window + 1) > cells:
            for other in range(c + 1, cells):
                _join(parent, c, other, xyz_m, reach_m, members, starts)
            continue
        for dx in range(window + 1):
            for dy in range(-window, window + 1):
                if dx == 0 and dy <= 0:
                    continue
                gap_x, gap_y = max(dx - 1, 0), max(abs(dy) - 1, 0)
                if gap_x * gap_x + gap_y * gap_y > (cell_reach_m[c] * per_m) ** 2 + 1e-9:
                    continue
                slot = slot_of(table, cell_key(ix + dx, iy + dy, 0))
                if table[slot] != -1:
                    _join(parent, c, index_of[slot], xyz_m, reach_m, members, starts)
    label_of = np.full(cells, -1, np.int32)
    labels = np.full(n, -1, np.int32)
    found = 0
    for i in range(n):
        if cell_of[i] >= 0:
            root = _root(parent, cell_of[i])
            if label_of[root] == -1:
                label_of[root] = found
                found += 1
            labels[i] = label_of[root]
    return labels, found
