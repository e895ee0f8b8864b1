"""A run whose arbiter is lost and comes back: the actuators' side brakes until a person releases it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rt_sched.app.faults.job import FaultsRequest, run_faults
from rt_sched.app.progress import Quiet
from rt_sched.units import NS_PER_MS

ROOT = Path(__file__).resolve().parents[2]
LOG = str(ROOT / "replay_data" / "hazard_short.mcap")
MS = NS_PER_MS
SYSTEM = """
rt_sched: 1
name: released
devices: {{orin: {{soc: agx-orin, power_mode: MAXN}}, gateway: {{soc: safety-mcu}}}}
sensors:
  lidar_top: {{kind: lidar, rate: 10Hz, latency: 4ms, jitter: 0.5ms, attached_to: orin, topic: /lidar/top/*}}
tasks:
  backup:
    {{stage: "safety.backup:LidarCorridor", runs_on: orin.cpu, inputs: {{points: lidar_top}},
     execution: {{bcet: 1ms, wcet: 17ms}}, deadline: 20ms, parameters: {{lidar: lidar_top, ego_front_m: 3.75}}}}
  panel:
    {{stage: "pipelines.release_panel:ReleasePanel", runs_on: gateway.mcu, activation: {{rate: 50Hz}},
     execution: {{bcet: 10us, wcet: 50us}}, deadline: 5ms, parameters: {{at_ms: {at_ms}}}}}
  arbiter:
    {{stage: "safety.arbiter_stage:Arbiter", runs_on: gateway.mcu, activation: {{rate: 100Hz}},
     inputs: {{backup: {{from: backup, required: false}}, release: {{from: panel, edge: latest, required: false}}}},
     execution: {{bcet: 50us, wcet: 500us}}, deadline: 5ms,
     parameters: {{startup_grace_ms: 100, backup_age_limit_ms: 140, release_age_limit_ms: {age_ms}}}}}
safety: {{arbiter: arbiter, primary: backup, recovery_limit: 500ms{keyed}}}
"""
SCRIPT = "rt_sched_faults: 1\nfaults: {gone: {kind: arbiter.kill, at: 0.4s, restart: 100ms}}\n"


def actuator(folder: Path, at_ms: list[int], age_ms: int = 100, *, keyed: bool = False) -> dict[str, Any]:
    """What the actuators' side did in the run."""
    authentication = ", authentication: {key_file: vehicle.key}" if keyed else ""
    (folder / "system.yaml").write_text(SYSTEM.format(at_ms=at_ms, age_ms=age_ms, keyed=authentication))
    (folder / "script.yaml").write_text(SCRIPT)
    request = FaultsRequest(str(folder / "system.yaml"), folder / "script.yaml", LOG, threads=1, output=folder / "run")
    run_faults(request, Quiet())
    found: dict[str, Any] = json.loads((folder / "run" / "summary.json").read_text())["actuator"]
    return found


@pytest.mark.parametrize("keyed", [False, True])
def test_the_run_follows_again_after_a_release_while_commands_come(tmp_path: Path, keyed: bool) -> None:
    if keyed:
        (tmp_path / "vehicle.key").write_text("ab" * 32)
        (tmp_path / "vehicle.key").chmod(0o600)
    done = actuator(tmp_path, [460, 610], keyed=keyed)
    (risk,) = done["minimal_risk"]
    assert 400 * MS < risk["since_ns"] <= 400 * MS + done["bound_ns"]
    assert 610 * MS <= risk["released_ns"] <= 650 * MS
    assert (done["releases_refused"], done["release_refusals"]) == (1, ["no command is young enough"])
    assert done["state_time_ns"]["MINIMAL_RISK"] == risk["released_ns"] - risk["since_ns"]


def test_nothing_else_ends_it(tmp_path: Path) -> None:
    done = actuator(tmp_path, [])
    assert [one["released_ns"] for one in done["minimal_risk"]] == [None]
    assert done["releases_refused"] == 0


def test_a_request_that_is_older_than_the_arbiter_allows_releases_nothing(tmp_path: Path) -> None:
    done = actuator(tmp_path, [611], age_ms=5)
    assert [one["released_ns"] for one in done["minimal_risk"]] == [None]
    assert done["release_refusals"] == ["it is too old"]
