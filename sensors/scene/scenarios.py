"""The worlds of the scenes: who is where, and who does what when. Each is described by daylight on a dry road."""

from __future__ import annotations

import math

from rt_sched.units import NS_PER_S
from sensors.scene import scenery
from sensors.scene.heavy_vehicles import bus, truck
from sensors.scene.shapes import Colour
from sensors.scene.street import (
    BLUE,
    DARK,
    GREEN,
    LANE_M,
    PARKED_X_M,
    PARKED_Y_M,
    RED,
    SAND,
    SILVER,
    WHITE,
    street,
)
from sensors.scene.terrain import ramp
from sensors.scene.trajectory import Phase, Shift, Trajectory
from sensors.scene.two_wheelers import cyclist
from sensors.scene.vehicles import HATCHBACK, SALOON, SUV, CarForm, car
from sensors.scene.world import Actor, World

#: The lead vehicle brakes at this instant of the hazard scene, the ego vehicle's driver at the next one.
LEAD_BRAKES_NS = 1_200_000_000
EGO_BRAKES_NS = 2_700_000_000
FOLLOWER_BRAKES_NS = 3_300_000_000

#: When the danger of each scene is there to be seen: somebody is in the ego's lane, or bound to be.
PEDESTRIAN_IN_LANE_NS = 2_200_000_000
CROSSING_IN_LANE_NS = 1_700_000_000
EMERGES_NS = 2_000_000_000
CUTS_IN_NS = 1_700_000_000

_GAP_M = 22.0
_SPEED_M_S = 13.0
_FRONT_M = 3.75
_ONCOMING = math.pi
_LEFT = math.pi / 2


def hazard(duration_s: float = 0.0) -> World:
    """The lead vehicle brakes with 6 m/s^2 at 1.2 s; the driver behind reacts 1.5 s later with 7 m/s^2.

    The gap shrinks from 22 m to under 6 m and time to collision falls below 1.2 s, without a collision.
    """
    return _following(
        "hazard",
        duration_s,
        lead_phases=(Phase(LEAD_BRAKES_NS, -6.0),),
        ego_phases=(Phase(EGO_BRAKES_NS, -7.0),),
        follower_phases=(Phase(FOLLOWER_BRAKES_NS, -6.0),),
    )


def no_hazard(duration_s: float = 0.0) -> World:
    """The street and the traffic of the hazard, and nobody brakes."""
    return _following("no_hazard", duration_s)


def slope(duration_s: float = 0.0) -> World:
    """The same drive, nobody brakes, and 30 m ahead the street begins to rise with 8 % for 50 m."""
    return _following("slope", duration_s, ramp_at_m=30.0)


def traffic(duration_s: float = 0.0) -> World:
    """Dense mixed traffic: car, lorry, bus and bicycle in both directions; the lead slows gently and goes on."""
    ego = Trajectory(0.0, 0.0, 0.0, 11.0, (Phase(_at(2.6), -1.2), Phase(_at(4.6), 0.0)))
    actors = (
        _ahead("lead", HATCHBACK, RED, 21.0, 11.0, (Phase(_at(2.0), -1.2), Phase(_at(4.0), 0.0))),
        Actor("lorry_ahead", "truck", truck(GREEN), Trajectory(52.0, 0.0, 0.0, 10.5)),
        Actor("follower", "car", car(SUV, WHITE), Trajectory(-15.0, 0.0, 0.0, 10.5, (Phase(_at(3.2), -1.0),))),
        Actor("bus_left", "bus", bus(SAND), Trajectory(14.0, LANE_M, 0.0, 10.0)),
        Actor("left_behind", "car", car(SALOON, SILVER), Trajectory(-9.0, LANE_M, 0.0, 10.5)),
        Actor("left_ahead", "car", car(SALOON, DARK), Trajectory(36.0, LANE_M, 0.0, 11.5)),
        Actor("bicycle", "bicycle", cyclist(RED, DARK), Trajectory(23.0, -2.45, 0.0, 5.0)),
        *_oncoming(duration_s),
        Actor("oncoming_bus", "bus", bus(WHITE), Trajectory(126.0, 2 * LANE_M, _ONCOMING, 9.5)),
        *_walkers(),
    )
    return street("traffic", ego, actors, lead="lead", duration_s=duration_s)


def pedestrian_crossing(duration_s: float = 0.0) -> World:
    """A person walks across the road at 1.2 m/s, in full view, and is in the ego's way when the ego arrives."""
    place_m = _FRONT_M + 11.0 * 4.5
    actors = (
        Actor("pedestrian", "person", scenery.pedestrian(RED, DARK), Trajectory(place_m, -4.4, _LEFT, 1.2)),
        *_background(11.0),
        *_walkers(),
    )
    parked = tuple(x for x in PARKED_X_M if abs(x - place_m) > 12.0)
    ego = Trajectory(0.0, 0.0, 0.0, 11.0, (Phase(_at(3.1), -8.0),))
    return street("pedestrian_crossing", ego, actors, duration_s=duration_s, parked_x_m=parked)


