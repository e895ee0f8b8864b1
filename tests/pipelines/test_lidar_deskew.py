"""Deskew: what stands still is where it was at the capture time, however the vehicle moved during the sweep."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from drives import drive, through

from pipelines.imu import Integrate
from pipelines.lidar import Cluster, Preprocess
from pipelines.lidar_deskew import sweep_transforms
from pipelines.rotations import matrices_of_vectors, matrix_of_vector, quaternion_of_matrix, upright
from rt_sched.messages import Boxes3D, Deskew, EgoMotion, MotionHistory, PointCloud
from rt_sched.ports import JobContext, SensorDescription, StageContext

JOB = JobContext("lidar", 0, 0, 0, 0, 0)
MS = 1_000_000
MOUNT = ((1.0, 0.0, 0.0, 1.1), (0.0, 1.0, 0.0, 0.2), (0.0, 0.0, 1.0, 1.8))
TURNED = ((0.0, -1.0, 0.0, 1.1), (1.0, 0.0, 0.0, 0.2), (0.0, 0.0, 1.0, 1.8))
#: Two walls and a post, in world coordinates: x, y, z.
WORLD = np.array(
    [(12.0, y, z) for y in np.arange(-3, 3.01, 0.1) for z in np.arange(0.5, 2.01, 0.25)]
    + [(x, 6.0, z) for x in np.arange(-8, 8.01, 0.1) for z in np.arange(0.5, 2.01, 0.25)]
    + [(-9.0, -5.0, z) for z in np.arange(0.3, 2.01, 0.05)]
)


def pose(t_s: np.ndarray, speed: float, yaw_rate: float) -> tuple[np.ndarray, np.ndarray]:
    """Rotations and places of a vehicle on a circle (or a line), at the world's origin at time 0."""
    heading = yaw_rate * t_s
    c, s = np.cos(heading), np.sin(heading)
    zero, one = np.zeros_like(c), np.ones_like(c)
    turn = np.stack([np.stack([c, -s, zero], -1), np.stack([s, c, zero], -1), np.stack([zero, zero, one], -1)], -2)
    radius = speed / yaw_rate if yaw_rate else 0.0
    x = radius * np.sin(heading) if yaw_rate else speed * t_s
    y = radius * (1.0 - np.cos(heading)) if yaw_rate else zero
    return turn, np.stack([x, y, zero], -1)


def sweep(
    speed: float, yaw_rate: float, mount: tuple[tuple[float, ...], ...] = MOUNT, stamp_at: str = "end"
) -> PointCloud:
    """The world seen by a LiDAR that turns clockwise from straight back, 0.1 s per turn."""
    begin = -0.1 if stamp_at == "end" else 0.0
    azimuth = np.arctan2(WORLD[:, 1], WORLD[:, 0])
    t_s = begin + 0.1 * (math.pi - azimuth) / (2.0 * math.pi)
    turn, place = pose(t_s, speed, yaw_rate)
    in_vehicle = np.einsum("nji,nj->ni", turn, WORLD - place)
    matrix = np.array(mount)
    xyz = (in_vehicle - matrix[:, 3]) @ matrix[:, :3]
    return PointCloud(
        0, "lidar", xyz.astype(np.float32), np.zeros(len(xyz), np.float32), None, (t_s * 1e9).astype(np.int32)
    )


def ego(
    speed: float | None, yaw_rate: float, begin_ms: int = -200, end_ms: int = 105, drawn_m_s: float = 0.0
) -> EgoMotion:
    bounds = np.arange(begin_ms, end_ms + 1, 5)
    turn = np.tile([0.0, 0.0, yaw_rate * 0.005], (len(bounds) - 1, 1))
    # Way of the origin in the axes at the start of the interval: a chord.
    v, half = (drawn_m_s if speed is None else speed), yaw_rate * 0.0025
    move = np.tile([v * 0.005 * math.cos(half), v * 0.005 * math.sin(half), 0.0], (len(bounds) - 1, 1))
    history = MotionHistory((bounds * MS).astype(np.int64), turn, move)
    return EgoMotion(int(bounds[-1]) * MS, "vehicle", yaw_rate, 0.0, 0.0, 0.0, speed, history=history)


def carried(
    cloud: PointCloud, motion: EgoMotion | None, mount: tuple[tuple[float, ...], ...] | None = MOUNT
) -> PointCloud:
    stage = Preprocess(voxel_size_m=0.02, ground_clearance_m=0.02)
    sensors = {"lidar": SensorDescription("lidar", "lidar", 100 * MS, sensor_to_vehicle=mount)}  # type: ignore[arg-type]
    stage.start(StageContext("lidar", Path(), sensors))
    inputs = {"points": cloud} if motion is None else {"points": cloud, "ego": motion}
    found = stage.process(JOB, inputs)["obstacles"]
    assert isinstance(found, PointCloud)
    return found


