"""The scenes that exist: a street with traffic in which the vehicle ahead brakes hard, and its calm companion."""

from __future__ import annotations

import math

import numpy as np

from sensors.scene import scenery
from sensors.scene.shapes import Colour
from sensors.scene.trajectory import Phase, Trajectory
from sensors.scene.vehicles import HATCHBACK, SALOON, SUV, car, truck
from sensors.scene.world import Actor, EgoVehicle, GroundBand, Lighting, Prop, Road, RoadMarking, World

#: The lead vehicle brakes at this instant of the hazard scene, the ego vehicle's driver at the next one.
LEAD_BRAKES_NS = 1_200_000_000
EGO_BRAKES_NS = 2_700_000_000
FOLLOWER_BRAKES_NS = 3_300_000_000

_GAP_M = 22.0
_SPEED_M_S = 13.0
_LANE_M = 3.5
_ONCOMING = math.pi

_SILVER: Colour = (176, 178, 180)
_WHITE: Colour = (222, 222, 220)
_RED: Colour = (40, 36, 168)
_BLUE: Colour = (140, 84, 42)
_DARK: Colour = (62, 58, 56)
_GREEN: Colour = (72, 96, 58)
_SAND: Colour = (134, 164, 184)


def hazard() -> World:
    """The lead vehicle brakes with 6 m/s^2 at 1.2 s; the driver behind reacts 1.5 s later with 7 m/s^2.

    The gap shrinks from 22 m to under 6 m and time to collision falls below 1.2 s, without a collision.
    """
    return _street(
        "hazard",
        lead_phases=(Phase(LEAD_BRAKES_NS, -6.0),),
        ego_phases=(Phase(EGO_BRAKES_NS, -7.0),),
        follower_phases=(Phase(FOLLOWER_BRAKES_NS, -6.0),),
    )


def clear() -> World:
    """The same street and traffic, and nobody brakes."""
    return _street("clear", lead_phases=(), ego_phases=(), follower_phases=())


def _street(
    name: str,
    *,
    lead_phases: tuple[Phase, ...],
    ego_phases: tuple[Phase, ...],
    follower_phases: tuple[Phase, ...],
) -> World:
    ego = EgoVehicle(4.7, 1.86, 1.6, 0.95, Trajectory(0.0, 0.0, speed_m_s=_SPEED_M_S, phases=ego_phases))
    lead_shape = car(SALOON, _BLUE)
    lead_x = ego.front_m + _GAP_M + lead_shape.size_m[0] / 2
    actors = [
        Actor("lead", "car", lead_shape, Trajectory(lead_x, 0.0, speed_m_s=_SPEED_M_S, phases=lead_phases)),
        Actor("follower", "car", car(HATCHBACK, _SILVER), Trajectory(-16.5, 0.0, 0.0, _SPEED_M_S, follower_phases)),
        Actor("passing", "car", car(SUV, _RED), Trajectory(-10.0, _LANE_M, 0.0, 14.5)),
        Actor("left_ahead", "car", car(SALOON, _WHITE), Trajectory(46.0, _LANE_M, 0.0, 14.0)),
        Actor("oncoming_1", "car", car(SALOON, _DARK), Trajectory(34.0, 2 * _LANE_M, _ONCOMING, 12.0)),
        Actor("oncoming_2", "truck", truck(_BLUE), Trajectory(72.0, 2 * _LANE_M, _ONCOMING, 11.0)),
        Actor("oncoming_3", "car", car(HATCHBACK, _WHITE), Trajectory(104.0, 2 * _LANE_M, _ONCOMING, 12.5)),
        Actor("oncoming_4", "car", car(SUV, _GREEN), Trajectory(16.0, 2 * _LANE_M, _ONCOMING, 12.0)),
        Actor("walker_1", "person", scenery.pedestrian(_RED, _DARK), Trajectory(27.0, -6.9, 0.0, 1.3)),
        Actor("walker_2", "person", scenery.pedestrian(_SAND, _BLUE), Trajectory(58.0, -7.6, math.pi, 1.2)),
    ]
    parked_paints = (_DARK, _WHITE, _SAND, _RED, _SILVER, _GREEN, _BLUE)
    parked_forms = (SALOON, SUV, HATCHBACK)
    for number, x in enumerate((-31.0, -18.5, -5.5, 3.0, 12.5, 25.0, 31.5, 44.0, 50.5, 63.0, 76.0, 82.5)):
        shape = car(parked_forms[number % 3], parked_paints[number % 7])
        actors.append(Actor(f"parked_{number + 1}", "car", shape, Trajectory(x, -4.15)))
    return World(name, ego, tuple(actors), _roadside(), _road(), _daylight(), lead="lead")


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
            RoadMarking(_LANE_M / 2, 0.14, 4.0, 10.0),
            RoadMarking(1.5 * _LANE_M - 0.1, 0.12),
            RoadMarking(1.5 * _LANE_M + 0.14, 0.12),
            RoadMarking(2.5 * _LANE_M - 0.1, 0.14),
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


def _roadside() -> tuple[Prop, ...]:
    draw = np.random.Generator(np.random.Philox(7))
    walls: tuple[Colour, ...] = (
        (168, 190, 206), (150, 160, 188), (186, 196, 200), (140, 168, 196), (172, 176, 180), (128, 148, 176),
    )  # fmt: skip
    props: list[Prop] = []
    for first_x, y, depth, floors, gaps, count in (
        (-75.0, -14.2, 10.0, (2, 3, 3, 4), (0.0, 0.0, 3.0), 19),
        (-80.0, 30.0, 12.0, (2, 2, 3), (2.0, 6.0), 15),
    ):
        x = first_x
        for number in range(count):
            length = 10.0 + 2.0 * int(draw.integers(4))
            height = floors[int(draw.integers(len(floors)))]
            wall = walls[int(number + y) % len(walls)]
            props.append(Prop(scenery.building(length, depth, height, wall), x + length / 2, y))
            x += length + gaps[int(draw.integers(len(gaps)))]
    for number in range(20):
        shape = scenery.tree(float(draw.uniform(5.5, 8.0)), number)
        props.append(
            Prop(shape, -78.0 + 13.0 * number + float(draw.uniform(-1.5, 1.5)), float(draw.uniform(12.7, 15.7)))
        )
    for number in range(9):
        shape = scenery.tree(float(draw.uniform(4.6, 5.6)), 40 + number)
        props.append(Prop(shape, -66.0 + 26.0 * number, -6.1))
    rail = scenery.guard_rail(4.0)
    props += [Prop(rail, -78.0 + 4.0 * number, 9.7) for number in range(64)]
    post = scenery.lamp_post(7.5, 1.8)
    props += [Prop(post, -55.0 + 30.0 * number, -6.0) for number in range(8)]
    # The street ends in a row of trees, so that the horizon is not bare.
    end = (scenery.tree(9.0, 60 + number) for number in range(9))
    props += [Prop(shape, 205.0 + 3.0 * (number % 2), -10.0 + 3.5 * number) for number, shape in enumerate(end)]
    return tuple(props)
