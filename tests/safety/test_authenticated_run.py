"""A whole replay with a key: every message carries its tag and is good, and nothing else is another one."""

from __future__ import annotations

from pathlib import Path

import pytest

from rt_sched.app.progress import Quiet
from rt_sched.app.replay.job import ReplayRequest, run_replay
from rt_sched.app.runs.result import ReplayResult
from rt_sched.errors import ConfigError

ROOT = Path(__file__).resolve().parents[2]
LOG = str(ROOT / "replay_data" / "hazard_short.mcap")
SYSTEM = """
rt_sched: 1
name: keyed
devices: {orin: {soc: agx-orin, power_mode: MAXN}, gateway: {soc: safety-mcu}}
sensors:
  lidar_top: {kind: lidar, rate: 10Hz, latency: 4ms, jitter: 0.5ms, attached_to: orin, topic: /lidar/top/*}
tasks:
  backup:
    {stage: "safety.backup:LidarCorridor", runs_on: orin.cpu, inputs: {points: lidar_top},
     execution: {bcet: 1ms, wcet: 17ms}, deadline: 20ms, parameters: {lidar: lidar_top, ego_front_m: 3.75}}
  arbiter:
    {stage: "safety.arbiter_stage:Arbiter", runs_on: gateway.mcu, activation: {rate: 100Hz},
     inputs: {backup: {from: backup, required: false}}, execution: {bcet: 50us, wcet: 500us}, deadline: 5ms,
     parameters: {startup_grace_ms: 100, backup_age_limit_ms: 140}}
safety: {arbiter: arbiter, primary: backup, recovery_limit: 500ms%s}
"""


def replayed(folder: Path, authentication: str) -> ReplayResult:
    (folder / "system.yaml").write_text(SYSTEM % authentication, encoding="utf-8")
    request = ReplayRequest(LOG, str(folder / "system.yaml"), threads=1, output=folder / "run")
    return run_replay(request, Quiet())


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> ReplayResult:
    return replayed(tmp_path_factory.mktemp("plain"), "")


def test_a_run_with_a_key_decides_and_schedules_as_without(tmp_path: Path, plain: ReplayResult) -> None:
    key = tmp_path / "vehicle.key"
    key.write_text("ab" * 32, encoding="utf-8")
    key.chmod(0o600)
    keyed = replayed(tmp_path, ", authentication: {key_file: vehicle.key}")
    for name in ("schedule_sha256", "outputs_sha256"):
        assert keyed.manifest[name] == plain.manifest[name]
    assert keyed.summary["safety_path"]["e2e"] == plain.summary["safety_path"]["e2e"]
    assert [(at, one.selected) for at, one in keyed.decisions] == [(at, one.selected) for at, one in plain.decisions]
    assert {len(one.header.tag) for _, one in keyed.decisions if one.header} == {32}
    assert {len(one.header.tag) for _, one in plain.decisions if one.header} == {0}
    written = b"".join(path.read_bytes() for path in sorted((tmp_path / "run").iterdir()) if path.is_file())
    assert b"ab" * 32 not in written
    assert bytes.fromhex("ab" * 32) not in written


def test_a_run_whose_key_is_not_there_does_not_begin(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"vehicle\.key: No such file or directory"):
        replayed(tmp_path, ", authentication: {key_file: vehicle.key}")
    assert not (tmp_path / "run").exists()
