"""Night, rain, slopes and missing actors: each changes what it says, in every sensor alike, and nothing else."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from rt_sched.units import NS_PER_MS, NS_PER_S
from sensors.scene.catalogue import SCENES, build_world
from sensors.scene.depth_order import Placed, farthest_first
from sensors.scene.lidar import LidarRenderer, Sweep
from sensors.scene.render import CameraRenderer
from sensors.scene.rig import Camera, Rig
from sensors.scene.terrain import Terrain, ramp
from sensors.scene.truth import image_boxes
from sensors.scene.vehicles import SALOON, car
from sensors.scene.world import World
from sensors.scene.writer import felt

TIME_NS = 500 * NS_PER_MS


@pytest.fixture(scope="module")
def front(rig: Rig) -> Camera:
    return rig.cameras[0]


def under(conditions: str) -> World:
    return build_world(SCENES["hazard"], duration_s=2.0, conditions=conditions)


@pytest.fixture(scope="module")
def frames(front: Camera) -> dict[str, np.ndarray]:
    return {
        name: CameraRenderer(under(name), front, 3).render(TIME_NS, 15).astype(int)
        for name in ("day", "night", "rain", "night_rain")
    }


@pytest.fixture(scope="module")
def sweeps(rig: Rig) -> dict[str, Sweep]:
    return {name: LidarRenderer(under(name), rig.lidar, 3).sweep(TIME_NS, 5) for name in ("day", "night", "rain")}


def test_night_is_dark_but_lamps_shine(frames: dict[str, np.ndarray]) -> None:
    assert frames["night"].mean() < 0.45 * frames["day"].mean()
    assert frames["night_rain"].mean() < 0.6 * frames["rain"].mean()
    # Lamps and lit windows stay bright.
    assert np.percentile(frames["night"], 99.9) > 150


def test_headlamps_light_the_road_ahead_and_nothing_behind(front: Camera, rig: Rig) -> None:
    world = under("night")
    unlit = replace(world, lighting=replace(world.lighting, beam=0.0))
    lit, dark = (CameraRenderer(w, front, 3).render(TIME_NS, 15).astype(int) for w in (world, unlit))
    near = np.s_[-60:, front.width // 2 - 60 : front.width // 2 + 60]
    assert lit[near].mean() > 1.8 * dark[near].mean()
    rear = next(camera for camera in rig.cameras if camera.name == "rear")
    behind = [CameraRenderer(w, rear, 3).render(TIME_NS, 15) for w in (world, unlit)]
    assert np.array_equal(*behind)


def test_night_pictures_are_noisier(front: Camera) -> None:
    noise = []
    for conditions in ("day", "night"):
        renderer = CameraRenderer(under(conditions), front, 3)
        first, second = (renderer.render(TIME_NS, number).astype(int) for number in (1, 2))
        noise.append(float((first - second).std()))
    assert noise[1] > 2.0 * noise[0] > 0.5


def test_rain_flattens_the_picture_and_blurs_it_until_the_wiper_passes(
    front: Camera, frames: dict[str, np.ndarray]
) -> None:
    assert frames["rain"].std() < 0.8 * frames["day"].std()
    world = under("rain")
    clean = replace(world, imaging=replace(world.imaging, droplets=0))
    blurred = []
    for time_ns in (world.imaging.wipe_ns, 2 * world.imaging.wipe_ns - 1):
        wet, dry = (CameraRenderer(w, front, 3).render(time_ns, 7).astype(int) for w in (world, clean))
        blurred.append(np.count_nonzero((wet != dry).any(axis=2)) / wet[..., 0].size)
    assert blurred[0] < 0.02 < blurred[1] < 0.4


def test_equal_arguments_give_equal_pictures_and_points(front: Camera, rig: Rig, frames, sweeps) -> None:
    again = CameraRenderer(under("rain"), front, 3).render(TIME_NS, 15)
    assert np.array_equal(again, frames["rain"])
    assert np.array_equal(LidarRenderer(under("rain"), rig.lidar, 3).sweep(TIME_NS, 5).xyz_m, sweeps["rain"].xyz_m)


def test_a_lidar_sees_at_night_as_by_day(sweeps: dict[str, Sweep]) -> None:
    assert np.array_equal(sweeps["day"].xyz_m, sweeps["night"].xyz_m)


def test_rain_takes_returns_and_adds_drops(rig: Rig, sweeps: dict[str, Sweep]) -> None:
    day, rain = sweeps["day"], sweeps["rain"]
    assert 0.3 * len(day.xyz_m) < len(rain.xyz_m) < 0.85 * len(day.xyz_m)
    far = [np.count_nonzero(np.linalg.norm(sweep.xyz_m, axis=1) > 40.0) / len(sweep.xyz_m) for sweep in (day, rain)]
    assert far[1] < 0.85 * far[0]
    # Drops hang in the air where there is nothing by day: above the road, within 12 m, and faint.
    height = rain.xyz_m[:, 2] + rig.lidar.position_m[2]
    near = np.linalg.norm(rain.xyz_m[:, :2], axis=1) < 4.0
    drops = near & (height > 1.0) & (rain.surface == -2)
    by_day = (np.linalg.norm(day.xyz_m[:, :2], axis=1) < 4.0) & (day.xyz_m[:, 2] + rig.lidar.position_m[2] > 1.0)
    assert np.count_nonzero(drops) > 50 + np.count_nonzero(by_day & (day.surface == -2))
    assert np.median(rain.intensity[drops]) <= 8


@pytest.mark.parametrize("conditions", ["day", "night_rain"])
def test_an_actor_left_out_leaves_no_pixel_and_no_point_and_nothing_else_changes(
    rig: Rig, front: Camera, conditions: str
) -> None:
    world = under(conditions)
    blank = world.without("lead")
    box = next(b for b in image_boxes(world, front, TIME_NS) if b.actor == "lead")
    with_lead, without = (CameraRenderer(w, front, 3).render(TIME_NS, 15).astype(int) for w in (world, blank))
    changed = (np.abs(with_lead - without) > 0).any(axis=2)
    inside = np.zeros_like(changed)
    # The lead's shadow lies beside it, and a drop on the lens spreads what it shows.
    margin = 40 if conditions == "day" else 60
    inside[int(box.y_min) - margin : int(box.y_max) + margin, int(box.x_min) - margin : int(box.x_max) + 2 * margin] = (
        True
    )
    assert changed.any()
    if conditions == "day":
        assert not changed[~inside].any()
    assert not any(b.actor == "lead" for b in image_boxes(blank, front, TIME_NS))

    full, empty = (LidarRenderer(w, rig.lidar, 3).sweep(TIME_NS, 5) for w in (world, blank))
    kept = {tuple(row) for row in full.xyz_m[full.surface != 0].tolist()}
    fresh = {tuple(row) for row in empty.xyz_m.tolist()}
    assert np.count_nonzero(full.surface == 0) > 50
    assert kept <= fresh
    # What is new is what the lead hid: it lies beyond the lead's rear.
    new = np.array(sorted(fresh - kept))
    rear_m = full.xyz_m[full.surface == 0][:, 0].min()
    assert len(new) == 0 or new[:, 0].min() > rear_m - 0.1


def test_terrain_is_continuous_and_ends_level() -> None:
    ground = ramp(30.0, 0.08, 50.0)
    places = np.arange(0.0, 150.0, 0.01)
    heights = ground.heights_m(places)
    assert heights[0] == 0.0
    assert heights[-1] == pytest.approx(0.08 * (50.0 + 16.0))
    assert np.all(np.diff(heights) >= 0.0)
    assert np.diff(heights).max() == pytest.approx(0.0008)
    for x in (0.0, 31.0, 60.0, 149.0):
        assert ground.height_m(x) == pytest.approx(float(ground.heights_m(np.array([x]))[0]))
    assert Terrain().heights_m(places).tolist() == [0.0] * len(places)


@pytest.mark.parametrize("time_ns", [0, 2 * NS_PER_S, 4 * NS_PER_S])
def test_every_lidar_point_on_the_ground_lies_on_the_slope(rig: Rig, time_ns: int) -> None:
    world = build_world(SCENES["slope"], duration_s=5.0)
    sweep = LidarRenderer(world, rig.lidar, 3).sweep(time_ns, 5)
    ground = sweep.surface == -1
    mounted = np.array(rig.lidar.position_m)
    worst = 0.0
    for offset_ns in np.unique(sweep.time_offset_ns)[::60]:
        ego = world.ego_at(time_ns + int(offset_ns))
        points = sweep.xyz_m[ground & (sweep.time_offset_ns == offset_ns)].astype(float) + mounted
        c, s = math.cos(ego.pitch_rad), math.sin(ego.pitch_rad)
        x, z = ego.x_m + c * points[:, 0] - s * points[:, 2], ego.z_m + s * points[:, 0] + c * points[:, 2]
        # Range noise moves a point along its ray, which meets the ground at a small angle.
        worst = max(worst, float(np.abs(z - world.terrain.heights_m(x)).max(initial=0.0)))
    assert np.count_nonzero(ground) > 5000
    assert worst < 0.06


@pytest.mark.parametrize("time_ns", [0, 1500 * NS_PER_MS, 3500 * NS_PER_MS])
def test_on_a_slope_boxes_frame_the_pixels_too(front: Camera, time_ns: int) -> None:
    world = build_world(SCENES["slope"], duration_s=5.0)
    world = replace(world, lighting=replace(world.lighting, shadow=0.0))
    with_lead, without = (
        CameraRenderer(w, front, 5).render(time_ns, 0).astype(int) for w in (world, world.without("lead"))
    )
    rows, columns = np.nonzero(np.abs(with_lead - without).max(axis=2) > 12)
    box = next(b for b in image_boxes(world, front, time_ns) if b.actor == "lead")
    seen = (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)
    assert seen == pytest.approx((box.x_min, box.y_min, box.x_max, box.y_max), abs=2.5)


def test_the_imu_feels_the_slope() -> None:
    world = build_world(SCENES["slope"], duration_s=8.0)
    rise = math.atan(0.08)
    climbing_ns = next(t for t in range(0, 8 * NS_PER_S, 10 * NS_PER_MS) if world.ego_at(t).x_m > 70.0)
    rates, force = felt(world, climbing_ns)
    assert force == pytest.approx([9.80665 * math.sin(rise), 0.0, 9.80665 * math.cos(rise)], abs=1e-3)
    assert rates == pytest.approx([0.0, 0.0, 0.0], abs=1e-6)
    steps_ns = 5 * NS_PER_MS
    turned = sum(felt(world, t)[0][1] * steps_ns / NS_PER_S for t in range(0, climbing_ns, steps_ns))
    # Nose up is a turn about the negative of the axis that points left.
    assert turned == pytest.approx(-rise, abs=1e-3)


def test_the_imu_feels_a_change_of_lane() -> None:
    scene = build_world(SCENES["cut_in"], duration_s=5.0)
    course = scene.actor("cutter").trajectory
    world = replace(scene, ego=replace(scene.ego, trajectory=course))
    step_s = 0.005
    aside = speed = turned = 0.0
    for number in range(200, 560):
        rates, force = felt(world, round(number * step_s * NS_PER_S))
        turned += rates[2] * step_s
        speed += force[1] * step_s
        aside += speed * step_s
    assert turned == pytest.approx(0.0, abs=2e-3)
    assert aside == pytest.approx(-3.5, abs=0.15)


def test_a_long_vehicle_hides_what_is_beyond_it() -> None:
    long = replace(car(SALOON, (0, 0, 0)), size_m=(12.0, 2.5, 3.0))
    short = car(SALOON, (0, 0, 0))

    def placed(shape, x: float, y: float) -> Placed:
        return Placed(shape, x, y, 0.0, False, 0.0, 0.0, True)

    beside, beyond = placed(long, 14.0, 3.5), placed(long, 9.0, 7.0)
    assert farthest_first([beside, beyond], 2.0, 0.0) == [beyond, beside]
    assert farthest_first([beyond, beside], 2.0, 0.0) == [beyond, beside]
    ahead = placed(short, 30.0, 0.0)
    assert farthest_first([beside, ahead], 2.0, 0.0) == [ahead, beside]