def worst(found: PointCloud) -> float:
    """Largest distance of a point from the world as it is at the capture time."""
    distance = np.linalg.norm(found.xyz_m[:, None].astype(float) - WORLD[None], axis=2)
    return float(distance.min(axis=1).max())


@pytest.mark.parametrize("stamp_at", ["begin", "end"])
@pytest.mark.parametrize("mount", [MOUNT, TURNED])
@pytest.mark.parametrize(("speed", "yaw_rate"), [(30.0, 0.0), (13.0, 0.5), (0.0, 1.0), (-4.0, -0.3), (0.0, 0.0)])
def test_the_still_world_comes_out_as_it_is(
    speed: float, yaw_rate: float, mount: tuple[tuple[float, ...], ...], stamp_at: str
) -> None:
    found = carried(sweep(speed, yaw_rate, mount, stamp_at), ego(speed, yaw_rate), mount)
    assert found.deskew is Deskew.FULL
    assert len(found.xyz_m) > 800
    # Half a span of 0.5 ms at this speed, and half a voxel's rounding.
    assert worst(found) < 0.02 + 0.00025 * abs(speed) + 0.003


def test_without_deskew_the_same_world_is_bent() -> None:
    """What the tests above would see if nothing were done."""
    assert worst(carried(sweep(30.0, 0.0), None)) > 0.8
    assert worst(carried(sweep(0.0, 1.0), None)) > 0.25


def test_with_unknown_speed_only_turning_is_undone() -> None:
    found = carried(sweep(0.0, 1.0), ego(None, 1.0, drawn_m_s=9.0))
    assert found.deskew is Deskew.ROTATION
    assert worst(found) < 0.03


def test_with_unknown_mounting_only_yaw_is_undone() -> None:
    level = ego(5.0, 1.0).history
    assert level is not None
    tilted = MotionHistory(level.time_ns, level.turn_rad + np.array([0.02, 0.01, 0.0]), level.move_m)
    motion = EgoMotion(0, "vehicle", 1.0, 0.0, 0.0, 0.0, 5.0, history=tilted)
    cloud = sweep(0.0, 1.0, ((1.0, 0, 0, 0), (0, 1.0, 0, 0), (0, 0, 1.0, 0)))
    made = sweep_transforms(0, cloud.time_offset_ns, None, motion, 0)
    assert made.deskew is Deskew.ROTATION
    np.testing.assert_allclose(made.matrices[:, 2], np.tile([0, 0, 1, 0], (len(made.matrices), 1)), atol=1e-12)
    first = math.atan2(made.matrices[0, 1, 0], made.matrices[0, 0, 0])
    assert first == pytest.approx(1.0 * (made.first_ns + made.span_ns / 2) / 1e9, abs=1e-6)


def test_without_times_or_motion_it_says_so() -> None:
    with_times = sweep(10.0, 0.2)
    without = PointCloud(0, "lidar", with_times.xyz_m, with_times.intensity)
    assert carried(without, ego(10.0, 0.2)).deskew is Deskew.NO_TIMES
    assert carried(with_times, None).deskew is Deskew.NO_MOTION
    bare = EgoMotion(0, "vehicle", 0.2, 0.0, 0.0, 0.0, 10.0)
    assert carried(with_times, bare).deskew is Deskew.NO_MOTION
    np.testing.assert_array_equal(carried(without, None).xyz_m, carried(with_times, bare).xyz_m)


@pytest.mark.parametrize(
    ("begin_ms", "end_ms", "reaches"),
    [(-100, 0, True), (-85, 100, False), (-200, -20, True), (-200, -25, False), (-500, -300, False), (50, 300, False)],
)
def test_motion_must_reach_over_the_sweep(begin_ms: int, end_ms: int, reaches: bool) -> None:
    """It is continued for 20 ms at the end, and never into the past."""
    found = carried(sweep(13.0, 0.5), ego(13.0, 0.5, begin_ms, end_ms))
    assert found.deskew is (Deskew.FULL if reaches else Deskew.NO_MOTION)
    if reaches:
        assert worst(found) < 0.03


def test_motion_that_is_no_number_is_no_motion() -> None:
    good = ego(13.0, 0.5)
    assert good.history is not None
    bad = good.history.turn_rad.copy()
    bad[25] = np.nan
    motion = EgoMotion(
        0, "vehicle", 0.5, 0.0, 0.0, 0.0, 13.0, history=MotionHistory(good.history.time_ns, bad, good.history.move_m)
    )
    assert carried(sweep(13.0, 0.5), motion).deskew is Deskew.NO_MOTION


