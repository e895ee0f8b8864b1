"""The scene as one physical description: what exists, where it is at any time, and in which light.

Cameras, LiDAR, IMU and ground truth are all computed from a `World`. World frame: x along the road, y to its left,
z up, origin on the ground where the ego vehicle's reference point is at time 0. The vehicle frame has its origin on
the ground below the middle of the rear axle, x forward, y left, z up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from sensors.scene.shapes import Colour, Shape
from sensors.scene.terrain import Terrain
from sensors.scene.trajectory import MotionState, Trajectory


@dataclass(frozen=True, slots=True)
class Actor:
    """A road user. `kind` is a word of the detector's vocabulary: car, truck, bus, person, bicycle, motorcycle."""

    name: str
    kind: str
    shape: Shape
    trajectory: Trajectory


@dataclass(frozen=True, slots=True)
class Prop:
    """A thing that stands still and is no road user, at (x_m, y_m) on the ground."""

    shape: Shape
    x_m: float
    y_m: float
    yaw_rad: float = 0.0


@dataclass(frozen=True, slots=True)
class EgoVehicle:
    """The vehicle that carries the sensors; `rear_overhang_m` lies behind its reference point."""

    length_m: float
    width_m: float
    height_m: float
    rear_overhang_m: float
    trajectory: Trajectory

    @property
    def wheelbase_m(self) -> float:
        """From the rear to the front axle: three fifths of the length."""
        return self.length_m * 0.6

    @property
    def front_m(self) -> float:
        """The front bumper's x in the vehicle frame."""
        return self.length_m - self.rear_overhang_m


@dataclass(frozen=True, slots=True)
class GroundBand:
    """Ground up to y = `y_max_m`, from the previous band on. `grain`: contrast of its texture, 0 to 1."""

    y_max_m: float
    colour: Colour
    grain: float
    reflectivity: float


@dataclass(frozen=True, slots=True)
class RoadMarking:
    """A painted line along the road at `y_m`; `dash_m` of paint in every `period_m` (equal: solid)."""

    y_m: float
    width_m: float
    dash_m: float = 1.0
    period_m: float = 1.0


@dataclass(frozen=True, slots=True)
class Road:
    """The ground, band by band from right to left (the last one reaches on), and what is painted on it."""

    bands: tuple[GroundBand, ...]
    markings: tuple[RoadMarking, ...]


@dataclass(frozen=True, slots=True)
class Lighting:
    """Light and air. `sun_direction` points to the sun (unit vector, world frame).

    A surface shows colour * (ambient + sun * max(0, normal . sun_direction)); lamps and lit windows shine by
    themselves where `lamps_lit`. At `haze_half_m` half of the contrast is gone. The ego vehicle's headlamps add `beam`
    near the vehicle and half of that at `beam_reach_m`, within a cone ahead.
    """

    sky_zenith: Colour
    sky_horizon: Colour
    cloud_cover: float
    sun_direction: tuple[float, float, float]
    sun: float
    ambient: float
    shadow: float
    haze_half_m: float
    lamps_lit: bool = False
    beam: float = 0.0
    beam_reach_m: float = 30.0


@dataclass(frozen=True, slots=True)
class Imaging:
    """What the cameras make of the light that reaches them; the defaults are those of a dry day.

    `noise_gain`: amplitude of the sensor noise, 1 is 2 grey levels; `contrast`: around mid-grey 128, then `brightness`
    grey levels are added; `droplets`: most water drops that lie on a lens, wiped off every `wipe_ns`; `droplet_px`:
    radius range of a drop; `streaks`: falling drops drawn in every frame.
    """

    noise_gain: float = 1.0
    contrast: float = 1.0
    brightness: float = 0.0
    droplets: int = 0
    droplet_px: tuple[int, int] = (4, 14)
    wipe_ns: int = 900_000_000
    streaks: int = 0


@dataclass(frozen=True, slots=True)
class Air:
    """What the air does to the LiDAR's light; the defaults are those of clear air over a dry road.

    `dropout`: share of the returns that are lost at random; `backscatter`: share of the beams that return from a drop
    within `backscatter_m`; at `half_m` a return has a quarter of its strength (a half each way); `wetness`: factor on
    the reflectivity of ground and paint.
    """

    dropout: float = 0.0
    backscatter: float = 0.0
    backscatter_m: float = 12.0
    half_m: float = math.inf
    wetness: float = 1.0


@dataclass(frozen=True, slots=True)
class World:
    """Everything there is. `lead` names the actor ahead of the ego vehicle in its lane, None where there is none."""

    name: str
    ego: EgoVehicle
    actors: tuple[Actor, ...]
    props: tuple[Prop, ...]
    road: Road
    lighting: Lighting
    lead: str | None
    terrain: Terrain = field(default_factory=Terrain)
    imaging: Imaging = field(default_factory=Imaging)
    air: Air = field(default_factory=Air)

    def actor(self, name: str) -> Actor:
        """The actor called `name`; raises KeyError."""
        for actor in self.actors:
            if actor.name == name:
                return actor
        raise KeyError(name)

    def ego_at(self, time_ns: int) -> MotionState:
        """State of the ego vehicle's reference point at `time_ns` since the start of the scene."""
        return self.on_ground(self.ego.trajectory.state_at(time_ns), self.ego.wheelbase_m)

    def state_of(self, actor: Actor, time_ns: int) -> MotionState:
        """State of an actor's origin at `time_ns` since the start of the scene."""
        return self.on_ground(actor.trajectory.state_at(time_ns), 0.0)

    def on_ground(self, state: MotionState, wheelbase_m: float) -> MotionState:
        """`state` lifted to the ground below it, pitched as wheels that far ahead of its origin stand."""
        if self.terrain.level:
            return state
        z_m = self.terrain.height_m(state.x_m)
        along = math.cos(state.yaw_rad)
        if wheelbase_m > 0.0:
            rise = (self.terrain.height_m(state.x_m + along * wheelbase_m) - z_m) / wheelbase_m
        else:
            rise = self.terrain.rise(state.x_m) * along
        return replace(state, z_m=z_m, pitch_rad=math.atan(rise))

    def without(self, *names: str) -> World:
        """The same world without some of its actors: no sensor sees anything of them. Raises KeyError."""
        for name in names:
            self.actor(name)
        lead = None if self.lead in names else self.lead
        return replace(self, actors=tuple(a for a in self.actors if a.name not in names), lead=lead)
