"""The scene as one physical description: what exists, where it is at any time, and in which light.

Cameras, LiDAR, IMU and ground truth are all computed from a `World`. World frame: x along the road, y to its left,
z up, origin on the ground where the ego vehicle's reference point is at time 0. The vehicle frame has its origin on
the ground below the middle of the rear axle, x forward, y left, z up.
"""

from __future__ import annotations

from dataclasses import dataclass

from sensors.scene.shapes import Colour, Shape
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
    themselves where `lamps_lit`. At `haze_half_m` half of the contrast is gone.
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

    def actor(self, name: str) -> Actor:
        """The actor called `name`; raises KeyError."""
        for actor in self.actors:
            if actor.name == name:
                return actor
        raise KeyError(name)

    def ego_at(self, time_ns: int) -> MotionState:
        """State of the ego vehicle's reference point at `time_ns` since the start of the scene."""
        return self.ego.trajectory.state_at(time_ns)
