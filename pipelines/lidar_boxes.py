# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call"
"""Boxes around clusters of LiDAR points, compiled.

Results are independent of the order of the points. Kernels return arrays and never raise.
"""

from __future__ import annotations

import math

import numpy as np

from pipelines.lidar_kernels import FIXED_POINT, group
from rt_sched.kernels.compiling.kernel import cached

#: Directions tried over a quarter turn, then refined around the best one in so many steps of halving.
_HEADINGS = 18
_HALVINGS = 4

#: Distances from a side below which points count alike: several voxels' rounding, and about that of one.
_COARSE_M, _FINE_M = 0.1, 0.04

#: The search weighs at most about so many points of a cluster; more tell nothing new about its sides.
_MAX_POINTS = 400

#: Of so many points one may lie before the rest of a cluster without being its end, and so many at most: single returns
#: of what clings to it or drifts before it.
_POINTS_PER_STRAY = 20
_MOST_STRAYS = 2

#: Columns of `cluster_boxes`.
X, Y, Z, LENGTH, WIDTH, HEIGHT, YAW, POINTS, GROUND, TIME, ENDS_TOP, MIDDLE_TOP, PIECE = range(13)
X_LOW, Y_LOW, X_HIGH, Y_HIGH = range(13, 17)
COLUMNS = 17


@cached(nogil=True)
def _extent(xyz_m, members, start, end, cos, sin):
    """Bounds along (cos, sin), across it, and in height: u_low, u_high, v_low, v_high, z_low, z_high."""
    u_low, u_high, v_low, v_high, z_low, z_high = np.inf, -np.inf, np.inf, -np.inf, np.inf, -np.inf
    for k in range(start, end):
        x, y = np.float64(xyz_m[members[k], 0]), np.float64(xyz_m[members[k], 1])
        z = np.float64(xyz_m[members[k], 2])
        u, v = x * cos + y * sin, y * cos - x * sin
        u_low, u_high = min(u_low, u), max(u_high, u)
        v_low, v_high = min(v_low, v), max(v_high, v)
        z_low, z_high = min(z_low, z), max(z_high, z)
    return u_low, u_high, v_low, v_high, z_low, z_high


