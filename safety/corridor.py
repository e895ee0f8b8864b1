"""How far it is to the nearest thing ahead in one raw LiDAR sweep: a strip of road, its ground, what stands on it.

The strip is cut into bins of one metre along x. The ground of a bin is a low quantile of its heights, followed
outwards as far as a road can rise; a bin in which nothing is that low shows no ground. What stands higher than
`clearance_m` above the ground and lower than `max_height_m` is an obstacle where enough of its points lie within
`DEPTH_M` of each other: the nearer, the more, because a solid surface returns more points there and spray does not.

The work is bounded however many points lie in the lane. Heights of the ground come from a table by half metres, and
of the points that may be an obstacle only the nearest are ordered: `thinned` leaves out none that can matter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Float = npt.NDArray[np.float64]

#: Of the precision that the sweep came with: 4 um at 80 m for float32.
Measured = npt.NDArray[np.floating]

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

#: Thinning works by cells of this length along x. Half of `DEPTH_M`: a cell lies whole within the depth of its points.
THINNING_CELL_M = DEPTH_M / 2.0

#: Points that are worked on together.
BLOCK_POINTS = 16_384

#: The ground is a straight line between the middles of two bins, and from the bumper to the first: on this grid.
_KNOT_M = 0.5

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


def look_ahead(xyz_m: Measured, pose: Float | None, corridor: Corridor) -> Ahead:
    """The gap from the bumper to the nearest obstacle, 0 at contact.

    `xyz_m`: [n, 3] in the sensor's frame, any order; points that are not finite are left out. `pose`: float64[3, 4]
    to the vehicle's frame, whose z is 0 on the road; None: the sensor's frame is taken for the vehicle's, and the
    height of the road is looked for too.
    """
    x, y, z = _strip(xyz_m, pose, corridor)
    points = int(np.count_nonzero(x <= corridor.front_m + SIGHT_M))
    if not len(x):
        return Ahead(points, None)
    ground = _ground(x, z, None if pose is None else 0.0, corridor)
    solid_m = [_solid(x[block], y[block], z[block], ground, corridor) for block in _blocks(len(x))]
    return Ahead(points, first_surface(thinned(np.concatenate(solid_m), corridor.min_points), corridor.min_points))


def _blocks(count: int) -> list[slice]:
    """`BLOCK_POINTS` points at a time: the arrays between two steps then stay in the cache of the core."""
    return [slice(begin, begin + BLOCK_POINTS) for begin in range(0, max(count, 1), BLOCK_POINTS)]


def _strip(
    xyz_m: npt.NDArray[np.floating], pose: Float | None, corridor: Corridor
) -> tuple[Measured, Measured, Measured]:
    """Vehicle coordinates of the points ahead, in the strip in which the ground is looked for."""
    to_vehicle = (np.eye(3, 4) if pose is None else pose).astype(xyz_m.dtype)
    half_width_m = max(GROUND_HALF_WIDTH_M, corridor.half_width_m)
    strips = []
    with np.errstate(invalid="ignore", over="ignore"):
        for block in _blocks(len(xyz_m)):
            x, y, z = (xyz_m[block] @ to_vehicle[axis, :3] + to_vehicle[axis, 3] for axis in range(3))
            ahead = (x > corridor.front_m) & (x <= corridor.front_m + corridor.range_m)
            kept = ahead & (np.abs(y) <= half_width_m) & np.isfinite(z)
            strips.append((x[kept], y[kept], z[kept]))
    x, y, z = (np.concatenate(parts) for parts in zip(*strips, strict=True))
    return x, y, z


def _solid(x: Measured, y: Measured, z: Measured, ground: _Ground, corridor: Corridor) -> Measured:
    """Distances from the bumper of the points that may be an obstacle."""
    lane = np.abs(y) <= corridor.half_width_m
    gaps_m, z = x[lane] - corridor.front_m, z[lane]
    cells = (gaps_m * (1.0 / _KNOT_M)).astype(np.intp)
    bottom_m = ground.lower.at(cells, gaps_m) + corridor.clearance_m
    top_m = ground.upper.at(cells, gaps_m) + corridor.max_height_m
    return gaps_m[(z >= bottom_m) & (z <= top_m)]


@dataclass(frozen=True, slots=True)
class _Profile:
    """Heights ahead of the bumper, one straight line for every half metre: `offset_m` + `slope` * distance."""

    offset_m: Measured
    slope: Measured

    def at(self, cells: npt.NDArray[np.intp], gaps_m: Measured) -> Measured:
        """Heights at the distances `gaps_m`, which lie in `cells` of half a metre."""
        return self.offset_m.take(cells, mode="clip") + self.slope.take(cells, mode="clip") * gaps_m


@dataclass(frozen=True, slots=True)
class _Ground:
    """Least and greatest height of the ground.

    They differ only beyond the last bin that shows the ground, where it may go on level or as steep as before.
    """

    lower: _Profile
    upper: _Profile


def _ground(x: Measured, z: Measured, road_m: float | None, corridor: Corridor) -> _Ground:
    """The ground of the strip. `road_m`: its height at the bumper, None when it must be found."""
    # One integer holds bin and height, so that one plain sort, whose time hardly depends on the data, orders both.
    bins = (x - corridor.front_m).astype(np.int32)
    heights_mm = np.clip(z, _LOWEST_MM / -1000.0, (_LOWEST_MM - 1) / 1000.0) * 1000.0 + _LOWEST_MM
    key = np.sort((bins << _HEIGHT_BITS) + heights_mm.astype(np.int32))
    found = np.arange(math.ceil(corridor.range_m) + 1, dtype=np.int32)
    first = np.searchsorted(key, found << _HEIGHT_BITS)
    counts = np.diff(first, append=len(key))
    enough = counts >= GROUND_POINTS
    if not enough.any():
        level_m = float(z.min()) if road_m is None else road_m
        return _ground_along([0.0], [level_m], 0.0, corridor.range_m, x.dtype)
    low_keys = key[(first + counts * LOW_PERCENT // 100)[enough]]
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
    from_m = int(np.searchsorted(known_at, last_m - SLOPE_BASE_M))
    rise_m = height_m - known_m[from_m]
    slope = rise_m / (last_m - known_at[from_m]) if rise_m else 0.0
    return _ground_along(known_at, known_m, slope, corridor.range_m, x.dtype)


def _ground_along(
    known_at: Sequence[float], known_m: Sequence[float], slope: float, range_m: float, dtype: np.dtype[np.floating]
) -> _Ground:
    """Straight lines between the known heights, which lie on the grid, and beyond them level or sloped."""
    knots_m = _KNOT_M * np.arange(math.ceil(range_m / _KNOT_M) + 2)
    seen_m = np.interp(knots_m, known_at, known_m)
    further_m = seen_m + slope * np.maximum(knots_m - known_at[-1], 0.0)

    def lines(heights_m: Float) -> _Profile:
        slopes = np.diff(heights_m) / _KNOT_M
        return _Profile((heights_m[:-1] - slopes * knots_m[:-1]).astype(dtype), slopes.astype(dtype))

    return _Ground(lines(np.minimum(seen_m, further_m)), lines(np.maximum(seen_m, further_m)))


def thinned(gaps_m: Measured, min_points: int) -> Measured:
    """The nearest of `gaps_m`, sorted: those that `first_surface` needs to give the same answer as for all of them.

    A cell of `THINNING_CELL_M` that holds the most points that are ever wanted shows a surface at its first point or
    before. So nothing behind it counts, and of itself only that many of its nearest points.
    """
    most = max(MOST_EVIDENCE, min_points)
    cells = (gaps_m * (1.0 / THINNING_CELL_M)).astype(np.intp)
    full = np.flatnonzero(np.bincount(cells) >= most)
    if not len(full):
        return np.sort(gaps_m)
    nearest = np.partition(gaps_m[cells == full[0]], most - 1)[:most]
    return np.sort(np.concatenate([gaps_m[cells < full[0]], nearest]))


def first_surface(gaps_m: Measured, min_points: int) -> float | None:
    """The nearest of the sorted `gaps_m` from which on enough points lie within `DEPTH_M`."""
    if not len(gaps_m):
        return None
    with np.errstate(divide="ignore", over="ignore"):
        wanted = np.clip(EVIDENCE_AT_10_M * (10.0 / gaps_m) ** 2, min_points, max(MOST_EVIDENCE, min_points))
    last = np.arange(len(gaps_m)) + np.ceil(wanted).astype(np.int64) - 1
    within = np.searchsorted(gaps_m, gaps_m + DEPTH_M, side="right") - 1
    surfaces = np.flatnonzero(last <= within)
    return math.fabs(float(gaps_m[surfaces[0]])) if len(surfaces) else None
