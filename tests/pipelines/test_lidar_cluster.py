"""LiDAR clustering: clusters and boxes on made-up clouds, and on a recorded drive."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lidar_clouds import JOB, ROOF, boxes, car, cloud, context, ground, obstacles, scene, surface

from pipelines import lidar_clusters
from pipelines.lidar import Cluster, Preprocess
from rt_sched.messages import PointCloud, canonical_digest

KITTI_BAG = Path(__file__).resolve().parents[2] / "../shared/data/recordings/kitti78_small_f00-39_lz4.bag"


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
