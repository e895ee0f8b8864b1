"""What stands beside the road: buildings, trees, guard rails, lamp posts, people on foot."""

from __future__ import annotations

import math

import numpy as np

from sensors.scene.shapes import (
    Colour,
    Lamp,
    Point,
    Polygon,
    Shape,
    box,
    closed_below,
    patch,
    shade,
    solid_of,
)
from sensors.scene.vehicles import GLASS, GLASS_LIGHT

BARK: Colour = (52, 66, 84)
STEEL: Colour = (150, 152, 150)


def building(length: float, depth: float, floors: int, wall: Colour) -> Shape:
    """A house with a row of windows per floor on every side; storeys are 3.1 m high."""
    storey = 3.1
    height = floors * storey + 0.8
    faces = box(-length / 2, length / 2, -depth / 2, depth / 2, 0.0, height)
    polygons: list[Polygon] = []
    for face, width in zip(faces[:4], (depth, length, depth, length), strict=True):
        polygons.append(Polygon(face, wall))
        polygons.append(Polygon(patch(face, 0.0, 0.0, 1.0, 0.9 / height), shade(wall, 0.62)))
        polygons.append(Polygon(patch(face, 0.0, 1.0 - 0.5 / height, 1.0, 1.0), shade(wall, 0.75)))
        columns = max(2, int(width / 2.6))
        for floor in range(floors):
            t0 = (floor * storey + 1.3) / height
            t1 = (floor * storey + 2.6) / height
            for column in range(columns):
                s0, s1 = (column + 0.28) / columns, (column + 0.72) / columns
                polygons.append(Polygon(patch(face, s0, t0, s1, t1), GLASS, Lamp.WINDOW))
                polygons.append(Polygon(patch(face, s0, (t0 + 2 * t1) / 3, s1, t1), GLASS_LIGHT, Lamp.WINDOW))
    return Shape((length, depth, height), tuple(polygons), (solid_of(closed_below(faces), 0.35),), casts_shadow=False)


def tree(height: float, seed: int) -> Shape:
    """A tree: trunk and a crown of overlapping upright discs of leaves; `seed` varies its outline."""
    draw = np.random.Generator(np.random.Philox(seed))
    crown = height * 0.36
    trunk = box(-0.14, 0.14, -0.14, 0.14, 0.0, height * 0.55)
    polygons = [Polygon(face, BARK) for face in trunk[:4]]
    greens: tuple[Colour, ...] = ((38, 78, 52), (44, 94, 66), (54, 112, 82), (66, 128, 98))
    for layer, green in enumerate(greens):
        scale = 1.0 - 0.2 * layer
        lift = height * (0.66 + 0.04 * layer)
        for angle in (0.0, math.pi / 3, 2 * math.pi / 3):
            ring: list[Point] = []
            for k in range(14):
                r = crown * scale * float(draw.uniform(0.82, 1.08))
                a = math.tau * k / 14
                along = r * math.cos(a) + 0.12 * crown * layer
                ring.append((along * math.cos(angle), along * math.sin(angle), lift + 0.9 * r * math.sin(a)))
            polygons.append(Polygon(tuple(ring), green, two_sided=True))
    leaves = box(-crown * 0.7, crown * 0.7, -crown * 0.7, crown * 0.7, height * 0.45, height * 0.95)
    solids = (solid_of(closed_below(trunk), 0.3), solid_of(closed_below(leaves), 0.45))
    return Shape((2 * crown, 2 * crown, height), tuple(polygons), solids)


def guard_rail(length: float) -> Shape:
    """A steel guard rail on two posts, 0.75 m high."""
    rail = box(-length / 2, length / 2, -0.06, 0.06, 0.45, 0.75)
    polygons: list[Polygon] = []
    for x in (-length / 4, length / 4):
        polygons += [Polygon(face, shade(STEEL, 0.7)) for face in box(x - 0.06, x + 0.06, -0.04, 0.04, 0.0, 0.5)]
    polygons += [Polygon(face, STEEL) for face in rail]
    for face in (rail[1], rail[3]):
        polygons.append(Polygon(patch(face, 0.0, 0.4, 1.0, 0.6), shade(STEEL, 0.72)))
        polygons.append(Polygon(patch(face, 0.0, 0.85, 1.0, 1.0), shade(STEEL, 1.2)))
    return Shape((length, 0.12, 0.75), tuple(polygons), (solid_of(closed_below(rail), 0.6),), casts_shadow=False)


