"""The LiDAR renderer: sweeps of a spinning sensor through the moving scene."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sensors.scene.raycast import cast_rays
from sensors.scene.rig import Lidar
from sensors.scene.shapes import Shape
from sensors.scene.world import Air, World

Array = npt.NDArray[np.float64]

#: A return weaker than this share of the strongest possible one is lost.
_FAINTEST = 0.0045

#: The surface met is a drop of water in the air.
_DROP = -3


@dataclass(frozen=True, slots=True, eq=False)
class Sweep:
    """The returns of one sweep in firing order, in the sensor frame at each point's own instant.

    `xyz_m`: float32[n, 3]; `time_offset_ns`: int32[n] <= 0 since the sweep's end; `ring`: uint16[n], 0 is the lowest;
    `intensity`: uint8[n]; `surface`: int64[n], index into the world's actors, -1 ground, -2 anything else.
    """

    xyz_m: npt.NDArray[np.float32]
    time_offset_ns: npt.NDArray[np.int32]
    ring: npt.NDArray[np.uint16]
    intensity: npt.NDArray[np.uint8]
    surface: npt.NDArray[np.int64]


class LidarRenderer:
    """Casts the rays of one LiDAR. Equal (world, lidar, seed, sweep number) give equal points."""

    def __init__(self, world: World, lidar: Lidar, seed: int) -> None:
        self._world = world
        self._lidar = lidar
        self._seed = seed
        shapes: list[Shape] = [actor.shape for actor in world.actors] + [prop.shape for prop in world.props]
        planes: list[tuple[float, float, float, float]] = []
        start = [0]
        owner: list[int] = []
        reach: list[float] = []
        reflectivity: list[float] = []
        for index, shape in enumerate(shapes):
            for solid in shape.solids:
                planes += solid.planes
                start.append(len(planes))
                owner.append(index)
                reach.append(math.hypot(shape.size_m[0], shape.size_m[1]) / 2 + 0.2)
                reflectivity.append(solid.reflectivity)
        self._planes = np.array(planes, dtype=np.float64).reshape(-1, 4)
        self._start = np.array(start, dtype=np.int64)
        self._owner = np.array(owner, dtype=np.int64)
        self._reach = np.array(reach, dtype=np.float64)
        self._reflectivity = np.array(reflectivity, dtype=np.float64)
        elevations = [
            math.radians(lidar.lowest_deg + (lidar.highest_deg - lidar.lowest_deg) * ring / (lidar.rings - 1))
            for ring in range(lidar.rings)
        ]
        # Clockwise from straight back: behind, left, ahead, right.
        azimuths = [math.pi - math.tau * (column + 0.5) / lidar.columns for column in range(lidar.columns)]
        # Twelve decimals make mathematically equal directions equal on every C library.
        self._beams = np.round(
            [
                [(math.cos(e) * math.cos(a), math.cos(e) * math.sin(a), math.sin(e)) for e in elevations]
                for a in azimuths
            ],
            12,
        )

    def sweep(self, end_ns: int, number: int) -> Sweep:
        """The sweep that ends `end_ns` after the start of the scene; `number` selects its noise."""
        lidar, world = self._lidar, self._world
        period_ns = int(10**9 / lidar.timing.rate_hz)
        offsets_ns = np.array(
            [
                -(period_ns * (2 * (lidar.columns - column) - 1)) // (2 * lidar.columns)
                for column in range(lidar.columns)
            ]
        )
        origins = np.empty((lidar.columns, 3))
        placement = np.empty((lidar.columns, len(self._owner), 4))
        turns = np.empty((lidar.columns, 4))
        px, py, pz = lidar.position_m
        moving = len(world.actors)
        poses = np.empty((moving + len(world.props), 4))
        for index, prop in enumerate(world.props):
            poses[moving + index] = prop.x_m, prop.y_m, math.cos(prop.yaw_rad), math.sin(prop.yaw_rad)
        for column in range(lidar.columns):
            time_ns = end_ns + int(offsets_ns[column])
            ego = world.ego_at(time_ns)
            c, s = math.cos(ego.yaw_rad), math.sin(ego.yaw_rad)
            cp, sp = math.cos(ego.pitch_rad), math.sin(ego.pitch_rad)
            fx, fz = cp * px - sp * pz, sp * px + cp * pz
            origins[column] = ego.x_m + c * fx - s * py, ego.y_m + s * fx + c * py, ego.z_m + fz
            turns[column] = c, s, cp, sp
            for index, actor in enumerate(world.actors):
                state = actor.trajectory.state_at(time_ns)
                poses[index] = state.x_m, state.y_m, math.cos(state.yaw_rad), math.sin(state.yaw_rad)
            placement[column] = poses[self._owner]

        cosine, sine, pitch_cosine, pitch_sine = turns.T[:, :, None]
        beams = self._beams
        forward = pitch_cosine * beams[:, :, 0] - pitch_sine * beams[:, :, 2]
        directions = np.stack(
            [
                cosine * forward - sine * beams[:, :, 1],
                sine * forward + cosine * beams[:, :, 1],
                pitch_sine * beams[:, :, 0] + pitch_cosine * beams[:, :, 2],
            ],
            axis=2,
        )
        ranges = np.empty((lidar.columns, lidar.rings))
        hits = np.empty((lidar.columns, lidar.rings), np.int64)
        cosines = np.empty((lidar.columns, lidar.rings))
        cast_rays(
            directions, origins, self._world.terrain.pieces(), self._start, self._planes, placement, self._reach,
            ranges, hits, cosines,
        )  # fmt: skip
        return self._returns(ranges, hits, cosines, directions, origins, offsets_ns, number)

    def _returns(
        self,
        ranges: Array,
        hits: npt.NDArray[np.int64],
        cosines: Array,
        directions: Array,
        origins: Array,
        offsets_ns: npt.NDArray[np.int64],
        number: int,
    ) -> Sweep:
        """What the receiver makes of the surfaces met: lost faint returns, range noise, finite resolution."""
        lidar, air = self._lidar, self._world.air
        draw = np.random.Generator(np.random.Philox(key=[self._seed, number]))
        noise = draw.standard_normal(ranges.shape) * lidar.range_noise_m
        finite = np.where(hits > -2, ranges, 1.0)
        albedo = np.where(hits >= 0, self._reflectivity[np.maximum(hits, 0)], 0.0)
        albedo = np.where(hits == -1, self._ground_reflectivity(finite, directions, origins), albedo)
        strength = albedo * cosines
        # The free-space loss is flattened below 12 m, where receivers limit their gain.
        received = strength / np.maximum(finite / 12.0, 1.0) ** 2 / (1.0 + finite / air.half_m) ** 2
        if air.backscatter > 0.0:
            hits, finite, strength, received = _drops_met(air, draw, hits, finite, strength, received)
        kept = (hits != -2) & (finite <= lidar.max_range_m) & (received > _FAINTEST)
        if air.dropout > 0.0:
            # Drops return at once, what lies behind the weather is what gets lost.
            kept &= (hits == _DROP) | (draw.random(ranges.shape) >= air.dropout)
        column, ring = np.nonzero(kept)
        distance = (finite + noise)[column, ring]
        xyz = self._beams[column, ring] * distance[:, None]
        steps = np.rint(xyz / lidar.resolution_m)
        hit = hits[column, ring]
        actors = len(self._world.actors)
        surface = np.where(hit >= 0, self._owner[np.maximum(hit, 0)], hit)
        return Sweep(
            (steps * lidar.resolution_m).astype(np.float32),
            offsets_ns[column].astype(np.int32),
            ring.astype(np.uint16),
            np.clip(np.rint(strength[column, ring] * 63.0) * 4.0, 0, 255).astype(np.uint8),
            np.where((surface >= actors) | (surface == _DROP), -2, surface),
        )

    def _ground_reflectivity(self, ranges: Array, directions: Array, origins: Array) -> Array:
        """Reflectivity where the rays meet the ground: float64[columns, rings]."""
        road = self._world.road
        x = origins[:, 0, None] + ranges * directions[:, :, 0]
        y = origins[:, 1, None] + ranges * directions[:, :, 1]
        values = np.full(ranges.shape, road.bands[0].reflectivity)
        for below, band in zip(road.bands, road.bands[1:], strict=False):
            values = np.where(y >= below.y_max_m, band.reflectivity, values)
        for marking in road.markings:
            painted = (np.abs(y - marking.y_m) <= marking.width_m / 2) & (np.mod(x, marking.period_m) < marking.dash_m)
            values = np.where(painted, 0.85, values)
        return values * self._world.air.wetness


def _drops_met(
    air: Air, draw: np.random.Generator, hits: npt.NDArray[np.int64], finite: Array, strength: Array, received: Array
) -> tuple[npt.NDArray[np.int64], Array, Array, Array]:
    """Hits, ranges, strengths and received strengths where some beams meet a drop before anything else.

    More drops are met near the sensor: the range is the smaller of two even draws.
    """
    chosen = draw.random(hits.shape) < air.backscatter
    place = np.minimum(draw.random(hits.shape), draw.random(hits.shape)) * (air.backscatter_m - 0.8) + 0.8
    drop = chosen & ((hits == -2) | (place < finite))
    faint = 0.01 + 0.03 * draw.random(hits.shape)
    return (
        np.where(drop, _DROP, hits),
        np.where(drop, place, finite),
        np.where(drop, faint, strength),
        np.where(drop, faint, received),
    )
