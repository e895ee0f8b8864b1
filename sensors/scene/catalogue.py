"""The scenes by name: what happens, how long, under which conditions, and which reaction is right."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from rt_sched.errors import DataError
from rt_sched.units import NS_PER_MS, NS_PER_S
from sensors.scene import scenarios
from sensors.scene.outcome import coasting, contact, last_chance_ns
from sensors.scene.weather import CONDITIONS
from sensors.scene.world import World

LONGEST_S = 120.0


class Reaction(str, Enum):
    """What a driver would want of the vehicle: an emergency stop, a word, or to be left alone."""

    BRAKE = "brake"
    WARN = "warn"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Scene:
    """One entry. `hazard_ns`: from then on the danger can be seen; None where there is none."""

    name: str
    summary: str
    duration_s: float
    reaction: Reaction
    hazard_ns: int | None
    build: Callable[[float], World]
    conditions: str = "day"


_ALL = (
    Scene(
        "hazard", "the car ahead brakes hard", 4.0, Reaction.BRAKE, scenarios.LEAD_BRAKES_NS, scenarios.hazard
    ),
    Scene("no_hazard", "the same street and traffic; nobody brakes", 4.0, Reaction.NONE, None, scenarios.no_hazard),
    Scene("traffic", "dense mixed traffic that flows", 8.0, Reaction.NONE, None, scenarios.traffic),
    Scene(
        "pedestrian_crossing", "a person crosses in full view", 5.0, Reaction.BRAKE, scenarios.PEDESTRIAN_IN_LANE_NS,
        scenarios.pedestrian_crossing,
    ),
    Scene(
        "occluded_pedestrian", "a person steps out from behind a van", 5.0, Reaction.BRAKE, scenarios.EMERGES_NS,
        scenarios.occluded_pedestrian,
    ),
    Scene(
        "crossing_car", "a car stops across the lane", 5.0, Reaction.BRAKE, scenarios.CROSSING_IN_LANE_NS,
        scenarios.crossing_car,
    ),
    Scene("cut_in", "a slower car changes into the lane", 5.0, Reaction.BRAKE, scenarios.CUTS_IN_NS, scenarios.cut_in),
    Scene("closing_in", "a slower car ahead; the driver brakes gently", 5.0, Reaction.WARN, 0, scenarios.closing_in),
    Scene("stop_and_go", "a queue sets off and stops again", 12.0, Reaction.NONE, None, scenarios.stop_and_go),
    Scene("slope", "no hazard, and the street begins to rise", 5.0, Reaction.NONE, None, scenarios.slope),
    Scene(
        "night", "the hazard at night", 4.0, Reaction.BRAKE, scenarios.LEAD_BRAKES_NS, scenarios.hazard, "night"
    ),
    Scene("rain", "the hazard in rain", 4.0, Reaction.BRAKE, scenarios.LEAD_BRAKES_NS, scenarios.hazard, "rain"),
)  # fmt: skip

SCENES: dict[str, Scene] = {scene.name: scene for scene in _ALL}


def find_scene(name: str) -> Scene:
    """The scene called `name`. Raises DataError that names what there is."""
    if name in SCENES:
        return SCENES[name]
    close = difflib.get_close_matches(name, SCENES, n=1)
    hint = f"did you mean {close[0]}? " if close else ""
    raise DataError(f"there is no scene {name!r}; {hint}valid: {', '.join(SCENES)}")


def build_world(
    scene: Scene, *, duration_s: float, conditions: str | None = None, without: tuple[str, ...] = ()
) -> World:
    """The scene's world under its own or other `conditions`, without the named actors. Raises DataError."""
    chosen = conditions or scene.conditions
    if chosen not in CONDITIONS:
        raise DataError(f"there are no conditions {chosen!r}; valid: {', '.join(CONDITIONS)}")
    world = replace(CONDITIONS[chosen](scene.build(duration_s)), name=scene.name)
    known = [actor.name for actor in world.actors]
    for name in without:
        if name not in known:
            raise DataError(f"scene {scene.name} has no actor {name!r}; it has {', '.join(known)}")
    return world.without(*without)


def expected(scene: Scene, world: World, *, duration_s: float | None = None) -> dict[str, Any]:
    """What the scene asks for, as JSON-ready data, for evaluation.

    `hazard_ns`: from then on the danger can be seen; `contact_ns` and `contact_with`: what a driver who does nothing
    from then on runs into; `last_chance_ns`: the latest full braking that avoids it. Each null where there is none.
    A world from which the danger was removed expects nothing, and neither does a recording of `duration_s` (the
    scene's own where not given) that ends before the danger can be seen.
    """
    start_ns = scene.hazard_ns or 0
    end_ns = round((duration_s or scene.duration_s) * NS_PER_S)
    until_ns = round(scene.duration_s * NS_PER_S) + 5 * NS_PER_S
    calm = scene.hazard_ns is None or scene.hazard_ns >= end_ns
    met = None if calm else contact(world, coasting(world.ego.trajectory, start_ns), until_ns)
    reaction = scene.reaction if met is not None else Reaction.NONE
    return {
        "reaction": reaction.value,
        "summary": scene.summary,
        "hazard_ns": scene.hazard_ns if met is not None else None,
        "contact_ns": None if met is None else met[0] // NS_PER_MS * NS_PER_MS,
        "contact_with": None if met is None else met[1],
        "last_chance_ns": None if met is None else last_chance_ns(world, start_ns, until_ns),
    }
