"""Fault scripts in paced runs: one run that is struck in seven ways, and what each leaves behind."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from paced_kills import STAGES

from rt_sched.faults.kinds import BY_NAME
from rt_sched.runtime.host.tiers import TierReport
from rt_sched.trace.records import JobStatus
from rt_sched.units import NS_PER_MS

from .conftest import LOG, ROOT, Running

SYSTEM = """
rt_sched: 1
name: struck
policy: dm
devices:
  ecu: {processing_elements: {cpu: {kind: cpu, cores: 1, switch_cost: 0.2ms}}}
  far: {processing_elements: {cpu: {kind: cpu, cores: 1, switch_cost: 0.2ms}}}
deploy: {ecu.cpu: 1, far.cpu: 0}
resources: {bus: {protocol: priority_inheritance}, idle: {protocol: none}}
sensors:
  lidar_top: {kind: lidar, rate: 10Hz, latency: 4ms, jitter: 2ms, attached_to: ecu, topic: /lidar/top/*}
  imu: {kind: imu, rate: 200Hz, jitter: 2ms, attached_to: ecu, topic: /imu/*}
tasks:
  backup:
    {stage: "safety.backup:LidarCorridor", runs_on: ecu.cpu, inputs: {points: lidar_top},
     execution: {bcet: 0.2ms, wcet: 8ms}, deadline: 60ms, parameters: {lidar: lidar_top, ego_front_m: 3.75}}
  busy:
    {stage: "busy_stages:Busy", runs_on: ecu.cpu, activation: {rate: 20Hz}, inputs: {imu: {from: imu, required: false}},
     execution: {wcet: 5ms}, deadline: 45ms, parameters: {ms: 1}}
  other:
    {stage: "busy_stages:Busy", runs_on: ecu.cpu, activation: {rate: 20Hz, offset: 20ms},
     inputs: {imu: {from: imu, required: false}}, execution: {wcet: 5ms}, deadline: 45ms, parameters: {ms: 1}}
  distant:
    {stage: "busy_stages:Busy", runs_on: far.cpu, activation: {rate: 20Hz}, inputs: {imu: {from: imu, required: false}},
     execution: {wcet: 5ms}, deadline: 45ms, parameters: {ms: 1}, critical_sections: [{resource: bus, to: 5ms}]}
  arbiter:
    {stage: "safety.arbiter_stage:Arbiter", runs_on: ecu.cpu, activation: {rate: 50Hz},
     inputs: {backup: {from: backup, required: false}}, execution: {bcet: 20us, wcet: 3ms}, deadline: 15ms, priority: 0,
     parameters: {startup_grace_ms: 300, backup_age_limit_ms: 350, view_age_limit_ms: {lidar_top: 400}}}
safety:
  arbiter: arbiter
  primary: backup
  actuator: {cycle: 10ms, command_age_limit: 150ms}
  heartbeat: {period: 20ms, misses: 5, margin: 5ms}
"""
SCRIPT = """
rt_sched_faults: 1
faults:
  held: {kind: resource.hold, target: bus, at: 300ms, by: 150ms}
  blind: {kind: lidar.loss, target: lidar_top, at: 1.2s}
  paused: {kind: process.stall, target: busy, on: {job: 6, of: busy}, stall: 60ms}
  longer: {kind: overrun, target: busy, jobs: [12], demand: 60ms}
  frozen: {kind: process.stall, target: other, on: {sample: 5, of: lidar_top}, stall: 2s}
  gone: {kind: device.loss, target: far, on: {job: 15, of: distant}}
  dead: {kind: arbiter.kill, on: {fault: blind, after: 400ms}, restart: 250ms}
"""
WRONG = """
rt_sched_faults: 1
faults:
  device: {kind: device.loss, target: ecu, at: 1s}
  early: {kind: lidar.loss, target: lidar_top, on: {job: 3, of: backup}}
  late: {kind: process.kill, target: busy, at: 9s}
  never: {kind: process.kill, target: busy, on: {sample: 99999, of: imu}}
  unused: {kind: resource.hold, target: idle, at: 1s, by: 10ms}
"""


class Faulted(Running):
    """`rt-sched faults run --paced`, or in lockstep, in a process group of its own."""

    def __init__(self, folder: Path, *options: str, paced: bool = True) -> None:
        self.folder = folder / "run"
        call = "import sys; sys.argv[0] = 'rt-sched'; from rt_sched.cli import main; main()"
        arguments = ["faults", "run", "system.yaml", "script.yaml", "--log", str(LOG), "--json", *options]
        arguments += ["--paced"] if paced else []
        self.process = subprocess.Popen(
            [sys.executable, "-c", call, *arguments, "-o", str(self.folder)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            cwd=folder,
            env=os.environ | {"PYTHONPATH": f"{ROOT}:{folder}"},
        )

    def shared_by(self, name: str) -> set[str]:
        """What a process has in common with others: mappings that are shared, and open files."""
        process = Path("/proc", str(self.pid_of(name)))
        maps = [line.split(None, 5) for line in (process / "maps").read_text().splitlines()]
        found = {fields[5] for fields in maps if fields[1][3] == "s" and "w" in fields[1]}
        return found | {str(file.readlink()) for file in (process / "fd").iterdir()}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory, tiers: dict[str, TierReport]) -> dict[str, Any]:
    """The document of the run; its folder and its jobs by task are under `folder` and `jobs`."""
    folder = tmp_path_factory.mktemp("struck")
    (folder / "busy_stages.py").write_text(STAGES)
    (folder / "system.yaml").write_text(SYSTEM)
    (folder / "script.yaml").write_text(SCRIPT)
    tier = "fifo" if tiers["fifo"].available else "user"
    running = Faulted(folder, "--tier", tier, "--duration", "2s")
    running.wait_until_begun()
    shared = running.shared_by("arbiter")
    ended = running.end()
    assert ended.code in (0, 1, 3), ended.errors
    document = ended.summary
    with np.load(folder / "run" / "trace.npz") as file:
        jobs = {key.removeprefix("jobs."): file[key] for key in file.files if key.startswith("jobs.")}
    summary = json.loads((folder / "run" / "summary.json").read_text())
    page = (folder / "run" / "faults.html").read_text(encoding="utf-8")
    names = [row["name"] for row in summary["tasks"]]
    by_task = {
        name: {key: column[jobs["task"] == index] for key, column in jobs.items()} for index, name in enumerate(names)
    }
    rows = {row["name"]: row for row in document["faults"]}
    return {**document, "summary": summary, "jobs": by_task, "rows": rows, "shared": shared, "page": page}


def test_every_fault_began_and_was_noticed_by_one_of_its_monitors(told: dict[str, Any]) -> None:
    assert (told["clock"], told["schema"]) == ("paced", "rt-sched/faults-run/1")
    assert told["tier"] == told["summary"]["tier"]
    rows = told["rows"]
    assert rows.keys() == {"held", "blind", "paused", "longer", "frozen", "gone", "dead"}
    for row in rows.values():
        assert row["verdict"] in ("detected", "late"), row
        monitors = {*BY_NAME[row["kind"]].found_paced_by, "deadline"}
        assert row["detected_by"] in monitors
        assert row["detected_after_ns"] >= 0 and row["worst_case_ns"] > 0
    assert told["status"] in ("ok", "silent")


def test_the_page_beside_the_report_shows_every_fault(told: dict[str, Any]) -> None:
    assert f"{len(told['faults'])} faults of script.yaml in one run; clock paced." in told["page"]
    assert all(f'<th scope="row">{name}</th>' in told["page"] for name in told["rows"])


def test_events_set_faults_off_when_they_happen(told: dict[str, Any]) -> None:
    rows, busy = told["rows"], told["jobs"]["busy"]
    assert 0 <= rows["paused"]["begin_ns"] - busy["start_ns"][6] < 100 * NS_PER_MS
    assert rows["blind"]["begin_ns"] == 1200 * NS_PER_MS
    assert 0 <= rows["dead"]["begin_ns"] - 1600 * NS_PER_MS < 100 * NS_PER_MS
    assert 400 * NS_PER_MS < rows["frozen"]["begin_ns"] < 700 * NS_PER_MS
    assert rows["longer"]["begin_ns"] == busy["start_ns"][12]


def test_a_short_stop_goes_on_and_a_long_one_is_replaced(told: dict[str, Any]) -> None:
    losses = {row["task"]: row for row in told["summary"]["losses"]}
    assert losses.keys() == {"other", "distant", "arbiter"}
    assert not losses["other"]["by_budget"]
    assert (told["jobs"]["busy"]["status"][6:10] == JobStatus.COMPLETED).any()
    stood_still_ns = told["jobs"]["busy"]["finish_ns"] - told["rows"]["paused"]["begin_ns"]
    assert not ((stood_still_ns > 5 * NS_PER_MS) & (stood_still_ns < 60 * NS_PER_MS)).any()
    limit_ns = losses["other"]["noticed_ns"] - told["rows"]["frozen"]["begin_ns"]
    assert 50 * NS_PER_MS < limit_ns < 1000 * NS_PER_MS
    assert {row["task"] for row in told["summary"]["alerts"] if row["monitor"] == "stop"} == {"busy", "other"}


def test_a_job_that_overruns_does_not_do_so_while_its_worker_warms_up(tmp_path: Path) -> None:
    (tmp_path / "busy_stages.py").write_text(STAGES)
    (tmp_path / "system.yaml").write_text(SYSTEM)
    script = "rt_sched_faults: 1\nfaults:\n  f: {kind: overrun, target: busy, jobs: [0, 1, 2], demand: 60min}\n"
    (tmp_path / "script.yaml").write_text(script)
    ended = Faulted(tmp_path, "--tier", "user", "--duration", "1s").end()
    assert ended.code in (0, 1), ended.errors  # at work to the end, and noticed
    (row,) = ended.summary["faults"]
    assert row["detected_by"] is not None


def test_a_job_overruns_by_its_cpu_time(told: dict[str, Any]) -> None:
    busy = told["jobs"]["busy"]
    assert busy["executed_ns"][12] >= 60 * NS_PER_MS
    usual = np.delete(busy["executed_ns"][busy["status"] == JobStatus.COMPLETED], [6, 12])
    assert np.median(usual) < 20 * NS_PER_MS


def test_jobs_wait_for_a_resource_that_nobody_gives_back(told: dict[str, Any]) -> None:
    row, distant = told["rows"]["held"], told["jobs"]["distant"]
    assert row["detected_by"] == "lock" and row["end_ns"] - row["begin_ns"] == 150 * NS_PER_MS
    ended = distant["finish_ns"][distant["finish_ns"] >= 0]
    after_ns = ended - row["begin_ns"]
    assert not ((after_ns > 5 * NS_PER_MS) & (after_ns < 150 * NS_PER_MS)).any()
    assert (after_ns > 150 * NS_PER_MS).sum() >= 3
    (held,) = told["summary"]["sections"]["held"]
    assert (held["task"], held["long_waits"]) == ("distant", 1)
    assert held["wait_max_ns"] > 50 * NS_PER_MS
    broken = next(one for one in told["summary"]["monitors"] if one["assumption"] == "sections")
    assert "bus" in {one["who"] for one in broken["first"]}


def test_a_silenced_sensor_sends_nothing(told: dict[str, Any]) -> None:
    backup = told["jobs"]["backup"]
    assert (backup["arrival_ns"] < 1250 * NS_PER_MS).all()
    assert len(backup["arrival_ns"]) >= 8


def test_a_lost_device_stays_lost_and_the_others_go_on(told: dict[str, Any]) -> None:
    begin_ns, distant, busy = told["rows"]["gone"]["begin_ns"], told["jobs"]["distant"], told["jobs"]["busy"]
    assert distant["start_ns"][15] <= begin_ns < distant["start_ns"][15] + 100 * NS_PER_MS
    assert not (distant["arrival_ns"] > begin_ns + 100 * NS_PER_MS).any()
    assert (busy["finish_ns"] > begin_ns + 500 * NS_PER_MS).any()
    assert [row["task"] for row in told["summary"]["losses"] if row["with_device"]] == ["distant"]


def test_without_its_arbiter_the_vehicle_brakes_by_itself(told: dict[str, Any]) -> None:
    actuator, dead = told["actuator"], told["rows"]["dead"]
    assert actuator["bound_ns"] == 160 * NS_PER_MS
    assert actuator["minimal_risk"], actuator
    first = actuator["minimal_risk"][0]
    assert first["after_ns"] > 150 * NS_PER_MS
    arbiter = told["jobs"]["arbiter"]
    done = arbiter["finish_ns"][arbiter["finish_ns"] >= 0]
    assert first["since_ns"] - first["after_ns"] <= done.max()
    assert dead["back_after_ns"] is None or dead["back_after_ns"] >= 250 * NS_PER_MS


def test_the_arbiter_shares_what_its_page_lists_and_no_more(told: dict[str, Any]) -> None:
    _, _, rest = (ROOT / "docs" / "safety.md").read_text(encoding="utf-8").partition("<!-- shared by processes -->\n")
    listed = {row.split("`")[1] for row in rest.partition("\n\n")[0].splitlines() if row.startswith("| `")}
    standard = re.compile(r"/dev/null|pipe:.*|/dev/pts/.*")
    found = {name.removesuffix(" (deleted)") for name in told["shared"] if not standard.fullmatch(name)}
    assert {"the recording" if name == str(LOG) else name for name in found} == listed


def test_what_cannot_be_carried_out_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "busy_stages.py").write_text(STAGES)
    (tmp_path / "system.yaml").write_text(SYSTEM)
    (tmp_path / "script.yaml").write_text(WRONG)
    ended = Faulted(tmp_path).end()
    assert ended.code == 2
    for words in (
        "faults.device: ecu is the device of the arbiter",
        "faults.early: messages are changed as they are decoded",
        "faults.late: it begins at 9s; the run ends at",
        "faults.unused: no task has a section of idle",
        "faults.never: what sets it off does not happen in this run",
    ):
        assert words in ended.errors
