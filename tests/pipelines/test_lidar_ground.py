"""Ground of sweeps over known terrain: what belongs to it goes, what stands or hangs on it stays."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from lidar_scenes import HEIGHT_M, Scan, Solid, Terrain, kerb, plane, ramp, scan

from pipelines.lidar import Preprocess
from rt_sched.messages import PointCloud
from rt_sched.ports import JobContext, SensorDescription, StageContext

JOB = JobContext("lidar", 0, 0, 0, 0, 0)
MOUNT = ((1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, HEIGHT_M))
CAR = (4.4, 1.8, 1.5)


def left_over(seen: Scan, mounted: bool = True, **parameters: float) -> PointCloud:
    """Obstacle points, in the sensor's frame."""
    stage = Preprocess(voxel_size_m=0.02, **parameters)  # as good as one point per voxel
    sensors = {"top": SensorDescription("top", "lidar", 10**8, sensor_to_vehicle=MOUNT)} if mounted else {}
    stage.start(StageContext("lidar", Path(), sensors))
    points = PointCloud(0, "top", seen.xyz_m.astype(np.float32), np.zeros(len(seen.xyz_m), np.float32))
    found = stage.process(JOB, {"points": points})["obstacles"]
    assert isinstance(found, PointCloud)
    shift = np.array([0.0, 0.0, HEIGHT_M if mounted else 0.0])
    return PointCloud(0, "top", (found.xyz_m - shift).astype(np.float32), found.intensity, ground_z_m=found.ground_z_m)


@cache
def scanned(name: str, *solids: Solid) -> Scan:
    """The scan of a terrain of `TERRAINS`, made once."""
    return scan(TERRAINS[name], solids, rings=48)


def kept(seen: Scan, found: PointCloud) -> np.ndarray:
    """Which of the scan's points are among the obstacles."""

    def codes(xyz: np.ndarray) -> np.ndarray:
        cells = np.floor(xyz / 0.04).astype(np.int64) + 4096
        return (cells[:, 0] << 26) | (cells[:, 1] << 13) | cells[:, 2]

    cells, shift = codes(found.xyz_m), (1 << 26, -1 << 26, 1 << 13, -1 << 13, 1, -1)
    around = np.unique(np.concatenate([cells, *(cells + s for s in shift)]))
    return np.isin(codes(seen.xyz_m), around)


def shares(seen: Scan, mounted: bool = True) -> tuple[float, float]:
    """Share of the ground that is left over, and of what stands at least 0.5 m above it that is kept."""
    stays = kept(seen, left_over(seen, mounted))
    above = seen.xyz_m[:, 2] - seen.ground_m
    # Objects are looked for where fusion and decision use them, and below the limit of height.
    ground = (seen.hit == -1) & (np.hypot(*seen.xyz_m[:, :2].T) > 2.5)
    body = (seen.hit >= 0) & (above > 0.5) & (above < 2.5)
    return float(stays[ground].mean()), float(stays[body].mean()) if body.any() else 1.0


TERRAINS: dict[str, Terrain] = {
    "level": plane(0.0),
    **{f"slope {s} towards {d}": plane(s * math.cos(math.radians(d)), s * math.sin(math.radians(d)))
       for s in (0.08, 0.15) for d in (0, 60, 180, 250)},
    "ramp up at 8 m": ramp(8.0, 0.15),
    "ramp up at 25 m": ramp(25.0, 0.15),
    "ramp down at 10 m": ramp(10.0, -0.15),
    "crest": lambda x, y: -0.002 * np.abs(x) ** 1.8,
    "dip": lambda x, y: 0.002 * np.abs(x) ** 1.8,
    "kerb": kerb(3.0, 0.15),
    "kerb on a slope": lambda x, y: 0.1 * x + np.where(y > 3.0, 0.15, 0.0),
    "waves": lambda x, y: 0.35 * np.sin(x / 6.0) * np.cos(y / 9.0),
    "crowned road": lambda x, y: -0.025 * np.abs(y),
}  # fmt: skip


@pytest.mark.parametrize("mounted", [True, False])
@pytest.mark.parametrize("name", TERRAINS)
def test_ground_of_any_shape_goes_and_cars_stay(name: str, mounted: bool) -> None:
    cars = [Solid(14, 0.5, CAR), Solid(9, -6, CAR, 0.4), Solid(-18, 5, CAR, 1.2), Solid(30, -3, CAR, -0.2)]
    ground, body = shares(scanned(name, *cars), mounted)
    assert ground < 0.004
    assert body > 0.9


