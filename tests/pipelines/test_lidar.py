"""LiDAR preprocessing: voxel means, ground and frames on made-up sweeps."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from lidar_clouds import JOB, MOUNT_M, ROOF, TURNED, car, cloud, context, ground, obstacles, scene, surface

from pipelines import lidar_ground, lidar_kernels
from pipelines.lidar import Cluster, Preprocess
from rt_sched.errors import DeploymentError
from rt_sched.messages import PointCloud, canonical_digest
from rt_sched.ports import Rejected, Stage


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

    def test_a_job_that_is_to_do_less_keeps_fewer_points(self) -> None:
        stage, plain = Preprocess(degraded_voxel_size_m=0.6), Preprocess()
        for one in (stage, plain):
            one.start(context())
        points, less = {"points": cloud(scene())}, replace(JOB, degraded=True)
        usual, lesser = (stage.process(job, points)["obstacles"] for job in (JOB, less))
        assert 0 < len(lesser.xyz_m) < 0.5 * len(usual.xyz_m)
        assert canonical_digest(lesser) == canonical_digest(obstacles(cloud(scene()), voxel_size_m=0.6))
        assert canonical_digest(plain.process(less, points)["obstacles"]) == canonical_digest(usual)

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
            ({"degraded_voxel_size_m": 0.1}, "degraded_voxel_size_m: 0.1 is out of range; valid: from 0.15 to 5 m"),
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
