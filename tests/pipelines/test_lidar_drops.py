"""Drops of rain near the vehicle are no obstacles, and what stands in the rain still is one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lidar_scenes import HEIGHT_M, Solid, plane, scan

from pipelines.lidar import Cluster, Preprocess
from pipelines.lidar_drops import with_company
from rt_sched.messages import Boxes3D, PointCloud
from rt_sched.ports import JobContext, SensorDescription, StageContext

JOB = JobContext("lidar", 0, 0, 0, 0, 0)
MOUNT = ((1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, HEIGHT_M))
CAR = Solid(8.0, 0.0, (4.4, 1.8, 1.5))


def rain(seed: int, drops: int = 900, within_m: float = 12.0) -> np.ndarray:
    """float64[n, 3], n <= drops: one return each of beams in all directions, as often at every distance."""
    random = np.random.default_rng(seed)
    azimuth, elevation = random.uniform(-np.pi, np.pi, drops), random.uniform(-0.4, 0.25, drops)
    range_m = random.uniform(2.0, within_m, drops)
    around = np.column_stack((np.cos(azimuth), np.sin(azimuth), np.tan(elevation)))
    fallen = around * range_m[:, None]
    return fallen[fallen[:, 2] > 0.1 - HEIGHT_M]


def boxes(points: np.ndarray, **parameters: float) -> Boxes3D:
    """What the LiDAR path makes of points in the sensor's frame."""
    preprocess, cluster = Preprocess(**parameters), Cluster()
    context = StageContext("lidar", Path(), {"top": SensorDescription("top", "lidar", 10**8, sensor_to_vehicle=MOUNT)})
    preprocess.start(context)
    cluster.start(context)
    cloud = PointCloud(0, "top", points.astype(np.float32), np.zeros(len(points), np.float32))
    found = cluster.process(JOB, preprocess.process(JOB, {"points": cloud}))["boxes"]
    assert isinstance(found, Boxes3D)
    return found


@pytest.mark.parametrize("rings", [16, 64])
@pytest.mark.parametrize("seed", range(3))
def test_rain_is_no_obstacle_and_a_car_in_it_is_one(seed: int, rings: int) -> None:
    dry = scan(plane(0.0), (CAR,), rings=rings).xyz_m
    seen = boxes(np.concatenate((dry, rain(seed))))
    alone = boxes(dry)
    assert len(alone.labels) == 1
    ahead = [place for place, centre in enumerate(seen.centers_m) if np.abs(centre - alone.centers_m[0]).max() < 0.5]
    assert len(ahead) == 1
    assert np.abs(seen.sizes_m[ahead[0]] - alone.sizes_m[0]).max() < 0.6
    # Single drops that fall beside each other by chance make no box of a vehicle's size.
    others = np.delete(seen.sizes_m, ahead, axis=0)
    assert not (others[:, 0] > 1.5).any()
    kept_all = boxes(np.concatenate((dry, rain(seed))), least_company=0)
    assert (np.delete(kept_all.sizes_m, 0, axis=0)[:, 0] > 1.5).any(), "this rain would have been obstacles"


@pytest.mark.parametrize("height_m", [1.1, 1.8])
@pytest.mark.parametrize("rings", [16, 64])
def test_a_person_keeps_all_points(rings: int, height_m: float) -> None:
    person = Solid(9.0, 1.0, (0.4, 0.5, height_m))
    points = scan(plane(0.0), (person,), rings=rings).xyz_m
    with_rule, without = boxes(points), boxes(points, least_company=0)
    assert np.array_equal(with_rule.num_points, without.num_points)
    assert len(with_rule.labels) == 1


@given(
    st.lists(st.tuples(*[st.integers(-40, 40)] * 3), max_size=40),
    st.integers(1, 4),
    st.sampled_from([0.3, 0.5, 1.1]),
    st.sampled_from([0.0, 0.25, 1.0]),
    st.sampled_from([1.0, 3.0, 10.0]),
)
def test_company_is_counted_as_a_plain_loop_counts_it(
    corners: list[tuple[int, int, int]], least: int, radius_m: float, per_m: float, within_m: float
) -> None:
    xyz_m = np.array(corners, np.float32).reshape(-1, 3) / 10
    exact = xyz_m.astype(np.float64)
    apart2 = ((exact[:, None] - exact[None]) ** 2).sum(axis=2)
    away2 = (exact[:, :2] ** 2).sum(axis=1)
    own_m = np.maximum(radius_m, per_m * np.sqrt(away2))
    company = (apart2 <= (own_m * own_m)[:, None]).sum(axis=1) - 1
    expected = (away2 > within_m * within_m) | (company >= least)
    assert np.array_equal(with_company(xyz_m, radius_m, per_m, least, within_m), expected)
