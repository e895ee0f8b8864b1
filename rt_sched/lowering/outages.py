"""From when until when injected faults silence devices, sensors and links."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rt_sched.model import Fault, FaultKind, System

#: [begin, end) in ns; the end is None when it lasts for good.
Outage = tuple[int, int | None]
#: Ascending, and apart: between one and the next the thing is there.
Outages = tuple[Outage, ...]


def device_outages(faults: Sequence[Fault]) -> dict[str, Outages]:
    """Device name -> when it is lost, for those that are."""
    return _by_target(fault for fault in faults if fault.kind is FaultKind.DEVICE)


def link_outages(faults: Sequence[Fault]) -> dict[str, Outages]:
    """Link name -> when it is lost, for those that are."""
    return _by_target(fault for fault in faults if fault.kind is FaultKind.LINK)


def sensor_outages(system: System, faults: Sequence[Fault]) -> dict[str, Outages]:
    """Sensor name -> when it is silent: while it is lost itself, or every device that it is attached to."""
    devices = device_outages(faults)
    own = _by_target(fault for fault in faults if fault.kind not in (FaultKind.DEVICE, FaultKind.LINK))
    silent = {}
    for sensor in system.sensors:
        spans = list(own.get(sensor.name, ()))
        if sensor.attached_to:
            spans += _common([devices.get(device, ()) for device in sensor.attached_to])
        if spans:
            silent[sensor.name] = united(spans)
    return silent


def _by_target(faults: Iterable[Fault]) -> dict[str, Outages]:
    spans: dict[str, list[Outage]] = {}
    for fault in faults:
        spans.setdefault(fault.target, []).append((fault.time_ns, fault.until_ns))
    return {target: united(some) for target, some in spans.items()}


def united(spans: Iterable[Outage]) -> Outages:
    """The spans, those that overlap or touch put together."""
    united: list[Outage] = []
    for begin_ns, end_ns in sorted(spans, key=lambda span: span[0]):
        if united and (united[-1][1] is None or begin_ns <= united[-1][1]):
            united[-1] = (united[-1][0], _later(united[-1][1], end_ns))
        else:
            united.append((begin_ns, end_ns))
    return tuple(united)


def _common(outages: Sequence[Outages]) -> list[Outage]:
    """When all of them last."""
    common: list[Outage] = [(0, None)]
    for some in outages:
        both = [(max(one[0], other[0]), _earlier(one[1], other[1])) for one in common for other in some]
        common = [(begin_ns, end_ns) for begin_ns, end_ns in both if end_ns is None or begin_ns < end_ns]
    return common


def _later(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else max(one, other)


def _earlier(one: int | None, other: int | None) -> int | None:
    return min((end for end in (one, other) if end is not None), default=None)
