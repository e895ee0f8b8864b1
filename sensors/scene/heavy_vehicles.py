"""Trucks, vans and buses from a few dozen polygons each."""

from __future__ import annotations

import math

from sensors.scene.shapes import Colour, Lamp, Polygon, Shape, box, closed_below, hexahedron, patch, shade, solid_of
from sensors.scene.vehicles import GLASS, HEAD_WHITE, PLASTIC, PLATE, RIM, RUBBER, TAIL_RED, reflectivity


def truck(paint: Colour, *, length: float = 8.2, width: float = 2.45, height: float = 3.3) -> Shape:
    """A box truck: cargo body, driver's cab, windows, lamps, plate, wheels."""
    half_l, half_w = length / 2, width / 2
    cab_x = half_l - 1.9
    cargo = box(-half_l, cab_x - 0.15, -half_w, half_w, 0.95, height)
    chassis = box(-half_l + 0.1, half_l - 0.3, -half_w + 0.2, half_w - 0.2, 0.45, 0.95)
    bottom = tuple(
        (x, y, 0.4)
        for x, y in ((cab_x, -half_w + 0.08), (half_l, -half_w + 0.08), (half_l, half_w - 0.08), (cab_x, half_w - 0.08))
    )
    top = tuple(
        (x, y, 2.65)
        for x, y in (
            (cab_x, -half_w + 0.12),
            (half_l - 0.3, -half_w + 0.12),
            (half_l - 0.3, half_w - 0.12),
            (cab_x, half_w - 0.12),
        )
    )
    cab = hexahedron(bottom, top)
    cargo_white: Colour = (214, 216, 216)
    polygons = [Polygon(face, PLASTIC) for face in chassis]
    polygons += [Polygon(face, paint) for face in cab]
    polygons += [
        Polygon(patch(cab[2], 0.06, 0.5, 0.94, 0.9), GLASS),
        Polygon(patch(cab[2], 0.1, 0.72, 0.9, 0.86), shade(GLASS, 1.6)),
        Polygon(patch(cab[2], 0.3, 0.24, 0.7, 0.42), PLASTIC),
        Polygon(patch(cab[2], 0.05, 0.1, 0.22, 0.22), HEAD_WHITE, Lamp.HEAD),
        Polygon(patch(cab[2], 0.78, 0.1, 0.95, 0.22), HEAD_WHITE, Lamp.HEAD),
        Polygon(patch(cab[2], 0.4, 0.06, 0.6, 0.14), PLATE),
        Polygon(patch(cab[1], 0.35, 0.5, 0.9, 0.86), GLASS),
        Polygon(patch(cab[3], 0.1, 0.5, 0.65, 0.86), GLASS),
    ]
    polygons += [Polygon(face, cargo_white) for face in cargo]
    polygons += [
        Polygon(patch(cargo[0], 0.03, 0.03, 0.49, 0.97), shade(cargo_white, 0.93)),
        Polygon(patch(cargo[0], 0.51, 0.03, 0.97, 0.97), shade(cargo_white, 0.93)),
        Polygon(patch(cargo[1], 0.1, 0.35, 0.9, 0.6), paint),
        Polygon(patch(cargo[3], 0.1, 0.35, 0.9, 0.6), paint),
        Polygon(patch(chassis[0], 0.0, 0.3, 0.16, 0.8), TAIL_RED, Lamp.TAIL),
        Polygon(patch(chassis[0], 0.84, 0.3, 1.0, 0.8), TAIL_RED, Lamp.TAIL),
        Polygon(patch(chassis[0], 0.4, 0.3, 0.6, 0.65), PLATE),
    ]
    polygons += _wheels(half_w, (-half_l + 1.5, half_l - 1.0))
    solids = (
        solid_of(closed_below(cargo), 0.7),
        solid_of(closed_below(chassis), 0.15),
        solid_of(closed_below(cab), reflectivity(paint)),
    )
    return Shape((length, width, height), tuple(polygons), solids)


def bus(paint: Colour, *, length: float = 11.8, width: float = 2.5, height: float = 3.1) -> Shape:
    """A city bus: one long body with a band of windows, doors on the right, lamps, plate, wheels."""
    half_l, half_w = length / 2, width / 2
    body = box(-half_l, half_l, -half_w, half_w, 0.32, height)
    rear, right, front, left, _ = body
    polygons = [Polygon(face, paint) for face in body]
    for face in (right, left):
        polygons.append(Polygon(patch(face, 0.0, 0.0, 1.0, 0.1), PLASTIC))
        polygons += [
            Polygon(patch(face, (k + 0.04) / 7, 0.42, (k + 0.96) / 7, 0.84), GLASS, Lamp.WINDOW) for k in range(7)
        ]
    polygons += [Polygon(patch(right, s, 0.05, s + 0.11, 0.86), shade(GLASS, 1.4)) for s in (0.42, 0.85)]
    polygons += [
        Polygon(patch(front, 0.05, 0.34, 0.95, 0.82), GLASS),
        Polygon(patch(front, 0.2, 0.86, 0.8, 0.96), (30, 120, 190)),
        Polygon(patch(front, 0.04, 0.1, 0.2, 0.2), HEAD_WHITE, Lamp.HEAD),
        Polygon(patch(front, 0.8, 0.1, 0.96, 0.2), HEAD_WHITE, Lamp.HEAD),
        Polygon(patch(front, 0.38, 0.06, 0.62, 0.13), PLATE),
        Polygon(patch(rear, 0.12, 0.5, 0.88, 0.82), GLASS),
        Polygon(patch(rear, 0.1, 0.1, 0.9, 0.42), shade(paint, 0.8)),
        Polygon(patch(rear, 0.02, 0.16, 0.1, 0.44), TAIL_RED, Lamp.TAIL),
        Polygon(patch(rear, 0.9, 0.16, 0.98, 0.44), TAIL_RED, Lamp.TAIL),
        Polygon(patch(rear, 0.38, 0.03, 0.62, 0.1), PLATE),
    ]
    polygons += _wheels(half_w, (-half_l + 3.2, half_l - 2.6))
    return Shape((length, width, height), tuple(polygons), (solid_of(closed_below(body), reflectivity(paint)),))


def _wheels(half_width: float, axles_x: tuple[float, float]) -> list[Polygon]:
    polygons: list[Polygon] = []
    for y in (-half_width, half_width):
        for x in axles_x:
            for r, colour in ((0.5, RUBBER), (0.28, RIM), (0.1, PLASTIC)):
                ring = [
                    (x + r * math.cos(a), y * 1.005, 0.5 + r * math.sin(a))
                    for a in (math.tau * k / 16 for k in range(16))
                ]
                polygons.append(Polygon(tuple(ring if y < 0 else ring[::-1]), colour))
    return polygons
