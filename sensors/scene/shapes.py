"""Geometry of things in the scene: coloured flat polygons for cameras, convex solids for the LiDAR.

A shape's own frame has its origin on the ground under the centre, x forward, y left, z up, in metres.
Polygons are counter-clockwise seen from outside and are drawn in the order given where they face the camera.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum

Point = tuple[float, float, float]
Colour = tuple[int, int, int]


class Lamp(IntEnum):
    """Whether a polygon gives light of its own, and when."""

    NONE = 0
    TAIL = 1
    HEAD = 2
    WINDOW = 3


@dataclass(frozen=True, slots=True)
class Polygon:
    """A flat convex polygon. `colour` is (blue, green, red); `two_sided` ones have no back."""

    points: tuple[Point, ...]
    colour: Colour
    lamp: Lamp = Lamp.NONE
    two_sided: bool = False


@dataclass(frozen=True, slots=True)
class Solid:
    """A convex body: the points with normal . p <= offset for every (nx, ny, nz, offset) of `planes`."""

    planes: tuple[tuple[float, float, float, float], ...]
    reflectivity: float


@dataclass(frozen=True, slots=True)
class Shape:
    """What a thing looks like. `size_m` is length, width, height of the box around it; it stands on z = 0."""

    size_m: tuple[float, float, float]
    polygons: tuple[Polygon, ...]
    solids: tuple[Solid, ...]
    casts_shadow: bool = True


def plane_of(points: Sequence[Point]) -> tuple[float, float, float, float]:
    """Unit normal and offset of a flat polygon, by Newell's method."""
    nx = ny = nz = 0.0
    for (ax, ay, az), (bx, by, bz) in zip(points, (*points[1:], points[0]), strict=True):
        nx += (ay - by) * (az + bz)
        ny += (az - bz) * (ax + bx)
        nz += (ax - bx) * (ay + by)
    length = math.sqrt(nx * nx + ny * ny + nz * nz)
    nx, ny, nz = nx / length, ny / length, nz / length
    offset = sum(nx * x + ny * y + nz * z for x, y, z in points) / len(points)
    return nx, ny, nz, offset


def solid_of(faces: Iterable[Sequence[Point]], reflectivity: float) -> Solid:
    """The convex solid that the outward `faces` enclose."""
    return Solid(tuple(plane_of(face) for face in faces), reflectivity)


def patch(face: Sequence[Point], s0: float, t0: float, s1: float, t1: float) -> tuple[Point, ...]:
    """A part of a four-cornered face: corners 0-1 run along s, corners 0-3 along t, both from 0 to 1."""
    return tuple(on_face(face, s, t) for s, t in ((s0, t0), (s1, t0), (s1, t1), (s0, t1)))


def on_face(face: Sequence[Point], s: float, t: float) -> Point:
    """The point (s, t) of a four-cornered face, bilinear."""
    weights = ((1 - s) * (1 - t), s * (1 - t), s * t, (1 - s) * t)
    x, y, z = (sum(w * corner[axis] for w, corner in zip(weights, face, strict=True)) for axis in range(3))
    return x, y, z


def shade(colour: Colour, factor: float) -> Colour:
    """A lighter (factor > 1) or darker colour."""
    b, g, r = (max(0, min(255, round(channel * factor))) for channel in colour)
    return b, g, r


def hexahedron(bottom: Sequence[Point], top: Sequence[Point]) -> tuple[tuple[Point, ...], ...]:
    """Faces rear, right, front, left, top of a body from corners rear-right, front-right, front-left, rear-left.

    Seen from outside each face starts at its lower left corner.
    """
    br, fr, fl, bl = bottom
    tbr, tfr, tfl, tbl = top
    return (
        (bl, br, tbr, tbl),
        (br, fr, tfr, tbr),
        (fr, fl, tfl, tfr),
        (fl, bl, tbl, tfl),
        (tbr, tfr, tfl, tbl),
    )


def box(x0: float, x1: float, y0: float, y1: float, z0: float, z1: float) -> tuple[tuple[Point, ...], ...]:
    """The five visible faces (rear, right, front, left, top) of an upright box."""
    bottom = ((x0, y0, z0), (x1, y0, z0), (x1, y1, z0), (x0, y1, z0))
    top = ((x0, y0, z1), (x1, y0, z1), (x1, y1, z1), (x0, y1, z1))
    return hexahedron(bottom, top)


def closed_below(faces: tuple[tuple[Point, ...], ...]) -> tuple[tuple[Point, ...], ...]:
    """The faces of `hexahedron` plus its underside, for use as a solid."""
    rear, _, front, _, _ = faces
    bl, br = rear[0], rear[1]
    fr, fl = front[0], front[1]
    return (*faces, (bl, fl, fr, br))
