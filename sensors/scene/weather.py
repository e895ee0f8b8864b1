"""Night and rain: what light and water do to the picture of a camera and to the light of a LiDAR.

Figures are chosen for a plausible picture, not fitted to a sensor; docs/scenes.md lists what each condition changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import cv2
import numpy as np
import numpy.typing as npt

from sensors.scene.shapes import shade
from sensors.scene.world import Air, Imaging, Lighting, Road, World

Frame = npt.NDArray[np.uint8]

_NIGHT = Lighting(
    sky_zenith=(26, 16, 12),
    sky_horizon=(46, 34, 30),
    cloud_cover=0.35,
    sun_direction=(0.0, 0.0, 1.0),
    sun=0.0,
    # What street lamps and a lit sky leave.
    ambient=0.2,
    shadow=0.1,
    haze_half_m=260.0,
    lamps_lit=True,
    beam=0.75,
    beam_reach_m=30.0,
)
_OVERCAST = Lighting(
    sky_zenith=(150, 146, 142),
    sky_horizon=(168, 166, 164),
    cloud_cover=0.75,
    sun_direction=(-0.42, 0.6, 0.681),
    sun=0.06,
    ambient=0.62,
    shadow=0.18,
    haze_half_m=95.0,
    lamps_lit=True,
)


def night(world: World) -> World:
    """No sun, lamps lit, own headlamps on: dark, noisy pictures. The LiDAR brings its own light and sees as by day."""
    return replace(world, lighting=_NIGHT, imaging=replace(world.imaging, noise_gain=4.0))


def rain(world: World) -> World:
    """A covered sky, haze, a wet road, drops on the lenses and in the air."""
    return _wet(replace(world, lighting=_OVERCAST))


def night_rain(world: World) -> World:
    """Rain at night: the darkness of the one, the water of the other."""
    return _wet(replace(night(world), lighting=replace(_NIGHT, haze_half_m=95.0)))


def day(world: World) -> World:
    """The world as described, by daylight and dry."""
    return world


#: Name -> what it makes of a world that was described by daylight.
CONDITIONS: dict[str, Callable[[World], World]] = {
    "day": day,
    "night": night,
    "rain": rain,
    "night_rain": night_rain,
}


def _wet(world: World) -> World:
    bands = tuple(replace(band, colour=shade(band.colour, 0.72)) for band in world.road.bands)
    return replace(
        world,
        road=Road(bands, world.road.markings),
        imaging=replace(
            world.imaging,
            noise_gain=world.imaging.noise_gain * 1.5,
            contrast=0.85,
            brightness=4.0,
            droplets=26,
            streaks=70,
        ),
        air=Air(dropout=0.12, backscatter=0.01, half_m=120.0, wetness=0.35),
    )


def weathered(frame: Frame, imaging: Imaging, seed: int, time_ns: int, draw: np.random.Generator) -> Frame:
    """The frame with falling drops, drops on the lens and changed contrast; integers only, the same everywhere.

    Drops on the lens depend on `seed` and on the time since the wiper passed, streaks on `draw`.
    """
    if imaging.streaks:
        frame = _with_streaks(frame, imaging.streaks, draw)
    if imaging.droplets:
        frame = _with_droplets(frame, imaging, seed, time_ns)
    if imaging.contrast != 1.0 or imaging.brightness != 0.0:
        levels = (np.arange(256) - 128.0) * imaging.contrast + 128.0 + imaging.brightness
        frame = np.clip(np.rint(levels), 0, 255).astype(np.uint8)[frame]
    return frame


def _with_streaks(frame: Frame, count: int, draw: np.random.Generator) -> Frame:
    """Short bright lines, nearly upright, at a quarter of full cover."""
    height, width = frame.shape[:2]
    cover = np.zeros((height, width), np.uint8)
    rows = draw.integers(0, 1 << 16, (count, 4))
    for x, y, lean, length in rows.tolist():
        x0, y0 = x * width >> 16, y * height >> 16
        reach = height // 40 + (length * height // 18 >> 16)
        cv2.line(cover, (x0, y0), (x0 + (lean * 5 >> 16) - 2, y0 + reach), 64)
    light = min(int(frame.max()) + 40, 235)
    weight = cover[:, :, None].astype(np.int32)
    return ((frame * (256 - weight) + light * weight) >> 8).astype(np.uint8)


def _with_droplets(frame: Frame, imaging: Imaging, seed: int, time_ns: int) -> Frame:
    """Round drops through which the picture shows blurred; their number grows from the wiper's pass on."""
    height, width = frame.shape[:2]
    pass_number, since_ns = divmod(time_ns, imaging.wipe_ns)
    draw = np.random.Generator(np.random.Philox(key=[seed, (1 << 40) + pass_number]))
    smallest, largest = imaging.droplet_px
    rows = draw.integers(0, 1 << 16, (imaging.droplets, 3))
    lying = 1 + math.floor((imaging.droplets - 1) * since_ns / imaging.wipe_ns)
    cover = np.zeros((height, width), np.uint8)
    for x, y, size in rows[:lying].tolist():
        radius = smallest + (size * (largest - smallest + 1) >> 16)
        cv2.circle(cover, (x * width >> 16, y * height >> 16), radius, 255, -1)
    # A drop's edge is soft, as it lies far out of focus.
    weight = cv2.blur(cover, (5, 5))[:, :, None].astype(np.int32)
    through = cv2.blur(frame, (17, 17)).astype(np.int32)
    return ((frame * (256 - weight) + through * weight) >> 8).astype(np.uint8)
