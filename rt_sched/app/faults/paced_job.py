"""One paced run with the faults of a script: real processes are struck, and what notices it is measured."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from rt_sched.app.faults.document import run_document, status_of
from rt_sched.app.faults.paced_findings import found_afterwards, found_in_records, found_in_run
from rt_sched.app.faults.paced_strikes import PacedStruck
from rt_sched.app.faults.pages import write_run
from rt_sched.app.faults.prepared import Drive, drive_of, strikes_process
from rt_sched.app.faults.reactions import with_actuators
from rt_sched.app.health.document import unwatched_within_ns
from rt_sched.app.inputs.shipped import resolve
from rt_sched.app.paced.job import run_paced
from rt_sched.app.paced.request import PacedRequest
from rt_sched.app.progress import Progress
from rt_sched.app.runs.result import ReplayResult
from rt_sched.faults.declared import recovery_ns
from rt_sched.faults.outcomes import Outcome, Verdict, outcomes
from rt_sched.faults.script_file import load_script
from rt_sched.runtime.paced.order import PacedOutcome
from sensors.recording import open_recording

_KILLS = ("process.kill", "arbiter.kill")


def run_faults_paced(request: PacedRequest, system: str, script_file: Path, progress: Progress) -> dict[str, Any]:
    """The document of one run. Raises RtSchedError for anything that the user can mend."""
    recording = open_recording(resolve(request.log), salvage=request.salvage)
    try:
        drive = drive_of(resolve(system), recording, request.plan, request.policy, 0)
        script = load_script(script_file, drive.system)
        struck = PacedStruck(drive, script, str(script_file), request.duration_ns)
        replayed = run_paced(replace(request, system=system), progress, faults=struck)
        progress.step("looking at what was noticed")
        document = _document(drive, struck, str(script_file), request, replayed)
    finally:
        recording.close()
    write_run(document)
    return document


def _document(
    drive: Drive, struck: PacedStruck, file: str, request: PacedRequest, replayed: ReplayResult
) -> dict[str, Any]:
    if struck.seen is None:
        raise RuntimeError("the run has not ended")
    trace, outcome, decisions = struck.seen
    in_run = found_in_run(struck, outcome)
    findings = sorted([*in_run, *found_in_records(struck, trace)], key=lambda one: (one.time_ns, one.monitor))
    strikes = struck.strikes()
    # Two runs on the wall clock are never equal, so nobody can say whether commands are as without the fault.
    told = [(at_ns - struck.shift_ns, one) for at_ns, one in decisions]
    found = outcomes(strikes, findings, told, None)
    if any(one.finding is None for one in found):
        also = outcomes(strikes, found_afterwards(struck, trace, outcome), told, None)
        found = [other if one.finding is None else one for one, other in zip(found, also, strict=True)]
    found = with_actuators(found, (one.time_ns for one in findings if one.monitor == "actuator"))
    document = run_document(drive, request.log, struck.script, file, found, findings, replayed)
    rows = [
        {
            **row,
            "in_run": None if one.finding is None else one.finding in in_run,
            "back_after_ns": _back(one),
            "back_within_ns": _back_within(drive, one, outcome, request.rate),
        }
        for row, one in zip(document["faults"], found, strict=True)
    ]
    begun = {row["name"] for row in rows}
    rows += [
        _not_begun(fault.name, fault.kind_name, fault.target)
        for fault in struck.script.faults
        if fault.name not in begun
    ]
    return {
        **document,
        "status": status_of([row["verdict"] for row in rows]),
        "clock": "paced",
        "tier": replayed.summary["tier"],
        "rate": str(request.rate),
        "duration_ns": trace.horizon_ns,
        "faults": rows,
        "actuator": replayed.summary["actuator"],
        "health": replayed.summary["health"],
    }


def _back(outcome: Outcome) -> int | None:
    """From the fault until the task was served again, where a process was killed, or ended as it stood still."""
    end_ns = outcome.strike.end_ns
    ends = outcome.strike.fault.kind_name in (*_KILLS, "process.stall")
    return end_ns - outcome.strike.begin_ns if ends and end_ns is not None else None


def _back_within(drive: Drive, outcome: Outcome, paced: PacedOutcome, rate: Fraction) -> int | None:
    """The bound on it, where another process has come and one stood by, or where it is the watch over sensors."""
    fault = outcome.strike.fault
    if _back(outcome) is None:
        return None
    if strikes_process(drive, fault):
        order = None if paced.health is None else paced.health.order
        is_killed = fault.kind_name in _KILLS
        return None if order is None else unwatched_within_ns(order, rate, is_killed=is_killed)
    if fault.target not in drive.task_names:
        return None
    task = drive.system.tasks[drive.task_names.index(fault.target)]
    return recovery_ns(drive.system, task, is_killed=fault.kind_name in _KILLS, restart_ns=fault.restart_ns)


def _not_begun(name: str, kind: str, target: str) -> dict[str, Any]:
    """A fault that what sets it off did not set off in this run."""
    nothing = dict.fromkeys(("begin_ns", "end_ns", "detected_by", "detected_after_ns", "worst_case_ns"))
    return {
        "name": name,
        "kind": kind,
        "target": target,
        **nothing,
        "verdict": Verdict.UNKNOWN.value,
        "reason": "what sets it off has not happened, or there was no process to strike",
        "reaction": None,
        "in_run": None,
        "back_after_ns": None,
        "back_within_ns": None,
    }
