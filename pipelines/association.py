"""Which of two sets belong together: overlap of boxes and the one-to-one assignment of least cost."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Float = npt.NDArray[np.float64]


def iou_matrix(first: Float, second: Float) -> Float:
    """Intersection over union of every pair of boxes, float64[n, m].

    `first`: float64[n, 4], `second`: float64[m, 4], as x_min, y_min, x_max, y_max. Empty boxes overlap with nothing.
    """
    inner = intersection_matrix(first, second)
    union = _areas(first)[:, None] + _areas(second)[None, :] - inner
    return np.divide(inner, union, out=np.zeros_like(inner), where=union > 0.0)


def intersection_matrix(first: Float, second: Float) -> Float:
    """Area that every pair of boxes shares, float64[n, m]; boxes as in `iou_matrix`."""
    low = np.maximum(first[:, None, :2], second[None, :, :2])
    high = np.minimum(first[:, None, 2:], second[None, :, 2:])
    sides = np.maximum(high - low, 0.0)
    area: Float = sides[..., 0] * sides[..., 1]
    return area


def assigned_pairs(cost: Float, limit: float) -> list[tuple[int, int]]:
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


def _areas(boxes: Float) -> Float:
    sides = np.maximum(boxes[:, 2:] - boxes[:, :2], 0.0)
    area: Float = sides[:, 0] * sides[:, 1]
    return area
