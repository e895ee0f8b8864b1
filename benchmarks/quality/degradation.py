"""What the shipped hazard scene comes to when sensors are lost: one replay for each loss."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from outputs import read_outputs
from reaction import reaction
from truth import Truth

from rt_sched.app.progress import Quiet
from rt_sched.app.replay.job import ReplayRequest, run_replay
from sensors.scene.scenarios import hazard

CAMERAS = (
    "front_wide",
    "front_standard",
    "front_tele",
    "left",
    "right",
    "rear",
    "surround_left",
    "surround_right",
)
LIDAR, IMU = "lidar:lidar_top@0s", "imu:imu@0s"


def _only(*kept: str) -> tuple[str, ...]:
    """Faults that leave these cameras alone, from the start on."""
    return (LIDAR, *(f"camera:{name}@0s" for name in CAMERAS if name not in kept))


LOSSES: dict[str, tuple[str, ...]] = {
    "all sensors": (),
    "LiDAR without cameras": _only()[1:],
    "without IMU": (IMU,),
    "front_wide lost at 1 s": ("camera:front_wide@1s",),
    "front_standard lost at 1 s": ("camera:front_standard@1s",),
    "LiDAR lost at 1 s": ("lidar:lidar_top@1s",),
    "LiDAR lost at 2.4 s": ("lidar:lidar_top@2.4s",),
    "eight cameras, no LiDAR": (LIDAR,),
    "eight cameras, no LiDAR, no IMU": (LIDAR, IMU),
    "front_wide and front_standard alone": _only("front_wide", "front_standard"),
    "front_standard alone": _only("front_standard"),
    "front_wide alone": _only("front_wide"),
    "front_tele alone": _only("front_tele"),
}


def degradation(root: Path, system: str, work: Path) -> Iterator[dict[str, Any]]:
    """One row per loss: the reaction, and the time to collision that the first emergency stated."""
    truth = Truth(root / "replay_data" / "hazard_truth.json")
    for loss, faults in LOSSES.items():
        request = ReplayRequest(
            log=str(root / "replay_data" / "hazard.mcap"), system=system, faults=faults, output=work / "degraded"
        )
        found = read_outputs(run_replay(request, Quiet()).folder / "output.mcap")
        first = next((decision for decision in found.decisions if decision.emergency), None)
        told = {"told_ttc_s": None, "path": None}
        if first is not None:
            told = {"told_ttc_s": round(first.ttc_s, 2), "path": first.selected}
        yield {"loss": loss, "faults": list(faults), **reaction(truth, hazard(), found.decisions), **told}
