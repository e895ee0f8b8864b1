"""What becomes of the ego vehicle when it does not react, and when it brakes as told: for evaluation only.

Everybody else moves as in the scene, whatever the ego vehicle does. Who would then run into it from behind is not
counted: a driver there would have braked too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rt_sched.units import NS_PER_MS, NS_PER_S
from sensors.scene.trajectory import MotionState, Phase, Trajectory
from sensors.scene.world import Actor, EgoVehicle, World

#: What a car's brakes do on a dry road once they are asked to the full.
FULL_BRAKING_M_S2 = 8.0

_STEP_NS = 10 * NS_PER_MS


@dataclass(frozen=True, slots=True)
class BrakingOutcome:
    """How a drive under commands ended.

    `least_gap_m`: smallest distance to the actors that the vehicle would hit without a reaction (None: none);
    `contact_ns`: first touch of anybody; `impact_m_s`: speed over the ground at that instant; `stopped_ns`: first
    standstill; each None where it did not happen.
    """

    least_gap_m: float | None
    contact_ns: int | None
    impact_m_s: float | None
    stopped_ns: int | None


def coasting(trajectory: Trajectory, from_ns: int) -> Trajectory:
    """The same course without any change of speed from `from_ns` on."""
    kept = tuple(phase for phase in trajectory.phases if phase.start_ns < from_ns)
    return replace(trajectory, phases=(*kept, Phase(from_ns, 0.0)))


def braking(trajectory: Trajectory, from_ns: int, deceleration_m_s2: float = FULL_BRAKING_M_S2) -> Trajectory:
    """The same course, braked to a standstill from `from_ns` on."""
    kept = tuple(phase for phase in trajectory.phases if phase.start_ns < from_ns)
    return replace(trajectory, phases=(*kept, Phase(from_ns, -deceleration_m_s2)))


def contact(world: World, ego: Trajectory, until_ns: int) -> tuple[int, str] | None:
    """First instant (to 10 ms) at which the ego vehicle on the course `ego` touches an actor, and that actor's name."""
    world = _crossing(world, ego)
    from_behind: set[str] = set()
    for time_ns in range(0, until_ns + 1, _STEP_NS):
        touched = _touched(world, ego.state_at(time_ns), time_ns, from_behind)
        if touched is not None:
            return time_ns, touched
    return None


def last_chance_ns(world: World, hazard_ns: int, until_ns: int) -> int | None:
    """The latest instant (to 10 ms) from which full braking avoids contact; None where none does, or none is due."""
    unbraked = coasting(world.ego.trajectory, hazard_ns)
    met = contact(world, unbraked, until_ns)
    if met is None:
        return None
    low, high = hazard_ns // _STEP_NS, met[0] // _STEP_NS
    if contact(world, braking(unbraked, low * _STEP_NS), until_ns) is not None:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if contact(world, braking(unbraked, middle * _STEP_NS), until_ns) is None:
            low = middle
        else:
            high = middle
    return low * _STEP_NS


def drive(
    world: World,
    commands: Sequence[tuple[int, float]],
    until_ns: int,
    *,
    hazard_ns: int = 0,
    dead_time_ns: int = 100 * NS_PER_MS,
    jerk_m_s3: float = 40.0,
) -> BrakingOutcome:
    """Drives the ego vehicle, whose driver does nothing, by deceleration `commands` (time in ns, m/s^2, ascending).

    Brakes answer after `dead_time_ns` and then with `jerk_m_s3`; requests to accelerate are not followed.
    """
    course = coasting(world.ego.trajectory, hazard_ns)
    threat = contact(world, course, until_ns)
    met = world.actor(threat[1]) if threat is not None else None
    world = _crossing(world, course)
    step_ns = NS_PER_MS
    step_s = step_ns / NS_PER_S
    lost_m = lost_m_s = asked = given = 0.0
    following = 0
    from_behind: set[str] = set()
    least: float | None = None
    stopped: int | None = None
    for time_ns in range(0, until_ns + 1, step_ns):
        while following < len(commands) and commands[following][0] + dead_time_ns <= time_ns:
            asked = min(0.0, commands[following][1])
            following += 1
        given = max(asked, given - jerk_m_s3 * step_s) if asked < given else min(asked, given + jerk_m_s3 * step_s)
        free = course.state_at(time_ns)
        lost_m_s = min(free.speed_m_s, lost_m_s - given * step_s) if free.speed_m_s > 0.0 else 0.0
        lost_m += lost_m_s * step_s
        speed = free.speed_m_s - lost_m_s
        if speed <= 0.0 and stopped is None and lost_m_s > 0.0:
            stopped = time_ns
        if time_ns % _STEP_NS:
            continue
        ahead_x, ahead_y = math.cos(free.yaw_rad), math.sin(free.yaw_rad)
        state = replace(free, x_m=free.x_m - lost_m * ahead_x, y_m=free.y_m - lost_m * ahead_y, speed_m_s=speed)
        if met is not None:
            gap = gap_m(world.ego, state, met, time_ns)
            least = gap if least is None or gap < least else least
        if _touched(world, state, time_ns, from_behind) is not None:
            return BrakingOutcome(0.0, time_ns, speed, stopped)
    return BrakingOutcome(least, None, None, stopped)


