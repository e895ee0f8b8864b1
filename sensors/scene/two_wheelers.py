"""A person on a bicycle."""

from __future__ import annotations

import math

from sensors.scene.shapes import Colour, Lamp, Polygon, Shape, box, closed_below, shade, solid_of
from sensors.scene.vehicles import RIM, RUBBER, TAIL_RED


def cyclist(coat: Colour, frame: Colour) -> Shape:
    """A bicycle of 1.75 m with its rider, 1.75 m high together."""
    polygons: list[Polygon] = []
    for x in (-0.53, 0.53):
        for radius, colour in ((0.34, RUBBER), (0.29, RIM), (0.26, (92, 96, 98))):
            ring = [(x + radius * math.cos(a), 0.0, 0.34 + radius * math.sin(a)) for a in _turn(16)]
            polygons.append(Polygon(tuple(ring), colour, two_sided=True))
        # From ahead and behind a wheel is a narrow upright strip.
        polygons.append(_strip((x, -0.03, 0.0), (x, 0.03, 0.68), RUBBER))
    for start, end in (
        ((-0.53, 0.34), (-0.2, 0.85)), ((-0.2, 0.85), (0.42, 0.85)), ((0.0, 0.34), (0.42, 0.85)),
        ((-0.53, 0.34), (0.0, 0.34)), ((0.42, 0.85), (0.53, 0.34)), ((-0.2, 0.85), (0.0, 0.34)),
    ):  # fmt: skip
        polygons.append(_tube(start, end, 0.03, frame))
    polygons.append(_strip((0.4, -0.27, 0.98), (0.4, 0.27, 1.03), (40, 40, 42)))
    polygons.append(_strip((-0.6, -0.05, 0.62), (-0.6, 0.05, 0.72), TAIL_RED, Lamp.TAIL))
    for side in (-0.12, 0.12):
        trousers: Colour = (54, 48, 46)
        polygons.append(_tube((-0.18, 0.9), (0.2, 0.62), 0.07, trousers, side))
        polygons.append(_tube((0.2, 0.62), (0.02, 0.2), 0.06, trousers, side))
        polygons.append(_strip((0.0, side - 0.06, 0.2), (0.0, side + 0.06, 0.9), trousers))
        polygons.append(_tube((0.02, 1.38), (0.4, 1.02), 0.045, shade(coat, 0.85), 1.7 * side))
    torso = box(-0.26, 0.1, -0.2, 0.2, 0.86, 1.45)
    polygons += [Polygon(face, coat) for face in torso]
    for colour, radius, lift in (((36, 60, 190), 0.14, 1.62), ((118, 146, 196), 0.1, 1.56)):
        for across in (False, True):
            ring = [
                (0.06 if across else 0.06 + radius * math.cos(a), 0.85 * radius * math.cos(a) if across else 0.0,
                 lift + radius * math.sin(a))
                for a in _turn(12)
            ]  # fmt: skip
            polygons.append(Polygon(tuple(ring), colour, two_sided=True))
    head = box(-0.06, 0.18, -0.1, 0.1, 1.45, 1.75)
    bicycle = box(-0.87, 0.87, -0.1, 0.1, 0.0, 0.9)
    solids = tuple(solid_of(closed_below(part), 0.3) for part in (torso, head, bicycle))
    return Shape((1.75, 0.55, 1.75), tuple(polygons), solids)


def _turn(count: int) -> list[float]:
    return [math.tau * k / count for k in range(count)]


def _strip(
    low: tuple[float, float, float], high: tuple[float, float, float], colour: Colour, lamp: Lamp = Lamp.NONE
) -> Polygon:
    """An upright rectangle across the direction of travel between two opposite corners."""
    (x, y0, z0), (_, y1, z1) = low, high
    return Polygon(((x, y0, z0), (x, y1, z0), (x, y1, z1), (x, y0, z1)), colour, lamp, two_sided=True)


def _tube(start: tuple[float, float], end: tuple[float, float], half: float, colour: Colour, y: float = 0.0) -> Polygon:
    """A bar between two points (x, z), as seen from the side."""
    (x0, z0), (x1, z1) = start, end
    length = math.hypot(x1 - x0, z1 - z0)
    nx, nz = -(z1 - z0) / length * half, (x1 - x0) / length * half
    points = ((x0 - nx, y, z0 - nz), (x1 - nx, y, z1 - nz), (x1 + nx, y, z1 + nz), (x0 + nx, y, z0 + nz))
    return Polygon(points, colour, two_sided=True)
