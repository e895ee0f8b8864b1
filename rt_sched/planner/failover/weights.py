"""How much the other sensors weigh in the fusion when some are lost."""

from __future__ import annotations

import math
from collections.abc import Collection
from fractions import Fraction

from rt_sched.model import Sensor, SensorKind, System

#: Directions around the vehicle that are told apart.
_DIRECTIONS = 360
#: A view counts as adjacent to all that begins within this many directions of its edge.
_ADJACENT = 5


def fusion_weights(system: System, lost: Collection[str]) -> tuple[tuple[str, Fraction], ...]:
    """By sensor, in the order of the system, the factor of its weight; only those that change.

    What is lost weighs nothing. Cameras share each direction equally, so that a camera that sees a direction with n
    others, of which m are lost, weighs (n + 1) / (n + 1 - m) times as much there; its factor is the mean over its view,
    which is taken a little wider, so that adjacent cameras share its edge. Cameras without calibration are taken to see
    everything.
    """
    cameras = [sensor for sensor in system.sensors if sensor.kind is SensorKind.CAMERA]
    views = {sensor.name: _view(sensor) for sensor in cameras}
    left = [name for name in views if name not in lost]
    gone = [name for name in views if name in lost]
    factors: dict[str, Fraction] = {name: Fraction(0) for name in lost}
    for name in left:
        if gone and views[name]:
            factors[name] = _mean_growth(name, views, left)
    changed = ((sensor.name, factors[sensor.name]) for sensor in system.sensors if sensor.name in factors)
    return tuple((name, factor) for name, factor in changed if factor != 1)


def _mean_growth(name: str, views: dict[str, frozenset[int]], left: Collection[str]) -> Fraction:
    """By how much the share of a camera grows, on average over the directions that it sees."""
    growth = Fraction(0)
    for direction in views[name]:
        before = sum(direction in view for view in views.values())
        after = sum(direction in views[other] for other in left)
        growth += Fraction(before, after)
    return growth / len(views[name])


def _view(sensor: Sensor) -> frozenset[int]:
    """Directions that a camera sees, counted from straight ahead to the left."""
    calibration = sensor.calibration
    pose, intrinsics, width = calibration.sensor_to_vehicle, calibration.intrinsics, calibration.image_width
    if pose is None or intrinsics is None or width is None:
        return frozenset(range(_DIRECTIONS))
    focal, _, centre, _ = intrinsics
    # The optical axis of a camera is its z axis: the third column of the rotation.
    ahead = round(math.degrees(math.atan2(pose[1][2], pose[0][2])))
    left = math.ceil(math.degrees(math.atan2(centre, focal))) + _ADJACENT
    right = math.ceil(math.degrees(math.atan2(width - centre, focal))) + _ADJACENT
    return frozenset(direction % _DIRECTIONS for direction in range(ahead - right, ahead + left + 1))
