"""Braking comes from what one sensor sees: from the car ahead, in time, and from nothing else."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from outputs import Outputs
from reaction import FIRM_M_S2
from scene_logs import RIG
from verdicts import assert_stops_in_time, judged

from sensors.scene import write_scene
from sensors.scene.catalogue import SCENES, build_world
from sensors.scene.mcap_file import McapFile

Drives = Callable[..., Outputs]


@pytest.mark.parametrize("sensor", ["front_standard", "lidar_top"], ids=["camera", "lidar"])
def test_the_car_that_obeys_stops_in_time(drives: Drives, sensor: str) -> None:
    assert_stops_in_time(judged(drives(sensor)))


def test_with_the_lead_painted_over_nothing_brakes(drives: Drives) -> None:
    seen = judged(drives("front_standard", blank="lead"))
    assert seen["emergency_ns"] is None, seen
    assert seen["hardest_m_s2"] < FIRM_M_S2


def test_in_the_companion_scene_nothing_brakes(
    replayed: Callable[[Path], Outputs], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "no_hazard.mcap"
    # How well it is compressed is of no interest here.
    monkeypatch.setattr("sensors.scene.mcap_file.McapFile", partial(McapFile, zstd_level=1))
    world = build_world(SCENES["no_hazard"], duration_s=1.6)
    write_scene(world, RIG, log, duration_s=1.6, cameras=("front_standard",), seed=1)
    decisions = replayed(log).decisions
    assert len(decisions) > 140
    assert not any(decision.emergency for decision in decisions)
    assert min(decision.acceleration_m_s2 for decision in decisions) > -FIRM_M_S2
