"""Cameras: the tasks that are theirs alone, and what two of them both see."""

from __future__ import annotations

import math

from rt_sched.lowering import Role, input_role
from rt_sched.model import Sensor, SensorKind, System


def tasks_of_cameras(system: System) -> dict[str, tuple[str, ...]]:
    """Camera -> the tasks that only its frames set off, in the order of the system; cameras without any left out."""
    cameras = [sensor.name for sensor in system.sensors if sensor.kind is SensorKind.CAMERA]
    tasks = {task.name: task for task in system.tasks}
    roots: dict[str, frozenset[str]] = {}

    def roots_of(name: str, on_the_way: frozenset[str] = frozenset()) -> frozenset[str]:
        if name not in tasks:
            return frozenset({name})
        if name not in roots and name not in on_the_way:
            activating = [
                g.source for g in tasks[name].inputs if input_role(tasks[name].activation, g) is not Role.READ
            ]
            found = [roots_of(source, on_the_way | {name}) for source in activating]
            roots[name] = frozenset().union(*found) if found else frozenset({name})
        return roots.get(name, frozenset({name}))

    found = {camera: tuple(name for name in tasks if roots_of(name) == {camera}) for camera in cameras}
    return {camera: names for camera, names in found.items() if names}


def view_rad(sensor: Sensor) -> tuple[float, float] | None:
    """Horizontal field of view: azimuth of the optical axis in the vehicle, and half of the angle; None if unknown."""
    pose, intrinsics, width = (
        sensor.calibration.sensor_to_vehicle,
        sensor.calibration.intrinsics,
        sensor.calibration.image_width,
    )
    if pose is None or intrinsics is None or not width:
        return None
    return math.atan2(pose[1][2], pose[0][2]), math.atan(width / 2 / intrinsics[0])


def shared_view_mrad(one: Sensor, other: Sensor) -> int:
    """The horizontal angle that both see, in milliradians; 0 where a calibration is missing."""
    a, b = view_rad(one), view_rad(other)
    if a is None or b is None:
        return 0
    apart = abs(math.remainder(a[0] - b[0], math.tau))
    return max(0, round(1000 * min(a[1] + b[1] - apart, 2 * a[1], 2 * b[1])))
