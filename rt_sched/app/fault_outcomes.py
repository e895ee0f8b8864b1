"""How long the safety path took to notice an injected fault and to command without what was lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rt_sched.app.fault_args import lost_sensors
from rt_sched.messages import ArbiterDecision, ArbiterState
from rt_sched.model import Fault, FaultKind, System

_COMMANDING = (ArbiterState.NOMINAL, ArbiterState.DEGRADED, ArbiterState.BACKUP)


def fault_outcomes(
    system: System, faults: Sequence[Fault], decisions: Sequence[tuple[int, ArbiterDecision]]
) -> list[dict[str, Any]]:
    """One row per fault, as seen in the arbiter's decisions.

    Detected: the first decision after the fault that names a lost sensor as stale or, for a device, whose state is
    worse than the last one before it. Recovered: from then on the first valid command of a path that still works.
    """
    rows = []
    for fault in faults:
        silent = set(lost_sensors(system, [fault])) | _fed_by(system, fault)
        before = [decision.state for time_ns, decision in decisions if time_ns < fault.time_ns]
        state = before[-1] if before else ArbiterState.STARTING
        detected = recovered = None
        for time_ns, decision in decisions:
            if time_ns < fault.time_ns:
                continue
            if detected is None and (silent & set(decision.stale_sensors) or _worse(decision.state, state)):
                detected = time_ns - fault.time_ns
            if detected is not None and decision.command.valid and decision.state in _COMMANDING:
                recovered = time_ns - fault.time_ns
                break
        rows.append(
            {
                "fault": str(fault),
                "time_ns": fault.time_ns,
                "detected_after_ns": detected,
                "recovered_after_ns": recovered,
                "recovery_limit_ns": system.safety.recovery_limit_ns if system.safety else None,
            }
        )
    return rows


def _worse(state: ArbiterState, before: ArbiterState) -> bool:
    order = [ArbiterState.STARTING, *_COMMANDING, ArbiterState.MINIMAL_RISK]
    return order.index(state) > order.index(before) and before is not ArbiterState.STARTING


def _fed_by(system: System, fault: Fault) -> set[str]:
    """Sensors whose data only tasks on the lost device turn into anything."""
    if fault.kind is not FaultKind.DEVICE:
        return set()
    readers: dict[str, set[str]] = {sensor.name: set() for sensor in system.sensors}
    for task in system.tasks:
        for port in task.inputs:
            if port.source in readers:
                readers[port.source].add(task.pe[0])
    return {sensor for sensor, devices in readers.items() if devices == {fault.target}}
