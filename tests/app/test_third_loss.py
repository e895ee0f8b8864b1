"""A third device of four is lost, in lockstep: a takeover, the backup path, or MINIMAL_RISK, and never nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rt_sched.app.inputs.shipped import resolve
from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.app.progress import Quiet
from rt_sched.app.replay.job import ReplayRequest, run_replay
from rt_sched.config import load_system
from rt_sched.config.plan_text import plan_text
from rt_sched.planner import make_plan
from rt_sched.planner.failover import plan_takeovers

LOG = str(Path(__file__).resolve().parents[2] / "replay_data" / "hazard_short.mcap")


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That answers each loss by itself."""
    system = load_system(resolve("quad_orin"), stages=ImportedStages())
    path = tmp_path_factory.mktemp("plan") / "plan.yaml"
    path.write_text(plan_text(system, plan_takeovers(system, make_plan(system))), encoding="utf-8")
    return path


def summary_of(folder: Path, plan: Path, *devices: str) -> dict[str, Any]:
    """One device after the other, 60 ms apart."""
    faults = tuple(f"device:{device}@{150 + 60 * at}ms" for at, device in enumerate(devices))
    request = ReplayRequest(LOG, "quad_orin", plan=plan, faults=faults, output=folder / "run")
    return run_replay(request, Quiet()).summary


def test_a_third_loss_that_is_admitted_is_answered(tmp_path: Path, plan: Path) -> None:
    summary = summary_of(tmp_path, plan, "orin-1", "orin-3", "orin-4")
    third = summary["faults"][2]
    assert third["takeover"]["answered"] and third["takeover"]["reason"].startswith("every deadline is kept")
    assert third["switched_after_ns"] is not None and third["recovered_after_ns"] is not None
    assert summary["arbiter"]["state_time_ns"].keys() <= {"STARTING", "NOMINAL", "DEGRADED"}


def test_one_that_is_refused_leaves_the_backup_path(tmp_path: Path, plan: Path) -> None:
    summary = summary_of(tmp_path, plan, "orin-2", "orin-3", "orin-1")
    third = summary["faults"][2]
    assert third["takeover"]["losses"] == ["device:orin-1", "device:orin-2", "device:orin-3"]
    assert not third["takeover"]["answered"] and "task fuse goes nowhere" in third["takeover"]["reason"]
    assert third["switched_after_ns"] is None and third["recovered_after_ns"] is not None
    assert any("nothing answers the loss of device:orin-1, device:orin-2, device:orin-3" in n for n in summary["notes"])
    assert summary["arbiter"]["state_time_ns"]["BACKUP"] > 0
    assert "MINIMAL_RISK" not in summary["arbiter"]["state_time_ns"]


def test_one_that_takes_both_paths_leads_to_minimal_risk(tmp_path: Path, plan: Path) -> None:
    summary = summary_of(tmp_path, plan, "orin-1", "orin-2", "orin-4")
    assert [row["takeover"]["answered"] for row in summary["faults"]] == [True, False, False]
    assert summary["arbiter"]["state_time_ns"]["MINIMAL_RISK"] > 0
    assert summary["faults"][2]["recovered_after_ns"] is None
