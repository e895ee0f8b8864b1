# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call"
"""The ground below a LiDAR sweep, compiled: a plane first, then its shape cell by cell.

The shape is a slope-limited surface after Vosselman, "Slope based filtering of laser altimetry data" (IAPRS 33, 2000):
ground never rises faster than `slope` from any lower return, so neither a car's bonnet nor a lorry's underside is
taken for it, while ramps and kerbs are. Cells that show nothing but ground then carry it below objects and overhangs.
Results are independent of the order of the points. Kernels return arrays and never raise.
"""

from __future__ import annotations

import math

import numpy as np

from rt_sched.kernels.compiling.kernel import cached

#: Side and half extent of the cells whose lowest points shape the first guess of the ground plane.
_PLANE_CELL_M = 1.0
_PLANE_REACH_M = 30.0
_PLANE_CELLS = 60
_PLANE_MIN_CELLS = 12

#: The lowest return of a cell is a reflection in a wet or polished surface when it lies deeper than `_BELOW_M` under
#: what most pairs of cells on opposite sides tell, or deeper than `_BELOW_M` plus the steepest fall under most cells
#: within `_WINDOW`. Where too few cells have returns to tell, `_ALONE_M` and `_ALONE_SLOPE` per metre of distance under
#: the plane do.
_BELOW_M = 0.2
_WINDOW = 4
_MIN_PAIRS = 3
_MIN_AROUND = 8
_ALONE_M = 0.5
_ALONE_SLOPE = 0.02

#: A cell shows nothing but ground when all its returns lie within this of the lowest one.
_FLAT_M = 0.3
#: How far the lowest return of such a cell may lie above the slope limit: it may sit anywhere in its cell.
_CELL_SLACK_M = 0.12


@cached(nogil=True)
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


@cached(nogil=True)
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


@cached(nogil=True)
def _limit(surface, rise):
    """Lowers `surface`, float64[rows, columns], until no cell lies more than `rise` above a neighbour (root two times
    that for diagonal ones). Two sweeps suffice: Borgefors, "Distance transformations in digital images" (1986)."""
    rows, columns = surface.shape
    across = rise * math.sqrt(2.0)
    for r in range(rows):
        for c in range(columns):
            best = surface[r, c]
            if c > 0:
                best = min(best, surface[r, c - 1] + rise)
            if r > 0:
                best = min(best, surface[r - 1, c] + rise)
                if c > 0:
                    best = min(best, surface[r - 1, c - 1] + across)
                if c < columns - 1:
                    best = min(best, surface[r - 1, c + 1] + across)
            surface[r, c] = best
    for r in range(rows - 1, -1, -1):
        for c in range(columns - 1, -1, -1):
            best = surface[r, c]
            if c < columns - 1:
                best = min(best, surface[r, c + 1] + rise)
            if r < rows - 1:
                best = min(best, surface[r + 1, c] + rise)
                if c < columns - 1:
                    best = min(best, surface[r + 1, c + 1] + across)
                if c > 0:
                    best = min(best, surface[r + 1, c - 1] + across)
            surface[r, c] = best


@cached(nogil=True)
def _lowest(height, cell_of, floor):
    """Per cell the index of its lowest point not below `floor`, -1 where there is none; ties fall to the first."""
    lowest = np.full(floor.size, -1, np.int64)
    for i in range(height.size):
        cell = cell_of[i]
        if height[i] >= floor[cell] and (lowest[cell] == -1 or height[i] < height[lowest[cell]]):
            lowest[cell] = i
    return lowest


@cached(nogil=True)
def _believed(height, lowest, size, row, column, fall):
    """Height below which returns of a cell are reflections by what lies around it, nan where too little does.

    `fall`: steepest one per cell. Means of cells on opposite sides do not depend on the slope.
    """
    around, middles = np.empty((2 * _WINDOW + 1) ** 2), np.empty(12)
    count, pairs = 0, 0
    for dr in range(max(-_WINDOW, -row), min(_WINDOW, size - 1 - row) + 1):
        for dc in range(max(-_WINDOW, -column), min(_WINDOW, size - 1 - column) + 1):
            one = lowest[(row + dr) * size + column + dc]
            if one == -1:
                continue
            around[count] = height[one] - fall * math.hypot(dr, dc)
            count += 1
            if max(abs(dr), abs(dc)) > 2 or (dr, dc) <= (0, 0):
                continue
            if min(row - dr, column - dc) >= 0 and max(row - dr, column - dc) < size:
                other = lowest[(row - dr) * size + column - dc]
                if other != -1:
                    middles[pairs] = 0.5 * (height[one] + height[other])
                    pairs += 1
    best = -np.inf
    if pairs >= _MIN_PAIRS:
        best = np.median(middles[:pairs]) - _BELOW_M
    if count >= _MIN_AROUND:
        best = max(best, np.median(around[:count]) - _BELOW_M)
    return best if best > -np.inf else np.nan


