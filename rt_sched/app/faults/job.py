"""One run with the faults of a script: monitors and supervision always, stages and arbiter unless left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rt_sched.app.faults.all_findings import all_findings
from rt_sched.app.faults.document import run_document
from rt_sched.app.faults.pages import write_run
from rt_sched.app.faults.prepared import Drive, Struck, drive_of
from rt_sched.app.faults.reactions import with_actuators
from rt_sched.app.inputs.shipped import resolve
from rt_sched.app.progress import Progress
from rt_sched.app.replay.job import ReplayRequest, run_replay
from rt_sched.app.runs.result import ReplayResult
from rt_sched.faults.outcomes import Decisions, outcomes
from rt_sched.faults.reaching import unfelt_strikes
from rt_sched.faults.script import FaultScript
from rt_sched.faults.script_file import load_script
from rt_sched.model import Fault
from sensors.recording import open_recording


@dataclass(frozen=True, slots=True)
class FaultsRequest:
    """What the user asked for. `stages`: whether the stages run. `output`: of the run folder, None for the default."""

    system: str
    script: Path
    log: str = "hazard_short"
    plan: Path | None = None
    policy: str | None = None
    seed: int = 0
    threads: int | None = None
    stages: bool = True
    output: Path | None = None
    salvage: bool = False
    command: str = "rt-sched faults run"


def run_faults(request: FaultsRequest, progress: Progress) -> dict[str, Any]:
    """The document of one run. Raises RtSchedError for anything that the user can mend."""
    with opened(request) as drive:
        script = load_script(request.script, drive.system)
        progress.step("watching")
        document = run_script(request, drive, script, progress, Unfaulted(request, progress))
    write_run(document)
    return document


class Unfaulted:
    """The same run without any fault, made when it is first asked for; its folder is not kept."""

    def __init__(self, request: FaultsRequest, progress: Progress) -> None:
        self._request, self._progress = request, progress

    @cached_property
    def decisions(self) -> Decisions:
        """Of the arbiter."""
        self._progress.step("replaying without faults")
        with TemporaryDirectory(prefix="rt-sched-") as folder:
            return run_replay(_replay_request(self._request, (), Path(folder) / "run"), self._progress).decisions


@contextmanager
def opened(request: FaultsRequest) -> Iterator[Drive]:
    """The drive that a request is about, open as long as it is needed."""
    recording = open_recording(resolve(request.log), salvage=request.salvage)
    try:
        yield drive_of(resolve(request.system), recording, request.plan, request.policy, request.seed)
    finally:
        recording.close()


def run_script(
    request: FaultsRequest, drive: Drive, script: FaultScript, progress: Progress, unfaulted: Unfaulted
) -> dict[str, Any]:
    """The document of one script over a drive."""
    file = str(request.script)
    struck = Struck(drive, script, file)
    findings = sorted(all_findings(struck), key=lambda one: (one.time_ns, one.monitor))
    replayed = _replayed(request, struck, request.output, progress) if request.stages else None
    decisions = None if replayed is None else _decisions(replayed, struck)

    def without(names: Sequence[str]) -> Decisions:
        if len(names) == len(struck.strikes):
            return unfaulted.decisions
        progress.step(f"replaying without {', '.join(names)}")
        fewer = struck.without(names)
        with TemporaryDirectory(prefix="rt-sched-") as folder:
            return _decisions(_replayed(request, fewer, Path(folder) / "run", progress), fewer)

    unfelt = unfelt_strikes(drive.system, struck.strikes, drive.timeline.samples)
    found = outcomes(struck.strikes, findings, decisions, without, unfelt)
    side = None if replayed is None else replayed.summary["actuator"]
    risks_ns = [] if side is None else [one["since_ns"] - struck.shift_ns for one in side["minimal_risk"]]
    return run_document(drive, request.log, script, file, with_actuators(found, risks_ns), findings, replayed)


def _replay_request(request: FaultsRequest, faults: tuple[str, ...], output: Path | None) -> ReplayRequest:
    return ReplayRequest(
        log=request.log,
        system=request.system,
        policy=request.policy,
        plan=request.plan,
        seed=request.seed,
        threads=request.threads,
        faults=faults,
        output=output,
        salvage=request.salvage,
        command=request.command,
    )


def _replayed(request: FaultsRequest, struck: Struck, output: Path | None, progress: Progress) -> ReplayResult:
    faults = tuple(map(_as_argument, struck.losses))
    return run_replay(_replay_request(request, faults, output), progress, struck)


def _decisions(replayed: ReplayResult, struck: Struck) -> Decisions:
    """Of the arbiter, in the time of the drive without faults."""
    return [(at_ns - struck.shift_ns, one) for at_ns, one in replayed.decisions]


def _as_argument(fault: Fault) -> str:
    """As `--fault` takes it."""
    return f"{fault}@{fault.time_ns}ns" + ("" if fault.until_ns is None else f"..{fault.until_ns}ns")
