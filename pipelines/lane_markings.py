"""Lane markings without a network: bright ridges on the ground, and the pair of parallel curves that most lie on.

Ridges: brighter than what lies to both sides at the distance of a marking's width, seen from above (Bertozzi and
Broggi 1998: GOLD, section III). Curves: y = offset + slope * x + curvature * x^2 / 2, found by voting (Hough 1962) for
both edges of the lane together, which share slope and curvature, then by least squares over the points that agree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Float = npt.NDArray[np.float64]

#: Painted lines are about this wide; beside them, at this distance from their middle, the road is darker.
_MARKING_M, _BESIDE_M = 0.15, 0.3
#: A ridge stands out by at least so many grey levels, and so many times the usual deviation of the picture.
_LEAST_STEP, _STEP_SIGMAS = 8.0, 2.5
#: A point this near to a curve agrees with it; one that votes does so for offsets this far apart.
_INLIER_M, _OFFSET_STEP_M = 0.2, 0.1
#: A marking has points at least over this share of the stations and along this way.
_LEAST_SHARE, _LEAST_WAY_M = 0.18, 6.0
#: One edge alone needs more: much that is no marking is as straight as one, little runs parallel to another.
_LEAST_SHARE_ALONE = 0.3
#: The vehicle's middle keeps this distance from either edge: it drives in its lane.
_OWN_HALF_M = 0.7
#: The road is about as bright on either side of a marking: the sides differ by less than this share of the step.
_UNLIKE_SIDES = 0.5
#: Gaps of dashed lines that count as seen.
_DASH_GAP_M = 4.0

_SLOPES = np.linspace(-0.14, 0.14, 29)
_CURVATURES_PER_M = np.array([0.0, -0.001, 0.001, -0.002, 0.002, -0.004, 0.004, -0.007, 0.007, -0.011, 0.011])
#: What a curve loses against a straighter one that as many points agree with, per unit of curvature and slope.
_CURVATURE_COST, _SLOPE_COST = 20.0, 2.0


@dataclass(frozen=True, slots=True, eq=False)
class Lane:
    """The own lane's edges over the stations, y in metres, float64[n], and where each was seen, bool[n]."""

    left_m: Float
    right_m: Float
    left_seen: npt.NDArray[np.bool_]
    right_seen: npt.NDArray[np.bool_]


def find_ridges(brightness: npt.NDArray[np.float32], shown: npt.NDArray[np.bool_], step_m: float) -> Float:
    """Points of markings: float64[k, 2], (station number, column number).

    `brightness`: float32[n, m] of a ground grid with `step_m` between columns; `shown`: bool[n, m].
    """
    import cv2

    width = max(1, round(_MARKING_M / step_m)) | 1
    beside = max(1, round(_BESIDE_M / step_m))
    mean = np.asarray(cv2.blur(brightness, (width, 1)), np.float32)
    ridge = np.full_like(mean, -np.inf)
    one_side, other_side = mean[:, : -2 * beside], mean[:, 2 * beside :]
    step = mean[:, beside:-beside] - np.maximum(one_side, other_side)
    ridge[:, beside:-beside] = step
    alike = np.zeros_like(shown)
    alike[:, beside:-beside] = np.abs(one_side - other_side) <= _UNLIKE_SIDES * step
    visible = np.zeros_like(shown)
    visible[:, beside:-beside] = shown[:, : -2 * beside] & shown[:, 2 * beside :]
    ridge[~visible] = -np.inf
    values = ridge[visible]
    if not values.size:
        return np.zeros((0, 2))
    usual = 1.4826 * float(np.median(np.abs(values - np.median(values))))
    peak = np.zeros_like(visible)
    peak[:, 1:-1] = (ridge[:, 1:-1] >= ridge[:, :-2]) & (ridge[:, 1:-1] > ridge[:, 2:])
    rows, columns = np.nonzero(peak & alike & (ridge > max(_LEAST_STEP, _STEP_SIGMAS * usual)))
    return np.stack((rows, columns), axis=1).astype(np.float64)


def fit_lane(points_m: Float, stations_m: Float, *, widths_m: tuple[float, float], usual_width_m: float) -> Lane | None:
    """The own lane through marking points: float64[k, 2] as x, y; None without an edge that enough points agree with.

    `widths_m`: least and largest width. Where only one edge is marked the other is `usual_width_m` away and not seen.
    """
    found = _vote(points_m, len(stations_m), (*widths_m, usual_width_m)) if len(points_m) else None
    if found is None:
        return None
    curvature, slope, offsets = found
    bend = curvature * points_m[:, 0] ** 2 / 2.0
    members = {
        side: np.abs(points_m[:, 1] - bend - slope * points_m[:, 0] - offset) <= _INLIER_M
        for side, offset in offsets.items()
    }
    members = {side: inside for side, inside in members.items() if _is_marking(points_m[inside, 0], stations_m)}
    if not members:
        return None
    curvature, slope, offsets = _refined(points_m, members, (curvature, slope, offsets))
    if "left" not in offsets:
        offsets["left"] = offsets["right"] + usual_width_m
    if "right" not in offsets:
        offsets["right"] = offsets["left"] - usual_width_m
    shape = slope * stations_m + curvature * stations_m**2 / 2.0
    nowhere = np.zeros(len(points_m), np.bool_)
    return Lane(
        offsets["left"] + shape,
        offsets["right"] + shape,
        _seen(stations_m, points_m[members.get("left", nowhere), 0]),
        _seen(stations_m, points_m[members.get("right", nowhere), 0]),
    )


