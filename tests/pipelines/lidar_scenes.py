"""Made-up sweeps with known truth: rays of a spinning LiDAR against a terrain and upright boxes on it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

Terrain = Callable[[np.ndarray, np.ndarray], np.ndarray]

#: Height of the sensor above the ground under it.
HEIGHT_M = 1.8


@dataclass(frozen=True)
class Solid:
    """An upright box; `bottom_m` above the terrain under its centre."""

    x: float
    y: float
    size: tuple[float, float, float]
    yaw: float = 0.0
    bottom_m: float = 0.0


@dataclass(frozen=True)
class Scan:
    """`xyz_m`: float64[n, 3] from the sensor; `hit`: index of the solid, -1 for ground; `ground_m`: truth below."""

    xyz_m: np.ndarray
    hit: np.ndarray
    ground_m: np.ndarray


def plane(slope_x: float, slope_y: float = 0.0) -> Terrain:
    """A slope through the point below the sensor."""
    return lambda x, y: slope_x * x + slope_y * y


def ramp(begins_m: float, slope: float) -> Terrain:
    """Level, then a ramp that begins ahead."""
    return lambda x, y: slope * np.clip(x - begins_m, 0.0, None)


def kerb(y_m: float, height_m: float) -> Terrain:
    """A road with a raised pavement on its left."""
    return lambda x, y: np.where(y > y_m, height_m, 0.0)


def scan(terrain: Terrain, solids: Sequence[Solid] = (), rings: int = 64, columns: int = 360, seed: int = 3) -> Scan:
    """One sweep, 80 m at most, with 1.5 cm of noise along the ray."""
    elevation = np.radians(np.linspace(-24.0, 6.0, rings))
    azimuth = np.radians(np.linspace(-180.0, 180.0, columns, endpoint=False) + 0.1)
    e, a = (g.reshape(-1) for g in np.meshgrid(elevation, azimuth, indexing="ij"))
    rays = np.stack([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)], -1)
    distance, hit = _terrain_hits(terrain, rays), np.full(len(rays), -1)
    for index, solid in enumerate(solids):
        foot = float(terrain(np.array(solid.x), np.array(solid.y)))
        at = _box_hits(rays, solid, foot - HEIGHT_M)
        nearer = at < distance
        distance, hit = np.where(nearer, at, distance), np.where(nearer, index, hit)
    seen = distance < 80.0
    noise = np.random.default_rng(seed).normal(0.0, 0.015, len(rays))
    xyz = rays[seen] * (distance + noise)[seen, None]
    return Scan(xyz, hit[seen], terrain(xyz[:, 0], xyz[:, 1]) - HEIGHT_M)


def _terrain_hits(terrain: Terrain, rays: np.ndarray) -> np.ndarray:
    def above(t: np.ndarray) -> np.ndarray:
        p = rays * t[:, None]
        return p[:, 2] + HEIGHT_M - terrain(p[:, 0], p[:, 1])

    low, high = np.zeros(len(rays)), np.full(len(rays), np.inf)
    for t in np.arange(0.5, 81.0, 0.5):
        now = np.full(len(rays), t)
        below = (above(now) <= 0.0) & np.isinf(high)
        high[below] = t
        low[np.isinf(high)] = t
    found = np.isfinite(high)
    high = np.where(found, high, 1.0)
    for _ in range(12):
        middle = 0.5 * (low + high)
        under = above(middle) <= 0.0
        low, high = np.where(under, low, middle), np.where(under, middle, high)
    return np.where(found, high, np.inf)


def _box_hits(rays: np.ndarray, solid: Solid, foot_m: float) -> np.ndarray:
    cos, sin = math.cos(solid.yaw), math.sin(solid.yaw)
    turn = np.array([[cos, sin, 0], [-sin, cos, 0], [0, 0, 1]])
    centre = np.array([solid.x, solid.y, foot_m + solid.bottom_m + solid.size[2] / 2])
    origin, direction = -turn @ centre, rays @ turn.T
    half = np.array(solid.size) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        one, other = (-half - origin) / direction, (half - origin) / direction
    enter, leave = np.minimum(one, other).max(axis=1), np.maximum(one, other).min(axis=1)
    return np.where((enter <= leave) & (enter > 0.0), enter, np.inf)
