"""How far it is to the nearest thing ahead in one raw LiDAR sweep: a strip of road, its ground, what stands on it.

The strip is cut into bins of one metre along x. The ground of a bin is a low quantile of its heights, followed
outwards as far as a road can rise; a bin in which nothing is that low shows no ground. What stands higher than
`clearance_m` above the ground and lower than `max_height_m` is an obstacle where enough of its points lie within
`DEPTH_M` of each other: the nearer, the more, because a solid surface returns more points there and spray does not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Float = npt.NDArray[np.float64]

#: Half the width of the strip in which the ground is looked for: what fills the lane hides the ground in it.
GROUND_HALF_WIDTH_M = 4.0

#: Share of the heights of a bin that lie below its ground, in percent: echoes from below the road are rare.
LOW_PERCENT = 5

#: How far the ground may rise or fall between two bins that show it: at once, and per metre between them.
GROUND_STEP_M = 0.1
GROUND_SLOPE = 0.15

#: Stretch of road whose slope stands for that of the road beyond it.
SLOPE_BASE_M = 8.0

#: Fewest points that make a bin's ground.
GROUND_POINTS = 3

#: What belongs to one surface lies within this distance along x.
DEPTH_M = 0.8

#: Points that a surface must show at 10 m; elsewhere in proportion to 1 / distance^2, at most `MOST_EVIDENCE`.
EVIDENCE_AT_10_M = 15
MOST_EVIDENCE = 60

#: Heights enter the sort as millimetres above the lowest that counts, about 1 km down.
_HEIGHT_BITS = 21
_LOWEST_MM = 1 << (_HEIGHT_BITS - 1)

#: Distance ahead of the bumper within which a sweep must show something, if only the road.
SIGHT_M = 40.0


@dataclass(frozen=True, slots=True)
class Corridor:
    """The strip that must be free. `half_width_m`: from the centre line; `front_m`: bumper ahead of the origin.

    `clearance_m`, `max_height_m`: band above the ground that holds obstacles; `min_points`: least evidence for one.
    """

    half_width_m: float
    front_m: float
    range_m: float
    clearance_m: float
    max_height_m: float
    min_points: int


@dataclass(frozen=True, slots=True)
class Ahead:
    """`points`: how many the sweep shows within `SIGHT_M`, whatever they belong to. `gap_m`: None when all is free."""

    points: int
    gap_m: float | None


def look_ahead(xyz_m: npt.NDArray[np.floating], pose: Float | None, corridor: Corridor) -> Ahead:
    """The gap from the bumper to the nearest obstacle, 0 at contact.

    `xyz_m`: [n, 3] in the sensor's frame, any order; points that are not finite are left out. `pose`: float64[3, 4]
    to the vehicle's frame, whose z is 0 on the road; None: the sensor's frame is taken for the vehicle's, and the
    height of the road is looked for too.
    """
    x, y, z = _strip(xyz_m, pose, corridor)
    points = int(np.count_nonzero(x <= corridor.front_m + SIGHT_M))
    if not len(x):
        return Ahead(points, None)
    lower_m, upper_m = _ground(x, z, None if pose is None else 0.0, corridor)
    in_band = (z >= lower_m + corridor.clearance_m) & (z <= upper_m + corridor.max_height_m)
    solid = in_band & (np.abs(y) <= corridor.half_width_m)
    return Ahead(points, _first_surface(np.sort(x[solid]) - corridor.front_m, corridor.min_points))


def _strip(xyz_m: npt.NDArray[np.floating], pose: Float | None, corridor: Corridor) -> tuple[Float, Float, Float]:
    """Vehicle coordinates of the points ahead, in the strip in which the ground is looked for."""
    to_vehicle = (np.eye(3, 4) if pose is None else pose).astype(xyz_m.dtype)
    half_width_m = max(GROUND_HALF_WIDTH_M, corridor.half_width_m)
    with np.errstate(invalid="ignore", over="ignore"):
        x, y, z = (xyz_m @ to_vehicle[axis, :3] + to_vehicle[axis, 3] for axis in range(3))
        ahead = (x > corridor.front_m) & (x <= corridor.front_m + corridor.range_m)
        kept = np.flatnonzero(ahead & (np.abs(y) <= half_width_m) & np.isfinite(z))
    return x[kept].astype(np.float64), y[kept].astype(np.float64), z[kept].astype(np.float64)


def _ground(x: Float, z: Float, road_m: float | None, corridor: Corridor) -> tuple[Float, Float]:
    """Least and greatest height of the ground at every point. `road_m`: at the bumper, None when it must be found.

    They differ only beyond the last bin that shows the ground, where it may go on level or as steep as before.
    """
    # One integer holds bin and height, so that one plain sort, whose time hardly depends on the data, orders both.
    bins = np.floor(x - corridor.front_m).astype(np.int32)
    key = np.sort((bins << _HEIGHT_BITS) + np.clip(z * 1000.0 + _LOWEST_MM, 0, 2 * _LOWEST_MM - 1).astype(np.int32))
    ordered = key >> _HEIGHT_BITS
    first = np.flatnonzero(np.diff(ordered, prepend=-1))
    found, counts = ordered[first], np.diff(first, append=len(key))
    enough = counts >= GROUND_POINTS
    if not enough.any():
        level_m = np.full(len(x), z.min() if road_m is None else road_m)
        return level_m, level_m
    low_keys = key[first + counts * LOW_PERCENT // 100][enough]
    lows = ((low_keys & (2 * _LOWEST_MM - 1)) - _LOWEST_MM) / 1000.0
    centres = found[enough] + 0.5
    height_m = float(np.median(lows[centres <= max(centres[0], 15.0)])) if road_m is None else road_m
    last_m, known_m, known_at = 0.0, [height_m], [0.0]
    for centre_m, low_m in zip(centres.tolist(), lows.tolist(), strict=True):
        room_m = GROUND_STEP_M + GROUND_SLOPE * (centre_m - last_m)
        if low_m > height_m + room_m:
            continue
        height_m, last_m = max(low_m, height_m - room_m), centre_m
        known_m.append(height_m)
        known_at.append(centre_m)
    seen_m = np.interp(x - corridor.front_m, known_at, known_m)
    from_m = int(np.searchsorted(known_at, last_m - SLOPE_BASE_M))
    rise_m = height_m - known_m[from_m]
    slope = rise_m / (last_m - known_at[from_m]) if rise_m else 0.0
    further_m = seen_m + slope * np.maximum(x - corridor.front_m - last_m, 0.0)
    return np.minimum(seen_m, further_m), np.maximum(seen_m, further_m)


def _first_surface(gaps_m: Float, min_points: int) -> float | None:
    """The nearest of the sorted `gaps_m` from which on enough points lie within `DEPTH_M`."""
    if not len(gaps_m):
        return None
    with np.errstate(divide="ignore"):
        wanted = np.clip(EVIDENCE_AT_10_M * (10.0 / gaps_m) ** 2, min_points, max(MOST_EVIDENCE, min_points))
    last = np.arange(len(gaps_m)) + np.ceil(wanted).astype(np.int64) - 1
    within = np.searchsorted(gaps_m, gaps_m + DEPTH_M, side="right") - 1
    surfaces = np.flatnonzero(last <= within)
    return math.fabs(float(gaps_m[surfaces[0]])) if len(surfaces) else None
