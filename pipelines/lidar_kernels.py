# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call"
"""The voxel grid of the LiDAR stages over plain arrays, compiled, and the tables that the other kernels share.

Every result is independent of the order of the points: sums run over integers, ties fall to the smaller voxel key.
Kernels return arrays and never raise.
"""

from __future__ import annotations

import math

import numpy as np

from rt_sched.kernels.compiling.kernel import cached

#: Coordinates are summed in units of 2**-13 m (0.12 mm), intensities in 2**-8, so that a mean has no rounding order.
FIXED_POINT = 8192.0
_FIXED_INTENSITY = 256.0

#: Cells are addressed by 21 bits per axis.
CELL_BIAS = 1 << 20
CELL_MASK = (1 << 21) - 1


@cached(nogil=True)
def slot_of(keys, key):
    """Index of `key` in the open-addressing table, or of the free slot (-1) where it belongs."""
    mask = keys.size - 1
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    slot = np.int64((mixed >> np.uint64(20)) & np.uint64(mask))
    while keys[slot] != -1 and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@cached(nogil=True)
def table_size(items):
    """Power of two at which a table with `items` keys is at most half full."""
    size = 16
    while size < 2 * items:
        size *= 2
    return size


@cached(nogil=True)
def cell_key(ix, iy, iz):
    """One number for a cell, ordered by ix, iy, iz."""
    return ((ix + CELL_BIAS) << 42) | ((iy + CELL_BIAS) << 21) | (iz + CELL_BIAS)


@cached(nogil=True)
def group(labels, clusters):
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


@cached(nogil=True)
def voxel_means(xyz_m, intensity, time_ns, transforms, first_ns, bin_ns, min_range_m, max_range_m, voxel_m):
    """Crops by distance from the sensor, transforms and averages the points of each voxel.

    `xyz_m`: float32[n, 3]; `intensity`: float32[n]; `time_ns`: int32[n], or int32[0] where points have no times.
    `transforms`: float64[b, 3, 4]; a point takes that of its time, bin 0 beginning at `first_ns` and each lasting
    `bin_ns`; without times it takes the first. A point exactly at the sensor is an absent return. Returns, in order
    of first appearance, keys int64[m], means float32[m, 3], mean intensities float32[m] and mean times int32[m].
    """
    n = xyz_m.shape[0]
    timed = time_ns.size == n
    last_bin = transforms.shape[0] - 1
    table = np.full(table_size(n), -1, np.int64)
    index_of = np.empty(table.size, np.int32)
    keys = np.empty(n, np.int64)
    sums = np.empty((n, 6), np.int64)
    voxels = 0
    last_key = np.int64(-1)
    last_index = 0
    low2, high2, per_m = min_range_m * min_range_m, max_range_m * max_range_m, 1.0 / voxel_m
    for i in range(n):
        px, py, pz = np.float64(xyz_m[i, 0]), np.float64(xyz_m[i, 1]), np.float64(xyz_m[i, 2])
        d2 = px * px + py * py + pz * pz
        if not (low2 <= d2 <= high2) or d2 == 0.0:  # the comparison is also false for NaN
            continue
        b = 0
        if timed and last_bin > 0:
            b = min(max((np.int64(time_ns[i]) - first_ns) // bin_ns, 0), last_bin)
        x = transforms[b, 0, 0] * px + transforms[b, 0, 1] * py + transforms[b, 0, 2] * pz + transforms[b, 0, 3]
        y = transforms[b, 1, 0] * px + transforms[b, 1, 1] * py + transforms[b, 1, 2] * pz + transforms[b, 1, 3]
        z = transforms[b, 2, 0] * px + transforms[b, 2, 1] * py + transforms[b, 2, 2] * pz + transforms[b, 2, 3]
        key = cell_key(
            np.int64(math.floor(x * per_m)), np.int64(math.floor(y * per_m)), np.int64(math.floor(z * per_m))
        )
        if key != last_key:
            slot = slot_of(table, key)
            if table[slot] == -1:
                table[slot] = key
                index_of[slot] = voxels
                keys[voxels] = key
                sums[voxels] = 0
                voxels += 1
            last_key = key
            last_index = index_of[slot]
        sums[last_index, 0] += np.int64(math.floor(x * FIXED_POINT + 0.5))
        sums[last_index, 1] += np.int64(math.floor(y * FIXED_POINT + 0.5))
        sums[last_index, 2] += np.int64(math.floor(z * FIXED_POINT + 0.5))
        value = np.float64(intensity[i])
        if abs(value) < 1e6:
            sums[last_index, 3] += np.int64(math.floor(value * _FIXED_INTENSITY + 0.5))
        sums[last_index, 4] += 1
        if timed:
            sums[last_index, 5] += time_ns[i]
    means = np.empty((voxels, 3), np.float32)
    mean_intensity = np.empty(voxels, np.float32)
    mean_time_ns = np.empty(voxels, np.int32)
    for v in range(voxels):
        count = np.float64(sums[v, 4])
        for axis in range(3):
            means[v, axis] = sums[v, axis] / count / FIXED_POINT
        mean_intensity[v] = sums[v, 3] / count / _FIXED_INTENSITY
        mean_time_ns[v] = sums[v, 5] // sums[v, 4]
    return keys[:voxels].copy(), means, mean_intensity, mean_time_ns
