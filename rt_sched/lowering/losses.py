"""When injected faults silence devices, sensors and links."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rt_sched.model import Fault, FaultKind, SensorKind, System


def lost_devices(faults: Sequence[Fault]) -> dict[str, int]:
    """Device name -> ns of its first loss."""
    lost: dict[str, int] = {}
    for fault in faults:
        if fault.kind is FaultKind.DEVICE:
            lost[fault.target] = min(fault.time_ns, lost.get(fault.target, fault.time_ns))
    return lost


def lost_sensors(system: System, faults: Sequence[Fault]) -> dict[str, int]:
    """Sensor name -> ns at which it falls silent: its own loss, or that of the last device it is attached to."""
    devices = lost_devices(faults)
    lost: dict[str, int] = {}
    for sensor in system.sensors:
        times = [
            f.time_ns for f in faults if f.kind not in (FaultKind.DEVICE, FaultKind.LINK) and f.target == sensor.name
        ]
        if sensor.attached_to and all(device in devices for device in sensor.attached_to):
            times.append(max(devices[device] for device in sensor.attached_to))
        if times:
            lost[sensor.name] = min(times)
    return lost


def lost_links(faults: Sequence[Fault]) -> dict[str, int]:
    """Link name -> ns of its first loss."""
    lost: dict[str, int] = {}
    for fault in faults:
        if fault.kind is FaultKind.LINK:
            lost[fault.target] = min(fault.time_ns, lost.get(fault.target, fault.time_ns))
    return lost


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
