"""Which of two sets belong together: overlap of boxes and a greedy one-to-one assignment."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def iou_matrix(first: npt.NDArray[np.float64], second: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Intersection over union of every pair of boxes, float64[n, m].

    `first`: float64[n, 4], `second`: float64[m, 4], as x_min, y_min, x_max, y_max. Empty boxes overlap with nothing.
    """
    inner = intersection_matrix(first, second)
    union = _areas(first)[:, None] + _areas(second)[None, :] - inner
    return np.divide(inner, union, out=np.zeros_like(inner), where=union > 0.0)


def intersection_matrix(first: npt.NDArray[np.float64], second: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Area that every pair of boxes shares, float64[n, m]; boxes as in `iou_matrix`."""
    low = np.maximum(first[:, None, :2], second[None, :, :2])
    high = np.minimum(first[:, None, 2:], second[None, :, 2:])
    sides = np.maximum(high - low, 0.0)
    area: npt.NDArray[np.float64] = sides[..., 0] * sides[..., 1]
    return area


def greedy_pairs(cost: npt.NDArray[np.float64], limit: float) -> list[tuple[int, int]]:
    """One-to-one pairs (row, column) with cost <= `limit`, cheapest first; equal costs by row, then column.

    `cost`: float64[n, m]; entries that are not finite never pair. Greedy is not optimal in total cost, but a pair
    never depends on pairs that are dearer than itself.
    """
    rows, columns = np.nonzero(np.isfinite(cost) & (cost <= limit))
    order = np.lexsort((columns, rows, cost[rows, columns]))
    pairs: list[tuple[int, int]] = []
    used_rows: set[int] = set()
    used_columns: set[int] = set()
    for index in order:
        row, column = int(rows[index]), int(columns[index])
        if row not in used_rows and column not in used_columns:
            used_rows.add(row)
            used_columns.add(column)
            pairs.append((row, column))
    return pairs


def assigned_pairs(cost: npt.NDArray[np.float64], limit: float) -> list[tuple[int, int]]:
    """One-to-one pairs (row, column), by row, with cost < `limit`; of all such sets the one of least total cost.

    Leaving a row or a column alone costs `limit`, so that a dear pair is taken only where that makes the whole cheaper.
    `cost`: float64[n, m]; entries that are not finite never pair. Solved by SciPy's shortest augmenting paths
    (D. F. Crouse: On Implementing 2D Rectangular Assignment Algorithms, 2016).
    """
    usable = np.isfinite(cost) & (cost < limit)
    if not usable.any():
        return []
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(np.where(usable, cost, limit))
    return [(int(row), int(column)) for row, column in zip(rows, columns, strict=True) if usable[row, column]]


def _areas(boxes: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    sides = np.maximum(boxes[:, 2:] - boxes[:, :2], 0.0)
    area: npt.NDArray[np.float64] = sides[:, 0] * sides[:, 1]
    return area
