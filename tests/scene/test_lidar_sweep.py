import math
from dataclasses import replace

import numpy as np
import pytest

from rt_sched.units import NS_PER_MS
from sensors.scene.lidar import LidarRenderer, Sweep
from sensors.scene.render import camera_pose
from sensors.scene.rig import Rig
from sensors.scene.shapes import Solid
from sensors.scene.truth import image_boxes
from sensors.scene.world import World

END_NS = 2_500 * NS_PER_MS


@pytest.fixture(scope="module")
def sweep(world: World, rig: Rig) -> Sweep:
    return LidarRenderer(world, rig.lidar, 9).sweep(END_NS, 25)


def in_vehicle_frame(sweep: Sweep, rig: Rig, select: np.ndarray) -> np.ndarray:
    return sweep.xyz_m[select].astype(float) + np.array(rig.lidar.position_m)


def test_points_come_in_firing_order_within_the_sweep(sweep: Sweep, rig: Rig) -> None:
    assert len(sweep.xyz_m) > 40_000
    assert np.isfinite(sweep.xyz_m).all()
    assert (np.diff(sweep.time_offset_ns) >= 0).all()
    assert sweep.time_offset_ns.min() >= -100 * NS_PER_MS
    assert sweep.time_offset_ns.max() <= 0
    assert set(np.unique(sweep.ring)) <= set(range(rig.lidar.rings))
    assert len(np.unique(sweep.ring)) > 100
    assert np.hypot(*sweep.xyz_m[:, :2].T).max() < rig.lidar.max_range_m + 0.1


def test_the_beam_turns_clockwise_and_looks_ahead_in_the_middle_of_the_sweep(sweep: Sweep) -> None:
    azimuth = np.arctan2(sweep.xyz_m[:, 1], sweep.xyz_m[:, 0])
    ahead = (np.abs(azimuth) < 0.02) & (sweep.xyz_m[:, 0] > 0)
    assert np.abs(sweep.time_offset_ns[ahead] + 50 * NS_PER_MS).max() < 2 * NS_PER_MS
    left = sweep.time_offset_ns[np.abs(azimuth - math.pi / 2) < 0.02]
    right = sweep.time_offset_ns[np.abs(azimuth + math.pi / 2) < 0.02]
    assert left.max() < -70 * NS_PER_MS < -30 * NS_PER_MS < right.min()


def test_ground_is_flat_within_the_range_noise(sweep: Sweep, rig: Rig) -> None:
    height = in_vehicle_frame(sweep, rig, sweep.surface == -1)[:, 2]
    assert len(height) > 10_000
    assert np.abs(height).max() < 0.06
    assert abs(height.mean()) < 0.002


def test_points_on_the_lead_lie_in_its_image_box_at_their_own_instant(world: World, rig: Rig, sweep: Sweep) -> None:
    on_lead = np.flatnonzero(sweep.surface == [a.name for a in world.actors].index("lead"))
    assert len(on_lead) > 60
    offsets = sweep.time_offset_ns[on_lead]
    points = in_vehicle_frame(sweep, rig, on_lead)
    for camera in (c for c in rig.cameras if c.name.startswith("front")):
        for offset in np.unique(offsets):
            time_ns = END_NS + int(offset)
            ego = world.ego_at(time_ns)
            in_world = points[offsets == offset] + [ego.x_m, ego.y_m, 0.0]
            x, y, z = camera_pose(camera, ego).to_camera(in_world).T
            u, v = camera.width / 2 + camera.focal_px * x / z, camera.height / 2 + camera.focal_px * y / z
            box = next(b for b in image_boxes(world, camera, time_ns) if b.actor == "lead")
            slack = 0.06 * camera.focal_px / z.min()
            assert box.x_min - slack <= u.min() <= u.max() <= box.x_max + slack
            assert box.y_min - slack <= v.min() <= v.max() <= box.y_max + slack


def test_points_on_the_lead_lie_on_its_rear(world: World, rig: Rig, sweep: Sweep) -> None:
    on_lead = sweep.surface == [a.name for a in world.actors].index("lead")
    lead = world.actor("lead")
    points = in_vehicle_frame(sweep, rig, on_lead)
    time_ns = END_NS - 50 * NS_PER_MS
    distance = lead.trajectory.state_at(time_ns).x_m - world.ego_at(time_ns).x_m
    body = points[points[:, 2] < 0.95]
    assert body[:, 0] == pytest.approx(distance - lead.shape.size_m[0] / 2, abs=0.3)


def first_hit(solids: list[tuple[Solid, float, float, float]], origin: np.ndarray, ray: np.ndarray) -> float:
    """Range to the nearest surface, from the half-spaces of every solid; the slow way."""
    best = origin[2] / -ray[2] if ray[2] < 0 else math.inf
    for solid, x, y, yaw in solids:
        turn = np.array([[math.cos(yaw), math.sin(yaw), 0.0], [-math.sin(yaw), math.cos(yaw), 0.0], [0.0, 0.0, 1.0]])
        start, along = turn @ (origin - [x, y, 0.0]), turn @ ray
        candidates = []
        for *normal, offset in solid.planes:
            slope = np.dot(normal, along)
            if slope < 0:
                reach = (offset - np.dot(normal, start)) / slope
                point = start + reach * along
                if reach > 0 and all(np.dot(n, point) <= o + 1e-7 for *n, o in solid.planes):
                    candidates.append(reach)
        best = min([best, *candidates])
    return best


def test_rays_agree_with_a_search_over_all_half_spaces(world: World, rig: Rig) -> None:
    quiet = replace(rig.lidar, range_noise_m=0.0, resolution_m=1e-6, columns=36)
    found = LidarRenderer(world, quiet, 9).sweep(END_NS, 0)
    pick = np.random.default_rng(2).choice(len(found.xyz_m), 120, replace=False)
    assert len(set(found.surface[pick])) > 4
    for k in pick:
        time_ns = END_NS + int(found.time_offset_ns[k])
        ego = world.ego_at(time_ns)
        solids = [(s, p.x_m, p.y_m, p.yaw_rad) for p in world.props for s in p.shape.solids]
        for actor in world.actors:
            state = actor.trajectory.state_at(time_ns)
            solids += [(s, state.x_m, state.y_m, state.yaw_rad) for s in actor.shape.solids]
        point = found.xyz_m[k].astype(float)
        range_m = float(np.linalg.norm(point))
        origin = np.array([ego.x_m, ego.y_m, 0.0]) + rig.lidar.position_m
        assert first_hit(solids, origin, point / range_m) == pytest.approx(range_m, rel=1e-4)


def test_seed_and_number_decide_about_noise(world: World, rig: Rig, sweep: Sweep) -> None:
    renderer = LidarRenderer(world, rig.lidar, 9)
    assert np.array_equal(renderer.sweep(END_NS, 25).xyz_m, sweep.xyz_m)
    other = renderer.sweep(END_NS, 26).xyz_m
    assert other.shape == sweep.xyz_m.shape
    assert 0 < np.abs(other - sweep.xyz_m).max() < 0.2
