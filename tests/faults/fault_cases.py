"""One row per kind of fault, target and manner: what is injected, and which monitor finds it.

The same rows make the table in docs/fault-scripts.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from rt_sched.app.faults.all_findings import all_findings
from rt_sched.app.faults.delays import delay_of
from rt_sched.app.faults.document import list_document
from rt_sched.app.faults.prepared import Drive, Struck, drive_of
from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.config import load_system
from rt_sched.faults.outcomes import Outcome, outcomes
from rt_sched.faults.script import Event, FaultScript, Injection, Trigger
from rt_sched.model import Budget, OverrunAction, System
from rt_sched.units import NS_PER_MS, format_ms
from sensors.recording import open_recording

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "fault-scripts.md"
AT_NS = 400 * NS_PER_MS


@dataclass(frozen=True)
class Case:
    """`values`: of the Injection. `monitor`: which finds it first. `says`: how the row tells the manner."""

    kind: str
    target: str
    monitor: str
    says: str = ""
    values: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.kind}:{self.target}" + (f" ({self.says})" if self.says else "")

    @property
    def injection(self) -> Injection:
        """As a script would have it; overruns by number, all else at 400 ms."""
        trigger = Trigger(AT_NS)
        if self.kind == "overrun":
            trigger = Trigger(0, Event.JOB, self.target, self.values["jobs"][0])
        return Injection("fault", self.kind, self.target, trigger, **self.values)


def _ms(value: float) -> int:
    return int(value * NS_PER_MS)


def _sector(begin: int, end: int) -> dict[str, Any]:
    return {"from_deg": Fraction(begin), "to_deg": Fraction(end)}


CAMERAS, LIDAR, IMU = ("front_wide", "rear"), "lidar_top", "imu"
SENSORS = (*CAMERAS, LIDAR, IMU)
FOUND_BY = {
    "camera.loss": "silence",
    "camera.freeze": "frozen",
    "camera.black": "black",
    "camera.saturate": "saturated",
    "camera.blur": "blurred",
}
CASES: tuple[Case, ...] = (
    *(Case(kind, camera, monitor) for kind, monitor in FOUND_BY.items() for camera in CAMERAS),
    Case("camera.blur", "rear", "blurred", "radius 3", {"radius_px": 3}),
    Case("camera.loss", "rear", "silence", "for 70 ms", {"lasts_ns": _ms(70)}),
    Case("camera.black", "front_wide", "black", "for 70 ms", {"lasts_ns": _ms(70)}),
    Case("lidar.loss", LIDAR, "silence"),
    Case("lidar.freeze", LIDAR, "frozen"),
    Case("lidar.sector", LIDAR, "sector", "-10 to 10 degrees", _sector(-10, 10)),
    Case("lidar.sector", LIDAR, "sector", "170 to -170 degrees", _sector(170, -170)),
    Case("lidar.sector", LIDAR, "sector", "-90 to 90 degrees", _sector(-90, 90)),
    Case("lidar.sector", LIDAR, "payload", "180 to 170 degrees", _sector(180, 170)),
    Case("imu.loss", IMU, "silence"),
    Case("imu.stuck", IMU, "imu_stuck"),
    Case("imu.saturate", IMU, "imu_range"),
    *(Case("payload.corrupt", sensor, "payload", "cut") for sensor in SENSORS),
    *(
        Case("message.delay", sensor, "stamp_age", f"by {by} ms", {"by_ns": _ms(by)})
        for sensor, by in zip(SENSORS, (3, 3, 3, 2.5), strict=True)
    ),
    *(
        Case("message.delay", sensor, "silence", f"by {by} ms", {"by_ns": _ms(by)})
        for sensor, by in zip(SENSORS, (80, 80, 200, 20), strict=True)
    ),
    *(Case("message.duplicate", sensor, "stamp_order") for sensor in SENSORS),
    Case("message.duplicate", "rear", "stamp_order", "half of them", {"share": Fraction(1, 2)}),
    *(Case("message.reorder", sensor, "silence") for sensor in SENSORS),
    *(Case("message.drop", sensor, "silence") for sensor in SENSORS),
    Case("message.drop", "rear", "silence", "half of them", {"share": Fraction(1, 2)}),
    *(Case("clock.step", sensor, "stamp_age", "by 20 ms", {"by_ns": _ms(20)}) for sensor in SENSORS),
    *(Case("clock.step", sensor, "stamp_age", "by -20 ms", {"by_ns": _ms(-20)}) for sensor in (*CAMERAS, LIDAR)),
    Case("clock.step", IMU, "stamp_age", "by -20 ms", {"by_ns": _ms(-20)}),
    *(
        Case("process.kill", task, "alive")
        for task in ("fuse", "cluster", "control", "ego_motion", "backup", "pre_rear", "infer_front_wide", "understand")
    ),
    Case("process.kill", "fuse", "alive", "for 200 ms", {"restart_ns": _ms(200)}),
    *(Case("process.stall", task, "deadline", "for 40 ms", {"stall_ns": _ms(40)}) for task in ("fuse", "control")),
    Case("process.stall", "cluster", "deadline", "for 40 ms", {"stall_ns": _ms(40)}),
    *(
        Case("overrun", task, "deadline", f"job 5 needs {demand} ms", {"jobs": (5,), "demand_ns": _ms(demand)})
        for task, demand in (("fuse", 25), ("control", 10), ("backup", 40))
    ),
    *(Case("device.loss", device, "heartbeat") for device in ("orin-1", "orin-2", "orin-3", "orin-4")),
    Case("device.loss", "orin-4", "heartbeat", "for 100 ms", {"lasts_ns": _ms(100)}),
    Case("device.loss", "gateway", "alive"),
    Case("arbiter.kill", "arbiter", "alive"),
)


@cache
def drive() -> Drive:
    """The short shipped log on four Orins."""
    recording = open_recording(ROOT / "replay_data" / "hazard_short.mcap")
    return drive_of(ROOT / "examples" / "quad_orin.yaml", recording, None, None, 0)


@cache
def outcome_of(number: int) -> Outcome:
    """What becomes of a case, by monitors and schedule alone."""
    struck = Struck(drive(), FaultScript((CASES[number].injection,), 1), "case")
    (outcome,) = outcomes(struck.strikes, list(all_findings(struck, [struck.strikes[0].fault.target])), None, None)
    return outcome


def table() -> str:
    """The rows of the page, measured."""
    lines = ["| fault | strikes | manner | found by | after (ms) | declared (ms) |", "|---|---|---|---|---|---|"]
    for number, case in enumerate(CASES):
        outcome = outcome_of(number)
        assert outcome.finding is not None, case
        after = format_ms(outcome.detected_after_ns)
        declared = format_ms(outcome.declared_ns)
        lines.append(
            f"| {case.kind} | {case.target} | {case.says or '–'} | {outcome.finding.monitor} | {after} | {declared} |"
        )
    return "\n".join(lines) + "\n"


def kinds_table() -> str:
    """Every kind, as `rt-sched faults list` tells it."""
    lines = [
        "| kind | strikes | what happens | lockstep | paced | found by, within (ms, `quad_orin`) |",
        "|---|---|---|---|---|---|",
    ]
    for kind in list_document(drive().system)["kinds"]:
        found, paced_too = (_within(kind[key]) for key in ("monitors", "paced_monitors"))
        if kind["paced"] and paced_too != found:
            found = "; ".join((*([found] if found else []), f"paced: {paced_too}"))
        lockstep, paced = ("yes" if kind[clock] else "no" for clock in ("lockstep", "paced"))
        cells = (f"`{kind['kind']}`", kind["strikes"], kind["does"], lockstep, paced, found or "–")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def guarded(system: System, *names: str, **parameters: object) -> System:
    """These tasks end jobs at their budget, and the arbiter has these parameters too."""
    budget = Budget(action=OverrunAction.ABORT)
    tasks = [
        replace(task, budget_ns=task.execution.wcet_ns, budget=budget) if task.name in names else task
        for task in system.tasks
    ]
    tasks = [
        replace(task, parameters=(*task.parameters, *parameters.items())) if task.name == "arbiter" else task
        for task in tasks
    ]
    return replace(system, tasks=tuple(tasks))


def processes_table() -> str:
    """What is declared of processes that end, for the shipped example of paced runs with one spare."""
    system = load_system(ROOT / "examples" / "host_two_cores.yaml", stages=ImportedStages())
    guarded_system = guarded(system, "infer_front_wide", health_age_limit_ms=200)
    delay_ns = delay_of(ROOT / "examples" / "host_two_cores.yaml", ROOT / "replay_data" / "hazard_short.mcap")
    found = list_document(guarded_system, delay_ns)["kinds"]
    lines = ["| struck | by | found by, within (ms) | then | within (ms) |", "|---|---|---|---|---|"]
    for kind in found:
        for one in kind["paced_processes"]:
            of_task = _within(kind["paced_monitors"][:1])
            back, reacts = format_ms(kind["paced_recovery_ns"]), format_ms(one["reaction_ns"])
            found_by, again = _within(one["monitors"]), format_ms(one["unwatched_ns"])
            lines += [
                f"| a task with a spare | `{kind['kind']}` | {of_task} | is served again | {back} |",
                f"| `{one['process']}` | `{kind['kind']}` | {found_by} | DEGRADED, primary | {reacts} |",
                f"| `{one['process']}` | `{kind['kind']}` | {found_by} | reports again | {again} |",
            ]
    return "\n".join(lines) + "\n"


def _within(monitors: list[dict[str, Any]]) -> str:
    return ", ".join(f"`{one['monitor']}` {format_ms(one['worst_case_ns'])}" for one in monitors)


def page_with(mark: str, rows: str, page: str) -> str:
    """The page with these rows behind a mark, in place of its own."""
    before, _, rest = page.partition(f"<!-- {mark} -->\n")
    return f"{before}<!-- {mark} -->\n{rows}\n" + rest.partition("\n\n")[2]


if __name__ == "__main__":
    written = page_with("kinds", kinds_table(), PAGE.read_text(encoding="utf-8"))
    written = page_with("processes", processes_table(), written)
    PAGE.write_text(page_with("cases", table(), written), encoding="utf-8")
