"""The street that every scene plays on: road, light, houses, trees, parked cars."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sensors.scene import scenery
from sensors.scene.shapes import Colour
from sensors.scene.terrain import Terrain
from sensors.scene.trajectory import Trajectory
from sensors.scene.vehicles import HATCHBACK, SALOON, SUV, car
from sensors.scene.world import Actor, EgoVehicle, GroundBand, Lighting, Prop, Road, RoadMarking, World

LANE_M = 3.5
#: The middle of the row of parked cars, and of the pavement beside it.
PARKED_Y_M, PAVEMENT_Y_M = -4.15, -7.0

SILVER: Colour = (176, 178, 180)
WHITE: Colour = (222, 222, 220)
RED: Colour = (40, 36, 168)
BLUE: Colour = (140, 84, 42)
DARK: Colour = (62, 58, 56)
GREEN: Colour = (72, 96, 58)
SAND: Colour = (134, 164, 184)

PARKED_X_M = (-31.0, -18.5, -5.5, 3.0, 12.5, 25.0, 31.5, 44.0, 50.5, 63.0, 76.0, 82.5)

#: Houses and trees reach so far at least.
_REACH_M = 205.0


def street(
    name: str,
    ego: Trajectory,
    actors: tuple[Actor, ...],
    *,
    lead: str | None = None,
    duration_s: float = 0.0,
    parked_x_m: tuple[float, ...] = PARKED_X_M,
    terrain: Terrain | None = None,
    keep: Callable[[Prop], bool] | None = None,
) -> World:
    """A street by daylight with the given actors and a row of parked cars, long enough for the ego's drive.

    `terrain`: level where not given; `keep`: which of the things beside the road stand there, where not all do.
    """
    end_m = ego.state_at(round(duration_s * 1e9)).x_m
    reach_m = max(_REACH_M, end_m + 140.0)
    vehicle = EgoVehicle(4.7, 1.86, 1.6, 0.95, ego)
    props = tuple(prop for prop in _roadside(reach_m) if keep is None or keep(prop))
    return World(
        name, vehicle, (*actors, *_parked(parked_x_m)), props, _road(), _daylight(), lead, terrain or Terrain()
    )


def _parked(places_m: tuple[float, ...]) -> list[Actor]:
    paints = (DARK, WHITE, SAND, RED, SILVER, GREEN, BLUE)
    forms = (SALOON, SUV, HATCHBACK)
    return [
        Actor(f"parked_{number + 1}", "car", car(forms[number % 3], paints[number % 7]), Trajectory(x, PARKED_Y_M))
        for number, x in enumerate(places_m)
    ]


def _road() -> Road:
    asphalt: Colour = (92, 90, 88)
    pavement: Colour = (142, 146, 150)
    grass: Colour = (64, 106, 84)
    return Road(
        bands=(
            GroundBand(-8.6, pavement, 0.25, 0.3),
            GroundBand(-5.55, (150, 154, 156), 0.25, 0.3),
            GroundBand(-5.4, (176, 178, 178), 0.1, 0.4),
            GroundBand(9.0, asphalt, 0.25, 0.16),
            GroundBand(9.15, (176, 178, 178), 0.1, 0.4),
            GroundBand(math.inf, grass, 0.5, 0.35),
        ),
        markings=(
            RoadMarking(-3.15 + 1.2, 0.14),
            RoadMarking(LANE_M / 2, 0.14, 4.0, 10.0),
            RoadMarking(1.5 * LANE_M - 0.1, 0.12),
            RoadMarking(1.5 * LANE_M + 0.14, 0.12),
            RoadMarking(2.5 * LANE_M - 0.1, 0.14),
        ),
    )


def _daylight() -> Lighting:
    # The sun stands ahead on the left, 42 degrees high; what faces the camera from ahead is lit by the sky.
    return Lighting(
        sky_zenith=(206, 158, 112),
        sky_horizon=(232, 222, 212),
        cloud_cover=0.5,
        sun_direction=(-0.42, 0.6, 0.681),
        sun=0.42,
        ambient=0.72,
        shadow=0.55,
        haze_half_m=260.0,
    )


def _roadside(reach_m: float) -> tuple[Prop, ...]:
    more_m = reach_m - _REACH_M
    draw = np.random.Generator(np.random.Philox(7))
    walls: tuple[Colour, ...] = (
        (168, 190, 206), (150, 160, 188), (186, 196, 200), (140, 168, 196), (172, 176, 180), (128, 148, 176),
    )  # fmt: skip
    props: list[Prop] = []
    for first_x, y, depth, floors, gaps, count, mean_m in (
        (-75.0, -14.2, 10.0, (2, 3, 3, 4), (0.0, 0.0, 3.0), 19, 14.0),
        (-80.0, 30.0, 12.0, (2, 2, 3), (2.0, 6.0), 15, 17.0),
    ):
        x = first_x
        for number in range(count + round(more_m / mean_m)):
            length = 10.0 + 2.0 * int(draw.integers(4))
            height = floors[int(draw.integers(len(floors)))]
            wall = walls[int(number + y) % len(walls)]
            props.append(Prop(scenery.building(length, depth, height, wall), x + length / 2, y))
            x += length + gaps[int(draw.integers(len(gaps)))]
    for number in range(20 + round(more_m / 13.0)):
        shape = scenery.tree(float(draw.uniform(5.5, 8.0)), number)
        props.append(
            Prop(shape, -78.0 + 13.0 * number + float(draw.uniform(-1.5, 1.5)), float(draw.uniform(12.7, 15.7)))
        )
    for number in range(9 + round(more_m / 26.0)):
        shape = scenery.tree(float(draw.uniform(4.6, 5.6)), 40 + number)
        props.append(Prop(shape, -66.0 + 26.0 * number, -6.1))
    rail = scenery.guard_rail(4.0)
    props += [Prop(rail, -78.0 + 4.0 * number, 9.7) for number in range(64 + round(more_m / 4.0))]
    post = scenery.lamp_post(7.5, 1.8)
    props += [Prop(post, -55.0 + 30.0 * number, -6.0) for number in range(8 + round(more_m / 30.0))]
    # The street ends in a row of trees, so that the horizon is not bare.
    end = (scenery.tree(9.0, 60 + number) for number in range(9))
    props += [Prop(shape, reach_m + 3.0 * (number % 2), -10.0 + 3.5 * number) for number, shape in enumerate(end)]
    return tuple(props)
