"""Ideal LiDAR sweeps of a road with boxes on it, cast ray by ray: known gaps for the backup path."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rt_sched.messages import PointCloud

MOUNT_X_M, MOUNT_Z_M = 1.1, 1.9
POSE = ((1.0, 0.0, 0.0, MOUNT_X_M), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, MOUNT_Z_M))

#: x_min, x_max, y_min, y_max, z_min, z_max in the vehicle frame.
Box = tuple[float, float, float, float, float, float]


def car(gap_m: float, y_m: float = 0.0, *, front_m: float = 2.0, height_m: float = 1.5, width_m: float = 1.8) -> Box:
    """A car whose rear is `gap_m` ahead of the bumper."""
    x = front_m + gap_m
    return x, x + 4.0, y_m - width_m / 2, y_m + width_m / 2, 0.0, height_m


def cast(
    boxes: Sequence[Box] = (),
    *,
    rings: int = 64,
    columns: int = 480,
    slope: float = 0.0,
    slope_from_m: float = 0.0,
    reach_m: float = 100.0,
    noise_m: float = 0.0,
    seed: int = 0,
) -> npt.NDArray[np.float32]:
    """Returns in the sensor's frame: the nearest hit of each ray on the boxes and on a road z = slope (x - from).

    Boxes stand on that road at their near end.
    """
    elevation = np.deg2rad(np.linspace(-25.0, 10.0, rings))
    azimuth = np.linspace(-np.pi, np.pi, columns, endpoint=False)
    e, a = (grid.ravel() for grid in np.meshgrid(elevation, azimuth, indexing="ij"))
    rays = np.stack([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)], axis=1)
    origin = np.array([MOUNT_X_M, 0.0, MOUNT_Z_M])
    with np.errstate(divide="ignore", invalid="ignore"):
        flat = np.where(rays[:, 2] < 0, -origin[2] / rays[:, 2], np.inf)
        ahead = slope_from_m - origin[0]
        rising = (slope * -ahead - origin[2]) / (rays[:, 2] - slope * rays[:, 0])
        on_slope = (rising > 0) & (rising * rays[:, 0] >= ahead)
        flat = np.where(flat * rays[:, 0] <= ahead, flat, np.inf)
        distance = np.minimum(flat, np.where(on_slope, rising, np.inf))
        for box in boxes:
            base = slope * max(0.0, box[0] - slope_from_m)
            low = np.array([box[0], box[2], box[4] + base]) - origin
            high = np.array([box[1], box[3], box[5] + base]) - origin
            first, second = low / rays, high / rays
            enter = np.nanmax(np.minimum(first, second), axis=1)
            leave = np.nanmin(np.maximum(first, second), axis=1)
            distance = np.where((enter <= leave) & (enter > 0), np.minimum(distance, enter), distance)
    hit = distance < reach_m
    points = rays[hit] * distance[hit, None]
    if noise_m:
        points += rays[hit] * np.random.default_rng(seed).normal(0.0, noise_m, (int(hit.sum()), 1))
    return points.astype(np.float32)


def sweep(capture_ns: int, xyz_m: npt.NDArray[np.float32]) -> PointCloud:
    return PointCloud(capture_ns, "top", xyz_m, np.zeros(len(xyz_m), np.float32))
