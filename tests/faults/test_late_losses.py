"""What falls silent for good is noticed as long as messages would have come, whatever else still sends any."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fault_cases import ROOT
from one_lidar import SYSTEM as ONE_LIDAR

from rt_sched.app.faults.job import FaultsRequest, run_faults
from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.app.progress import Quiet
from rt_sched.config import load_system
from rt_sched.config.plan_text import plan_text
from rt_sched.planner import make_plan
from rt_sched.planner.failover import plan_takeovers

LOG = str(ROOT / "replay_data" / "hazard_short.mcap")
#: With another device that goes on with everything where the first one is lost.
SYSTEM = (
    ONE_LIDAR.replace("name: one_lidar", "name: two_devices")
    .replace("devices: {orin:", "devices: {other: {soc: agx-orin, power_mode: MAXN}, orin:")
    .replace("attached_to: orin", "attached_to: [orin, other]")
)
#: No message comes from 300 ms on. Half a second of the recording is still to come.
SILENT = (
    "{kind: message.drop, target: lidar_top, at: 300ms}",
    "{kind: message.drop, target: imu, at: 300ms}",
)


def told(folder: Path, *faults: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The document of a whole run with takeovers, and the summary in its folder."""
    (folder / "system.yaml").write_text(SYSTEM, encoding="utf-8")
    system = load_system(folder / "system.yaml", stages=ImportedStages())
    (folder / "plan.yaml").write_text(plan_text(system, plan_takeovers(system, make_plan(system))), encoding="utf-8")
    lines = "".join(f"  f{number}: {fault}\n" for number, fault in enumerate(faults))
    (folder / "script.yaml").write_text(f"rt_sched_faults: 1\nfaults:\n{lines}", encoding="utf-8")
    request = FaultsRequest(
        str(folder / "system.yaml"),
        folder / "script.yaml",
        LOG,
        plan=folder / "plan.yaml",
        threads=1,
        output=folder / "run",
    )
    document = run_faults(request, Quiet())
    return document, json.loads((folder / "run" / "summary.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def silent(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    return told(
        tmp_path_factory.mktemp("silent"),
        *SILENT,
        "{kind: device.loss, target: other, at: 400ms}",
        "{kind: arbiter.kill, at: 450ms}",
    )


def test_a_takeover_answers_sensors_that_fell_silent_after_the_last_message(silent) -> None:
    (row,) = silent[1]["faults"]
    assert row["fault"] == "device:other"
    assert row["takeover"]["losses"] == ["device:other", "imu:imu", "lidar:lidar_top"]


def test_what_ends_after_the_last_message_is_found(silent) -> None:
    rows = {row["kind"]: row for row in silent[0]["faults"]}
    assert (rows["arbiter.kill"]["verdict"], rows["arbiter.kill"]["detected_by"]) == ("detected", "alive")


def test_the_end_of_the_recording_is_no_loss(tmp_path: Path) -> None:
    _, summary = told(tmp_path, "{kind: device.loss, target: other, at: 400ms}")
    (row,) = summary["faults"]
    assert row["takeover"]["losses"] == ["device:other"]
    assert not [note for note in summary["notes"] if "nothing answers" in note]
