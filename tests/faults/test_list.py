"""What `faults list` declares of paced runs: recovery by spares, the watch over sensors, and how late it may look."""

from __future__ import annotations

from typing import Any

import pytest
from fault_cases import ROOT, guarded

from rt_sched.app.faults.delays import delay_of
from rt_sched.app.faults.document import list_document
from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.config import load_system
from rt_sched.faults.declared import ENDING_NS, HANDOVER_NS, SUPERVISION_NS
from rt_sched.faults.supervision import alive_timeout_ns
from rt_sched.model import System
from rt_sched.units import NS_PER_MS

FILE = ROOT / "examples" / "host_two_cores.yaml"
KILLED_NS = ENDING_NS + SUPERVISION_NS + HANDOVER_NS


@pytest.fixture(scope="module")
def system() -> System:
    return load_system(FILE, stages=ImportedStages())


def kinds(system: System, delay_ns: int | None = None) -> dict[str, dict[str, Any]]:
    return {kind["kind"]: kind for kind in list_document(system, delay_ns)["kinds"]}


def test_recovery_is_declared_where_a_task_keeps_a_spare(system: System) -> None:
    plain, found = kinds(system), kinds(guarded(system, "fuse", "plan"))
    assert {name for name, kind in plain.items() if kind["paced_recovery_ns"] is not None} == set()
    assert {name for name, kind in found.items() if kind["paced_recovery_ns"]} == {"process.kill", "process.stall"}
    still_ns = max(alive_timeout_ns(system, task) or 0 for task in system.tasks if task.name in ("fuse", "plan"))
    assert found["process.kill"]["paced_recovery_ns"] == KILLED_NS
    assert found["process.stall"]["paced_recovery_ns"] == still_ns + SUPERVISION_NS + KILLED_NS
    assert kinds(guarded(system, "arbiter"))["arbiter.kill"]["paced_recovery_ns"] == KILLED_NS


def test_the_end_of_the_watch_and_what_the_arbiter_does_then_are_declared(system: System) -> None:
    (arbiter,) = (task for task in system.tasks if task.name == "arbiter")
    found = kinds(guarded(system, health_age_limit_ms=200))
    (kill,), (stall,) = (found[name]["paced_processes"] for name in ("process.kill", "process.stall"))
    assert kill["process"] == stall["process"] == "rt-health"
    assert kill["monitors"] == [{"monitor": "exit", "worst_case_ns": ENDING_NS + SUPERVISION_NS}]
    assert stall["monitors"] == [{"monitor": "alive", "worst_case_ns": 200 * NS_PER_MS + SUPERVISION_NS}]
    assert kill["reaction_ns"] == 200 * NS_PER_MS + (alive_timeout_ns(system, arbiter) or 0)
    (unasked,) = kinds(system)["process.stall"]["paced_processes"]
    assert (unasked["monitors"][0]["worst_case_ns"], unasked["reaction_ns"]) == (None, None)
    assert [one["unwatched_ns"] for one in (kill, stall, unasked)] == [None] * 3  # the period is not known


@pytest.mark.parametrize(("limit_ms", "still_ms"), [(200, 1_000), (800, 1_600)])
def test_how_long_no_sensor_is_watched_is_declared(system: System, limit_ms: int, still_ms: int) -> None:
    """Two cycles of 60 ms in all before the end and after the start, 100 ms to notice the end, 500 ms to start."""
    found = kinds(guarded(system, health_age_limit_ms=limit_ms), 60 * NS_PER_MS)
    (kill,), (stall,) = (found[name]["paced_processes"] for name in ("process.kill", "process.stall"))
    assert kill["unwatched_ns"] == (60 + 100 + 500 + 60) * NS_PER_MS
    assert stall["unwatched_ns"] == (still_ms + 150 + 100 + 500 + 60) * NS_PER_MS


def test_a_recording_says_how_late_messages_are_looked_at(system: System) -> None:
    delay_ns = delay_of(FILE, ROOT / "replay_data" / "hazard_short.mcap")
    assert delay_ns is not None and delay_ns % (20 * NS_PER_MS) == 0
    without, found = kinds(system), kinds(system, delay_ns)
    assert (without["camera.black"]["paced_delay_ns"], found["camera.black"]["paced_delay_ns"]) == (None, delay_ns)
    for name in ("camera.black", "lidar.loss", "clock.step"):
        for before, after in zip(without[name]["paced_monitors"], found[name]["paced_monitors"], strict=True):
            assert after["worst_case_ns"] == before["worst_case_ns"] + delay_ns
        assert found[name]["monitors"] == without[name]["monitors"]
    assert found["device.loss"] == without["device.loss"]
    assert found["process.kill"]["paced_delay_ns"] == 0
