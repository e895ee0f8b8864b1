"""A task with a spare is served again within its bound after its process was killed, or stands still for good."""

from __future__ import annotations

import re
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from paced_kills import STAGES

from rt_sched.config import load_system_text
from rt_sched.faults.declared import ENDING_NS, HANDOVER_NS, SUPERVISION_NS, recovery_ns
from rt_sched.faults.supervision import alive_timeout_ns
from rt_sched.runtime.host.tiers import TierReport
from rt_sched.units import NS_PER_MS

from .test_faults import Faulted

SYSTEM = """
rt_sched: 1
name: spares
policy: dm
devices: {ecu: {processing_elements: {cpu: {kind: cpu, cores: 1, switch_cost: 0.2ms}}}}
deploy: {ecu.cpu: 1}
sensors:
  imu: {kind: imu, rate: 200Hz, jitter: 2ms, attached_to: ecu, topic: /imu/*}
tasks:
"""
TASK = """
  {name}:
    {{stage: "busy_stages:Busy", runs_on: ecu.cpu, activation: {{rate: 20Hz, offset: {offset}ms}},
     inputs: {{imu: {{from: imu, required: false}}}}, execution: {{wcet: 4ms}}, deadline: 45ms,
     parameters: {{ms: 1}}{budget}}}
"""
BUDGET = ", budget: {limit: 4ms, granularity: 10ms, on_overrun: abort}"
#: Each with a spare of its own, which has been there since the start.
KILLED = ("first", "second", "third")
NAMES = (*KILLED, "patient", "twice")
TASKS = "".join(TASK.format(name=name, offset=6 * at, budget=BUDGET) for at, name in enumerate(NAMES))
TASKS += TASK.format(name="alone", offset=36, budget="")
SCRIPT = """
rt_sched_faults: 1
faults:
  first: {kind: process.kill, target: first, at: 1.5s}
  second: {kind: process.kill, target: second, at: 1.9s}
  third: {kind: process.kill, target: third, at: 2.3s}
  still: {kind: process.stall, target: patient, at: 1.3s, stall: 3s}
  bare: {kind: process.kill, target: alone, at: 0.4s}
  once: {kind: process.kill, target: twice, at: 0.6s}
  soon: {kind: process.kill, target: twice, at: 0.68s}
  later: {kind: process.kill, target: twice, at: 2.7s}
"""
KILLED_NS = ENDING_NS + SUPERVISION_NS + HANDOVER_NS


def test_only_a_spare_bounds_the_recovery() -> None:
    text = re.sub(r'stage: "[^"]*", |, parameters: {ms: 1}', "", SYSTEM + TASKS)
    system = load_system_text(text, file_name="system.yaml", base_dir=".", stages=None)
    guarded, alone = system.tasks[0], system.tasks[-1]
    still_ns = (alive_timeout_ns(system, guarded) or 0) + SUPERVISION_NS
    assert recovery_ns(system, guarded, is_killed=True) == KILLED_NS
    assert recovery_ns(system, guarded, is_killed=True, restart_ns=NS_PER_MS) == KILLED_NS
    assert recovery_ns(system, guarded, is_killed=True, restart_ns=900 * NS_PER_MS) == 900 * NS_PER_MS + HANDOVER_NS
    assert recovery_ns(system, guarded, is_killed=False) == still_ns + KILLED_NS
    assert recovery_ns(system, alone, is_killed=True) is None


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory, tiers: dict[str, TierReport]) -> dict[str, dict[str, Any]]:
    folder: Path = tmp_path_factory.mktemp("spares")
    (folder / "busy_stages.py").write_text(STAGES)
    (folder / "system.yaml").write_text(SYSTEM + TASKS)
    (folder / "script.yaml").write_text(SCRIPT)
    ended = Faulted(folder, "--tier", "fifo" if tiers["fifo"].available else "user").end()
    assert ended.code in (0, 1, 3), ended.errors
    return {row["name"]: row for row in ended.summary["faults"]}


def test_killed_processes_are_replaced_within_the_bound(rows: dict[str, dict[str, Any]]) -> None:
    killed = [rows[name] for name in KILLED]
    assert {row["back_within_ns"] for row in killed} == {KILLED_NS}
    assert 0 < median(row["back_after_ns"] for row in killed) <= KILLED_NS


def test_a_process_that_stands_still_is_ended_and_replaced(rows: dict[str, dict[str, Any]]) -> None:
    still = rows["still"]
    assert still["detected_by"] == "stop"
    assert still["back_within_ns"] > KILLED_NS
    assert 100 * NS_PER_MS < still["back_after_ns"] <= 2 * still["back_within_ns"]  # others use the host


def test_one_that_dies_before_the_next_spare_is_ready_is_served_by_that_spare_later(
    rows: dict[str, dict[str, Any]],
) -> None:
    for name in ("once", "soon", "later"):
        assert rows[name]["detected_by"] == "exit"
    once_ns, soon_ns = rows["once"]["back_after_ns"], rows["soon"]["back_after_ns"]
    assert once_ns is not None and (soon_ns is None or soon_ns > once_ns)  # a host that others use may take longer


def test_without_a_spare_nothing_is_promised(rows: dict[str, dict[str, Any]]) -> None:
    assert rows["bare"]["back_within_ns"] is None
