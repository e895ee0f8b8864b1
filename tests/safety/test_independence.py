"""What two paths share: the shipped systems as they are, and with one thing after the other made common."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.app.runs.safety_path import message_types, shared_document
from rt_sched.config import load_system
from rt_sched.model import CriticalSection, System
from safety.independence import path_of, shared_by_paths

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_shipped_systems_share_sensor_and_message_types_but_no_task_and_no_code(path: Path) -> None:
    system = load_system(path, stages=ImportedStages())
    shared = shared_document(system, ImportedStages())
    assert shared is not None
    assert (shared["tasks"], shared["stages"], shared["modules"]) == ([], [], [])
    # On the small host the network has the camera to itself, and the backup the LiDAR.
    assert len(shared["sensors"]) == (0 if system.deployments else 1)
    assert shared["message_types"] == ["Command", "PointCloud"][: 1 + len(shared["sensors"])]


def test_a_shared_task_brings_all_that_it_depends_on() -> None:
    system = load_system(EXAMPLES / "quad_orin.yaml", stages=ImportedStages())
    types = message_types(system, ImportedStages())
    assert system.safety is not None
    primary = path_of(system, system.safety.primary, types)
    assert {"fuse", "cluster", "pre_lidar", "post_rear"} <= primary.tasks
    assert "arbiter" not in primary.tasks
    assert primary.sensors == {sensor.name for sensor in system.sensors}
    assert {"EncodedImage", "Tensor", "Detections2D", "Boxes3D", "Command"} <= primary.message_types
    backup = path_of(system, "backup", types)
    assert (backup.tasks, backup.sensors, backup.devices) == ({"backup"}, {"lidar_top"}, {"orin-4"})


def changed(system: System, name: str, **changes: Any) -> System:
    tasks = [dataclasses.replace(task, **changes) if task.name == name else task for task in system.tasks]
    return dataclasses.replace(system, tasks=tuple(tasks))


def test_whatever_is_made_common_is_found() -> None:
    system = load_system(EXAMPLES / "quad_orin.yaml", stages=ImportedStages())
    tasks = {task.name: task for task in system.tasks}
    catalogue = ImportedStages()

    def shared(other: System) -> dict[str, list[str]]:
        document = shared_document(other, catalogue)
        assert document is not None
        return document

    apart = shared(changed(system, "backup", pe=("gateway", "mcu")))
    assert (apart["elements"], apart["devices"]) == ([], [])
    (points,) = tasks["backup"].inputs
    boxes = dataclasses.replace(points, source="cluster", port="boxes")
    common = shared(changed(system, "backup", inputs=(boxes,)))
    assert {"cluster", "pre_lidar"} <= set(common["tasks"])
    assert "pipelines.lidar" in common["modules"]
    assert {"Boxes3D", "PointCloud", "Command"} <= set(common["message_types"])
    linked = changed(system, "backup", inputs=(dataclasses.replace(points, link="bus"),))
    (raw,) = (given for given in tasks["pre_lidar"].inputs if given.source == "lidar_top")
    others = tuple(given for given in tasks["pre_lidar"].inputs if given is not raw)
    assert shared(linked)["links"] == []
    both = changed(linked, "pre_lidar", inputs=(dataclasses.replace(raw, link="bus"), *others))
    assert shared(both)["links"] == ["bus"]
    holding = (CriticalSection("map", 0, 1),)
    locked = changed(system, "backup", sections=holding)
    assert shared(locked)["resources"] == []
    assert shared(changed(locked, "fuse", sections=holding))["resources"] == ["map"]


def test_without_a_backup_nothing_is_shared() -> None:
    system = load_system(EXAMPLES / "quad_orin.yaml", stages=ImportedStages())
    assert system.safety is not None
    alone = dataclasses.replace(system, safety=dataclasses.replace(system.safety, backup=None))
    assert shared_by_paths(alone, {}) is None
    assert shared_by_paths(dataclasses.replace(system, safety=None), {}) is None
