from dataclasses import replace

import numpy as np
import pytest

from rt_sched.units import NS_PER_MS
from sensors.scene import scenery
from sensors.scene.render import CameraRenderer, clip_near
from sensors.scene.rig import Camera, Rig
from sensors.scene.trajectory import Trajectory
from sensors.scene.truth import image_boxes
from sensors.scene.world import Actor, World


def camera_named(rig: Rig, name: str) -> Camera:
    return next(camera for camera in rig.cameras if camera.name == name)


def crop_of_lead(world: World, camera: Camera, time_ns: int) -> np.ndarray:
    box = next(b for b in image_boxes(world, camera, time_ns) if b.actor == "lead")
    frame = CameraRenderer(world, camera, 3).render(time_ns, 0)
    return frame[int(box.y_min) : int(box.y_max), int(box.x_min) : int(box.x_max)].astype(int)


def glowing(crop: np.ndarray) -> int:
    return int(((crop[:, :, 2] > 200) & (crop[:, :, 0] < 110) & (crop[:, :, 1] < 110)).sum())


def test_equal_arguments_give_equal_pixels_and_the_number_changes_the_noise_only(world: World, rig: Rig) -> None:
    camera = camera_named(rig, "left")
    first, second = (CameraRenderer(world, camera, 7).render(10**9, 4) for _ in range(2))
    assert np.array_equal(first, second)
    other = CameraRenderer(world, camera, 7).render(10**9, 5)
    difference = np.abs(first.astype(int) - other.astype(int))
    assert 0 < difference.max() <= 8


def test_brake_lights_glow_from_the_instant_of_braking_on(world: World, rig: Rig) -> None:
    tele = camera_named(rig, "front_tele")
    assert glowing(crop_of_lead(world, tele, 1_199 * NS_PER_MS)) == 0
    assert glowing(crop_of_lead(world, tele, 1_200 * NS_PER_MS)) > 60
    assert glowing(crop_of_lead(world, tele, 3_900 * NS_PER_MS)) > 60


def test_night_is_a_matter_of_the_world_description(world: World, rig: Rig) -> None:
    wide = camera_named(rig, "front_wide")
    light = replace(
        world.lighting,
        sky_zenith=(24, 14, 10), sky_horizon=(40, 28, 22), sun=0.0, ambient=0.22, shadow=0.0, lamps_lit=True,
    )  # fmt: skip
    day = CameraRenderer(world, wide, 3).render(0, 0)
    night = CameraRenderer(replace(world, lighting=light), wide, 3).render(0, 0)
    assert night.mean() < 0.35 * day.mean()
    # Headlamps of oncoming cars and lit windows outshine everything else at night.
    assert (night.min(axis=2) > 110).sum() > 10


def test_a_person_on_the_road_is_a_matter_of_the_world_description(world: World, rig: Rig) -> None:
    wide = camera_named(rig, "front_wide")
    person = Actor("crossing", "person", scenery.pedestrian((30, 30, 190), (60, 50, 40)), Trajectory(9.0, 0.3))
    peopled = replace(world, actors=(*world.actors, person))
    box = next(b for b in image_boxes(peopled, wide, 0) if b.actor == "crossing")
    frames = [CameraRenderer(w, wide, 3).render(0, 0).astype(int) for w in (world, peopled)]
    changed = np.abs(frames[0] - frames[1]).max(axis=2) > 25
    inside = changed[int(box.y_min) : int(box.y_max) + 1, int(box.x_min) : int(box.x_max) + 1]
    assert inside.mean() > 0.35


def test_sky_is_above_and_road_below(world: World, rig: Rig) -> None:
    frame = CameraRenderer(world, camera_named(rig, "front_wide"), 3).render(0, 0)
    sky, road = frame[4:30, 250:330], frame[-60:-20, 250:330]
    assert sky[:, :, 0].mean() > 150
    assert np.ptp(road.reshape(-1, 3).mean(axis=0)) < 12
    assert 40 < road.mean() < 130


@pytest.mark.parametrize(("depths", "corners"), [((1, 1, 1), 3), ((1, 1, -1), 4), ((1, -1, -1), 3), ((-1, -1, -1), 0)])
def test_clipping_keeps_what_is_in_front(depths: tuple[float, ...], corners: int) -> None:
    triangle = np.array([(0.0, 0.0, depths[0]), (1.0, 0.0, depths[1]), (0.0, 1.0, depths[2])])
    clipped = clip_near(triangle)
    assert len(clipped) == corners
    assert (clipped[:, 2] > 0.29).all()
