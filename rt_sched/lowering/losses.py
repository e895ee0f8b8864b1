"""When injected faults silence devices, sensors and links."""

from __future__ import annotations

from collections.abc import Sequence

from rt_sched.model import Fault, FaultKind, System


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
