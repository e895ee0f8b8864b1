# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call"
"""LiDAR geometry over plain arrays, compiled: voxel grid, ground search, clustering, rectangle fit.

Every result is independent of the order of the points: sums run over integers, ties fall to the smaller voxel key.
Kernels return arrays and never raise.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from rt_sched.kernels.numba_cache import CACHE

#: Coordinates are summed in units of 2**-13 m (0.12 mm), intensities in 2**-8, so that a mean has no rounding order.
_FIXED_POINT = 8192.0
_FIXED_INTENSITY = 256.0

#: Cells are addressed by 21 bits per axis.
_CELL_BIAS = 1 << 20
_CELL_MASK = (1 << 21) - 1

#: Side and half extent of the cells whose lowest points shape the first guess of the ground plane.
_PLANE_CELL_M = 1.0
_PLANE_REACH_M = 30.0
_PLANE_CELLS = 60
_PLANE_MIN_CELLS = 12


@njit(cache=CACHE, nogil=True)
def _slot_of(keys, key):
    """Index of `key` in the open-addressing table, or of the free slot (-1) where it belongs."""
    mask = keys.size - 1
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    slot = np.int64((mixed >> np.uint64(20)) & np.uint64(mask))
    while keys[slot] != -1 and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@njit(cache=CACHE, nogil=True)
def _table_size(items):
    size = 16
    while size < 2 * items:
        size *= 2
    return size


@njit(cache=CACHE, nogil=True)
def _cell_key(ix, iy, iz):
    return ((ix + _CELL_BIAS) << 42) | ((iy + _CELL_BIAS) << 21) | (iz + _CELL_BIAS)


@njit(cache=CACHE, nogil=True)
def _group(labels, clusters):
    """Indices of the labelled points, cluster by cluster, and where each cluster starts: int64[clusters + 1]."""
    starts = np.zeros(clusters + 1, np.int64)
    for i in range(labels.size):
        if labels[i] >= 0:
            starts[labels[i] + 1] += 1
    for c in range(clusters):
        starts[c + 1] += starts[c]
    members = np.empty(starts[clusters], np.int64)
    fill = starts[:-1].copy()
    for i in range(labels.size):
        if labels[i] >= 0:
            members[fill[labels[i]]] = i
            fill[labels[i]] += 1
    return members, starts


@njit(cache=CACHE, nogil=True)
def voxel_means(xyz_m, intensity, transform, min_range_m, max_range_m, voxel_m):
    """Crops by distance from the sensor, transforms and averages the points of each voxel.

    `xyz_m`: float32[n, 3]; `intensity`: float32[n]; `transform`: float64[3, 4]. Returns, in order of first
    appearance, keys int64[m], means float32[m, 3] and mean intensities float32[m].
    """
    n = xyz_m.shape[0]
    table = np.full(_table_size(n), -1, np.int64)
    index_of = np.empty(table.size, np.int32)
    keys = np.empty(n, np.int64)
    sums = np.zeros((n, 5), np.int64)
    voxels = 0
    last_key = np.int64(-1)
    last_index = 0
    low2, high2, per_m = min_range_m * min_range_m, max_range_m * max_range_m, 1.0 / voxel_m
    for i in range(n):
        px, py, pz = np.float64(xyz_m[i, 0]), np.float64(xyz_m[i, 1]), np.float64(xyz_m[i, 2])
        d2 = px * px + py * py + pz * pz
        if not (low2 <= d2 <= high2):  # also false for NaN
            continue
        x = transform[0, 0] * px + transform[0, 1] * py + transform[0, 2] * pz + transform[0, 3]
        y = transform[1, 0] * px + transform[1, 1] * py + transform[1, 2] * pz + transform[1, 3]
        z = transform[2, 0] * px + transform[2, 1] * py + transform[2, 2] * pz + transform[2, 3]
        key = _cell_key(
            np.int64(math.floor(x * per_m)), np.int64(math.floor(y * per_m)), np.int64(math.floor(z * per_m))
        )
        if key != last_key:
            slot = _slot_of(table, key)
            if table[slot] == -1:
                table[slot] = key
                index_of[slot] = voxels
                keys[voxels] = key
                voxels += 1
            last_key = key
            last_index = index_of[slot]
        sums[last_index, 0] += np.int64(math.floor(x * _FIXED_POINT + 0.5))
        sums[last_index, 1] += np.int64(math.floor(y * _FIXED_POINT + 0.5))
        sums[last_index, 2] += np.int64(math.floor(z * _FIXED_POINT + 0.5))
        value = np.float64(intensity[i])
        if abs(value) < 1e6:
            sums[last_index, 3] += np.int64(math.floor(value * _FIXED_INTENSITY + 0.5))
        sums[last_index, 4] += 1
    means = np.empty((voxels, 3), np.float32)
    mean_intensity = np.empty(voxels, np.float32)
    for v in range(voxels):
        count = np.float64(sums[v, 4])
        for axis in range(3):
            means[v, axis] = sums[v, axis] / count / _FIXED_POINT
        mean_intensity[v] = sums[v, 3] / count / _FIXED_INTENSITY
    return keys[:voxels].copy(), means, mean_intensity


@njit(cache=CACHE, nogil=True)
def _solve_plane(x, y, z, weight):
    """Weighted least squares for z = a x + b y + c; the last value is False when the points do not span a plane."""
    sw = sx = sy = sz = sxx = sxy = syy = sxz = syz = 0.0
    for i in range(x.size):
        w = weight[i]
        sw += w
        sx += w * x[i]
        sy += w * y[i]
        sz += w * z[i]
        sxx += w * x[i] * x[i]
        sxy += w * x[i] * y[i]
        syy += w * y[i] * y[i]
        sxz += w * x[i] * z[i]
        syz += w * y[i] * z[i]
    if sw < _PLANE_MIN_CELLS:
        return 0.0, 0.0, 0.0, False
    mx, my, mz = sx / sw, sy / sw, sz / sw
    cxx, cxy, cyy = sxx / sw - mx * mx, sxy / sw - mx * my, syy / sw - my * my
    cxz, cyz = sxz / sw - mx * mz, syz / sw - my * mz
    determinant = cxx * cyy - cxy * cxy
    if determinant < 1.0:
        return 0.0, 0.0, 0.0, False
    a = (cxz * cyy - cyz * cxy) / determinant
    b = (cyz * cxx - cxz * cxy) / determinant
    return a, b, mz - a * mx - b * my, True


@njit(cache=CACHE, nogil=True)
def ground_plane(xyz_m, height_known, height_m, max_slope):
    """First guess of the ground around the sensor as a, b, c of z = a x + b y + c.

    Fitted to the lowest points of 1 m cells, far ones (walls, noise) losing their weight in four rounds. With
    `height_known` the ground is expected at `height_m` (+-0.5 m) under the origin. Without enough cells, or where
    the fit is steeper than `max_slope`, the ground is level.
    """
    lowest = np.full(_PLANE_CELLS * _PLANE_CELLS, -1, np.int64)
    for i in range(xyz_m.shape[0]):
        column = math.floor((xyz_m[i, 0] + _PLANE_REACH_M) / _PLANE_CELL_M)
        row = math.floor((xyz_m[i, 1] + _PLANE_REACH_M) / _PLANE_CELL_M)
        if 0 <= column < _PLANE_CELLS and 0 <= row < _PLANE_CELLS:
            cell = row * _PLANE_CELLS + column
            if lowest[cell] == -1 or xyz_m[i, 2] < xyz_m[lowest[cell], 2]:
                lowest[cell] = i
    used = lowest[lowest >= 0]
    if used.size == 0:
        return 0.0, 0.0, height_m
    x, y, z = np.empty(used.size), np.empty(used.size), np.empty(used.size)
    for i in range(used.size):
        x[i], y[i], z[i] = xyz_m[used[i], 0], xyz_m[used[i], 1], xyz_m[used[i], 2]
    a, b = 0.0, 0.0
    c = height_m if height_known else np.median(z)
    level = c
    weight = np.empty(used.size)
    for reach in (1.0, 0.6, 0.35, 0.25):
        for i in range(used.size):
            off = (z[i] - a * x[i] - b * y[i] - c) / reach
            weight[i] = (1.0 - off * off) ** 2 if abs(off) < 1.0 else 0.0
        a_new, b_new, c_new, solved = _solve_plane(x, y, z, weight)
        if not solved or math.hypot(a_new, b_new) > max_slope or (height_known and abs(c_new - height_m) > 0.5):
            return 0.0, 0.0, level
        a, b, c = a_new, b_new, c_new
    return a, b, c


@njit(cache=CACHE, nogil=True)
def obstacle_mask(xyz_m, plane, sectors, ring_m, rings, step_m, slope, clearance_m, max_height_m):
    """True for points between `clearance_m` and `max_height_m` above the ground: bool[n].

    The surroundings are cut into `sectors` and rings. In each sector the ground is followed outwards: a ring's
    lowest point is ground when it lies within `step_m` plus `slope` times the distance from the last ground seen;
    where it is not, or where there is no point, the last height counts. Heights are relative to `plane`.
    """
    n = xyz_m.shape[0]
    bin_of = np.empty(n, np.int32)
    height = np.empty(n)
    for i in range(n):
        x, y = np.float64(xyz_m[i, 0]), np.float64(xyz_m[i, 1])
        height[i] = xyz_m[i, 2] - plane[0] * x - plane[1] * y - plane[2]
        sector = min(int((math.atan2(y, x) + math.pi) * (sectors / (2.0 * math.pi))), sectors - 1)
        bin_of[i] = sector * rings + min(int(math.sqrt(x * x + y * y) / ring_m), rings - 1)
    members, starts = _group(bin_of, sectors * rings)
    keep = np.zeros(n, np.bool_)
    for sector in range(sectors):
        ground = 0.0
        last_ring = 0
        for ring in range(rings):
            b = sector * rings + ring
            if starts[b] == starts[b + 1]:
                continue
            tolerance = step_m + slope * (ring - last_ring) * ring_m
            lowest = np.inf
            for k in range(starts[b], starts[b + 1]):
                h = height[members[k]]
                if h >= ground - tolerance and h < lowest:
                    lowest = h
            if lowest <= ground + tolerance:
                ground = lowest
                last_ring = ring
            for k in range(starts[b], starts[b + 1]):
                above = height[members[k]] - ground
                keep[members[k]] = clearance_m <= above <= max_height_m
    return keep


@njit(cache=CACHE, nogil=True)
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


@njit(cache=CACHE, nogil=True)
def _root(parent, node):
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


@njit(cache=CACHE, nogil=True)
def _touch(xyz_m, members, first_start, first_end, second_start, second_end, reach2):
    """Whether two cells hold points at most sqrt(reach2) apart, seen from above."""
    for p in range(first_start, first_end):
        for q in range(second_start, second_end):
            dx = np.float64(xyz_m[members[p], 0]) - np.float64(xyz_m[members[q], 0])
            dy = np.float64(xyz_m[members[p], 1]) - np.float64(xyz_m[members[q], 1])
            if dx * dx + dy * dy <= reach2:
                return True
    return False


@njit(cache=CACHE, nogil=True)
def cluster_labels(xyz_m, tolerance_m):
    """Euclidean clusters seen from above: int32[n] labels and their number.

    Two points share a cluster when a chain of points leads from one to the other in steps of at most `tolerance_m`.
    Cells of tolerance/sqrt(2) lie wholly inside one cluster, so only cells are joined. Points that are not finite or
    lie tens of kilometres away get -1.
    """
    n = xyz_m.shape[0]
    per_m = math.sqrt(2.0) / tolerance_m * (1.0 - 1e-9)
    limit = min(1e5, (_CELL_BIAS - 4) / per_m)
    table = np.full(_table_size(n), -1, np.int64)
    index_of = np.empty(table.size, np.int32)
    cell_of = np.full(n, -1, np.int32)
    keys = np.empty(n, np.int64)
    cells = 0
    for i in range(n):
        x, y = np.float64(xyz_m[i, 0]), np.float64(xyz_m[i, 1])
        if not (abs(x) < limit and abs(y) < limit and abs(xyz_m[i, 2]) < limit):
            continue
        key = _cell_key(np.int64(math.floor(x * per_m)), np.int64(math.floor(y * per_m)), 0)
        slot = _slot_of(table, key)
        if table[slot] == -1:
            table[slot] = key
            index_of[slot] = cells
            keys[cells] = key
            cells += 1
        cell_of[i] = index_of[slot]
    members, starts = _group(cell_of, cells)
    parent = np.arange(cells)
    reach2 = tolerance_m * tolerance_m
    for c in range(cells):
        ix = ((keys[c] >> 42) & _CELL_MASK) - _CELL_BIAS
        iy = ((keys[c] >> 21) & _CELL_MASK) - _CELL_BIAS
        for dx in range(3):
            for dy in range(-2, 3):
                if dx == 0 and dy <= 0:
                    continue
                slot = _slot_of(table, _cell_key(ix + dx, iy + dy, 0))
                if table[slot] == -1:
                    continue
                other = index_of[slot]
                a, b = _root(parent, c), _root(parent, other)
                if a != b and _touch(
                    xyz_m, members, starts[c], starts[c + 1], starts[other], starts[other + 1], reach2
                ):
                    parent[max(a, b)] = min(a, b)
    label_of = np.full(cells, -1, np.int32)
    labels = np.full(n, -1, np.int32)
    found = 0
    for i in range(n):
        if cell_of[i] >= 0:
            root = _root(parent, cell_of[i])
            if label_of[root] == -1:
                label_of[root] = found
                found += 1
            labels[i] = label_of[root]
    return labels, found


@njit(cache=CACHE, nogil=True)
def _heading(xyz_m, members, start, end, headings):
    """Direction of a rectangle's side, 0 <= angle < pi/2, that its points lie closest to.

    Each point counts with the inverse of its distance to the nearest side, at least 10 cm, in integers: the closeness
    criterion of Zhang et al., "Efficient L-shape fitting for vehicle detection using laser scanners" (IV 2017).
    """
    best, best_score = 0.0, np.int64(-1)
    for step in range(headings):
        angle = step * (0.5 * math.pi / headings)
        cos, sin = math.cos(angle), math.sin(angle)
        u_low, u_high, v_low, v_high, _, _ = _extent(xyz_m, members, start, end, cos, sin)
        score = np.int64(0)
        for k in range(start, end):
            x, y = np.float64(xyz_m[members[k], 0]), np.float64(xyz_m[members[k], 1])
            u, v = x * cos + y * sin, y * cos - x * sin
            gap = min(min(u - u_low, u_high - u), min(v - v_low, v_high - v))
            score += np.int64(1000.0 / max(gap, 0.1))
        if score > best_score:
            best, best_score = angle, score
    return best


@njit(cache=CACHE, nogil=True)
def cut_oversized(xyz_m, labels, clusters, headings, max_length_m, max_width_m):
    """Cuts clusters beyond `max_length_m` x `max_width_m` (walls, hedges, rows of objects) into equal pieces along
    their sides. Returns new labels int32[n] and their number; a piece may be empty."""
    members, starts = _group(labels, clusters)
    cut = np.full(labels.size, -1, np.int32)
    found = 0
    for c in range(clusters):
        start, end = starts[c], starts[c + 1]
        u_low, u_high, v_low, v_high, _, _ = _extent(xyz_m, members, start, end, 1.0, 0.0)
        cos, sin = 1.0, 0.0
        if math.hypot(u_high - u_low, v_high - v_low) > max_width_m:
            angle = _heading(xyz_m, members, start, end, headings)
            cos, sin = math.cos(angle), math.sin(angle)
            u_low, u_high, v_low, v_high, _, _ = _extent(xyz_m, members, start, end, cos, sin)
        u_size, v_size = u_high - u_low, v_high - v_low
        u_limit, v_limit = (max_length_m, max_width_m) if u_size >= v_size else (max_width_m, max_length_m)
        u_pieces = max(1, math.ceil(u_size / u_limit))
        v_pieces = max(1, math.ceil(v_size / v_limit))
        for k in range(start, end):
            x, y = np.float64(xyz_m[members[k], 0]), np.float64(xyz_m[members[k], 1])
            i_u, i_v = 0, 0
            if u_pieces > 1:
                i_u = min(int((x * cos + y * sin - u_low) / u_size * u_pieces), u_pieces - 1)
            if v_pieces > 1:
                i_v = min(int((y * cos - x * sin - v_low) / v_size * v_pieces), v_pieces - 1)
            cut[members[k]] = found + i_u * v_pieces + i_v
        found += u_pieces * v_pieces
    return cut, found


@njit(cache=CACHE, nogil=True)
def cluster_boxes(xyz_m, labels, clusters, headings, min_points, min_height_m):
    """Upright boxes around clusters: float64[m, 8] as x, y, z of the centre, length, width, height, yaw, points.

    The length is the longer side, the yaw its direction in [-pi/2, pi/2). Clusters with fewer than `min_points` or
    lower than `min_height_m` are left out.
    """
    members, starts = _group(labels, clusters)
    out = np.empty((clusters, 8))
    found = 0
    for c in range(clusters):
        start, end = starts[c], starts[c + 1]
        if end - start < min_points:
            continue
        yaw = _heading(xyz_m, members, start, end, headings)
        cos, sin = math.cos(yaw), math.sin(yaw)
        u_low, u_high, v_low, v_high, z_low, z_high = _extent(xyz_m, members, start, end, cos, sin)
        if z_high - z_low < min_height_m:
            continue
        u, v = 0.5 * (u_low + u_high), 0.5 * (v_low + v_high)
        length, width = u_high - u_low, v_high - v_low
        if width > length:
            length, width, yaw = width, length, yaw - 0.5 * math.pi
        out[found, 0], out[found, 1], out[found, 2] = u * cos - v * sin, u * sin + v * cos, 0.5 * (z_low + z_high)
        out[found, 3], out[found, 4], out[found, 5] = length, width, z_high - z_low
        out[found, 6], out[found, 7] = yaw, end - start
        found += 1
    return out[:found].copy()
