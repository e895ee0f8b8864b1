"""Where a cluster's near end is: a box whose yaw is wrong, or a single point ahead, makes no car that closes in."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.fusion import Fuse
from pipelines.lidar import Cluster
from rt_sched.messages import Boxes3D, PointCloud, TrackedObjects
from rt_sched.ports import JobContext, SensorDescription, StageContext

Float = npt.NDArray[np.float64]

CYCLE_NS = 33_333_333
SWEEP_NS = 100_000_000
POSE = ((1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0))
LIDAR = SensorDescription("top", "lidar", SWEEP_NS, sensor_to_vehicle=POSE)


def job(now_ns: int) -> JobContext:
    return JobContext("t", 0, now_ns, now_ns, now_ns, now_ns)


def boxes_of(xyz_m: Float, capture_ns: int = 0) -> Boxes3D:
    cloud = PointCloud(capture_ns, "vehicle", xyz_m.astype(np.float32), np.zeros(len(xyz_m), np.float32))
    found = Cluster().process(job(capture_ns), {"obstacles": cloud})["boxes"]
    assert isinstance(found, Boxes3D)
    return found


def rear_of_a_car(near_m: float, random: np.random.Generator) -> Float:
    """About 90 voxels of a rear that is round at its corners, of a sill on one side and of the roof's end."""
    across = random.uniform(-0.8, 0.8, 60)
    rear = np.stack((near_m + 0.35 * (np.abs(across) / 0.8) ** 4, across, random.uniform(0.3, 1.0, 60)), axis=1)
    left = random.random() < 0.5
    count = int(random.integers(4, 14))
    side = np.stack(
        (
            near_m + random.uniform(0.35, 1.0, count),
            np.full(count, 0.8 if left else -0.8),
            random.uniform(0.3, 1.0, count),
        ),
        axis=1,
    )
    roof = np.stack(
        (near_m + random.uniform(0.6, 1.2, 20), random.uniform(-0.6, 0.6, 20), random.uniform(1.1, 1.5, 20)), axis=1
    )
    return np.concatenate((rear, side, roof)) + random.normal(0.0, 0.015, (80 + count, 3))


def sweeps(seed: int, closing_m_s: float) -> list[Boxes3D]:
    """4 s behind a car 8 m ahead. Every sixth sweep shows a single return 0.3 m nearer: what clings to it or drifts."""
    random = np.random.default_rng(seed)
    found = []
    for k in range(40):
        near_m = 8.0 - closing_m_s * k * 0.1
        points = rear_of_a_car(near_m, random)
        if k % 6 == 5:
            points = np.concatenate((points, [[near_m - 0.3, random.uniform(-0.4, 0.4), 0.5]]))
        found.append(boxes_of(points, k * SWEEP_NS))
    return found


def follow(found: list[Boxes3D]) -> list[TrackedObjects]:
    """What the fusion publishes cycle by cycle, from 1 s on."""
    stage = Fuse(initial_speed_m_s=3.0)
    stage.start(StageContext("fusion", Path(), {"top": LIDAR}))
    published = []
    for k in range(2, len(found) * 3):
        now_ns = k * CYCLE_NS
        boxes = found[(now_ns - 40_000_000) // SWEEP_NS]
        published.append(stage.process(job(now_ns), {"boxes": boxes})["objects"])
    return published[28:]


@pytest.mark.parametrize("closing_m_s", [0.0, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_a_car_whose_box_turns_and_jumps_closes_in_no_faster_than_it_does(seed: int, closing_m_s: float) -> None:
    found = sweeps(seed, closing_m_s)
    # The premise: the boxes reach beyond what was seen, and not alike from sweep to sweep.
    corners = [corner_m(boxes) - (8.0 - closing_m_s * k * 0.1) for k, boxes in enumerate(found)]
    assert np.ptp(corners) > 0.25
    published = follow(found)
    assert all(len(objects.track_ids) == 1 for objects in published)
    closing = np.array([-objects.velocities_m_s[0, 0] for objects in published])
    assert np.abs(closing - closing_m_s).max() < 0.5
    ends = [objects.positions_m[0, 0] - objects.sizes_m[0, 0] / 2.0 for objects in published]
    true = [8.0 - closing_m_s * objects.capture_time_ns / 1e9 for objects in published]
    assert np.abs(np.array(ends) - true).max() < 0.15
    # What it was for: followed by the corners of the boxes, the same car seems to close in and to flee.
    by_corners = follow([dataclasses.replace(boxes, bounds_m=None) for boxes in found])
    assert np.abs([-objects.velocities_m_s[0, 0] - closing_m_s for objects in by_corners]).max() > 0.8


def corner_m(boxes: Boxes3D) -> float:
    """The nearest corner of the only box, along x."""
    assert len(boxes.yaws_rad) == 1
    length, width = (float(size) for size in boxes.sizes_m[0, :2])
    c, s = abs(np.cos(boxes.yaws_rad[0])), abs(np.sin(boxes.yaws_rad[0]))
    return float(boxes.centers_m[0, 0] - (c * length + s * width) / 2.0)


@settings(max_examples=60, deadline=None)
@given(count=st.integers(6, 90), seed=st.integers(0, 10_000))
def test_bounds_are_those_of_the_points_but_for_few_strays_along_x(count: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    points = np.stack(
        (random.uniform(10, 12, count), random.uniform(-1, 1, count), random.uniform(0, 1.5, count)), axis=1
    ).astype(np.float32)
    points[0, 2], points[1, 2] = 0.0, 1.5
    cloud = PointCloud(0, "vehicle", points, np.zeros(count, np.float32))
    # One cluster, whatever the gaps.
    boxes = Cluster(tolerance_m=5.0).process(job(0), {"obstacles": cloud})["boxes"]
    strays = min(2, count // 20)
    along, across = np.sort(points[:, 0]), np.sort(points[:, 1])
    expected = [along[strays], across[0], along[-1 - strays], across[-1]]
    assert boxes.bounds_m.tolist() == [pytest.approx(expected, abs=1e-6)]


def test_without_a_cluster_there_are_no_bounds() -> None:
    bounds = boxes_of(np.zeros((0, 3))).bounds_m
    assert bounds is not None
    assert bounds.shape == (0, 4)


def test_boxes_in_the_frame_of_a_turned_sensor_are_taken_by_their_corners() -> None:
    """Bounds along the axes of a sensor that looks aside say nothing about the vehicle's."""
    facing_left = ((0.0, -1.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0))
    stage = Fuse(initial_speed_m_s=0.0)
    stage.start(StageContext("fusion", Path(), {"top": dataclasses.replace(LIDAR, sensor_to_vehicle=facing_left)}))
    objects = None
    for k in range(8):
        boxes = Boxes3D(
            capture_time_ns=k * SWEEP_NS,
            frame_id="lidar",
            centers_m=np.array([[0.0, -10.0, 0.7]], np.float32),
            sizes_m=np.array([[4.0, 1.8, 1.4]], np.float32),
            yaws_rad=np.zeros(1, np.float32),
            num_points=np.array([80], np.int32),
            bounds_m=np.array([[-2.0, -10.9, 2.0, -9.1]], np.float32),
        )
        objects = stage.process(job(k * SWEEP_NS), {"boxes": boxes})["objects"]
    assert objects is not None
    assert objects.positions_m == pytest.approx(np.array([[10.0, 0.0]]), abs=0.05)
    assert objects.sizes_m[0, :2] == pytest.approx([1.8, 4.0], abs=0.01)
