"""How long the safety path took to notice an injected fault and to command without what was lost."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from rt_sched.lowering import lost_sensors
from rt_sched.lowering.losses import fed_only_by, recovery_limit_ns
from rt_sched.messages import ArbiterDecision, ArbiterState
from rt_sched.model import Fault, FaultKind, System

_COMMANDING = (ArbiterState.NOMINAL, ArbiterState.DEGRADED, ArbiterState.BACKUP)


def fault_outcomes(
    system: System,
    faults: Sequence[Fault],
    recorded: Collection[str],
    decisions: Sequence[tuple[int, ArbiterDecision]],
) -> list[dict[str, Any]]:
    """One row per fault, as seen in the arbiter's decisions. `recorded`: sensors that the recording holds.

    Detected: the first decision after the fault that newly names a lost sensor as stale, or whose state is worse than
    that of the last decision before the fault. Recovered: the first decision from then on after which every one is a
    valid command of a path that works, until the end of the run or the next fault (one that comes within the limit for
    recovery is suffered together with this one). How fast it recovers while it is still starting is not judged.
    """
    rows = []
    for index, fault in enumerate(faults):
        fed = fed_only_by(system, fault.target) if fault.kind is FaultKind.DEVICE else set()
        silenced = (set(lost_sensors(system, [fault])) | fed) & set(recorded)
        before = [decision for time_ns, decision in decisions if time_ns < fault.time_ns]
        state = before[-1].state if before else ArbiterState.STARTING
        limit_ns = recovery_limit_ns(system, silenced)
        together_ns = fault.time_ns + max(limit_ns or 0, 1)
        end_ns = next((later.time_ns for later in faults[index + 1 :] if later.time_ns >= together_ns), None)
        silent = silenced - set(before[-1].stale_sensors if before else ())
        detected = recovered = None
        for time_ns, decision in decisions:
            if time_ns < fault.time_ns or (end_ns is not None and end_ns <= time_ns):
                continue
            if detected is None and (silent & set(decision.stale_sensors) or _worse(decision.state, state)):
                detected = time_ns - fault.time_ns
            if not decision.command.valid or decision.state not in _COMMANDING:
                recovered = None
            elif detected is not None and recovered is None:
                recovered = time_ns - fault.time_ns
        rows.append(
            {
                "fault": str(fault),
                "time_ns": fault.time_ns,
                "detected_after_ns": detected,
                "recovered_after_ns": recovered,
                "recovery_limit_ns": None if state is ArbiterState.STARTING and recovered is not None else limit_ns,
            }
        )
    return rows


def _worse(state: ArbiterState, before: ArbiterState) -> bool:
    order = [ArbiterState.STARTING, *_COMMANDING, ArbiterState.MINIMAL_RISK]
    return order.index(state) > order.index(before) and before is not ArbiterState.STARTING
