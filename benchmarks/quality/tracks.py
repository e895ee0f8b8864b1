"""Quality of the fused objects: how many are there, how far off, whether they keep their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from detections import ratio
from outputs import Tracks
from truth import GROUPS, Body, Truth

#: A track belongs to an actor whose outline it lies within or so near to.
GATE_M = 1.0
#: An actor counts as one that must be tracked when it is this near and a camera sees this much of it.
NEAR_M, VISIBLE, BESIDE_M, BEHIND_M = 40.0, 0.5, 8.0, 10.0


def against_truth(truth: Truth, cycles: Sequence[Tracks], *, from_ns: int) -> dict[str, Any]:
    """Recall, false tracks, switches of number and errors of range; cycles before `from_ns` are for warming up.

    A track with a road user's class is false when no actor is near it. The range error is that of the near edge of
    whatever is ahead in the ego's lane.
    """
    wanted = kept = classified = false = switches = 0
    last: dict[str, str] = {}
    seconds: dict[str, int] = {}
    errors: list[float] = []
    for cycle in cycles:
        if not from_ns <= cycle.time_ns < truth.end_ns:
            continue
        bodies = truth.bodies(cycle.time_ns)
        matched = _matched(cycle, bodies, last)
        seen = truth.seen(cycle.time_ns)
        for body in bodies:
            if body.name in matched:
                number = cycle.ids[matched[body.name]]
                switches += last.get(body.name, number) != number
                last[body.name] = number
            if (
                body.range_m <= NEAR_M
                and seen.get(body.name, 0.0) >= VISIBLE
                and abs(body.y_m) <= BESIDE_M
                and body.x_m >= -BEHIND_M
            ):
                wanted += 1
                kept += body.name in matched
                seconds[body.name] = seconds.get(body.name, 0) + 1
        for index, label in enumerate(cycle.labels):
            if label in GROUPS:
                classified += 1
                x, y = cycle.centres[index].tolist()
                false += not any(body.distance_m(x, y) <= 1.5 * GATE_M for body in bodies)
        ahead = truth.threat(cycle.time_ns)
        if ahead is not None and ahead.name in matched and ahead.gap_m <= NEAR_M:
            index = matched[ahead.name]
            near_edge = cycle.centres[index, 0] - cycle.sizes[index, 0] / 2
            errors.append(float(near_edge) - ahead.gap_m - truth.front_m)
    return {
        "wanted": wanted,
        "recall": ratio(kept, wanted),
        "classified": classified,
        "precision": ratio(classified - false, classified),
        "switches": switches,
        "range_error_m": spread(errors),
    }


def _matched(cycle: Tracks, bodies: Sequence[Body], last: dict[str, str]) -> dict[str, int]:
    """Actor -> index of its track: the one that it had while that is near, else the nearest free one."""
    near: list[tuple[bool, float, str, int]] = []
    for body in bodies:
        for index, (x, y) in enumerate(cycle.centres.tolist()):
            if body.distance_m(x, y) <= GATE_M:
                other = last.get(body.name) != cycle.ids[index]
                near.append((other, (x - body.x_m) ** 2 + (y - body.y_m) ** 2, body.name, index))
    matched: dict[str, int] = {}
    taken: set[int] = set()
    for _, _, name, index in sorted(near):
        if name not in matched and index not in taken:
            matched[name] = index
            taken.add(index)
    return matched


def spread(values: Sequence[float]) -> dict[str, float | int | None]:
    """Count, mean, median of the amount, and its 95th percentile."""
    if not values:
        return {"count": 0, "mean": None, "median_abs": None, "p95_abs": None}
    amounts = np.abs(values)
    return {
        "count": len(values),
        "mean": round(float(np.mean(values)), 3),
        "median_abs": round(float(np.median(amounts)), 3),
        "p95_abs": round(float(np.percentile(amounts, 95)), 3),
    }