def lamp_post(height: float, reach: float) -> Shape:
    """A street lamp whose arm reaches `reach` metres to its left (negative: to its right)."""
    post = box(-0.07, 0.07, -0.07, 0.07, 0.0, height)
    y0, y1 = sorted((0.0, reach))
    arm = box(-0.05, 0.05, y0, y1, height - 0.1, height)
    head0, head1 = sorted((reach, reach * 0.72))
    head = box(-0.16, 0.16, head0, head1, height - 0.2, height - 0.06)
    polygons = [Polygon(face, shade(STEEL, 0.62)) for face in (*post, *arm, *head)]
    return Shape((0.32, abs(reach), height), tuple(polygons), (solid_of(closed_below(post), 0.5),))


def pedestrian(coat: Colour, trousers: Colour, *, height: float = 1.75) -> Shape:
    """A person on foot, in mid-stride along x."""
    scale = height / 1.75
    skin: Colour = (118, 146, 196)
    hair: Colour = (30, 38, 52)
    polygons: list[Polygon] = []

    def column(x_foot: float, x_hip: float, y: float, half: float, z0: float, z1: float, colour: Colour) -> None:
        for dy in (-half, half):
            quad = tuple(
                (x * scale, (y + dy) * scale, z * scale)
                for x, z in ((x_foot - half, z0), (x_foot + half, z0), (x_hip + half, z1), (x_hip - half, z1))
            )
            polygons.append(Polygon(quad, colour, two_sided=True))
        facing = tuple(
            (x * scale, (y + dy) * scale, z * scale)
            for x, dy, z in ((x_foot, -half, z0), (x_foot, half, z0), (x_hip, half, z1), (x_hip, -half, z1))
        )
        polygons.append(Polygon(facing, shade(colour, 0.9), two_sided=True))

    for x_foot, y in ((0.28, -0.1), (-0.26, 0.1)):
        column(x_foot, 0.0, y, 0.085, 0.0, 0.88, trousers)
        column(x_foot + 0.05, x_foot, y, 0.09, 0.0, 0.09, (24, 24, 26))
    column(-0.2, 0.0, -0.25, 0.055, 0.82, 1.4, shade(coat, 0.8))
    torso = box(-0.13 * scale, 0.13 * scale, -0.21 * scale, 0.21 * scale, 0.78 * scale, 1.46 * scale)
    polygons += [Polygon(face, coat) for face in torso]
    column(0.2, 0.0, 0.25, 0.055, 0.82, 1.4, shade(coat, 0.9))
    for colour, radius, lift in ((hair, 0.125, 1.64), (skin, 0.105, 1.6)):
        for across in (False, True):
            ring: list[Point] = []
            for k in range(12):
                a, r = math.cos(math.tau * k / 12), math.sin(math.tau * k / 12)
                x, y = (0.0, 0.85 * radius * a) if across else (radius * a + (0.02 if colour is skin else 0.0), 0.0)
                ring.append((x * scale, y * scale, (lift + radius * 1.1 * r) * scale))
            polygons.append(Polygon(tuple(ring), colour, two_sided=True))
    head = box(-0.1 * scale, 0.1 * scale, -0.09 * scale, 0.09 * scale, 1.46 * scale, height)
    legs = box(-0.2 * scale, 0.2 * scale, -0.17 * scale, 0.17 * scale, 0.0, 0.78 * scale)
    solids = tuple(solid_of(closed_below(part), 0.35) for part in (torso, head, legs))
    return Shape((0.75 * scale, 0.6 * scale, height), tuple(polygons), solids)
