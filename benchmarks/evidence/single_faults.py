"""Every single fault that lockstep carries out, at many instants of the cycle: who notices it, and how soon.

    python benchmarks/evidence/single_faults.py SYSTEM [--log LOG] [--plan PLAN.yaml] [--instants N] [--kind KIND]
        [--target TARGET] [--rest-of FILE] [--workers N] [--json FILE]

Every kind strikes every target, at instants all over one largest period of the sensors, from 400 ms on; overruns come
with the next job then, and need more than its deadline. Messages are the recorded ones, the schedule is modelled, no
stage runs. When the arbiter or its device ends, the actuators' side goes to MINIMAL_RISK, which is held against its own
bound. `rt-sched report --faults FILE` reads the result; recoveries by takeovers are measured by
`benchmarks/failover.py`. `--rest-of FILE`: only what FILE, such a result, names as not struck. FILE.part holds what is
done so far, and the next call of the same commit goes on from there. Exit 1 where a fault was late, silent or not
known, or MINIMAL_RISK came late.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.evidence.machine import describe_run
from rt_sched.app.faults.all_findings import all_findings
from rt_sched.app.faults.document import status_of
from rt_sched.app.faults.job import FaultsRequest, opened
from rt_sched.app.faults.prepared import Drive, Struck
from rt_sched.app.report.injected import SINGLE_SCHEMA
from rt_sched.app.runs.actuator import actuator_policy
from rt_sched.faults.draw import targets_of
from rt_sched.faults.kinds import KINDS
from rt_sched.faults.outcomes import outcomes
from rt_sched.faults.script import Event, FaultScript, Injection, Trigger
from rt_sched.faults.spread import by_kind, counted
from rt_sched.messages import ArbiterDecision, ArbiterState, Command
from rt_sched.messages.sensor import EncodedImage
from rt_sched.model import System
from rt_sched.runtime.signs_of_life import watching_device
from rt_sched.trace.records import JobStatus
from rt_sched.units import NS_PER_MS
from safety.actuator_record import cycles_over, recorded
from safety.monitors.pictures import Look, LookAt, look_at

ROOT = Path(__file__).resolve().parents[2]
FIRST_NS = 400 * NS_PER_MS
#: How each kind strikes that needs to be told more.
MANNERS: dict[str, dict[str, Any]] = {
    "lidar.sector": {"from_deg": Fraction(-10), "to_deg": Fraction(10)},
    "message.delay": {"by_ns": 200 * NS_PER_MS},
    "clock.step": {"by_ns": 20 * NS_PER_MS},
    "process.stall": {"stall_ns": 300 * NS_PER_MS},
}
#: Instants are multiples of the golden section within the cycle: distinct, and all over every shorter period, too.
_GOLDEN, _MILLION = 618_033, 1_000_000
#: What the arbiter gives no more commands after; `device.loss` where it is that of its device.
ENDS = ("process.kill", "arbiter.kill", "device.loss")
_COMMAND = ArbiterDecision(0, 0, ArbiterState.NOMINAL, "", Command(0, "", 0, 0.0, False, None, True), "")

Row = dict[str, Any]


@dataclass(frozen=True)
class Asked:
    """What the caller asked for; every worker opens it for itself."""

    system: str
    log: str
    plan: Path | None
    instants: int

    @property
    def request(self) -> FaultsRequest:
        """As the commands on faults take it."""
        return FaultsRequest(self.system, Path("(single)"), self.log, self.plan, stages=False)


def struck_rows(asked: Asked, kind: str, target: str) -> list[Row]:
    """One fault at every instant."""
    with opened(asked.request) as drive:
        look = Remembered()
        cycle_ns = max(int(10**9 / sensor.rate_hz) for sensor in drive.system.sensors)
        instants = (FIRST_NS + run * _GOLDEN % _MILLION * cycle_ns // _MILLION for run in range(asked.instants))
        return [_row(drive, kind, target, at_ns, look) for at_ns in instants]


def _row(drive: Drive, kind: str, target: str, at_ns: int, look: LookAt) -> Row:
    trigger, values = Trigger(at_ns), MANNERS.get(kind, {})
    if kind == "overrun":
        task = next(one for one in drive.system.tasks if one.name == target)
        job = _job_at(drive, target, at_ns)
        trigger = Trigger(0, Event.JOB, target, job)
        values = {"jobs": (job,), "demand_ns": task.deadline_ns + task.execution.wcet_ns}
    struck = Struck(drive, FaultScript((Injection("fault", kind, target, trigger, **values),)), "(single)")
    findings = list(all_findings(struck, {target}, look))
    (found,) = outcomes(struck.strikes, findings, None, None)
    begin_ns = found.strike.begin_ns
    risk_ns = _risk_ns(struck, begin_ns) if target in _commanding(drive.system) else None
    return {
        "kind": kind,
        "target": target,
        "verdict": found.verdict.value,
        "detected_after_ns": found.detected_after_ns,
        "worst_case_ns": found.declared_ns,
        "reaction": None if risk_ns is None else {"after_ns": risk_ns - begin_ns, "recovered_after_ns": None},
    }


class Remembered:
    """Looks at pictures, and at each but once: most of those of a run are those of every other."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], Look | None] = {}

    def __call__(self, image: EncodedImage) -> Look | None:
        """As `look_at`."""
        key = (image.encoding, image.height, image.width, image.row_bytes, sha256(image.data).digest())
        if key not in self._known:
            self._known[key] = look_at(image)
        return self._known[key]