def _vote(
    points_m: Float, stations: int, widths_m: tuple[float, float, float]
) -> tuple[float, float, dict[str, float]] | None:
    """Curvature, slope and the edges' offsets that most points agree with; least, largest and usual width."""
    least, most, usual = widths_m
    side = round(most / _OFFSET_STEP_M)
    x, y = points_m[:, 0], points_m[:, 1]
    best: tuple[float, float, float, dict[str, float]] | None = None
    for curvature in _CURVATURES_PER_M:
        straight = y - curvature * x**2 / 2.0
        bins = np.rint((straight[None, :] - _SLOPES[:, None] * x) / _OFFSET_STEP_M).astype(np.int64) + side
        inside = (bins >= 0) & (bins <= 2 * side)
        flat = bins + (2 * side + 1) * np.arange(len(_SLOPES))[:, None]
        votes = np.bincount(flat[inside], minlength=(2 * side + 1) * len(_SLOPES)).reshape(len(_SLOPES), -1)
        spread = votes.astype(np.float64)
        spread[:, 1:] += 0.5 * votes[:, :-1]
        spread[:, :-1] += 0.5 * votes[:, 1:]
        spread = np.minimum(spread, stations) / stations
        for number, slope in enumerate(_SLOPES):
            score, offsets = _edges(spread[number], side, least, most, usual)
            score -= _CURVATURE_COST * abs(curvature) + _SLOPE_COST * abs(slope)
            if best is None or score > best[0] + 1e-9:
                best = (score, float(curvature), float(slope), offsets)
    if best is None or not best[3]:
        return None
    return best[1:]


def _edges(spread: Float, side: int, least: float, most: float, usual: float) -> tuple[float, dict[str, float]]:
    """The best pair of offsets, one to the left and one to the right of the vehicle, or the best single one."""
    low, high = round(_OWN_HALF_M / _OFFSET_STEP_M), round((most - _OWN_HALF_M) / _OFFSET_STEP_M)
    left, right = spread[side + low : side + high + 1], spread[side - high : side - low + 1][::-1]
    width = (np.arange(low, high + 1)[:, None] + np.arange(low, high + 1)[None, :]) * _OFFSET_STEP_M
    both = np.where((width >= least) & (width <= most), left[:, None] + right[None, :], -1.0)
    both[(left < _LEAST_SHARE)[:, None] | (right < _LEAST_SHARE)[None, :]] = -1.0
    pair = int(np.argmax(both))
    first, second = divmod(pair, both.shape[1])
    if both.flat[pair] > 0.0:
        return float(both.flat[pair]), {
            "left": (low + first) * _OFFSET_STEP_M,
            "right": -(low + second) * _OFFSET_STEP_M,
        }
    # The edge that nobody sees must leave room for the vehicle too.
    room = round((usual - _OWN_HALF_M) / _OFFSET_STEP_M) - low + 1
    left, right = left[:room], right[:room]
    name, single = ("left", left) if left.max() >= right.max() else ("right", right)
    if single.max() < _LEAST_SHARE_ALONE:
        return 0.0, {}
    place = (low + int(np.argmax(single))) * _OFFSET_STEP_M
    return float(single.max()), {name: place if name == "left" else -place}


def _is_marking(x_m: Float, stations_m: Float) -> bool:
    """Whether points at these distances are enough for a marking."""
    found = np.unique(x_m)
    return len(found) >= _LEAST_SHARE * len(stations_m) and float(found[-1] - found[0]) >= _LEAST_WAY_M


def _refined(
    points_m: Float, members: dict[str, npt.NDArray[np.bool_]], rough: tuple[float, float, dict[str, float]]
) -> tuple[float, float, dict[str, float]]:
    """Least squares for the offsets, the common slope and curvature, held near the vote where points say little."""
    curvature, slope, offsets = rough
    sides = sorted(members)
    rows, targets = [], []
    for number, side in enumerate(sides):
        x, y = points_m[members[side], 0], points_m[members[side], 1]
        row = np.zeros((len(x), len(sides) + 2))
        row[:, number], row[:, -2], row[:, -1] = 1.0, x, x**2 / 2.0
        rows.append(row)
        targets.append(y - offsets[side] - slope * x - curvature * x**2 / 2.0)
    held = np.zeros((2, len(sides) + 2))
    held[0, -2], held[1, -1] = 5.0, 200.0
    matrix, target = np.concatenate([*rows, held]), np.concatenate([*targets, np.zeros(2)])
    change = np.linalg.lstsq(matrix, target, rcond=None)[0]
    better = {side: offsets[side] + float(change[number]) for number, side in enumerate(sides)}
    return curvature + float(change[-1]), slope + float(change[-2]), better


def _seen(stations_m: Float, x_m: Float) -> npt.NDArray[np.bool_]:
    """Which stations have a point within half the gap of a dashed line."""
    if not len(x_m):
        return np.zeros(len(stations_m), np.bool_)
    nearest: npt.NDArray[np.bool_] = np.abs(stations_m[:, None] - x_m[None, :]).min(axis=1) <= _DASH_GAP_M
    return nearest
