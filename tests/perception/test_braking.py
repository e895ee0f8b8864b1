"""Braking comes from what the sensors see: from the car ahead, in time, and from nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from outputs import Outputs
from reaction import FIRM_M_S2, reaction
from real_frames import Quiet
from scene_logs import REPLAY_DATA
from truth import Truth

from rt_sched.app.scene import SceneRequest, make_scene
from sensors.scene.scenarios import hazard

Drives = Callable[..., Outputs]


def judged(outputs: Outputs) -> dict[str, Any]:
    """The reaction in the hazard scene."""
    return reaction(Truth(REPLAY_DATA / "hazard_truth.json"), hazard(), outputs.decisions)


@pytest.mark.parametrize(
    "sensors", [("front_standard", "lidar_top"), ("front_standard",), ("lidar_top",)], ids=["both", "camera", "lidar"]
)
def test_the_car_that_obeys_stops_in_time(drives: Drives, sensors: tuple[str, ...]) -> None:
    seen = judged(drives(*sensors))
    assert seen["right"], seen
    assert seen["hazard_ns"] < seen["emergency_ns"] < seen["last_chance_ns"]
    assert not seen["contact"]
    assert seen["least_gap_m"] > 0.5


def test_with_camera_and_lidar_it_brakes_at_a_plausible_time_to_collision(
    drives: Drives,
) -> None:
    assert 1.2 < judged(drives("front_standard", "lidar_top"))["ttc_at_emergency_s"] < 3.5


@pytest.mark.parametrize("sensors", [("front_standard", "lidar_top"), ("front_standard",)], ids=["both", "camera"])
def test_with_the_lead_painted_over_nothing_brakes(drives: Drives, sensors: tuple[str, ...]) -> None:
    seen = judged(drives(*sensors, blank="lead"))
    assert seen["emergency_ns"] is None, seen
    assert seen["hardest_m_s2"] < FIRM_M_S2


def test_in_the_companion_scene_nothing_brakes(replayed: Callable[[Path], Outputs], tmp_path: Path) -> None:
    log = tmp_path / "no_hazard.mcap"
    request = SceneRequest(name="no_hazard", output=log, duration="1.6s", cameras=("front_standard",))
    make_scene(request, Quiet())
    decisions = replayed(log).decisions
    assert len(decisions) > 140
    assert not any(decision.emergency for decision in decisions)
    assert min(decision.acceleration_m_s2 for decision in decisions) > -FIRM_M_S2
