"""What the commands on faults print as JSON, and their exit codes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rt_sched.app.faults.prepared import Drive
from rt_sched.app.runs.result import ReplayResult
from rt_sched.faults.declared import (
    declared_paced_ns,
    declared_worst_ns,
    health_age_limit_ns,
    recovery_ns,
    watch_declared_ns,
    watch_reaction_ns,
    watch_return_ns,
)
from rt_sched.faults.kinds import KINDS, Kind, Strikes
from rt_sched.faults.outcomes import Outcome, Verdict, counts_for
from rt_sched.faults.script import FaultScript
from rt_sched.faults.spread import by_kind
from rt_sched.faults.watching import Finding
from rt_sched.model import System

RUN_SCHEMA = "rt-sched/faults-run/1"
LIST_SCHEMA = "rt-sched/faults-list/1"
CAMPAIGN_SCHEMA = "rt-sched/faults-campaign/1"

_FAILED = frozenset({Verdict.LATE.value, Verdict.SILENT.value})


def status_of(verdicts: Collection[str]) -> str:
    """`silent` where any fault is silent or noticed too late, `unknown` where of any nothing is known, else `ok`."""
    if _FAILED & set(verdicts):
        return "silent"
    return "unknown" if Verdict.UNKNOWN.value in verdicts else "ok"


#: Exit codes by status.
STATUS_CODES = {"ok": 0, "silent": 1, "unknown": 3}


def run_document(
    drive: Drive,
    log: str,
    script: FaultScript,
    file: str,
    found: Sequence[Outcome],
    findings: Sequence[Finding],
    replayed: ReplayResult | None,
) -> dict[str, Any]:
    """`log`, `file`: of the recording and the script, as given. `replayed`: None where the stages did not run."""
    rows = [_row(one) for one in found]
    strikes = [one.strike for one in found]
    other = [one for one in findings if not any(counts_for(one, strike, strikes) for strike in strikes)]
    return {
        "schema": RUN_SCHEMA,
        "status": status_of([row["verdict"] for row in rows]),
        "system": drive.system.name,
        "system_sha256": drive.system_sha256,
        "recording": log,
        "script": file,
        "seed": script.seed,
        "clock": "lockstep",
        "duration_ns": drive.horizon_ns,
        "run": None
        if replayed is None
        else {"folder": str(replayed.folder), "status": replayed.summary["status"], **_hashes(replayed.manifest)},
        "health": None if replayed is None else replayed.summary.get("health"),
        "faults": rows,
        "other_findings": [_finding(one) for one in other],
    }


def _hashes(manifest: Mapping[str, Any]) -> dict[str, Any]:
    return {name: manifest[name] for name in ("schedule_sha256", "outputs_sha256")}


def _row(outcome: Outcome) -> dict[str, Any]:
    strike, finding, reaction = outcome.strike, outcome.finding, outcome.reaction
    begin_ns = strike.begin_ns
    return {
        "name": strike.fault.name,
        "kind": strike.fault.kind_name,
        "target": strike.fault.target,
        "begin_ns": begin_ns,
        "end_ns": strike.end_ns,
        "verdict": outcome.verdict.value,
        "detected_by": None if finding is None else finding.monitor,
        "detected_after_ns": outcome.detected_after_ns,
        "worst_case_ns": outcome.declared_ns,
        "reason": None if finding is None else finding.reason,
        "reaction": None
        if reaction is None
        else {
            "after_ns": reaction.since_ns - begin_ns,
            "state": reaction.state,
            "selected": reaction.selected,
            "recovered_after_ns": None if reaction.recovered_ns is None else reaction.recovered_ns - begin_ns,
        },
    }


def campaign_document(drive: Drive, log: str, seed: int, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """`log`: of the recording, as given. `rows`: of all runs, one fault each. Counted by kind, in the order in which
    kinds are listed.
    """
    return {
        "schema": CAMPAIGN_SCHEMA,
        "status": status_of([row["verdict"] for row in rows]),
        "system": drive.system.name,
        "system_sha256": drive.system_sha256,
        "recording": log,
        "seed": seed,
        "clock": "lockstep",
        "kinds": by_kind(rows),
        "runs": list(rows),
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "time_ns": finding.time_ns,
        "monitor": finding.monitor,
        "what": finding.what,
        "reason": finding.reason,
    }


def _is_watched(kind: Kind) -> bool:
    """Whether the monitors of messages find it."""
    return kind.strikes in (Strikes.SENSOR, Strikes.CAMERA, Strikes.LIDAR, Strikes.IMU)


def _paced_ns(system: System, kind: Kind, monitor: str, delay_ns: int) -> int | None:
    found_ns = declared_paced_ns(system, kind, monitor)
    return found_ns if found_ns is None or not _is_watched(kind) else found_ns + delay_ns


def _process(system: System, kind: Kind, name: str, delay_ns: int | None) -> dict[str, Any]:
    """Of the watch over sensors: who notices that it is gone, within what time the arbiter goes on without, and for how
    long no sensor is watched; the last is None where the period is not known, or nobody says how old reports may be.
    """
    monitor = "alive" if "stall" in kind.needs else "exit"
    limit_ns = health_age_limit_ns(system)
    unwatched_ns = None
    if delay_ns is not None and limit_ns is not None:
        unwatched_ns = watch_return_ns(limit_ns, delay_ns, is_killed=monitor == "exit")
    monitors = [{"monitor": monitor, "worst_case_ns": watch_declared_ns(system, monitor)}]
    return {
        "process": name,
        "monitors": monitors,
        "reaction_ns": watch_reaction_ns(system),
        "unwatched_ns": unwatched_ns,
    }


def _recovery_ns(system: System, kind: Kind) -> int | None:
    """The longest over all tasks with a spare; None where no task has one."""
    if not kind.processes and kind.strikes is not Strikes.ARBITER:
        return None
    arbiter = None if system.safety is None else system.safety.arbiter
    tasks = [task for task in system.tasks if kind.strikes is Strikes.TASK or task.name == arbiter]
    found = (recovery_ns(system, task, is_killed="stall" not in kind.needs) for task in tasks)
    return max((one for one in found if one is not None), default=None)


def list_document(system: System, delay_ns: int | None = None) -> dict[str, Any]:
    """Every kind of fault, where it is carried out, and who finds it within what time in this system.

    `delay_ns`: by how much the watch over sensors of a paced run may notice later, which a recording decides; None: not
    known, so that worst cases are without it.
    """
    return {
        "schema": LIST_SCHEMA,
        "system": system.name,
        "kinds": [
            {
                "kind": kind.name,
                "strikes": kind.strikes.value,
                "does": kind.does,
                "keys": list(kind.keys),
                "lockstep": kind.lockstep,
                "lockstep_reason": kind.not_lockstep or None,
                "paced": kind.paced,
                "paced_reason": kind.not_paced or None,
                "paced_monitors": [
                    {"monitor": name, "worst_case_ns": _paced_ns(system, kind, name, delay_ns or 0)}
                    for name in kind.found_paced_by
                ],
                "paced_delay_ns": delay_ns if _is_watched(kind) else 0,
                "paced_processes": [_process(system, kind, name, delay_ns) for name in kind.processes],
                "paced_recovery_ns": _recovery_ns(system, kind),
                "monitors": [
                    {"monitor": name, "worst_case_ns": declared_worst_ns(system, kind, name)} for name in kind.monitors
                ],
            }
            for kind in KINDS
        ],
    }
