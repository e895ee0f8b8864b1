# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call"
"""Drops of rain, snow and spray in a LiDAR sweep, compiled: points that nothing stands beside.

A surface returns points beside each other, a drop returns one. Source: radius outlier removal as Charron, Phillips and
Waslander (2018) use it against snow, here only where drops are bright enough to be seen: near the sensor.
"""

from __future__ import annotations

import math

import numpy as np

from pipelines.lidar_kernels import cell_key, group, slot_of, table_size
from rt_sched.kernels.compiling.kernel import cached


@cached(nogil=True)
def with_company(xyz_m, radius_m, radius_per_m, least, within_m):
    """Which points to keep: bool[n].

    `xyz_m`: float32[n, 3]. Kept are all points further than `within_m` from the frame's origin, seen from above, and of
    the others those that have at least `least` other points within `radius_m`, or `radius_per_m` times their distance
    where that is more.
    """
    n = xyz_m.shape[0]
    keep = np.ones(n, np.bool_)
    table = np.full(table_size(n), -1, np.int64)
    index_of = np.empty(table.size, np.int32)
    cell_of = np.full(n, -1, np.int32)
    at = np.zeros((n, 3), np.int64)
    cells = 0
    cell_m = max(radius_m, radius_per_m * within_m)
    # Points just beyond `within_m` are company too.
    reach2 = (within_m + cell_m) ** 2
    for i in range(n):
        x, y, z = np.float64(xyz_m[i, 0]), np.float64(xyz_m[i, 1]), np.float64(xyz_m[i, 2])
        if not x * x + y * y <= reach2:
            continue
        at[i, 0], at[i, 1], at[i, 2] = (
            np.int64(math.floor(x / cell_m)),
            np.int64(math.floor(y / cell_m)),
            np.int64(math.floor(z / cell_m)),
        )
        key = cell_key(at[i, 0], at[i, 1], at[i, 2])
        slot = slot_of(table, key)
        if table[slot] == -1:
            table[slot] = key
            index_of[slot] = cells
            cells += 1
        cell_of[i] = index_of[slot]
    members, starts = group(cell_of, cells)
    for i in range(n):
        x, y = np.float64(xyz_m[i, 0]), np.float64(xyz_m[i, 1])
        if x * x + y * y <= within_m * within_m:
            own_m = max(radius_m, radius_per_m * math.sqrt(x * x + y * y))
            keep[i] = _company(xyz_m, i, at[i], own_m, least, table, index_of, members, starts)
    return keep


@cached(nogil=True)
def _company(xyz_m, point, cell, radius_m, least, table, index_of, members, starts):
    """Whether at least `least` others lie within `radius_m` of a point, whose cell is `cell`: int64[3]."""
    found = 0
    for dx in range(-1, 2):
        for dy in range(-1, 2):
            for dz in range(-1, 2):
                slot = slot_of(table, cell_key(cell[0] + dx, cell[1] + dy, cell[2] + dz))
                if table[slot] == -1:
                    continue
                for place in range(starts[index_of[slot]], starts[index_of[slot] + 1]):
                    other = members[place]
                    apart2 = 0.0
                    for axis in range(3):
                        step = np.float64(xyz_m[point, axis]) - np.float64(xyz_m[other, axis])
                        apart2 += step * step
                    if apart2 <= radius_m * radius_m and other != point:
                        found += 1
                        if found >= least:
                            return True
    return found >= least