@cached(nogil=True)
def _floors(height, lowest, size, cell_m, slope):
    """Per cell the height below which returns are reflections, -inf almost everywhere."""
    floor = np.full(size * size, -np.inf)
    half = 0.5 * size
    for row in range(size):
        for column in range(size):
            cell = row * size + column
            if lowest[cell] == -1:
                continue
            deepest = height[lowest[cell]]
            distance_m = cell_m * math.hypot(row + 0.5 - half, column + 0.5 - half)
            # Level ground, by far the most, is passed over quickly: something near must be higher.
            suspicious = deepest < -_ALONE_M - _ALONE_SLOPE * distance_m
            for dr in range(max(-1, -row), min(1, size - 1 - row) + 1):
                for dc in range(max(-1, -column), min(1, size - 1 - column) + 1):
                    near = lowest[(row + dr) * size + column + dc]
                    suspicious = suspicious or (near != -1 and height[near] > deepest + _BELOW_M)
            if suspicious:
                limit = _believed(height, lowest, size, row, column, slope * cell_m)
                if limit != limit:
                    limit = -_ALONE_M - _ALONE_SLOPE * distance_m
                if deepest < limit:
                    floor[cell] = limit
    return floor


@cached(nogil=True)
def ground_heights(xyz_m, plane, reach_m, cell_m, slope, max_height_m):
    """Height of the ground below (or above) every point: float64[n], in the frame of `xyz_m`, float32[n, 3].

    `plane`: a, b, c of the first guess. `reach_m`: horizontal distance within which all points lie; `cell_m`: side of
    a cell; `slope`: steepest rise of the ground against the plane; `max_height_m`: what lies higher above a cell's
    lowest return has nothing to do with it.
    """
    n = xyz_m.shape[0]
    size = 2 * math.ceil(reach_m / cell_m) + 2
    half = size // 2
    height = np.empty(n)
    cell_of = np.empty(n, np.int64)
    for i in range(n):
        x, y = np.float64(xyz_m[i, 0]), np.float64(xyz_m[i, 1])
        height[i] = xyz_m[i, 2] - plane[0] * x - plane[1] * y - plane[2]
        column = min(max(math.floor(x / cell_m) + half, 0), size - 1)
        row = min(max(math.floor(y / cell_m) + half, 0), size - 1)
        cell_of[i] = row * size + column
    lowest = _lowest(height, cell_of, np.full(size * size, -np.inf))
    floor = _floors(height, lowest, size, cell_m, slope)
    lowest = _lowest(height, cell_of, floor)

    tall = np.zeros(size * size, np.bool_)
    for i in range(n):
        first = lowest[cell_of[i]]
        if first != -1 and _FLAT_M < height[i] - height[first] <= max_height_m:
            tall[cell_of[i]] = True
    limited = np.full((size, size), np.inf)
    for cell in range(size * size):
        if lowest[cell] != -1:
            limited[cell // size, cell % size] = height[lowest[cell]]
    # The vehicle stands on the plane.
    limited[half, half] = min(limited[half, half], 0.0)
    rise = slope * cell_m
    _limit(limited, rise)

    # Between cells that are surely ground it may lie anywhere in a band; the band's middle is taken.
    above, below = np.full((size, size), np.inf), np.full((size, size), np.inf)
    sure = np.zeros(size * size, np.bool_)
    for cell in range(size * size):
        r, c = cell // size, cell % size
        if lowest[cell] != -1 and not tall[cell] and height[lowest[cell]] <= limited[r, c] + _CELL_SLACK_M:
            sure[cell] = True
            above[r, c], below[r, c] = height[lowest[cell]], -height[lowest[cell]]
    _limit(above, rise)
    _limit(below, rise)
    surface = np.empty((size, size))
    for cell in range(size * size):
        r, c = cell // size, cell % size
        if sure[cell]:
            surface[r, c] = height[lowest[cell]]
        elif above[r, c] < np.inf:
            surface[r, c] = min(0.5 * (above[r, c] - below[r, c]), limited[r, c])
        else:
            surface[r, c] = limited[r, c]

    out = np.empty(n)
    for i in range(n):
        cell = cell_of[i]
        r, c = cell // size, cell % size
        x, y = np.float64(xyz_m[i, 0]), np.float64(xyz_m[i, 1])
        x_known, y_known = (c - half + 0.5) * cell_m, (r - half + 0.5) * cell_m
        if sure[cell]:
            x_known, y_known = np.float64(xyz_m[lowest[cell], 0]), np.float64(xyz_m[lowest[cell], 1])
        west, east = surface[r, max(c - 1, 0)], surface[r, min(c + 1, size - 1)]
        south, north = surface[max(r - 1, 0), c], surface[min(r + 1, size - 1), c]
        slope_x = min(max((east - west) / (2.0 * cell_m), -slope), slope)
        slope_y = min(max((north - south) / (2.0 * cell_m), -slope), slope)
        ground = surface[r, c] + slope_x * (x - x_known) + slope_y * (y - y_known)
        out[i] = ground + plane[0] * x + plane[1] * y + plane[2]
    return out
