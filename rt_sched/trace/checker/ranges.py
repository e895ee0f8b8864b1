"""Queries over many ranges at once, without a loop over them: largest value inside, smallest value that covers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Int64s = npt.NDArray[np.int64]


def largest_in(values: Int64s, first: Int64s, last: Int64s) -> Int64s:
    """int64[n]: position of the largest of `values[first:last]` per range; the ranges are not empty.

    By a table of the largest of every 2**k neighbours; a range is covered by two of them.
    """
    level = _levels(last - first)
    rows = [np.arange(len(values), dtype=np.int64)]
    for k in range(int(level.max(initial=0))):
        left, right = rows[-1][: -(1 << k)], rows[-1][(1 << k) :]
        rows.append(np.where(values[left] >= values[right], left, right))
    found = np.empty(len(first), np.int64)
    for k, row in enumerate(rows):
        mine = np.flatnonzero(level == k)
        left, right = row[first[mine]], row[last[mine] - (1 << k)]
        found[mine] = np.where(values[left] >= values[right], left, right)
    return found


def smallest_over(points: int, values: Int64s, first: Int64s, last: Int64s) -> Int64s:
    """int64[points]: position of the smallest of those `values` whose range [first, last) contains the point, or -1."""
    none = len(values)
    ranked = np.argsort(values, kind="stable")
    rank = np.empty(none, np.int64)
    rank[ranked] = np.arange(none)
    filled = np.flatnonzero(last > first)
    level = _levels(last[filled] - first[filled])
    top = int(level.max(initial=0))
    above = np.full(points, none, np.int64)
    for k in range(top, -1, -1):
        width = 1 << k
        row = above
        mine = filled[level == k]
        np.minimum.at(row, first[mine], rank[mine])
        np.minimum.at(row, last[mine] - width, rank[mine])
        if k == 0:
            break
        half = width >> 1
        above = row.copy()
        above[half:] = np.minimum(above[half:], row[:-half])
    found = np.full(points, -1, np.int64)
    covered = above < none
    found[covered] = ranked[above[covered]]
    return found


def _levels(length: Int64s) -> Int64s:
    """Largest k with 2**k <= length, for lengths >= 1."""
    return np.asarray(np.frexp(length.astype(np.float64))[1] - 1, np.int64)
