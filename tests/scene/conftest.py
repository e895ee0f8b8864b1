"""The shipped scene, its rig and a short excerpt of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from sensors.scene import SceneSummary, write_scene
from sensors.scene.rig import Rig, quad_orin_rig
from sensors.scene.scenarios import hazard
from sensors.scene.world import World

REPLAY_DATA = Path(__file__).resolve().parents[2] / "replay_data"


@dataclass(frozen=True)
class Excerpt:
    """0.3 s of the scene with two cameras."""

    summary: SceneSummary
    cameras: tuple[str, ...]
    duration_s: float
    seed: int


@pytest.fixture(scope="session")
def world() -> World:
    return hazard()


@pytest.fixture(scope="session")
def rig() -> Rig:
    return quad_orin_rig()


@pytest.fixture(scope="session")
def replay_data() -> Path:
    return REPLAY_DATA


@pytest.fixture(scope="session")
def excerpt(world: World, rig: Rig, tmp_path_factory: pytest.TempPathFactory) -> Excerpt:
    cameras = ("front_wide", "left")
    path = tmp_path_factory.mktemp("scene") / "excerpt.mcap"
    return Excerpt(write_scene(world, rig, path, duration_s=0.3, cameras=cameras, seed=1), cameras, 0.3, 1)
