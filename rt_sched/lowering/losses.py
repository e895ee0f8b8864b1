"""What injected faults silence first, and what the loss of sensors asks for."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rt_sched.lowering.outages import device_outages, link_outages, sensor_outages
from rt_sched.model import Fault, SensorKind, System


def lost_devices(faults: Sequence[Fault]) -> dict[str, int]:
    """Device name -> ns of its first loss."""
    return {device: outages[0][0] for device, outages in device_outages(faults).items()}


def lost_sensors(system: System, faults: Sequence[Fault]) -> dict[str, int]:
    """Sensor name -> ns at which it first falls silent: its own loss, or that of all devices it is attached to."""
    return {sensor: outages[0][0] for sensor, outages in sensor_outages(system, faults).items()}


def lost_links(faults: Sequence[Fault]) -> dict[str, int]:
    """Link name -> ns of its first loss."""
    return {link: outages[0][0] for link, outages in link_outages(faults).items()}


def fed_only_by(system: System, device: str) -> set[str]:
    """Sensors whose data only tasks on this device turn into anything."""
    readers: dict[str, set[str]] = {sensor.name: set() for sensor in system.sensors}
    for task in system.tasks:
        for port in task.inputs:
            if port.source in readers:
                readers[port.source].add(task.pe[0])
    return {sensor for sensor, devices in readers.items() if devices == {device}}


def recovery_limit_ns(system: System, silenced: Collection[str]) -> int | None:
    """The limit on recovery when these sensors fall silent, or a device does that feeds none.

    Where only LiDARs or IMUs fall silent there is none: that shows when the next sweep is due.
    """
    kinds = {sensor.kind for sensor in system.sensors if sensor.name in silenced}
    reported_only = bool(kinds) and kinds <= {SensorKind.LIDAR, SensorKind.IMU}
    return None if reported_only or system.safety is None else system.safety.recovery_limit_ns
