"""Within what time a loss is noticed by signs of life or by silence, and its takeover is in force.

Both are timers that every message restarts. When the last message came at t, the timer runs out at t + its length and
not before, and the loss was not earlier than t, less the time that a message was on its way.
"""

from __future__ import annotations

from collections.abc import Sequence

from rt_sched import model
from rt_sched.analysis.faults.result import Detection
from rt_sched.analysis.system.propagation import sensor_gap_ns


def detection_of_losses(system: model.System, faults: Sequence[model.Fault]) -> Detection:
    """When the last of some losses that happen at one time must have been noticed.

    Raises ValueError for what the system does not have.
    """
    return max((_detection(system, fault) for fault in faults), key=lambda one: one.value_ns)


def _detection(system: model.System, fault: model.Fault) -> Detection:
    sensor = next((one for one in system.sensors if one.name == fault.target), None)
    if fault.kind in (model.FaultKind.DEVICE, model.FaultKind.LINK):
        beat = concept_of(system).heartbeat
        waited_ns, late_ns = heartbeat_timeout_ns(system), way_ns(system, fault)
        return Detection(
            waited_ns + late_ns, "heartbeat", fault.target, beat.misses * beat.period_ns, beat.margin_ns, late_ns, 0
        )
    if sensor is None:
        raise ValueError(f"{fault} is no sensor of {system.name}")
    margin_ns = concept_of(system).silence_of(sensor.kind).margin_ns
    waited_ns = silence_timeout_ns(system, sensor)
    return Detection(waited_ns, "silence", sensor.name, waited_ns - margin_ns, margin_ns, 0, 0)


def concept_of(system: model.System) -> model.SafetyConcept:
    """The safety concept, or its usual values where the system has none."""
    return system.safety or model.SafetyConcept("", "", None)


def heartbeat_timeout_ns(system: model.System) -> int:
    """For how long no sign of life comes from a device, or over a link, until it is taken for lost."""
    beat = concept_of(system).heartbeat
    return beat.misses * beat.period_ns + beat.margin_ns


def silence_timeout_ns(system: model.System, sensor: model.Sensor) -> int:
    """For how long nothing comes from a sensor until it is taken for lost; in health something comes earlier."""
    silence = concept_of(system).silence_of(sensor.kind)
    return silence.periods * sensor_gap_ns(sensor) + 2 * sensor.jitter_ns + silence.margin_ns


def decision_ns(system: model.System) -> int:
    """From the notice of a loss until its takeover is in force everywhere: told over the slowest link, then made."""
    told_ns = max((link.latency_ns for link in system.links), default=0)
    return concept_of(system).decision_ns + told_ns


def way_ns(system: model.System, fault: model.Fault) -> int:
    """How long a sign of life is on its way, in a message too short to count for the bandwidth."""
    if fault.kind is model.FaultKind.LINK:
        return next(link.latency_ns for link in system.links if link.name == fault.target)
    links = [link for link in system.links if not link.between or fault.target in link.between]
    return max((link.latency_ns for link in links), default=0)
