"""Non-maximum suppression: of boxes that show the same object, only the strongest stays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def suppress_overlaps(
    boxes_px: npt.NDArray[np.float32],
    scores: npt.NDArray[np.float32],
    class_ids: npt.NDArray[np.int32],
    iou_threshold: float,
) -> npt.NDArray[np.intp]:
    """Class-wise non-maximum suppression: indices of the boxes that stay, by falling score.

    `boxes_px`: float32[n, 4] as x_min, y_min, x_max, y_max; `scores`: float32[n]; `class_ids`: int32[n].
    A box goes when a stronger one of its class that stays overlaps it with more than `iou_threshold` (intersection
    over union). Of equal scores the earlier box is the stronger.
    """
    order = np.argsort(-scores, kind="stable")
    boxes, classes = boxes_px[order].astype(np.float64), class_ids[order]
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    alive = np.ones(len(order), np.bool_)
    for index in range(len(order)):
        if not alive[index]:
            continue
        weaker = index + 1 + np.flatnonzero(alive[index + 1 :] & (classes[index + 1 :] == classes[index]))
        corner_min = np.maximum(boxes[index, :2], boxes[weaker, :2])
        corner_max = np.minimum(boxes[index, 2:], boxes[weaker, 2:])
        common = np.prod(np.clip(corner_max - corner_min, 0.0, None), axis=1)
        alive[weaker[common > iou_threshold * (areas[index] + areas[weaker] - common)]] = False
    return order[alive]
