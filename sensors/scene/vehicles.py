"""Passenger cars from a few dozen polygons each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

from sensors.scene.shapes import (
    Colour,
    Lamp,
    Point,
    Polygon,
    Shape,
    box,
    closed_below,
    hexahedron,
    on_face,
    patch,
    shade,
    solid_of,
)

GLASS: Colour = (58, 50, 44)
GLASS_LIGHT: Colour = (128, 112, 98)
RUBBER: Colour = (26, 25, 24)
PLASTIC: Colour = (44, 42, 40)
RIM: Colour = (150, 148, 146)
PLATE: Colour = (226, 230, 232)
TAIL_RED: Colour = (28, 22, 150)
HEAD_WHITE: Colour = (222, 218, 210)
AMBER: Colour = (20, 110, 225)


@dataclass(frozen=True, slots=True)
class CarForm:
    """Measures of a car in metres. `side` is the convex outline of the body from the lower rear, x from the rear end.

    The cabin stands on the body: `cabin_base` and `cabin_roof` are its rear and front x there, `roof_z` its height.
    """

    length: float
    width: float
    side: tuple[tuple[float, float], ...]
    cabin_base: tuple[float, float]
    cabin_roof: tuple[float, float]
    belt_z: float
    roof_z: float
    base_inset: float
    roof_inset: float
    axles: tuple[float, float]
    wheel_radius: float = 0.33


SALOON = CarForm(
    4.6, 1.82,
    ((0.06, 0.27), (0.0, 0.56), (0.1, 1.02), (0.75, 1.06), (3.35, 0.99), (4.4, 0.8), (4.6, 0.58), (4.54, 0.27)),
    (0.42, 3.5), (1.15, 2.55), 1.0, 1.47, 0.08, 0.26, (0.95, 3.72),
)  # fmt: skip
HATCHBACK = CarForm(
    4.2, 1.8,
    ((0.06, 0.28), (0.0, 0.58), (0.08, 1.02), (0.5, 1.05), (3.0, 1.0), (4.0, 0.84), (4.2, 0.6), (4.14, 0.28)),
    (0.1, 3.3), (0.5, 2.35), 1.0, 1.52, 0.07, 0.24, (0.75, 3.4),
)  # fmt: skip
SUV = CarForm(
    4.5, 1.88,
    ((0.06, 0.32), (0.0, 0.64), (0.08, 1.1), (0.5, 1.13), (3.2, 1.1), (4.3, 0.96), (4.5, 0.66), (4.44, 0.32)),
    (0.1, 3.5), (0.42, 2.55), 1.08, 1.68, 0.07, 0.2, (0.82, 3.68), 0.37,
)  # fmt: skip


def car(form: CarForm, paint: Colour) -> Shape:
    """A passenger car: body, cabin, windows, lamps, plate, mirrors, wheels."""
    half_l, half_w = form.length / 2, form.width / 2
    outline = [(x - half_l, z) for x, z in form.side]
    right = tuple((x, -half_w, z) for x, z in reversed(outline))
    left = tuple((x, half_w, z) for x, z in outline)
    # Strips across the car, between neighbouring outline points, from the rear bumper over the top to the nose.
    strips = tuple(
        ((x0, half_w, z0), (x0, -half_w, z0), (x1, -half_w, z1), (x1, half_w, z1))
        for (x0, z0), (x1, z1) in pairwise(outline)
    )
    underside = ((outline[0][0], half_w, outline[0][1]), (outline[-1][0], half_w, outline[-1][1]),
                 (outline[-1][0], -half_w, outline[-1][1]), (outline[0][0], -half_w, outline[0][1]))  # fmt: skip
    cabin = _cabin(form)
    bumper, boot, *tops, nose, apron = strips

    polygons: list[Polygon] = []
    # Mirrors come first: the one on the far side is then hidden by the cabin.
    polygons += _mirrors(form, paint)
    polygons += _tyres_under(form)
    polygons += [Polygon(strip, paint) for strip in tops]
    polygons += _rear(bumper, boot, paint)
    polygons += _front(nose, apron, paint)
    polygons += _side(right, form, paint, -half_w)
    polygons += _side(left, form, paint, half_w)
    polygons += _glass_house(cabin, paint)
    solids = (
        solid_of((*strips, right, left, underside), reflectivity(paint)),
        solid_of(closed_below(cabin), 0.25),
    )
    return Shape((form.length, form.width, form.roof_z), tuple(polygons), solids)


def _cabin(form: CarForm) -> tuple[tuple[Point, ...], ...]:
    half_l = form.length / 2
    base_y, roof_y = form.width / 2 - form.base_inset, form.width / 2 - form.roof_inset
    (bx0, bx1), (rx0, rx1) = form.cabin_base, form.cabin_roof
    bottom = tuple(
        (x - half_l, y, form.belt_z) for x, y in ((bx0, -base_y), (bx1, -base_y), (bx1, base_y), (bx0, base_y))
    )
    top = tuple((x - half_l, y, form.roof_z) for x, y in ((rx0, -roof_y), (rx1, -roof_y), (rx1, roof_y), (rx0, roof_y)))
    return hexahedron(bottom, top)


def _tyres_under(form: CarForm) -> list[Polygon]:
    """Tyres as seen from the front and the rear below the body."""
    polygons: list[Polygon] = []
    for axle, outward in ((form.axles[0], -1), (form.axles[1], 1)):
        for side in (-1.0, 1.0):
            x = axle - form.length / 2
            y0, y1 = sorted((side * (form.width / 2 - 0.03), side * (form.width / 2 - 0.24)))
            quad = ((x, y1, 0.0), (x, y0, 0.0), (x, y0, 0.42), (x, y1, 0.42))
            polygons.append(Polygon(quad if outward < 0 else quad[::-1], RUBBER))
    return polygons


def _rear(bumper: tuple[Point, ...], boot: tuple[Point, ...], paint: Colour) -> list[Polygon]:
    dark = shade(paint, 0.82)
    return [
        Polygon(bumper, paint),
        Polygon(patch(bumper, 0.0, 0.0, 1.0, 0.42), PLASTIC),
        Polygon(patch(bumper, 0.06, 0.5, 0.16, 0.62), TAIL_RED),
        Polygon(patch(bumper, 0.84, 0.5, 0.94, 0.62), TAIL_RED),
        Polygon(patch(bumper, 0.0, 0.93, 1.0, 1.0), shade(paint, 0.45)),
        Polygon(boot, paint),
        Polygon(patch(boot, 0.0, 0.0, 0.05, 1.0), dark),
        Polygon(patch(boot, 0.95, 0.0, 1.0, 1.0), dark),
        Polygon(patch(boot, 0.24, 0.08, 0.76, 0.62), shade(paint, 0.88)),
        Polygon(patch(boot, 0.345, 0.14, 0.655, 0.46), PLASTIC),
        Polygon(patch(boot, 0.36, 0.17, 0.64, 0.43), PLATE),
        Polygon(patch(boot, 0.39, 0.24, 0.61, 0.35), (120, 110, 104)),
        Polygon(patch(boot, 0.36, 0.66, 0.64, 0.72), RIM),
        Polygon(patch(boot, 0.02, 0.4, 0.22, 0.86), TAIL_RED, Lamp.TAIL),
        Polygon(patch(boot, 0.78, 0.4, 0.98, 0.86), TAIL_RED, Lamp.TAIL),
        Polygon(patch(boot, 0.14, 0.48, 0.215, 0.62), (170, 168, 190)),
        Polygon(patch(boot, 0.785, 0.48, 0.86, 0.62), (170, 168, 190)),
        Polygon(patch(boot, 0.0, 0.95, 1.0, 1.0), shade(paint, 1.25)),
    ]


def _front(nose: tuple[Point, ...], apron: tuple[Point, ...], paint: Colour) -> list[Polygon]:
    # The strips run towards the front and down, so t = 0 is their upper edge here and s runs from left to right.
    return [
        Polygon(nose, paint),
        Polygon(patch(nose, 0.3, 0.15, 0.7, 0.95), PLASTIC),
        Polygon(patch(nose, 0.32, 0.45, 0.68, 0.55), RIM),
        Polygon(patch(nose, 0.03, 0.1, 0.27, 0.75), HEAD_WHITE, Lamp.HEAD),
        Polygon(patch(nose, 0.73, 0.1, 0.97, 0.75), HEAD_WHITE, Lamp.HEAD),
        Polygon(patch(nose, 0.03, 0.72, 0.2, 0.85), AMBER),
        Polygon(patch(nose, 0.8, 0.72, 0.97, 0.85), AMBER),
        Polygon(apron, paint),
        Polygon(patch(apron, 0.2, 0.35, 0.8, 0.95), PLASTIC),
        Polygon(patch(apron, 0.38, 0.1, 0.62, 0.4), PLATE),
        Polygon(patch(apron, 0.0, 0.8, 1.0, 1.0), PLASTIC),
    ]


def _side(outline: tuple[Point, ...], form: CarForm, paint: Colour, y: float) -> list[Polygon]:
    polygons = [Polygon(outline, paint)]
    half_l = form.length / 2
    out = math.copysign(0.01, y)

    def quad(x0: float, z0: float, x1: float, z1: float, colour: Colour, lamp: Lamp = Lamp.NONE) -> Polygon:
        points = tuple((x - half_l, y + out, z) for x, z in ((x0, z0), (x1, z0), (x1, z1), (x0, z1)))
        return Polygon(points if y < 0 else points[::-1], colour, lamp)

    sill = form.side[0][1]
    (rear_axle, front_axle), radius = form.axles, form.wheel_radius
    polygons.append(quad(0.15, sill, form.length - 0.2, sill + 0.12, PLASTIC))
    polygons.append(quad(0.1, 0.62, form.length - 0.15, 0.645, shade(paint, 0.7)))
    gaps = (rear_axle + 0.62, rear_axle + 1.52, front_axle - 0.42)
    polygons += [quad(x, sill + 0.14, x + 0.02, form.belt_z - 0.04, shade(paint, 0.55)) for x in gaps]
    handles = (rear_axle + 0.72, rear_axle + 1.62)
    polygons += [quad(x, 0.78, x + 0.16, 0.82, shade(paint, 0.6)) for x in handles]
    polygons.append(quad(0.06, 0.74, 0.32, 0.94, TAIL_RED, Lamp.TAIL))
    polygons.append(quad(form.length - 0.42, 0.62, form.length - 0.16, 0.74, HEAD_WHITE, Lamp.HEAD))
    for axle in (rear_axle, front_axle):
        for scale, colour in ((1.2, (20, 19, 18)), (1.0, RUBBER), (0.64, RIM), (0.5, (92, 90, 88)), (0.16, RIM)):
            r = radius * scale
            # The arch (scale above 1) is cut off at the ground by the wheel's own height.
            ring = [
                (axle - half_l + r * math.cos(a), y + 2 * out, max(0.0, radius + r * math.sin(a)))
                for a in (math.tau * k / 16 for k in range(16))
            ]
            polygons.append(Polygon(tuple(ring if y < 0 else ring[::-1]), colour))
    return polygons


def _glass_house(cabin: tuple[tuple[Point, ...], ...], paint: Colour) -> list[Polygon]:
    rear, right, front, left, roof = cabin
    polygons: list[Polygon] = []
    for face, margins in ((rear, (0.07, 0.1, 0.93, 0.88)), (front, (0.05, 0.06, 0.95, 0.92))):
        s0, t0, s1, t1 = margins
        polygons.append(Polygon(face, shade(paint, 0.9)))
        polygons.append(Polygon(patch(face, s0, t0, s1, t1), GLASS))
        polygons.append(Polygon(patch(face, s0 + 0.02, t0 + 0.5 * (t1 - t0), s1 - 0.02, t1 - 0.04), shade(GLASS, 1.35)))
        polygons.append(Polygon(patch(face, s0 + 0.04, t1 - 0.26, s1 - 0.04, t1 - 0.1), GLASS_LIGHT))
    polygons.append(Polygon(patch(rear, 0.42, 0.82, 0.58, 0.87), TAIL_RED, Lamp.TAIL))
    headrests = (patch(rear, s, 0.12, s + 0.14, 0.5) for s in (0.2, 0.66))
    polygons += [Polygon(headrest, shade(GLASS, 0.55)) for headrest in headrests]
    for face in (right, left):
        polygons.append(Polygon(face, shade(paint, 0.9)))
        for s0, s1 in ((0.16, 0.46), (0.49, 0.84)):
            glass = (
                on_face(face, s0, 0.1),
                on_face(face, s1, 0.1),
                on_face(face, s1 - 0.02, 0.88),
                on_face(face, s0 + 0.02, 0.88),
            )
            polygons.append(Polygon(glass, GLASS))
            band = (
                on_face(face, s0, 0.5),
                on_face(face, s1, 0.5),
                on_face(face, s1 - 0.02, 0.84),
                on_face(face, s0 + 0.02, 0.84),
            )
            polygons.append(Polygon(band, shade(GLASS, 1.5)))
    polygons.append(Polygon(roof, paint))
    return polygons


def _mirrors(form: CarForm, paint: Colour) -> list[Polygon]:
    polygons: list[Polygon] = []
    x = form.cabin_base[1] - form.length / 2 - 0.55
    for side in (-1.0, 1.0):
        y0, y1 = sorted((side * (form.width / 2 - 0.02), side * (form.width / 2 + 0.12)))
        rear, right, front, left, top = box(x, x + 0.14, y0, y1, form.belt_z - 0.02, form.belt_z + 0.13)
        polygons += [Polygon(top, paint), Polygon(right, paint), Polygon(left, paint), Polygon(front, paint)]
        polygons += [Polygon(rear, PLASTIC), Polygon(patch(rear, 0.12, 0.15, 0.88, 0.85), GLASS_LIGHT)]
    return polygons


def reflectivity(paint: Colour) -> float:
    """What share of a LiDAR's light a painted surface returns."""
    return 0.15 + 0.6 * (sum(paint) / 765)
