"""In which order the painter draws things: what is farther first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sensors.scene.shapes import Shape

#: The nearest point of a longer road user than this says too little about what it hides.
_LONG_M = 9.0


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """A shape on the ground, which has the height `z_m` and the slope `rise` along the world's x there."""

    shape: Shape
    x_m: float
    y_m: float
    yaw_rad: float
    braking: bool
    z_m: float
    rise: float
    moves: bool


def farthest_first(items: Sequence[Placed], x_m: float, y_m: float) -> list[Placed]:
    """The things in the order of drawing, seen from (x_m, y_m): by their nearest points, long road users by planes."""
    # Equal distances keep the given order, so that the picture does not depend on sorting.
    order = sorted(items, key=lambda item: -_ground_distance(item, x_m, y_m))
    road_users = [item for item in order if item.moves]
    for long in (item for item in road_users if item.shape.size_m[0] > _LONG_M):
        for other in road_users:
            if other is long:
                continue
            first, second = order.index(long), order.index(other)
            hidden, hiding = _apart(long, other, x_m, y_m), _apart(other, long, x_m, y_m)
            if second > first and hidden and not hiding:
                order.insert(first, order.pop(second))
            elif second < first and hiding and not hidden:
                order.insert(second, order.pop(first))
    return order


def _apart(near: Placed, far: Placed, x_m: float, y_m: float) -> bool:
    """Whether a side of either box parts `far` from `near` and the eye at (x_m, y_m), so that `far` hides nothing.

    Such a side is one of `near` that the eye does not see, or one of `far` that it sees.
    """
    for item, other, seen_by_eye in ((near, far, False), (far, near, True)):
        for axis, half in ((0.0, item.shape.size_m[0] / 2), (math.pi / 2, item.shape.size_m[1] / 2)):
            c, s = math.cos(item.yaw_rad + axis), math.sin(item.yaw_rad + axis)
            eye = c * (x_m - item.x_m) + s * (y_m - item.y_m)
            middle = c * (other.x_m - item.x_m) + s * (other.y_m - item.y_m)
            turn = other.yaw_rad - item.yaw_rad - axis
            reach = abs(math.cos(turn)) * other.shape.size_m[0] / 2 + abs(math.sin(turn)) * other.shape.size_m[1] / 2
            for side in (1.0, -1.0):
                if (side * eye > half) == seen_by_eye and side * middle - reach >= half:
                    return True
    return False


def _ground_distance(item: Placed, x_m: float, y_m: float) -> float:
    """Distance on the ground to the nearest point of the box around `item`."""
    c, s = math.cos(item.yaw_rad), math.sin(item.yaw_rad)
    dx, dy = x_m - item.x_m, y_m - item.y_m
    along, across = abs(c * dx + s * dy), abs(c * dy - s * dx)
    return math.hypot(max(0.0, along - item.shape.size_m[0] / 2), max(0.0, across - item.shape.size_m[1] / 2))