def test_points_keep_their_instants_and_boxes_get_theirs() -> None:
    found = carried(sweep(13.0, 0.5), ego(13.0, 0.5))
    assert found.time_offset_ns is not None
    azimuth = np.arctan2(found.xyz_m[:, 1], found.xyz_m[:, 0])
    at = -0.1 + 0.1 * (math.pi - azimuth) / (2.0 * math.pi)
    assert np.abs(found.time_offset_ns / 1e9 - at).max() < 0.001
    stage = Cluster(min_points=4)
    stage.start(StageContext("cluster", Path()))
    boxes = stage.process(JOB, {"obstacles": found})["boxes"]
    assert isinstance(boxes, Boxes3D)
    assert boxes.deskew is Deskew.FULL
    assert boxes.time_offset_ns is not None
    post = int(np.argmin(np.hypot(boxes.centers_m[:, 0] + 9.0, boxes.centers_m[:, 1] + 5.0)))
    bearing = math.atan2(-5.0, -9.0)
    assert boxes.time_offset_ns[post] / 1e9 == pytest.approx(-0.1 + 0.1 * (math.pi - bearing) / (2 * math.pi), abs=1e-4)


def test_motion_from_the_imu_stage_straightens_a_sweep() -> None:
    """IMU samples in, a straight world out: from standstill over full throttle into a bend."""
    given = drive(8.0, through((0, 0), (3, 0), (8, 15)), through((6.5, 0), (7.0, 0.4)), place_m=(0.6, 0.0, 0.5))
    imu = Integrate()
    at = ((1.0, 0, 0, 0.6), (0, 1.0, 0, 0.0), (0, 0, 1.0, 0.5))
    imu.start(StageContext("imu", Path(), {"imu": SensorDescription("imu", "imu", 5 * MS, sensor_to_vehicle=at)}))
    motion = [imu.process(JOB, {"imu": s})["ego"] for s in given.samples][-1]
    assert motion.speed_m_s is not None
    cloud = sweep(0.0, 0.0)  # for its directions and times
    end_ns, matrix = int(given.time_ns[-1]), np.array(MOUNT)
    t = end_ns + cloud.time_offset_ns.astype(np.int64)  # type: ignore[union-attr]
    heading = np.interp(t, given.time_ns, given.heading_rad) - given.heading_rad[-1]
    c, s = math.cos(-given.heading_rad[-1]), math.sin(-given.heading_rad[-1])
    way = np.stack([np.interp(t, given.time_ns, given.place_m[:, k]) for k in (0, 1)], -1) - given.place_m[-1]
    way = way @ np.array([[c, s], [-s, c]])
    turn, _ = pose(heading, 0.0, 1.0)
    seen = np.einsum("nji,nj->ni", turn, WORLD - np.column_stack([way, np.zeros(len(way))]))
    xyz = ((seen - matrix[:, 3]) @ matrix[:, :3]).astype(np.float32)
    skewed = PointCloud(end_ns, "lidar", xyz, cloud.intensity, None, cloud.time_offset_ns)
    assert worst(carried(skewed, None)) > 0.5
    found = carried(skewed, motion)
    assert found.deskew is Deskew.FULL
    assert worst(found) < 0.06


def test_rotations_agree_with_each_other() -> None:
    rng = np.random.default_rng(3)
    vectors = np.concatenate([rng.normal(0, 1.5, (50, 3)), np.zeros((1, 3)), np.eye(3) * math.pi, np.eye(3) * 1e-9])
    for vector, matrix in zip(vectors, matrices_of_vectors(vectors), strict=True):
        np.testing.assert_allclose(matrix, matrix_of_vector(vector), atol=1e-12)
        np.testing.assert_allclose(matrix @ matrix.T, np.eye(3), atol=1e-12)
        w, x, y, z = quaternion_of_matrix(matrix)
        axis, angle = np.array([x, y, z]), 2.0 * math.atan2(math.hypot(x, y, z), w)
        size = float(np.linalg.norm(axis))
        np.testing.assert_allclose(matrix_of_vector(axis / size * angle if size else axis), matrix, atol=1e-7)
    for up in rng.normal(0, 1, (50, 3)):
        level = upright(up / np.linalg.norm(up))
        np.testing.assert_allclose(level @ level.T, np.eye(3), atol=1e-12)
        np.testing.assert_allclose(level @ (up / np.linalg.norm(up)), [0, 0, 1], atol=1e-12)
        assert np.linalg.det(level) == pytest.approx(1.0)