@cached(nogil=True)
def _ends(xyz_m, members, start, end):
    """Lowest and highest x of a cluster without its strays."""
    strays = min(_MOST_STRAYS, (end - start) // _POINTS_PER_STRAY)
    low, high = np.full(_MOST_STRAYS + 1, np.inf), np.full(_MOST_STRAYS + 1, -np.inf)
    for k in range(start, end):
        near, far = np.float64(xyz_m[members[k], 0]), np.float64(xyz_m[members[k], 0])
        for rank in range(strays + 1):
            if near < low[rank]:
                low[rank], near = near, low[rank]
            if far > high[rank]:
                high[rank], far = far, high[rank]
    return low[strays], high[strays]


@cached(nogil=True)
def _outline(xyz_m, members, start, end):
    """Points for the heading search, float64[m, 2] relative to the cluster's middle.

    A small cluster's own. Of a large one those that are outermost in their direction: for each of 180 directions from
    the middle the nearest and the farthest one.
    """
    x_low, x_high, y_low, y_high, _, _ = _extent(xyz_m, members, start, end, 1.0, 0.0)
    x_middle, y_middle = 0.5 * (x_low + x_high), 0.5 * (y_low + y_high)
    count = end - start
    out = np.empty((min(count, _MAX_POINTS), 2))
    if count <= _MAX_POINTS:
        for k in range(count):
            out[k, 0] = np.float64(xyz_m[members[start + k], 0]) - x_middle
            out[k, 1] = np.float64(xyz_m[members[start + k], 1]) - y_middle
        return out
    sectors = 180
    nearest, farthest = np.full(sectors, np.inf), np.full(sectors, -1.0)
    pick = np.zeros((sectors, 2, 2))
    for k in range(start, end):
        x = np.float64(xyz_m[members[k], 0]) - x_middle
        y = np.float64(xyz_m[members[k], 1]) - y_middle
        sector = min(int((math.atan2(y, x) + math.pi) * (sectors / (2.0 * math.pi))), sectors - 1)
        d2 = x * x + y * y
        if d2 < nearest[sector] or (d2 == nearest[sector] and (x, y) < (pick[sector, 0, 0], pick[sector, 0, 1])):
            nearest[sector] = d2
            pick[sector, 0, 0], pick[sector, 0, 1] = x, y
        if d2 > farthest[sector] or (d2 == farthest[sector] and (x, y) < (pick[sector, 1, 0], pick[sector, 1, 1])):
            farthest[sector] = d2
            pick[sector, 1, 0], pick[sector, 1, 1] = x, y
    used = 0
    for sector in range(sectors):
        if farthest[sector] >= 0.0:
            out[used] = pick[sector, 0]
            out[used + 1] = pick[sector, 1]
            used += 2
    return out[:used]


@cached(nogil=True)
def _closeness(outline, angle, least_gap_m):
    """How closely the points keep to the sides of their rectangle at `angle`, in integers."""
    cos, sin = math.cos(angle), math.sin(angle)
    u_low, u_high, v_low, v_high = np.inf, -np.inf, np.inf, -np.inf
    for k in range(outline.shape[0]):
        u, v = outline[k, 0] * cos + outline[k, 1] * sin, outline[k, 1] * cos - outline[k, 0] * sin
        u_low, u_high, v_low, v_high = min(u_low, u), max(u_high, u), min(v_low, v), max(v_high, v)
    score = np.int64(0)
    for k in range(outline.shape[0]):
        u, v = outline[k, 0] * cos + outline[k, 1] * sin, outline[k, 1] * cos - outline[k, 0] * sin
        gap = min(min(u - u_low, u_high - u), min(v - v_low, v_high - v))
        score += np.int64(1000.0 / max(gap, least_gap_m))
    return score


@cached(nogil=True)
def _heading(xyz_m, members, start, end):
    """Direction of a rectangle's side, within a quarter turn, that its points lie closest to.

    Each point counts with the inverse of its distance to the nearest side, at least `_COARSE_M` or, in the refinement,
    `_FINE_M`: the closeness criterion of Zhang et al., "Efficient L-shape fitting for vehicle detection using laser
    scanners" (IV 2017).
    """
    outline = _outline(xyz_m, members, start, end)
    step = 0.5 * math.pi / _HEADINGS
    best, best_score = 0.0, np.int64(-1)
    for k in range(_HEADINGS):
        score = _closeness(outline, k * step, _COARSE_M)
        if score > best_score:
            best, best_score = k * step, score
    best_score = _closeness(outline, best, _FINE_M)
    for _ in range(_HALVINGS):
        step *= 0.5
        lower, upper = _closeness(outline, best - step, _FINE_M), _closeness(outline, best + step, _FINE_M)
        if lower > best_score and lower >= upper:
            best, best_score = best - step, lower
        elif upper > best_score:
            best, best_score = best + step, upper
    return best


@cached(nogil=True)
def cut_oversized(xyz_m, labels, clusters, max_length_m, max_width_m, piece_m):
    """Cuts clusters beyond `max_length_m` x `max_width_m` (walls, hedges, rows of objects) along their sides.

    All pieces of a cluster are equal, at most `piece_m` x `max_width_m`. Returns new labels int32[n], their number (a
    piece may be empty), and bool[that number], true for what is a piece of something larger.
    """
    members, starts = group(labels, clusters)
    cut = np.full(labels.size, -1, np.int32)
    is_piece = np.zeros(labels.size + clusters + 1, np.bool_)
    found = 0
    for c in range(clusters):
        start, end = starts[c], starts[c + 1]
        u_low, u_high, v_low, v_high, _, _ = _extent(xyz_m, members, start, end, 1.0, 0.0)
        cos, sin = 1.0, 0.0
        if math.hypot(u_high - u_low, v_high - v_low) > max_width_m:
            angle = _heading(xyz_m, members, start, end)
            cos, sin = math.cos(angle), math.sin(angle)
            u_low, u_high, v_low, v_high, _, _ = _extent(xyz_m, members, start, end, cos, sin)
        u_size, v_size = u_high - u_low, v_high - v_low
        u_pieces, v_pieces = 1, 1
        if max(u_size, v_size) > max_length_m or min(u_size, v_size) > max_width_m:
            u_limit, v_limit = (piece_m, max_width_m) if u_size >= v_size else (max_width_m, piece_m)
            u_pieces, v_pieces = max(1, math.ceil(u_size / u_limit)), max(1, math.ceil(v_size / v_limit))
        pieces = u_pieces * v_pieces
        while found + pieces > is_piece.size:
            is_piece = np.concatenate((is_piece, np.zeros(is_piece.size, np.bool_)))
        for k in range(start, end):
            x, y = np.float64(xyz_m[members[k], 0]), np.float64(xyz_m[members[k], 1])
            i_u, i_v = 0, 0
            if u_pieces > 1:
                i_u = min(int((x * cos + y * sin - u_low) / u_size * u_pieces), u_pieces - 1)
            if v_pieces > 1:
                i_v = min(int((y * cos - x * sin - v_low) / v_size * v_pieces), v_pieces - 1)
            cut[members[k]] = found + i_u * v_pieces + i_v
        is_piece[found : found + pieces] = pieces > 1
        found += pieces
    return cut, found, is_piece[:found].copy()


@cached(nogil=True)
def cluster_boxes(xyz_m, ground_z_m, time_ns, labels, clusters, is_piece, min_points, min_height_m):
    """Upright boxes around clusters: float64[m, COLUMNS] by the column names of this module.

    `ground_z_m`: float32[n] and `time_ns`: int32[n], or empty where they are not known (GROUND is then the lowest
    point, TIME 0). The length is the longer side, the yaw its direction in [-pi/2, pi/2). ENDS_TOP and MIDDLE_TOP: the
    higher one of the tops of the outer thirds of the length, and the top of the middle third. X_LOW to Y_HIGH: bounds
    of the points along the axes, along x without strays; a turned box reaches beyond them where its corners are empty.
    Clusters with fewer than `min_points` or lower than `min_height_m` are left out.
    """
    members, starts = group(labels, clusters)
    out = np.empty((min(clusters, labels.size), COLUMNS))
    found = 0
    for c in range(clusters):
        start, end = starts[c], starts[c + 1]
        if end - start < min_points:
            continue
        yaw = _heading(xyz_m, members, start, end)
        cos, sin = math.cos(yaw), math.sin(yaw)
        u_low, u_high, v_low, v_high, z_low, z_high = _extent(xyz_m, members, start, end, cos, sin)
        if z_high - z_low < min_height_m:
            continue
        u, v = 0.5 * (u_low + u_high), 0.5 * (v_low + v_high)
        x, y = u * cos - v * sin, u * sin + v * cos
        length, width = u_high - u_low, v_high - v_low
        if width > length:
            length, width, yaw = width, length, yaw - 0.5 * math.pi
        if yaw >= 0.5 * math.pi:
            yaw -= math.pi
        elif yaw < -0.5 * math.pi:
            yaw += math.pi
        cos, sin = math.cos(yaw), math.sin(yaw)
        ends_top, middle_top = z_low, z_low
        ground, time = np.int64(0), np.int64(0)
        for k in range(start, end):
            i = members[k]
            along = (np.float64(xyz_m[i, 0]) - x) * cos + (np.float64(xyz_m[i, 1]) - y) * sin
            top = np.float64(xyz_m[i, 2])
            if abs(along) > length / 6.0:
                ends_top = max(ends_top, top)
            else:
                middle_top = max(middle_top, top)
            if ground_z_m.size:
                ground += np.int64(math.floor(np.float64(ground_z_m[i]) * FIXED_POINT + 0.5))
            if time_ns.size:
                time += time_ns[i]
        count = end - start
        row = out[found]
        row[X], row[Y], row[Z] = x, y, 0.5 * (z_low + z_high)
        row[LENGTH], row[WIDTH], row[HEIGHT], row[YAW] = length, width, z_high - z_low, yaw
        row[POINTS] = count
        row[GROUND] = ground / count / FIXED_POINT if ground_z_m.size else z_low
        row[TIME] = time // count
        row[ENDS_TOP], row[MIDDLE_TOP] = ends_top, middle_top
        row[PIECE] = 1.0 if is_piece[c] else 0.0
        row[X_LOW], row[X_HIGH] = _ends(xyz_m, members, start, end)
        _, _, row[Y_LOW], row[Y_HIGH], _, _ = _extent(xyz_m, members, start, end, 1.0, 0.0)
        found += 1
    return out[:found].copy()