def _crossing(world: World, ego: Trajectory) -> World:
    """The world without actors that keep to a lane of their own: parallel to the course, and too far aside to touch."""

    def aside(actor: Actor) -> bool:
        other = actor.trajectory
        parallel = not ego.shifts and not other.shifts and abs(math.sin(other.yaw_rad - ego.yaw_rad)) < 1e-9
        dx, dy = other.x_m - ego.x_m, other.y_m - ego.y_m
        across_m = abs(math.cos(ego.yaw_rad) * dy - math.sin(ego.yaw_rad) * dx)
        return parallel and across_m > (world.ego.width_m + actor.shape.size_m[1]) / 2 + 0.01

    return replace(world, actors=tuple(actor for actor in world.actors if not aside(actor)))


def _touched(world: World, ego: MotionState, time_ns: int, from_behind: set[str]) -> str | None:
    """The first actor that the vehicle touches; who comes from behind joins `from_behind` and never counts again."""
    for actor in world.actors:
        if actor.name in from_behind or _far(world.ego, ego, actor, time_ns):
            continue
        if gap_m(world.ego, ego, actor, time_ns) > 0.0:
            continue
        if not _behind(world.ego, ego, actor, time_ns):
            return actor.name
        from_behind.add(actor.name)
    return None


def _far(vehicle: EgoVehicle, ego: MotionState, actor: Actor, time_ns: int) -> bool:
    """Whether the two are apart at first sight, which spares the exact look."""
    state = actor.trajectory.state_at(time_ns)
    return math.hypot(state.x_m - ego.x_m, state.y_m - ego.y_m) > vehicle.length_m + actor.shape.size_m[0]


def _behind(vehicle: EgoVehicle, ego: MotionState, actor: Actor, time_ns: int) -> bool:
    """Whether the actor's middle lies behind the vehicle's."""
    state = actor.trajectory.state_at(time_ns)
    along = math.cos(ego.yaw_rad) * (state.x_m - ego.x_m) + math.sin(ego.yaw_rad) * (state.y_m - ego.y_m)
    return along < vehicle.front_m - vehicle.length_m / 2


def gap_m(vehicle: EgoVehicle, ego: MotionState, actor: Actor, time_ns: int) -> float:
    """Distance between the outlines on the ground: exact where they overlap (0) or face each other, else a bit less.

    It is the largest gap between their projections on the axes of either: by the separating axis theorem that is
    positive exactly where the rectangles are apart.
    """
    state = actor.trajectory.state_at(time_ns)
    middle = vehicle.front_m - vehicle.length_m / 2
    dx = state.x_m - ego.x_m - middle * math.cos(ego.yaw_rad)
    dy = state.y_m - ego.y_m - middle * math.sin(ego.yaw_rad)
    sizes = ((vehicle.length_m / 2, vehicle.width_m / 2), (actor.shape.size_m[0] / 2, actor.shape.size_m[1] / 2))
    yaws = (ego.yaw_rad, state.yaw_rad)
    widest = -math.inf
    for yaw in yaws:
        for axis in (yaw, yaw + math.pi / 2):
            c, s = math.cos(axis), math.sin(axis)
            reach = sum(
                length * abs(math.cos(axis - turn)) + width * abs(math.sin(axis - turn))
                for (length, width), turn in zip(sizes, yaws, strict=True)
            )
            widest = max(widest, abs(c * dx + s * dy) - reach)
    return max(0.0, widest)