def _job_at(drive: Drive, task: str, at_ns: int) -> int:
    """The first job that arrives at an instant or later."""
    jobs = drive.trace.jobs
    mine = (jobs.task == drive.task_names.index(task)) & (jobs.arrival_ns >= at_ns)
    return int(jobs.number[np.flatnonzero(mine)[0]])


def _commanding(system: System) -> set[str]:
    """The arbiter, and the device that it is on."""
    return set() if system.safety is None else {system.safety.arbiter, watching_device(system) or ""}


def _risk_ns(struck: Struck, begin_ns: int) -> int | None:
    """When the actuators' side goes to MINIMAL_RISK, in the time of the drive; None: it does not."""
    drive, trace = struck.drive, struck.schedule()
    policy = actuator_policy(drive.system)
    if policy is None or drive.system.safety is None:
        return None
    index = drive.task_names.index(drive.system.safety.arbiter)
    sent = trace.jobs.finish_ns[(trace.jobs.task == index) & (trace.jobs.status == JobStatus.COMPLETED)]
    decisions = [(int(at_ns), _COMMAND) for at_ns in np.sort(sent)]
    risks = recorded(cycles_over(decisions, policy, trace.horizon_ns), trace.horizon_ns).risks
    times = (one.since_ns - struck.shift_ns for one in risks)
    return next((at_ns for at_ns in times if at_ns >= begin_ns), None)


def asked_faults(drive: Drive, kinds: list[str]) -> Iterator[tuple[str, str]]:
    """Every kind with every target; `kinds`: empty for all."""
    for kind in KINDS:
        if kind.lockstep and (not kinds or kind.name in kinds):
            yield from ((kind.name, target) for target in targets_of(drive.system, drive.active, kind))


def not_struck(drive: Drive) -> list[str]:
    """Sensors that the recording does not hold, and tasks that have no job for it."""
    names = [*(one.name for one in drive.system.sensors), *drive.task_names]
    return [name for name in names if name not in drive.active]


def _struck(job: tuple[Asked, str, str]) -> list[Row]:
    return struck_rows(*job)


class Part:
    """What is done so far, in a file: its head in the first line, then the rows of one kind and target in each."""

    def __init__(self, file: Path | None, head: Row) -> None:
        """A file with another head is begun anew; a line that was not written to its end is left out. None: nothing is
        kept.
        """
        self._file = file
        self.done: dict[tuple[str, str], list[Row]] = {}
        if file is None:
            return
        whole, _, torn = (file.read_text(encoding="utf-8") if file.exists() else "").rpartition("\n")
        lines = whole.splitlines()
        if lines and json.loads(lines[0]) == head:
            self.done = {(rows[0]["kind"], rows[0]["target"]): rows for rows in map(json.loads, lines[1:])}
            if torn:
                file.write_text(f"{whole}\n", encoding="utf-8")
        else:
            file.write_text(json.dumps(head) + "\n", encoding="utf-8")

    def add(self, rows: list[Row]) -> None:
        """Those of one kind and target."""
        if self._file is not None:
            with self._file.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(rows) + "\n")

    def remove(self) -> None:
        """All is done."""
        if self._file is not None:
            self._file.unlink()