def occluded_pedestrian(duration_s: float = 0.0) -> World:
    """At 30 km/h a person steps out from behind a parked van, 14 m ahead."""
    place_m = _FRONT_M + 8.3 * 3.75
    van_m = place_m - 3.5
    actors = (
        Actor("pedestrian", "person", scenery.pedestrian(BLUE, DARK), Trajectory(place_m, -5.0, _LEFT, 1.6)),
        Actor("van", "truck", truck(WHITE, length=5.6, width=2.1, height=2.8), Trajectory(van_m, PARKED_Y_M)),
        *_background(8.3),
        *_walkers(),
    )
    parked = tuple(x for x in PARKED_X_M if x < van_m - 5.5 or x > place_m + 4.0)
    ego = Trajectory(0.0, 0.0, 0.0, 8.3, (Phase(_at(2.75), -8.0),))
    return street("occluded_pedestrian", ego, actors, duration_s=duration_s, parked_x_m=parked)


def crossing_car(duration_s: float = 0.0) -> World:
    """A car comes out of a side street on the right and stops across the ego's lane."""
    place_m = _FRONT_M + 12.0 * 3.7 + 0.91
    crosser = Trajectory(place_m, -16.0, _LEFT, 7.0, (Phase(_at(1.63), -5.0),))
    actors = (Actor("crosser", "car", car(SALOON, BLUE), crosser), *_background(12.0), *_walkers())
    parked = tuple(x for x in PARKED_X_M if abs(x - place_m) > 9.0)
    ego = Trajectory(0.0, 0.0, 0.0, 12.0, (Phase(_at(2.4), -8.0),))
    return street(
        "crossing_car",
        ego,
        actors,
        duration_s=duration_s,
        parked_x_m=parked,
        # The side street is free of houses and trees.
        keep=lambda prop: prop.y_m > 0.0 or abs(prop.x_m - place_m) > prop.shape.size_m[0] / 2 + 5.0,
    )


def cut_in(duration_s: float = 0.0) -> World:
    """A slower car changes into the ego's lane 12 m ahead and brakes there."""
    cutter = Trajectory(
        28.5, LANE_M, 0.0, 9.5, (Phase(_at(2.2), -2.0), Phase(_at(4.2), 0.0)), (Shift(_at(1.0), _at(1.8), -LANE_M),)
    )
    actors = (
        Actor("cutter", "car", car(HATCHBACK, SILVER), cutter),
        Actor("left_ahead", "car", car(SUV, RED), Trajectory(47.0, LANE_M, 0.0, 9.0)),
        Actor("left_behind", "car", car(SALOON, WHITE), Trajectory(-12.0, LANE_M, 0.0, 12.0)),
        *_oncoming(duration_s),
        *_walkers(),
    )
    ego = Trajectory(0.0, 0.0, 0.0, 15.0, (Phase(_at(2.8), -8.0), Phase(_at(3.9), 0.0)))
    return street("cut_in", ego, actors, duration_s=duration_s)


def closing_in(duration_s: float = 0.0) -> World:
    """The ego comes up to a slower car; its driver brakes late but gently enough: worth a warning, no emergency."""
    ego = Trajectory(0.0, 0.0, 0.0, 14.0, (Phase(_at(1.0), -2.5), Phase(_at(3.4), 0.0)))
    actors = (
        _ahead("lead", SALOON, WHITE, 22.0, 8.0),
        Actor("left_ahead", "car", car(SUV, BLUE), Trajectory(46.0, LANE_M, 0.0, 12.0)),
        Actor("follower", "car", car(HATCHBACK, DARK), Trajectory(-24.0, 0.0, 0.0, 9.0)),
        *_oncoming(duration_s),
        *_walkers(),
    )
    return street("closing_in", ego, actors, lead="lead", duration_s=duration_s)


def stop_and_go(duration_s: float = 0.0) -> World:
    """A queue that sets off, rolls and stops again; the driver follows it calmly at a few metres."""
    lead = (Phase(_at(1.0), 1.8), Phase(_at(4.0), 0.0), Phase(_at(5.5), -1.6), Phase(_at(10.5), 1.5))
    own = (Phase(_at(1.9), 1.6), Phase(_at(4.6), 0.0), Phase(_at(6.2), -1.4), Phase(_at(11.4), 1.3))
    queue = (Phase(_at(0.6), 1.8), Phase(_at(3.4), 0.0), Phase(_at(5.0), -1.5), Phase(_at(10.0), 1.5))
    ego = Trajectory(0.0, 0.0, 0.0, 0.0, own)
    actors = (
        _ahead("lead", SUV, SILVER, 4.5, 0.0, lead),
        Actor("second_ahead", "car", car(SALOON, RED), Trajectory(18.5, 0.0, 0.0, 0.0, queue)),
        Actor("follower", "car", car(HATCHBACK, BLUE), Trajectory(-8.0, 0.0, 0.0, 0.0, own)),
        Actor("beside", "truck", truck(SAND), Trajectory(1.0, LANE_M, 0.0, 0.0, lead)),
        Actor("left_ahead", "car", car(SUV, WHITE), Trajectory(11.5, LANE_M, 0.0, 0.0, queue)),
        *_oncoming(duration_s),
        *_walkers(),
    )
    return street("stop_and_go", ego, actors, lead="lead", duration_s=duration_s)


