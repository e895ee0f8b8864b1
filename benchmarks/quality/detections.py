"""Detection quality of the cameras: recall and precision of boxes against the truth, and between two detectors."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from outputs import Detections
from truth import GROUPS, Truth

Array = npt.NDArray[np.float64]

IOU = 0.5
#: A road user counts as one that must be found when it is this near, this visible, this tall, and not cut off.
NEAR_M, VISIBLE, TALL_PX = 40.0, 0.6, 24.0


def overlaps(a: Array, b: Array) -> tuple[Array, Array]:
    """Intersection over union, and over the area of `a` alone: float64[n, m] each, of boxes [n, 4] and [m, 4]."""
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:], b[None, :, 2:])
    shared = np.prod(np.maximum(high - low, 0.0), axis=2)
    area_a, area_b = (np.prod(boxes[:, 2:] - boxes[:, :2], axis=1) for boxes in (a, b))
    union = area_a[:, None] + area_b[None, :] - shared
    return shared / np.maximum(union, 1e-9), shared / np.maximum(area_a[:, None], 1e-9)


def pairs(iou: Array, allowed: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """One-to-one pairs with the largest overlaps first, each at least `IOU`."""
    values = np.where(allowed, iou, 0.0)
    order = np.argsort(-values, axis=None, kind="stable")
    found: list[tuple[int, int]] = []
    rows, columns = set(), set()
    for flat in order.tolist():
        i, j = divmod(flat, values.shape[1])
        if values[i, j] < IOU:
            break
        if i not in rows and j not in columns:
            found.append((i, j))
            rows.add(i)
            columns.add(j)
    return found


def against_truth(truth: Truth, frames: Sequence[Detections]) -> dict[str, Any]:
    """Recall and precision per kind of road user, and how often the lead was found by one of the front cameras.

    A detection on a road user that need not be found (far, hidden, small, cut off) counts neither way.
    """
    wanted, found, right, wrong = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    lead: dict[int, bool] = defaultdict(bool)
    for frame in frames:
        boxes = truth.boxes(frame.time_ns, frame.camera)
        if boxes is None:
            continue
        bodies = {body.name: body for body in truth.bodies(frame.time_ns)}
        names = list(boxes)
        outlines = np.array([boxes[name][:4] for name in names]).reshape(-1, 4)
        groups = [bodies[name].group for name in names]
        must = [
            bodies[name].range_m <= NEAR_M
            and boxes[name][4] >= VISIBLE
            and not boxes[name][5]
            and boxes[name][3] - boxes[name][1] >= TALL_PX
            for name in names
        ]
        seen = [GROUPS.get(label, "other") for label in frame.labels]
        iou, inside = overlaps(frame.boxes, outlines)
        same = np.array([[a == b for b in groups] for a in seen], dtype=bool).reshape(len(seen), len(groups))
        matched = dict(pairs(iou, same))
        hit = set(matched.values())
        for index, name in enumerate(names):
            if must[index]:
                wanted[groups[index]] += 1
                found[groups[index]] += index in hit
            if name == truth.lead and frame.camera.startswith("front") and bodies[name].range_m <= NEAR_M:
                lead[frame.time_ns] |= index in hit
        # The rider of a bicycle is a person too.
        near = same | np.array(
            [[a == "person" and b == "two-wheeler" for b in groups] for a in seen], dtype=bool
        ).reshape(same.shape)
        for index, group in enumerate(seen):
            if group == "other":
                continue
            if index in matched:
                right[group] += must[matched[index]]
            elif not np.any((inside[index] >= 0.5) & near[index] & ~(np.array(must, dtype=bool) & same[index])):
                wrong[group] += 1
    return {
        "groups": {
            group: {
                "wanted": wanted[group],
                "recall": ratio(found[group], wanted[group]),
                "false": wrong[group],
                "precision": ratio(right[group], right[group] + wrong[group]),
            }
            for group in sorted(set(GROUPS.values()))
            if wanted[group] or wrong[group]
        },
        "lead_frames": len(lead),
        "lead_found": ratio(sum(lead.values()), len(lead)),
    }


def agreement(reference: Sequence[Detections], other: Sequence[Detections]) -> dict[str, Any]:
    """How far `other` agrees with `reference` on the same frames, box by box and label by label."""
    by_time = {frame.time_ns: frame for frame in other}
    expected = given = both = 0
    for frame in reference:
        against = by_time.get(frame.time_ns)
        if against is None:
            continue
        iou, _ = overlaps(frame.boxes, against.boxes)
        same = np.array([[a == b for b in against.labels] for a in frame.labels], dtype=bool).reshape(iou.shape)
        both += len(pairs(iou, same))
        expected += len(frame.labels)
        given += len(against.labels)
    return {"reference_boxes": expected, "recall": ratio(both, expected), "precision": ratio(both, given)}


def car_ahead(frames: Sequence[Detections], width_px: int, height_px: int) -> float | None:
    """Share of the frames with a vehicle whose box holds or touches the middle fifth of the picture's width.

    Its box is at least a twentieth of the picture tall and ends below the picture's middle third.
    """
    found = 0
    for frame in frames:
        for (x0, y0, x1, y1), label in zip(frame.boxes.tolist(), frame.labels, strict=True):
            middle = x0 <= 0.6 * width_px and x1 >= 0.4 * width_px
            if GROUPS.get(label) == "vehicle" and middle and y1 - y0 >= height_px / 20 and y1 >= height_px / 3:
                found += 1
                break
    return ratio(found, len(frames))


def ratio(part: int, whole: int) -> float | None:
    """A share to four decimals; None of nothing."""
    return round(part / whole, 4) if whole else None
