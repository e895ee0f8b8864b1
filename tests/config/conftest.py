"""A catalogue of stages that exist only here, and a small valid system file that uses them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rt_sched.config import load_system_text
from rt_sched.config.problems import unknown
from rt_sched.messages import (
    ArbiterDecision,
    Boxes3D,
    Command,
    Detections2D,
    EgoMotion,
    EncodedImage,
    ImuSample,
    PointCloud,
    TrackedObjects,
)
from rt_sched.model import System
from rt_sched.ports import StageDescription, StageParameter


def _stage(inputs, outputs, optional=(), **parameters) -> StageDescription:
    described = {name: StageParameter(required=value is ..., default=value) for name, value in parameters.items()}
    return StageDescription(inputs, outputs, stateful=False, parameters=described, optional_inputs=frozenset(optional))


STAGES = {
    "stages:Detect": _stage({"image": EncodedImage}, {"detections": Detections2D}, threshold=0.5, classes=None),
    "stages:Cluster": _stage({"points": PointCloud}, {"boxes": Boxes3D}),
    "stages:Ego": _stage({"imu": ImuSample}, {"ego": EgoMotion}, gravity=...),
    "stages:Fuse": _stage(
        {"boxes": Boxes3D, "detections_*": Detections2D, "ego": EgoMotion},
        {"objects": TrackedObjects},
        ("boxes", "ego"),
    ),
    "stages:Brake": _stage({"objects": TrackedObjects}, {"command": Command}),
    "stages:Backup": _stage({"boxes": Boxes3D}, {"command": Command, "seen": Boxes3D}),
    "stages:Arbiter": _stage(
        {"primary": Command, "backup": Command}, {"decision": ArbiterDecision}, ("primary", "backup")
    ),
}


class FixedStages:
    """The stages above. The parameter `threshold` must lie between 0 and 1; `classes` is refused in general words."""

    def describe(self, stage: str) -> StageDescription | str:
        return STAGES[stage] if stage in STAGES else unknown("stage", stage, STAGES)

    def check_parameters(self, stage: str, parameters: Mapping[str, Any]) -> tuple[str, ...]:
        threshold = parameters.get("threshold", 0.5)
        if not isinstance(threshold, int | float) or not 0 <= threshold <= 1:
            return (f"threshold: {threshold!r} is not between 0 and 1",)
        return ("no classes today",) if "classes" in parameters else ()


VALID = (Path(__file__).parent / "valid.yaml").read_text()


@pytest.fixture
def stages() -> FixedStages:
    return FixedStages()


@pytest.fixture
def valid_text() -> str:
    return VALID


@pytest.fixture
def load(stages):
    """Loads the valid file, or another text, after replacing each (old, new) pair once."""

    def loader(*replacements: tuple[str, str], text: str = VALID) -> System:
        for old, new in replacements:
            assert old in text, f"the valid file has no {old!r}"
            text = text.replace(old, new, 1)
        return load_system_text(text, file_name="system.yaml", base_dir="/somewhere", stages=stages)

    return loader