HANGING = {
    "boom": Solid(12, 0, (0.1, 4, 0.15), 0.0, 1.0),
    "sign": Solid(12, 0, (0.2, 2, 0.6), 0.0, 1.5),
    "trailer": Solid(16, 0, (8, 2.5, 2.6), 0.0, 0.9),
}
STANDING = {
    "wall": Solid(10, 0, (0.3, 12, 1.0)),
    "pedestrian": Solid(20, 3, (0.5, 0.5, 1.75)),
    "box on the road": Solid(8, 0, (1.2, 0.8, 0.6)),
}


@pytest.mark.parametrize("terrain", ["level", "ramp up at 8 m", "kerb", "waves"])
@pytest.mark.parametrize("name", [*HANGING, *STANDING])
def test_what_stands_or_hangs_stays(name: str, terrain: str) -> None:
    seen = scanned(terrain, (HANGING | STANDING)[name])
    stays, above = kept(seen, left_over(seen)), seen.xyz_m[:, 2] - seen.ground_m
    thing = (seen.hit == 0) & (above > 0.35) & (above < 2.5)
    assert thing.sum() >= 10
    assert stays[thing].mean() > 0.95
    assert stays[seen.hit == -1].mean() < 0.004


@pytest.mark.parametrize("terrain", ["level", "slope 0.15 towards 60", "ramp up at 8 m", "kerb", "waves"])
def test_the_ground_below_an_object_is_told_with_its_points(terrain: str) -> None:
    """Also under what hides it from the sensor."""
    cars = [Solid(14, 0.5, CAR), Solid(9, -6, CAR, 0.4)]
    found = left_over(scanned(terrain, *cars))
    truth = TERRAINS[terrain](found.xyz_m[:, 0], found.xyz_m[:, 1])
    assert found.ground_z_m is not None
    assert np.percentile(np.abs(found.ground_z_m - truth), 95) < 0.2


@pytest.mark.parametrize("depth_m", [0.35, 0.6, 1.5, 15.0])
@pytest.mark.parametrize("pattern", ["one", "two cells under a car", "a strip", "everywhere"])
@pytest.mark.parametrize("terrain", ["level", "slope 0.15 towards 60", "ramp up at 8 m"])
def test_reflections_below_the_road_do_not_raise_the_road(terrain: str, pattern: str, depth_m: float) -> None:
    """Wet roads and polished cars give returns from below the ground; the road above them is no obstacle for that."""
    seen = scanned(terrain, Solid(14, 0.5, CAR))
    rng = np.random.default_rng(9)
    places = {
        "one": np.array([[7.3, -2.2]]),
        "two cells under a car": rng.uniform([12.6, -0.6], [14.4, 0.9], (8, 2)),
        "a strip": np.stack([np.arange(4.5, 11.5, 0.5), np.full(14, 1.3)], -1),
        "everywhere": rng.uniform(-20, 20, (50, 2)),
    }[pattern]
    places = places[np.hypot(*places.T) > 4.5]  # the lowest beam meets the ground at 4 m
    deep = np.column_stack([places, TERRAINS[terrain](places[:, 0], places[:, 1]) - HEIGHT_M - depth_m])
    both = Scan(
        np.concatenate([seen.xyz_m, deep]),
        np.concatenate([seen.hit, np.full(len(deep), -2)]),
        np.concatenate([seen.ground_m, np.zeros(len(deep))]),
    )
    stays = kept(both, left_over(both))
    assert stays[both.hit == -1].mean() < 0.008
    assert stays[both.hit == -2].mean() == 0.0
    body = (both.hit == 0) & (both.xyz_m[:, 2] - both.ground_m > 0.5)
    assert stays[body].mean() > 0.95


@pytest.mark.parametrize("mounted", [True, False])
def test_nothing_but_objects_or_a_single_point_is_no_failure(mounted: bool) -> None:
    walls = scan(lambda x, y: np.full_like(x, -90.0), [Solid(10, 0, (0.3, 12, 100.0), 0.0, 40.0)])
    assert len(left_over(walls, mounted).xyz_m) >= 0
    one = Scan(np.array([[5.0, 1.0, 0.0]]), np.array([0]), np.array([-HEIGHT_M]))
    assert len(left_over(one, mounted, least_company=0).xyz_m) == int(mounted)
    assert len(left_over(one, mounted).xyz_m) == 0, "alone, as a drop is"
