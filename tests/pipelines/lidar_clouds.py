"""Made-up clouds of ground and cars, and the LiDAR stages run on them."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from pipelines.lidar import Cluster, Preprocess
from rt_sched.messages import Boxes3D, PointCloud
from rt_sched.ports import JobContext, SensorDescription, StageContext

JOB = JobContext(task="lidar", number=0, arrival_ns=0, start_ns=0, finish_ns=0, deadline_ns=0)

#: A LiDAR 1.8 m above the road.
MOUNT_M = 1.8
ROOF = ((1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, MOUNT_M))
#: The same, turned left by a quarter, 1 m ahead of the origin: its x axis points to the vehicle's left.
TURNED = ((0.0, -1.0, 0.0, 1.0), (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 1.0, MOUNT_M))


def context(mount: tuple[tuple[float, float, float, float], ...] | None = None) -> StageContext:
    sensors = {"top": SensorDescription("top", "lidar", 100_000_000, sensor_to_vehicle=mount)}
    sensors["front"] = SensorDescription("front", "camera", 33_333_333)
    return StageContext(task="lidar", base_dir=Path(), sensors=sensors)


def cloud(xyz_m: np.ndarray, intensity: np.ndarray | None = None) -> PointCloud:
    xyz = np.asarray(xyz_m, np.float32).reshape(-1, 3)
    values = np.zeros(len(xyz), np.float32) if intensity is None else np.asarray(intensity, np.float32)
    return PointCloud(capture_time_ns=11, frame_id="velodyne", xyz_m=xyz, intensity=values, dropped_points=3)


def obstacles(
    points: PointCloud, mount: tuple[tuple[float, float, float, float], ...] | None = None, **parameters: object
) -> PointCloud:
    stage = Preprocess(**parameters)
    stage.start(context(mount))
    return stage.process(JOB, {"points": points})["obstacles"]


def boxes(points: PointCloud, **parameters: object) -> Boxes3D:
    stage = Cluster(**parameters)
    stage.start(context())
    return stage.process(JOB, {"obstacles": points})["boxes"]


def ground(height_m: float = -MOUNT_M, slope_x: float = 0.0, reach_m: float = 40.0) -> np.ndarray:
    axis = np.arange(-reach_m, reach_m, 0.5)
    x, y = np.meshgrid(axis, axis)
    xyz = np.stack([x, y, height_m + slope_x * x], -1).reshape(-1, 3)
    return xyz + np.random.default_rng(4).normal(0.0, 0.015, xyz.shape) * [0, 0, 1]


def surface(
    centre: tuple[float, float, float], size: tuple[float, float, float], yaw: float = 0.0, step: float = 0.1
) -> np.ndarray:
    """Points on the four sides of an upright box."""
    length, width, height = size
    along = np.arange(-length / 2, length / 2 + 1e-9, step)
    across = np.arange(-width / 2, width / 2 + 1e-9, step)
    rim = np.concatenate(
        [np.stack([along, np.full_like(along, s * width / 2)], -1) for s in (-1, 1)]
        + [np.stack([np.full_like(across, s * length / 2), across], -1) for s in (-1, 1)]
    )
    levels = np.arange(-height / 2, height / 2 + 1e-9, step)
    xyz = np.concatenate([np.column_stack([rim, np.full(len(rim), z)]) for z in levels])
    cos, sin = math.cos(yaw), math.sin(yaw)
    return xyz @ np.array([[cos, sin, 0], [-sin, cos, 0], [0, 0, 1]]) + centre


def car(x: float, y: float, yaw: float = 0.0, ground_m: float = -MOUNT_M) -> np.ndarray:
    return surface((x, y, ground_m + 0.85), (4.4, 1.8, 1.5), yaw)


def scene() -> np.ndarray:
    return np.concatenate([ground(), car(12, 0.5), car(20, -5, 0.5), car(-15, 4, -0.3)])
