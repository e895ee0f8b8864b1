"""How much the other sensors weigh in the fusion when some are lost."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection
from fractions import Fraction
from functools import lru_cache
from itertools import chain

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
    before, after = Counter(chain(*views.values())), Counter(chain(*(views[name] for name in left)))
    factors: dict[str, Fraction] = {name: Fraction(0) for name in lost}
    for name in left if gone else ():
        shares = Counter((before[direction], after[direction]) for direction in views[name])
        growth = sum((count * Fraction(*pair) for pair, count in shares.items()), Fraction(0))
        factors[name] = growth / len(views[name])
    changed = ((sensor.name, factors[sensor.name]) for sensor in system.sensors if sensor.name in factors)
    return tuple((name, factor) for name, factor in changed if factor != 1)


@lru_cache(maxsize=1024)
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
