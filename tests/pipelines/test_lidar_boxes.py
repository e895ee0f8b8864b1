"""Clusters and boxes: what must not change when a scene is turned, moved, shuffled or further away; and classes."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lidar_scenes import HEIGHT_M, Solid, plane, scan

from pipelines import lidar_boxes as columns
from pipelines import lidar_clusters
from pipelines.lidar import Cluster, Preprocess
from pipelines.lidar_classes import classify
from rt_sched.messages import Boxes3D, PointCloud
from rt_sched.ports import JobContext, Rejected, SensorDescription, StageContext

JOB = JobContext("cluster", 0, 0, 0, 0, 0)
KITTI360 = Path(__file__).resolve().parents[2] / "../shared/data/recordings/kitti360_small_50f_zstd.mcap"


def boxes(xyz_m: np.ndarray, ground_m: float | None = None, **parameters: object) -> Boxes3D:
    stage = Cluster(**parameters)  # type: ignore[arg-type]
    stage.start(StageContext("cluster", Path()))
    xyz = np.asarray(xyz_m, np.float32)
    ground = None if ground_m is None else np.full(len(xyz), ground_m, np.float32)
    cloud = PointCloud(0, "vehicle", xyz, np.zeros(len(xyz), np.float32), ground_z_m=ground)
    found = stage.process(JOB, {"obstacles": cloud})["boxes"]
    assert isinstance(found, Boxes3D)
    return found


def l_shape(length: float, width: float, height: float = 1.4, step: float = 0.12) -> np.ndarray:
    """Two visible sides of a car, about its centre."""
    along, up = np.arange(-length / 2, length / 2 + 1e-9, step), np.arange(0.3, height + 1e-9, step)
    across = np.arange(-width / 2, width / 2 + 1e-9, step)
    side = [(x, -width / 2, z) for x in along for z in up]
    rear = [(-length / 2, y, z) for y in across for z in up]
    return np.array(side + rear)


def turned(xyz: np.ndarray, yaw: float, x: float, y: float) -> np.ndarray:
    c, s = math.cos(yaw), math.sin(yaw)
    return xyz @ np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]]) + [x, y, 0]


def apart(one: float, other: float) -> float:
    """Distance of two directions of a side that has no front."""
    return abs((one - other + math.pi / 2) % math.pi - math.pi / 2)


@settings(max_examples=60, deadline=None)
@given(
    yaw=st.floats(-math.pi, math.pi),
    x=st.floats(-20, 20),
    y=st.floats(-20, 20),
    size=st.sampled_from([(4.4, 1.8), (2.0, 0.7), (9.0, 2.5)]),
    seed=st.integers(0, 1000),
)
def test_a_box_turns_and_moves_with_its_points(
    yaw: float, x: float, y: float, size: tuple[float, float], seed: int
) -> None:
    noise = np.random.default_rng(seed).normal(0.0, 0.01, l_shape(*size).shape)
    shape = l_shape(*size) + noise
    found = boxes(turned(shape, yaw, x, y), 0.0, tolerance_per_m=0.0)
    assert len(found.num_points) == 1
    assert apart(float(found.yaws_rad[0]), yaw) < math.radians(2.0)
    assert -math.pi / 2 <= found.yaws_rad[0] < math.pi / 2
    np.testing.assert_allclose(found.centers_m[0, :2], [x, y], atol=0.12)
    np.testing.assert_allclose(found.sizes_m[0, :2], size, atol=0.2)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_the_order_of_points_changes_no_number(seed: int) -> None:
    rng = np.random.default_rng(seed)
    parts = [turned(l_shape(4.4, 1.8), rng.uniform(-3, 3), *rng.uniform(-40, 40, 2)) for _ in range(5)]
    parts.append(rng.uniform([-30, -30, 0], [30, 30, 2], (300, 3)))
    points = np.concatenate(parts)
    one, other = boxes(points), boxes(points[rng.permutation(len(points))])
    for name in ("centers_m", "sizes_m", "yaws_rad", "num_points"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert one.labels == other.labels


def linked(points: np.ndarray, tolerance_m: float, per_m: float) -> set[frozenset[int]]:
    """Clusters by their definition."""
    flat = points[:, :2].astype(np.float64)
    reach = np.maximum(tolerance_m, per_m * np.hypot(*flat.T))
    near = ((flat[:, None] - flat[None]) ** 2).sum(axis=2) <= np.minimum(reach[:, None], reach[None]) ** 2
    groups: list[set[int]] = []
    left = set(range(len(points)))
    while left:
        group, front = set(), {left.pop()}
        while front:
            group |= front
            front = {j for i in front for j in np.flatnonzero(near[i]).tolist()} - group
        groups.append(group)
        left -= group
    return {frozenset(g) for g in groups}


@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    count=st.integers(0, 80),
    spread=st.sampled_from([3.0, 12.0, 60.0]),
    tolerance_m=st.sampled_from([0.3, 0.6, 1.5]),
    per_m=st.sampled_from([0.0, 0.015, 0.1]),
)
def test_clusters_agree_with_the_definition_at_any_range(
    seed: int, count: int, spread: float, tolerance_m: float, per_m: float
) -> None:
    points = np.random.default_rng(seed).uniform(-spread, spread, (count, 3)).astype(np.float32)
    labels, clusters = lidar_clusters.cluster_labels(points, tolerance_m, per_m)
    found = {frozenset(np.flatnonzero(labels == c).tolist()) for c in range(clusters)}
    assert found == linked(points, tolerance_m, per_m)


@pytest.mark.parametrize(("range_m", "count"), [(10.0, 2), (70.0, 1)])
def test_a_gap_that_parts_objects_near_by_is_bridged_far_away(range_m: float, count: int) -> None:
    """Far scan lines and columns lie further apart."""
    wall = np.array([(range_m, y, z) for y in np.arange(0, 1.0, 0.2) for z in np.arange(0, 1.5, 0.2)])
    both = np.concatenate([wall, wall + np.array([0.0, 1.7, 0.0])])
    assert len(boxes(both).num_points) == count


def test_malformed_clouds_are_rejected() -> None:
    stage = Cluster()
    stage.start(StageContext("cluster", Path()))
    xyz, zeros = np.zeros((4, 3), np.float32), np.zeros(4, np.float32)
    for cloud, words in (
        (PointCloud(0, "v", xyz, zeros, ground_z_m=np.zeros(3, np.float32)), "4 points and \\[3\\] ground heights"),
        (PointCloud(0, "v", xyz, zeros, time_offset_ns=np.zeros(5, np.int32)), "4 points and \\[5\\] times"),
    ):
        with pytest.raises(Rejected, match=words):
            stage.process(JOB, {"obstacles": cloud})


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    scale=st.sampled_from([1.0, 900.0, 1e7, 1e30]),
    tolerance_m=st.sampled_from([0.05, 0.6, 10.0]),
    per_m=st.sampled_from([0.0, 0.1]),
    piece_m=st.sampled_from([1.0, 10.0]),
)
def test_no_cloud_is_too_strange(seed: int, scale: float, tolerance_m: float, per_m: float, piece_m: float) -> None:
    """Broken coordinates and extreme parameters give finite boxes, in bounded time and memory."""
    rng = np.random.default_rng(seed)
    xyz = np.concatenate([rng.uniform(-1, 1, (200, 3)) * scale, rng.uniform(-30, 30, (100, 3)), np.zeros((3, 3))])
    xyz[rng.integers(0, 300, 5), rng.integers(0, 3, 5)] = rng.choice([np.nan, np.inf, -np.inf], 5)
    found = boxes(xyz, tolerance_m=tolerance_m, tolerance_per_m=per_m, min_points=1, piece_m=piece_m, max_width_m=1.0)
    assert np.abs(found.centers_m).max(initial=0.0) <= 1000.0
    assert np.isfinite(found.sizes_m).all()
    assert len(found.labels) == len(found.num_points) <= len(xyz)


def row(**values: float) -> np.ndarray:
    """A box as the kernel gives it, a well-seen car by default; `top` and `bottom` above the ground."""
    given = {
        "x": 12.0,
        "length": 4.3,
        "width": 1.8,
        "top": 1.5,
        "bottom": 0.3,
        "points": 200.0,
        "ends": 1.3,
        "piece": 0.0,
    }
    given |= values
    out = np.zeros(columns.COLUMNS)
    out[columns.X], out[columns.GROUND] = given["x"], -0.4
    out[columns.LENGTH], out[columns.WIDTH] = given["length"], given["width"]
    out[columns.HEIGHT] = given["top"] - given["bottom"]
    out[columns.Z] = 0.5 * (given["top"] + given["bottom"]) - 0.4
    out[columns.POINTS], out[columns.PIECE] = given["points"], given["piece"]
    out[columns.ENDS_TOP], out[columns.MIDDLE_TOP] = given["ends"] - 0.4, given["top"] - 0.4
    return out


@pytest.mark.parametrize(
    ("label", "values"),
    [
        ("car", {}),
        ("car", {"length": 1.7, "width": 0.2, "points": 60}),
        ("car", {"length": 1.6, "width": 0.15, "top": 1.4, "x": 55.0, "points": 8}),
        ("truck", {"length": 8.0, "width": 2.4, "top": 2.6, "points": 400}),
        ("truck", {"length": 2.5, "width": 0.3, "top": 2.6, "bottom": 0.9, "points": 100}),
        ("person", {"length": 0.6, "width": 0.4, "top": 1.75}),
        ("person", {"length": 0.4, "width": 0.3, "top": 1.1}),
        ("bicycle", {"length": 1.7, "width": 0.6, "top": 1.7, "ends": 1.0}),
        ("pole", {"length": 0.2, "width": 0.2, "top": 2.6}),
        ("other", {"length": 9.0, "width": 1.0, "top": 1.2, "piece": 1.0}),
        ("other", {"length": 0.8, "width": 0.8, "top": 0.6}),
        ("implausible", {"top": 2.5, "bottom": 1.9, "length": 1.0, "width": 0.3}),
        ("implausible", {"points": 6}),
    ],
)
def test_classes_by_size_shape_and_evidence(label: str, values: dict[str, float]) -> None:
    assert classify(row(**values)[None]) == (label,)
    assert classify(np.stack([row(), row(**values), row()])) == ("car", label, "car")


def test_no_boxes_have_no_classes() -> None:
    assert classify(np.zeros((0, columns.COLUMNS))) == ()


@pytest.mark.parametrize("slope", [0.0, 0.1, -0.1])
def test_road_users_of_a_scan_get_their_classes(slope: float) -> None:
    things = {
        "car": Solid(15, -4, (4.4, 1.8, 1.5), 0.3),
        "truck": Solid(20, 7, (9.0, 2.5, 3.2), 1.0, 0.5),
        "person": Solid(9, 3, (0.5, 0.5, 1.75), 0.4),
        "pole": Solid(7, -3, (0.15, 0.15, 4.0)),
    }
    seen = scan(plane(slope, 0.0), list(things.values()), rings=96, columns=1440)
    stage = Preprocess()
    mount = ((1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, HEIGHT_M))
    stage.start(StageContext("l", Path(), {"l": SensorDescription("l", "lidar", 10**8, sensor_to_vehicle=mount)}))
    cloud = PointCloud(0, "l", seen.xyz_m.astype(np.float32), np.zeros(len(seen.xyz_m), np.float32))
    cluster = Cluster()
    cluster.start(StageContext("c", Path()))
    found = cluster.process(JOB, stage.process(JOB, {"points": cloud}))["boxes"]
    assert sorted(found.labels) == sorted(things)
    for label, thing in things.items():
        k = found.labels.index(label)
        assert math.hypot(found.centers_m[k, 0] - thing.x, found.centers_m[k, 1] - thing.y) < 1.3
        assert found.ground_z_m[k] == pytest.approx(slope * found.centers_m[k, 0], abs=0.2)
    car = found.labels.index("car")
    assert apart(float(found.yaws_rad[car]), 0.3) < 0.06


def test_parked_cars_of_a_recorded_drive_are_cars() -> None:
    """A street with parked cars on both sides: they are found as cars, and few boxes make no sense."""
    if not KITTI360.exists():
        pytest.skip(f"{KITTI360} is not there")
    from sensors.recording import open_recording

    recording = open_recording(KITTI360)
    topic = next(t.name for t in recording.topics if t.kind.value == "lidar")
    mount = ((1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 1.73))
    stage, cluster = Preprocess(), Cluster()
    stage.start(StageContext("l", Path(), {"l": SensorDescription("l", "lidar", 10**8, sensor_to_vehicle=mount)}))
    cluster.start(StageContext("c", Path()))
    cars, absurd, total, sweeps = 0, 0, 0, 0
    for message in list(recording.messages([topic]))[::5]:
        found = cluster.process(JOB, stage.process(JOB, {"points": recording.decode(message)}))["boxes"]
        near = np.hypot(*found.centers_m[:, :2].T) < 25.0
        labels = np.array(found.labels)[near]
        cars += int((labels == "car").sum())
        absurd += int((labels == "implausible").sum())
        total += len(labels)
        sweeps += 1
    recording.close()
    assert cars / sweeps >= 3
    assert absurd / total < 0.3
