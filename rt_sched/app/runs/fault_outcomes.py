"""What became of each injected fault: who noticed it when, what took over, when all had recovered, and went back."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from rt_sched.app.runs.takeover_runs import TakeoverRun, path_rows
from rt_sched.lowering import lost_sensors
from rt_sched.lowering.losses import fed_only_by, recovery_limit_ns
from rt_sched.messages import ArbiterDecision, ArbiterState
from rt_sched.model import Fault, FaultKind, System
from rt_sched.runtime.detection import NOTHING_LOST, Decision, Detection
from rt_sched.runtime.signs_of_life import Notice

_COMMANDING = (ArbiterState.NOMINAL, ArbiterState.DEGRADED, ArbiterState.BACKUP)

Decisions = Sequence[tuple[int, ArbiterDecision]]


def fault_outcomes(
    system: System,
    faults: Sequence[Fault],
    recorded: Collection[str],
    decisions: Decisions,
    detection: Detection = NOTHING_LOST,
    takeovers: Sequence[TakeoverRun] = (),
    noticed: Sequence[Notice] = (),
) -> list[dict[str, Any]]:
    """One row per fault. `recorded`: sensors that the recording holds. `decisions`: of the arbiter, with their times.
    `noticed`: by whom no takeover follows.

    Detected: by the watch that the plan's takeovers come from (`heartbeat`, `silence`), by another that notices only,
    or by the arbiter, whichever is earliest: its first decision after the fault that newly names a lost sensor as
    stale, or whose state is worse than that of the last decision before the fault.

    Recovered: where a takeover came into force, everything has come out of every path that it restores and to which the
    limit applies; else the arbiter has noticed. And from then on every decision is a valid command of a path that
    works, until the end of the run or the next fault (one that comes within the limit for recovery is suffered together
    with this one). How fast it recovers while it is still starting is not judged.
    """
    return [
        _outcome(system, faults, index, recorded, decisions, detection, takeovers, noticed)
        for index in range(len(faults))
    ]


def _outcome(
    system: System,
    faults: Sequence[Fault],
    index: int,
    recorded: Collection[str],
    decisions: Decisions,
    detection: Detection,
    takeovers: Sequence[TakeoverRun],
    noticed: Sequence[Notice],
) -> dict[str, Any]:
    fault = faults[index]
    fed = fed_only_by(system, fault.target) if fault.kind is FaultKind.DEVICE else set()
    silenced = (set(lost_sensors(system, [fault])) | fed) & set(recorded)
    before = [decision for time_ns, decision in decisions if time_ns < fault.time_ns]
    state = before[-1].state if before else ArbiterState.STARTING
    limit_ns = recovery_limit_ns(system, silenced)
    together_ns = fault.time_ns + max(limit_ns or 0, 1)
    end_ns = next((later.time_ns for later in faults[index + 1 :] if later.time_ns >= together_ns), None)
    judged = [one for one in decisions if fault.time_ns <= one[0] and (end_ns is None or one[0] < end_ns)]
    silent = silenced - set(before[-1].stale_sensors if before else ())
    by_arbiter_ns = next(
        (at for at, one in judged if silent & set(one.stale_sensors) or _worse(one.state, state)), None
    )
    answer = answer_to(fault, detection)
    run = next((one for one in takeovers if one.decision is answer), None)
    detected = [(by_arbiter_ns, "arbiter")] if by_arbiter_ns is not None else []
    if answer is not None:
        by = next(one.by for one in answer.notices if one.what == str(fault) and one.lost)
        detected.append((answer.noticed_ns, by))
    detected += [(one.time_ns, one.by) for one in noticed if _tells_of(one, fault)]
    earliest = min(detected, default=None)
    ready_ns = by_arbiter_ns if run is None else run.recovered_ns
    recovered_ns = None if ready_ns is None else _commands_from(judged, ready_ns)
    excused = state is ArbiterState.STARTING and recovered_ns is not None
    return {
        "fault": str(fault),
        "time_ns": fault.time_ns,
        "until_ns": fault.until_ns,
        "detected_after_ns": _after(fault, None if earliest is None else earliest[0]),
        "detected_by": None if earliest is None else earliest[1],
        "switched_after_ns": _after(fault, None if run is None else run.decision.in_force_ns),
        "recovered_after_ns": _after(fault, recovered_ns),
        "returned_after_ns": _after(fault, _returned_ns(fault, answer, detection)),
        "recovery_bound_ns": None if run is None else run.bound_ns,
        "recovery_limit_ns": None if excused else limit_ns,
        "takeover": None if answer is None else _takeover_row(answer, run),
        "paths": [] if run is None else path_rows(run, fault.time_ns),
    }


def answer_to(fault: Fault, detection: Detection) -> Decision | None:
    """The decision that followed when the fault was noticed."""
    return next(
        (
            one
            for one in detection.decisions
            if one.noticed_ns >= fault.time_ns
            and any(notice.what == str(fault) and notice.lost for notice in one.notices)
        ),
        None,
    )


def _tells_of(notice: Notice, fault: Fault) -> bool:
    ended = fault.until_ns is not None and notice.time_ns > fault.until_ns
    return notice.lost and notice.what == str(fault) and notice.time_ns >= fault.time_ns and not ended


def _takeover_row(answer: Decision, run: TakeoverRun | None) -> dict[str, Any]:
    """What answers the losses that counted when the fault was noticed, or why nothing does."""
    takeover = None if answer.in_force_ns is None else answer.takeover
    return {
        "losses": list(answer.losses),
        "answered": takeover is not None,
        "reason": answer.reason if run is None or run.analysed else f"{answer.reason}; not bounded: {run.reason}",
        "moves": [] if takeover is None else [move.task for move in takeover.moves],
        "weights": [] if takeover is None else [{"sensor": n, "factor": float(w)} for n, w in takeover.weights],
    }


def _returned_ns(fault: Fault, answer: Decision | None, detection: Detection) -> int | None:
    """When the plan was in force again for what had been lost."""
    if answer is None:
        return None
    later = (one for one in detection.decisions if one.noticed_ns > answer.noticed_ns)
    back = next((one for one in later if any(n.what == str(fault) and not n.lost for n in one.notices)), None)
    return None if back is None else back.in_force_ns


def _commands_from(decisions: Decisions, ready_ns: int) -> int | None:
    """The first instant from `ready_ns` on after which every decision is a valid command; None: the last is not."""
    since_ns = None
    for time_ns, decision in decisions:
        if not decision.command.valid or decision.state not in _COMMANDING:
            since_ns = None
        elif time_ns >= ready_ns and since_ns is None:
            since_ns = time_ns
    return since_ns


def _after(fault: Fault, at_ns: int | None) -> int | None:
    return None if at_ns is None else at_ns - fault.time_ns


def _worse(state: ArbiterState, before: ArbiterState) -> bool:
    order = [ArbiterState.STARTING, *_COMMANDING, ArbiterState.MINIMAL_RISK]
    return order.index(state) > order.index(before) and before is not ArbiterState.STARTING
