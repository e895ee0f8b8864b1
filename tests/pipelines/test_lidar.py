"""LiDAR stages: voxel means, ground, clusters and boxes on made-up sweeps, and on a recorded one."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines import lidar_clusters, lidar_ground, lidar_kernels
from pipelines.lidar import Cluster, Preprocess
from rt_sched.errors import DeploymentError
from rt_sched.messages import Boxes3D, PointCloud, canonical_digest
from rt_sched.ports import JobContext, Rejected, SensorDescription, Stage, StageContext

JOB = JobContext(task="lidar", number=0, arrival_ns=0, start_ns=0, finish_ns=0, deadline_ns=0)
KITTI_BAG = Path(__file__).resolve().parents[2] / "../shared/data/recordings/kitti78_small_f00-39_lz4.bag"

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


def test_are_stages() -> None:
    for stage in (Preprocess(), Cluster()):
        assert isinstance(stage, Stage)
        assert not stage.stateful


class TestPreprocess:
    def test_one_mean_point_per_voxel_in_voxel_order(self) -> None:
        """Against a dictionary of lists, on random points."""
        rng = np.random.default_rng(5)
        points = rng.uniform(-12, 12, (4000, 3)).astype(np.float32)
        points[:, 2] = rng.uniform(-1, 1, 4000)
        values = rng.uniform(0, 255, 4000).astype(np.float32)
        expected: dict[tuple[int, ...], list[int]] = {}
        for index, point in enumerate(points.astype(float)):
            if 2.0 <= np.linalg.norm(point) <= 15.0:
                expected.setdefault(tuple(int(v) for v in np.floor(point / 0.5)), []).append(index)
        no_times = np.zeros(0, np.int32)
        keys, means, intensity, _ = lidar_kernels.voxel_means(
            points, values, no_times, np.eye(3, 4)[None], 0, 1, 2.0, 15.0, 0.5
        )
        order = np.argsort(keys)
        assert len(set(keys.tolist())) == len(expected)
        for row, cell in zip(order, sorted(expected), strict=True):
            np.testing.assert_allclose(means[row], points[expected[cell]].mean(axis=0), atol=2e-4)
            assert intensity[row] == pytest.approx(values[expected[cell]].mean(), abs=5e-3)

    def test_the_order_of_the_points_changes_nothing(self) -> None:
        points = scene()
        values = np.random.default_rng(6).uniform(0, 1, len(points))
        shuffled = np.random.default_rng(7).permutation(len(points))
        one, other = obstacles(cloud(points, values)), obstacles(cloud(points[shuffled], values[shuffled]))
        assert len(one.xyz_m) > 300
        assert canonical_digest(one) == canonical_digest(other)

    @pytest.mark.parametrize("mount", [None, ROOF])
    @pytest.mark.parametrize("slope_x", [0.0, 0.05, -0.08])
    def test_ground_goes_and_cars_stay(
        self, mount: tuple[tuple[float, float, float, float], ...] | None, slope_x: float
    ) -> None:
        points = np.concatenate([ground(slope_x=slope_x), car(10, 0, ground_m=-MOUNT_M + 10 * slope_x)])
        left = obstacles(cloud(points), mount).xyz_m
        on_car = (np.abs(left[:, 0] - 10) < 2.4) & (np.abs(left[:, 1]) < 1.1)
        assert on_car.all(), left[~on_car]
        assert left[:, 2].max() - left[:, 2].min() > 1.1

    def test_a_hill_that_begins_ahead_is_ground(self) -> None:
        points = ground()
        points[:, 2] += 0.07 * np.clip(points[:, 0] - 12, 0, None)
        assert len(obstacles(cloud(points)).xyz_m) == 0

    def test_reflections_below_the_road_change_nothing(self) -> None:
        points = np.concatenate([ground(), car(15, 0)])
        below = np.array([[x, y, -MOUNT_M - 1.0] for x in np.arange(5, 30, 0.7) for y in (-0.5, 0.5)])
        clean, mixed = obstacles(cloud(points)), obstacles(cloud(np.concatenate([below, points])))
        assert len(clean.xyz_m) > 100
        np.testing.assert_array_equal(clean.xyz_m, mixed.xyz_m)

    def test_the_underside_of_a_truck_is_not_taken_for_ground(self) -> None:
        """Its shadow hides the road below and behind, so that its sill is the lowest point seen there."""
        road = ground()
        hidden = (road[:, 0] > 11.9) & (np.abs(road[:, 1]) < 6)
        truck = surface((15, 0, -MOUNT_M + 1.5), (6.0, 2.4, 2.0))
        left = obstacles(cloud(np.concatenate([road[~hidden], truck]))).xyz_m
        assert left[:, 2].min() == pytest.approx(-MOUNT_M + 0.5, abs=0.1)

    def test_the_road_plane_is_found_among_walls(self) -> None:
        points = np.concatenate([ground(slope_x=0.1), surface((5, 9, 0), (40, 2, 4)), surface((12, -8, 0), (30, 2, 4))])
        for known, height_m in ((False, 0.0), (True, -MOUNT_M + 0.2)):
            plane = lidar_ground.ground_plane(points.astype(np.float32), known, height_m, 0.15)
            np.testing.assert_allclose(plane, [0.1, 0.0, -MOUNT_M], atol=0.03)

    def test_the_road_counts_as_level_where_no_plane_is_believable(self) -> None:
        steep, few = ground(slope_x=0.3, reach_m=15).astype(np.float32), ground(reach_m=1.0).astype(np.float32)
        assert lidar_ground.ground_plane(steep, True, -MOUNT_M, 0.15) == (0.0, 0.0, -MOUNT_M)
        a, b, c = lidar_ground.ground_plane(few, False, 0.0, 0.15)
        assert (a, b) == (0.0, 0.0)
        assert c == pytest.approx(-MOUNT_M, abs=0.05)

    def test_a_tilted_sensor_of_unknown_mounting_still_loses_the_ground(self) -> None:
        """A tilt of 7 degrees is more than the ground may rise per metre; only the plane explains it."""
        assert len(obstacles(cloud(ground(slope_x=0.12)), ground_slope=0.02).xyz_m) == 0

    def test_a_bridge_overhead_is_no_obstacle(self) -> None:
        x, y = np.meshgrid(np.arange(10, 16, 0.2), np.arange(-8, 8, 0.2))
        bridge = np.stack([x, y, np.full_like(x, 3.0)], -1).reshape(-1, 3)
        assert len(obstacles(cloud(np.concatenate([ground(), bridge]))).xyz_m) == 0

    def test_far_and_near_points_are_cropped(self) -> None:
        points = np.concatenate([car(12, 0), car(45, 0), surface((0.5, 0, 0), (1.0, 1.0, 1.0)), ground()])
        left = obstacles(cloud(points), min_range_m=3.0, max_range_m=30.0).xyz_m
        assert len(left) > 100
        assert (np.abs(left[:, 0] - 12) < 2.4).all()

    def test_a_known_mounting_gives_the_vehicle_frame(self) -> None:
        """The same scene seen by two differently mounted sensors comes out alike."""
        vehicle = np.concatenate([ground(0.0), car(12, 3, 0.2, ground_m=0.0)])
        for mount in (ROOF, TURNED):
            matrix = np.array(mount)
            seen = (vehicle - matrix[:, 3]) @ matrix[:, :3]
            found = obstacles(cloud(seen), mount)
            assert found.frame_id == "vehicle"
            assert np.abs(found.xyz_m[:, :2].mean(axis=0) - [12, 3]).max() < 0.1
            assert 0.2 < found.xyz_m[:, 2].min() < 0.5
            assert 1.4 < found.xyz_m[:, 2].max() < 1.7

    def test_an_unknown_mounting_keeps_the_sensor_frame_and_the_stamp(self) -> None:
        found = obstacles(cloud(scene()))
        assert (found.frame_id, found.capture_time_ns, found.dropped_points) == ("velodyne", 11, 3)
        assert found.xyz_m.dtype == found.intensity.dtype == np.float32

    @pytest.mark.parametrize("mount", [None, ROOF])
    def test_an_empty_sweep_gives_no_points(self, mount: tuple[tuple[float, float, float, float], ...] | None) -> None:
        assert obstacles(cloud(np.empty((0, 3))), mount).xyz_m.shape == (0, 3)

    def test_values_that_are_no_numbers_are_left_out(self) -> None:
        bad = np.array([[np.nan, 1, 1], [5, np.inf, 1], [1e30, 0, 0], [5, 5, np.nan]])
        clean = obstacles(cloud(scene()))
        mixed = obstacles(cloud(np.concatenate([bad, scene()]), np.concatenate([[np.nan] * 4, np.zeros(len(scene()))])))
        assert canonical_digest(mixed) == canonical_digest(clean)

    def test_a_malformed_sweep_is_rejected(self) -> None:
        stage = Preprocess()
        stage.start(context())
        for xyz, values in (
            (np.zeros((4, 2)), np.zeros(4)),
            (np.zeros((4, 3)), np.zeros(3)),
            (np.zeros(3), np.zeros(1)),
        ):
            broken = PointCloud(0, "velodyne", xyz.astype(np.float32), values.astype(np.float32))
            with pytest.raises(Rejected, match=r"expected \[n, 3\] and \[n\]"):
                stage.process(JOB, {"points": broken})

    def test_unknown_sensors_and_impossible_mountings_are_refused(self) -> None:
        with pytest.raises(DeploymentError, match=r"'topp' is not a LiDAR; did you mean 'top'\? valid: top"):
            Preprocess(sensor="topp").start(context())
        with pytest.raises(DeploymentError, match="not a rotation with a translation of at most 100 m"):
            Preprocess().start(context(((2.0, 0, 0, 0), (0, 1.0, 0, 0), (0, 0, 1.0, 0))))
        with pytest.raises(DeploymentError, match="not 3 rows of 4 numbers"):
            Preprocess(sensor="top").start(context(((1.0, 0, 0, math.nan), (0, 1.0, 0, 0), (0, 0, 1.0, 0))))

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"voxel_size_m": 0.0}, "voxel_size_m: 0.0 is out of range; valid: from 0.02 to 5 m"),
            ({"voxel_size_m": "0.2 m"}, "voxel_size_m: '0.2 m' is not a number"),
            ({"min_range_m": 90.0}, "min_range_m: 90.0 is out of range; valid: from 0 to 80 m"),
            ({"max_height_m": 0.1}, "max_height_m: 0.1 is out of range; valid: from 0.25 to 50 m"),
            ({"ground_slope": -1}, "ground_slope: -1 is out of range"),
            ({"sensor": ""}, "sensor: '' is not the name of a sensor"),
        ],
    )
    def test_wrong_parameters_are_explained(self, parameters: dict[str, object], message: str) -> None:
        with pytest.raises(ValueError, match=r"is not|out of range") as caught:
            Preprocess(**parameters)
        assert message in str(caught.value)


def linked(points: np.ndarray, reach_m: float) -> list[frozenset[int]]:
    """Single-linkage clusters by their definition, seen from above."""
    groups = [{i} for i in range(len(points))]
    flat = points[:, :2].astype(float)
    for i in range(len(points)):
        for j in range(i):
            if ((flat[i] - flat[j]) ** 2).sum() <= reach_m * reach_m:
                one = next(g for g in groups if i in g)
                other = next(g for g in groups if j in g)
                if one is not other:
                    one |= other
                    groups.remove(other)
    return sorted((frozenset(g) for g in groups), key=min)


class TestCluster:
    @settings(max_examples=150, deadline=None)
    @given(st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), max_size=25), st.sampled_from([0.5, 0.75, 1.0]))
    def test_clusters_agree_with_the_definition(self, cells: list[tuple[int, int]], reach_m: float) -> None:
        """On quarter metres, so that many distances equal the tolerance exactly."""
        points = np.array([(x / 4, y / 4, 0.0) for x, y in cells], np.float32).reshape(-1, 3)
        labels, count = lidar_clusters.cluster_labels(points, reach_m, 0.0)
        found = sorted((frozenset(np.flatnonzero(labels == c).tolist()) for c in range(count)), key=min)
        assert found == linked(points, reach_m)

    @pytest.mark.parametrize("yaw", [0.0, 0.4, -0.7, 1.3, math.pi / 2])
    def test_golden_box(self, yaw: float) -> None:
        found = boxes(cloud(surface((12.0, -3.0, 0.5), (4.4, 1.8, 1.5), yaw)))
        assert len(found.num_points) == 1
        np.testing.assert_allclose(found.centers_m[0], [12.0, -3.0, 0.5], atol=0.06)
        np.testing.assert_allclose(found.sizes_m[0], [4.4, 1.8, 1.5], atol=0.25)
        turn = (float(found.yaws_rad[0]) - yaw + math.pi / 2) % math.pi - math.pi / 2
        assert abs(turn) <= math.pi / 60 + 1e-6
        assert -math.pi / 2 <= found.yaws_rad[0] < math.pi / 2
        assert found.num_points[0] == len(surface((0, 0, 0), (4.4, 1.8, 1.5)))
        assert (found.frame_id, found.capture_time_ns) == ("velodyne", 11)

    def test_two_visible_sides_show_the_heading(self) -> None:
        points = surface((0.0, 0.0, 0.0), (4.4, 1.8, 1.5))
        corner = points[(points[:, 0] < -2.15) | (points[:, 1] < -0.85)]
        cos, sin = math.cos(0.5), math.sin(0.5)
        turned = corner @ np.array([[cos, sin, 0], [-sin, cos, 0], [0, 0, 1]]) + [15, 0, 0]
        found = boxes(cloud(turned))
        assert found.yaws_rad[0] == pytest.approx(0.5, abs=math.pi / 60 + 1e-6)
        np.testing.assert_allclose(found.centers_m[0, :2], [15, 0], atol=0.1)

    def test_a_gap_above_the_tolerance_parts_and_one_below_joins(self) -> None:
        pair = np.concatenate([surface((10, 0, 0), (2, 2, 1)), surface((12.5, 0, 0), (2, 2, 1))])
        assert len(boxes(cloud(pair), tolerance_m=0.45).num_points) == 2
        assert len(boxes(cloud(pair), tolerance_m=0.55).num_points) == 1

    def test_gaps_between_scan_lines_do_not_part_an_object(self) -> None:
        back = np.array([(20.0, y, z) for y in np.arange(-0.9, 0.91, 0.2) for z in (0.4, 1.4)])
        found = boxes(cloud(back))
        assert found.num_points.tolist() == [20]
        assert found.sizes_m[0, 2] == pytest.approx(1.0, abs=1e-3)

    def test_the_order_of_the_points_changes_nothing(self) -> None:
        points = obstacles(cloud(scene()))
        shuffled = np.random.default_rng(8).permutation(len(points.xyz_m))
        one, other = boxes(points), boxes(cloud(points.xyz_m[shuffled]))
        assert len(one.num_points) == 3
        for name in ("centers_m", "sizes_m", "yaws_rad", "num_points"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))

    def test_boxes_come_by_distance(self) -> None:
        found = boxes(obstacles(cloud(scene())))
        np.testing.assert_allclose(found.centers_m[:, :2], [[12, 0.5], [-15, 4], [20, -5]], atol=0.15)

    def test_little_evidence_makes_no_object(self) -> None:
        five = np.array([(10.0, 0.1 * i, 0.2 * i) for i in range(5)])
        flat = np.array([(20.0, 0.1 * i, 0.0) for i in range(20)])
        assert len(boxes(cloud(np.concatenate([five, flat]))).num_points) == 0
        assert len(boxes(cloud(np.concatenate([five, flat])), min_points=5, min_height_m=0.0).num_points) == 2

    def test_a_long_bent_wall_becomes_tight_pieces_and_the_lane_stays_free(self) -> None:
        """A wall along the left that turns across far ahead: one box around all of it would cover the lane."""
        side = surface((15, 5, 0.5), (30, 0.2, 2.0), step=0.2)
        across = surface((30, 0, 0.5), (0.2, 10, 2.0), step=0.2)
        points = np.concatenate([side, across])
        found = boxes(cloud(points))
        assert found.num_points.sum() == len(points)
        assert found.sizes_m[:, 0].max() <= 10.0
        lane = np.array([(x, y) for x in np.arange(2, 26, 0.5) for y in (-1.5, 0.0, 1.5)])
        for centre, size, yaw in zip(found.centers_m, found.sizes_m, found.yaws_rad, strict=True):
            cos, sin = math.cos(yaw), math.sin(yaw)
            own = (lane - centre[:2]) @ np.array([[cos, -sin], [sin, cos]])
            assert not ((np.abs(own[:, 0]) < size[0] / 2) & (np.abs(own[:, 1]) < size[1] / 2)).any()

    def test_no_points_and_no_numbers_give_no_boxes(self) -> None:
        for points in (np.empty((0, 3)), np.full((9, 3), np.nan), np.full((9, 3), 1e30)):
            found = boxes(cloud(points))
            assert found.centers_m.shape == found.sizes_m.shape == (0, 3)
            assert found.yaws_rad.shape == found.num_points.shape == (0,)
            assert found.centers_m.dtype == np.float32
            assert found.num_points.dtype == np.int32

    def test_equal_points_are_one_place(self) -> None:
        found = boxes(cloud(np.full((50, 3), 4.0)), min_height_m=0.0)
        assert found.num_points.tolist() == [50]
        np.testing.assert_allclose(found.centers_m, [[4, 4, 4]])
        np.testing.assert_allclose(found.sizes_m, 0, atol=1e-6)

    def test_one_stage_serves_several_threads(self) -> None:
        stage = Preprocess()
        stage.start(context())
        cluster = Cluster()
        cluster.start(context())
        sweeps = [cloud(np.concatenate([ground(), car(8 + 2 * i, 0.3 * i, 0.1 * i)])) for i in range(8)]

        def both(sweep: PointCloud) -> bytes:
            ahead = stage.process(JOB, {"points": sweep})
            return canonical_digest(cluster.process(JOB, ahead)["boxes"])

        alone = [both(sweep) for sweep in sweeps]
        assert len(set(alone)) == 8
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(both, sweeps)) == alone

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"tolerance_m": 0}, "tolerance_m: 0 is out of range; valid: from 0.05 to 10 m"),
            ({"min_points": 2.5}, "min_points: 2.5 is not a whole number"),
            ({"max_width_m": 20}, "max_width_m: 20 is out of range; valid: from 0.5 to 19 m"),
            ({"min_height_m": math.inf}, "min_height_m: inf is out of range"),
        ],
    )
    def test_wrong_parameters_are_explained(self, parameters: dict[str, object], message: str) -> None:
        with pytest.raises(ValueError, match=r"is not|out of range") as caught:
            Cluster(**parameters)
        assert message in str(caught.value)


def test_the_car_ahead_has_a_box_in_a_recorded_drive() -> None:
    """A queue at a traffic light: the car ahead stands 6 to 9 m away in every frame."""
    if not KITTI_BAG.exists():
        pytest.skip(f"{KITTI_BAG} is not there")
    from sensors.recording import open_recording

    recording = open_recording(KITTI_BAG)
    sweeps = 0
    for message in recording.messages(["/kitti/velo/pointcloud"]):
        found = boxes(obstacles(recording.decode(message), ROOF))
        ahead = (
            (np.abs(found.centers_m[:, 1]) < 0.6)
            & (found.centers_m[:, 0] > 5.0)
            & (found.centers_m[:, 0] < 9.5)
            & (found.sizes_m[:, 0] > 1.2)
            & (found.sizes_m[:, 0] < 5.0)
        )
        assert ahead.sum() == 1, f"sweep {sweeps}"
        sweeps += 1
    recording.close()
    assert sweeps == 40