def _following(
    name: str,
    duration_s: float,
    *,
    lead_phases: tuple[Phase, ...] = (),
    ego_phases: tuple[Phase, ...] = (),
    follower_phases: tuple[Phase, ...] = (),
    ramp_at_m: float | None = None,
) -> World:
    """The drive of the hazard scene: 22 m behind a car of equal speed, in ordinary traffic."""
    ego = Trajectory(0.0, 0.0, speed_m_s=_SPEED_M_S, phases=ego_phases)
    actors = (
        _ahead("lead", SALOON, BLUE, _GAP_M, _SPEED_M_S, lead_phases),
        Actor("follower", "car", car(HATCHBACK, SILVER), Trajectory(-16.5, 0.0, 0.0, _SPEED_M_S, follower_phases)),
        Actor("passing", "car", car(SUV, RED), Trajectory(-10.0, LANE_M, 0.0, 14.5)),
        Actor("left_ahead", "car", car(SALOON, WHITE), Trajectory(46.0, LANE_M, 0.0, 14.0)),
        *_oncoming(duration_s),
        *_walkers(),
    )
    if ramp_at_m is None:
        return street(name, ego, actors, lead="lead", duration_s=duration_s)
    return street(name, ego, actors, lead="lead", duration_s=duration_s, terrain=ramp(ramp_at_m, 0.08, 50.0))


def _ahead(
    name: str, form: CarForm, paint: Colour, gap_m: float, speed_m_s: float, phases: tuple[Phase, ...] = ()
) -> Actor:
    """A car in the ego's lane, `gap_m` ahead of its bumper at the start."""
    shape = car(form, paint)
    place_m = _FRONT_M + gap_m + shape.size_m[0] / 2
    return Actor(name, "car", shape, Trajectory(place_m, 0.0, 0.0, speed_m_s, phases))


def _oncoming(duration_s: float) -> list[Actor]:
    """Four vehicles on the opposite side, and one more for every 2.5 s beyond the first five."""
    actors = [
        Actor("oncoming_1", "car", car(SALOON, DARK), Trajectory(34.0, 2 * LANE_M, _ONCOMING, 12.0)),
        Actor("oncoming_2", "truck", truck(BLUE), Trajectory(72.0, 2 * LANE_M, _ONCOMING, 11.0)),
        Actor("oncoming_3", "car", car(HATCHBACK, WHITE), Trajectory(104.0, 2 * LANE_M, _ONCOMING, 12.5)),
        Actor("oncoming_4", "car", car(SUV, GREEN), Trajectory(16.0, 2 * LANE_M, _ONCOMING, 12.0)),
    ]
    forms, paints = (SALOON, HATCHBACK, SUV), (SILVER, RED, SAND, WHITE, BLUE)
    for number in range(max(0, math.floor((duration_s - 5.0) / 2.5))):
        shape = car(forms[number % 3], paints[number % 5])
        place = Trajectory(160.0 + 60.0 * number, 2 * LANE_M, _ONCOMING, 11.0)
        actors.append(Actor(f"oncoming_{5 + number}", "car", shape, place))
    return actors


def _walkers() -> tuple[Actor, ...]:
    return (
        Actor("walker_1", "person", scenery.pedestrian(RED, DARK), Trajectory(27.0, -6.9, 0.0, 1.3)),
        Actor("walker_2", "person", scenery.pedestrian(SAND, BLUE), Trajectory(58.0, -7.6, math.pi, 1.2)),
    )


def _background(speed_m_s: float) -> tuple[Actor, ...]:
    """Traffic that stays out of the ego's way: behind it, in the other lane, on the other side."""
    return (
        Actor(
            "follower", "car", car(HATCHBACK, SILVER), Trajectory(-26.0, 0.0, 0.0, speed_m_s, (Phase(_at(3.0), -6.0),))
        ),
        Actor("left_ahead", "car", car(SALOON, WHITE), Trajectory(70.0, LANE_M, 0.0, speed_m_s + 1.0)),
        Actor("oncoming_1", "car", car(SALOON, DARK), Trajectory(28.0, 2 * LANE_M, _ONCOMING, 12.0)),
        Actor("oncoming_2", "truck", truck(BLUE), Trajectory(120.0, 2 * LANE_M, _ONCOMING, 8.0)),
    )


def _at(seconds: float) -> int:
    return round(seconds * NS_PER_S)