def result(asked: Asked, kinds: list[str], targets_asked: list[str], workers: int, file: Path | None = None) -> Row:
    """The document; told on the way, a line for each kind and target. `file`: keeps what is done so far."""
    with opened(asked.request) as drive:
        asked_for = [one for one in asked_faults(drive, kinds) if not targets_asked or one[1] in targets_asked]
        policy, commanding = actuator_policy(drive.system), _commanding(drive.system)
        bound_ns = None if policy is None else policy.bound_ns
        head = {
            "schema": SINGLE_SCHEMA,
            "run": describe_run(ROOT),
            "system": drive.system.name,
            "system_sha256": drive.system_sha256,
            "recording": _named(Path(drive.recording.path)),
            "clock": "lockstep",
            "instants": asked.instants,
            "minimal_risk_bound_ns": bound_ns,
            "not_struck": not_struck(drive),
        }
    part = Part(file, {**head, "run": head["run"]["commit"]})
    jobs = [(asked, *one) for one in asked_for if one not in part.done]
    rows, targets = [], []
    with get_context("spawn").Pool(workers) as pool:
        struck = pool.imap(_struck, jobs)
        for kind, target in asked_for:
            found = part.done.get((kind, target))
            if found is None:
                part.add(found := next(struck))
            rows += found
            targets.append({"target": target, "kind": kind, **counted(found)})
            print(_line(targets[-1]), flush=True)
    part.remove()
    return {
        **head,
        "status": status_of({row["verdict"] for row in rows}),
        "minimal_risk_late": too_late(rows, commanding, bound_ns),
        "kinds": by_kind(rows),
        "targets": targets,
    }


def _named(path: Path) -> str:
    """Relative to the project where it is in it, so that a result does not tell where that is; else its name."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name


def _line(row: Row) -> str:
    took, worst_ns, reacted = row["detected_ns"], row["worst_case_max_ns"], row["reacted_ns"]
    times = "-" if took is None else " / ".join(f"{took[key] / 1e6:.1f}" for key in ("p50_ns", "p99_ns", "max_ns"))
    declared = "-" if worst_ns is None else f"{worst_ns / 1e6:.1f}"
    failed = row["runs"] - row["detected"]
    risk = "" if reacted is None else f"  MINIMAL_RISK within {reacted['max_ns'] / 1e6:.1f}"
    return f"{row['kind']:18} {row['target']:24} p50 / p99 / max {times:24} declared {declared:6} not {failed}{risk}"


def too_late(rows: Sequence[Row], commanding: set[str], bound_ns: int | None) -> list[str]:
    """Ends of the arbiter after which MINIMAL_RISK did not come, or later than its bound: kind and target."""
    found = [
        f"{row['kind']} of {row['target']}"
        for row in rows
        if row["target"] in commanding and row["kind"] in ENDS
        if bound_ns is None or row["reaction"] is None or row["reaction"]["after_ns"] > bound_ns
    ]
    return sorted(set(found))


def main() -> int:
    """The evidence."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("system")
    parser.add_argument("--log", default="hazard_short")
    parser.add_argument("--plan", type=Path)
    parser.add_argument("--instants", type=int, default=1000)
    parser.add_argument("--kind", action="append", default=[])
    parser.add_argument("--target", action="append", default=[])
    parser.add_argument("--rest-of", type=Path)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    asked = Asked(given.system, given.log, given.plan, given.instants)
    targets = [*given.target, *(json.loads(given.rest_of.read_text("utf-8"))["not_struck"] if given.rest_of else ())]
    part = given.json and given.json.with_name(f"{given.json.name}.part")
    document = result(asked, given.kind, targets, given.workers, part)
    for one in document["minimal_risk_late"]:
        print(f"MINIMAL_RISK later than its bound: {one}")
    if given.json:
        given.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return int(document["status"] != "ok" or bool(document["minimal_risk_late"]))


if __name__ == "__main__":
    sys.exit(main())
