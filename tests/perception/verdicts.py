"""What is said of a reaction in the hazard scene."""

from __future__ import annotations

from typing import Any

from outputs import Outputs
from reaction import reaction
from scene_logs import REPLAY_DATA
from truth import Truth

from sensors.scene.scenarios import hazard


def judged(outputs: Outputs) -> dict[str, Any]:
    """The reaction in the hazard scene."""
    return reaction(Truth(REPLAY_DATA / "hazard_truth.json"), hazard(), outputs.decisions)


def assert_stops_in_time(seen: dict[str, Any]) -> None:
    """After the hazard begins, before the last chance, and with a gap left."""
    assert seen["right"], seen
    assert seen["hazard_ns"] < seen["emergency_ns"] < seen["last_chance_ns"]
    assert not seen["contact"]
    assert seen["least_gap_m"] > 0.5
