"""The key file: what is read from it, and what is refused at the line that names it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.config import load_system
from rt_sched.errors import ConfigError
from rt_sched.runtime.keys import authenticator_of

KEY = "00112233445566778899aabbccddeeff" * 2
SYSTEM = """\
rt_sched: 1
name: keyed
devices: {orin: {soc: agx-orin}, gateway: {soc: safety-mcu}}
sensors: {top: {kind: lidar, rate: 10Hz, attached_to: orin, topic: /lidar/top/*}}
tasks:
  backup: {stage: "safety.backup:LidarCorridor", runs_on: orin.cpu, inputs: {points: top}, execution: {wcet: 17ms}}
  arbiter: {stage: "safety.arbiter_stage:Arbiter", runs_on: gateway.mcu, activation: {rate: 100Hz},
    inputs: {backup: {from: backup, required: false}}, execution: {wcet: 500us}}
safety:
  arbiter: arbiter
  primary: backup
  authentication: {key_file: vehicle.key}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "system.yaml").write_text(SYSTEM, encoding="utf-8")
    write(tmp_path, KEY + "\n")
    return tmp_path


def write(folder: Path, text: str, mode: int = 0o600) -> None:
    (folder / "vehicle.key").write_text(text, encoding="utf-8")
    (folder / "vehicle.key").chmod(mode)


def refusal(folder: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        authenticator_of(load_system(folder / "system.yaml", stages=ImportedStages()))
    (problem,) = caught.value.problems
    assert (problem.line, problem.column) == (12, 30)
    assert str(problem).startswith(f"{folder / 'system.yaml'}:12:30  safety.authentication.key_file: ")
    assert KEY[:16] not in str(problem)
    return problem.message


def test_the_key_lies_beside_the_system_file(folder: Path) -> None:
    found = authenticator_of(load_system(folder / "system.yaml", stages=ImportedStages()))
    assert found is not None
    assert found.key == bytes.fromhex(KEY)
    assert found.protects == {"Command", "ArbiterDecision", "ReleaseRequest"}


def test_a_system_that_asks_for_nothing_needs_no_key(folder: Path) -> None:
    text = SYSTEM.replace("  authentication: {key_file: vehicle.key}\n", "")
    (folder / "system.yaml").write_text(text, encoding="utf-8")
    assert authenticator_of(load_system(folder / "system.yaml", stages=ImportedStages())) is None


def test_an_analysis_needs_no_key(folder: Path) -> None:
    (folder / "vehicle.key").unlink()
    assert load_system(folder / "system.yaml", stages=ImportedStages()).safety is not None


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o602, 0o660, 0o666, 0o644])
def test_a_key_that_others_can_reach_is_refused(folder: Path, mode: int) -> None:
    write(folder, KEY, mode)
    assert f"others have rights on it ({mode & 0o077:03o}); take them away: chmod 600" in refusal(folder)


@pytest.mark.parametrize("text", ["", "key", KEY[:-1], KEY + " " + KEY, "0x" + KEY, "00" * 3000])
def test_what_is_no_key_is_refused(folder: Path, text: str) -> None:
    write(folder, text)
    message = refusal(folder)
    assert "it holds no key; write one line of hexadecimal digits" in message or "its key has 0 bits" in message


def test_a_short_key_is_refused(folder: Path) -> None:
    write(folder, KEY[:32])
    assert refusal(folder).endswith("its key has 128 bits; it needs 256: openssl rand -hex 32")


def test_a_file_that_is_not_there_or_none_is_refused(folder: Path) -> None:
    (folder / "vehicle.key").unlink()
    assert refusal(folder).endswith("No such file or directory")
    (folder / "vehicle.key").mkdir()
    assert refusal(folder).endswith("it is no regular file")
    (folder / "vehicle.key").rmdir()
    os.mkfifo(folder / "vehicle.key", 0o600)
    assert refusal(folder).endswith("it is no regular file")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_key_of_another_user_is_refused(folder: Path) -> None:
    os.chown(folder / "vehicle.key", 12345, -1)
    assert "it belongs to user 12345; it must be yours, or root's" in refusal(folder)
