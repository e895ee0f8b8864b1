"""Wrong parameters of the shipped stages: each is named, all at once, and names of sensors when the file is loaded."""

from __future__ import annotations

import importlib
import inspect
import math
import pkgutil

import pytest

import pipelines
import safety
from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.config import load_system_text
from rt_sched.errors import ConfigError

STAGES = ImportedStages()


def shipped() -> list[str]:
    """Every stage of the product as "module:Class"."""
    found = []
    for package in (pipelines, safety):
        for module in pkgutil.iter_modules(package.__path__):
            name = f"{package.__name__}.{module.name}"
            for class_name, value in inspect.getmembers(importlib.import_module(name), inspect.isclass):
                if value.__module__ == name and not isinstance(STAGES.describe(f"{name}:{class_name}"), str):
                    found.append(f"{name}:{class_name}")
    return found


WRONG = (None, True, -1, 0, 1e300, math.nan, math.inf, "", "nonsense", [], [1], ["nonsense"], {}, {"a": 1}, {1: "b"})


@pytest.mark.parametrize("stage", shipped())
def test_whatever_value_a_parameter_has_it_is_accepted_or_named(stage: str) -> None:
    description = STAGES.describe(stage)
    assert not isinstance(description, str)
    for name in description.parameters:
        for value in WRONG:
            for complaint in STAGES.check_parameters(stage, {name: value}):
                assert complaint.startswith(f"{name}: "), (name, value, complaint)


def test_there_are_stages_with_parameters() -> None:
    assert {"safety.arbiter_stage:Arbiter", "pipelines.imu:Integrate", "pipelines.lanes:DrivableArea"} <= set(shipped())


@pytest.mark.parametrize("stage", shipped())
def test_all_wrong_parameters_are_told_at_once(stage: str) -> None:
    description = STAGES.describe(stage)
    assert not isinstance(description, str)
    refused = {
        name: value
        for name in description.parameters
        for value in ({1: "b"}, -1e9)
        if STAGES.check_parameters(stage, {name: value})
    }
    told = {complaint.partition(":")[0] for complaint in STAGES.check_parameters(stage, refused)}
    assert told == set(refused)


SYSTEM = """
rt_sched: 1
name: names
devices: {orin: {soc: agx-orin}, gateway: {soc: safety-mcu}}
sensors:
  front: {topic: /camera/front/*, kind: camera, rate: 30Hz, attached_to: [orin]}
  top: {topic: /lidar/*, kind: lidar, rate: 10Hz, attached_to: [orin]}
  imu: {topic: /imu/*, kind: imu, rate: 200Hz, attached_to: [orin]}
tasks:
  pre: {stage: "pipelines.camera:Preprocess", runs_on: orin.cpu, inputs: {image: front}, execution: {wcet: 1ms}}
  infer: {stage: "pipelines.detector:Infer", runs_on: orin.gpu, inputs: {tensor: pre}, execution: {wcet: 1ms}}
  post: {stage: "pipelines.detector:Postprocess", runs_on: orin.cpu, inputs: {raw: infer}, execution: {wcet: 1ms},
    parameters: {camera: front}}
  lane: {stage: "pipelines.lanes:LaneMarkings", runs_on: orin.cpu, inputs: {image: front}, execution: {wcet: 1ms},
    parameters: {camera: front}}
  points: {stage: "pipelines.lidar:Preprocess", runs_on: orin.cpu, inputs: {points: top}, execution: {wcet: 1ms},
    parameters: {sensor: top}}
  ego: {stage: "pipelines.imu:Integrate", runs_on: orin.cpu, inputs: {imu: imu}, execution: {wcet: 1ms},
    parameters: {sensor: imu}}
  fuse: {stage: "pipelines.fusion:Fuse", runs_on: orin.cpu, activation: {rate: 30Hz}, execution: {wcet: 1ms},
    inputs: {detections_front: {from: post, required: false}}, parameters: {lidar: top, imu: imu}}
  understand: {stage: "pipelines.understanding:Understand", runs_on: orin.cpu, inputs: {objects: fuse},
    execution: {wcet: 1ms}, parameters: {required_sensors: [front, top]}}
  backup: {stage: "safety.backup:LidarCorridor", runs_on: orin.cpu, inputs: {points: top}, execution: {wcet: 1ms},
    parameters: {lidar: top}}
  arbiter: {stage: "safety.arbiter_stage:Arbiter", runs_on: gateway.mcu, activation: {rate: 100Hz},
    inputs: {backup: {from: backup, required: false}}, execution: {wcet: 1ms},
    parameters: {view_age_limit_ms: {front: 200}, forward_sensors: [front]}}
"""


def problems(text: str) -> list[str]:
    try:
        load_system_text(text, file_name="names.yaml", base_dir="/", stages=STAGES)
    except ConfigError as error:
        return [str(problem) for problem in error.problems]
    return []


NAMED = [
    ("{camera: front}}\n  lane", "{camera: frnt}}\n  lane", "tasks.post.parameters.camera: unknown camera", "front"),
    (
        "{camera: front}}\n  points",
        "{camera: frnt}}\n  points",
        "tasks.lane.parameters.camera: unknown camera",
        "front",
    ),
    ("{sensor: top}", "{sensor: tpo}", "tasks.points.parameters.sensor: unknown lidar", "top"),
    ("{sensor: imu}", "{sensor: imuu}", "tasks.ego.parameters.sensor: unknown imu", "imu"),
    ("lidar: top,", "lidar: tpo,", "tasks.fuse.parameters.lidar: unknown lidar", "top"),
    ("top, imu: imu}", "top, imu: imuu}", "tasks.fuse.parameters.imu: unknown imu", "imu"),
    ("[front, top]", "[front, tpo]", "parameters.required_sensors[1]: unknown camera or lidar", "top"),
    ("{lidar: top}", "{lidar: tpo}", "tasks.backup.parameters.lidar: unknown lidar", "top"),
    ("{front: 200}", "{frnt: 200}", "parameters.view_age_limit_ms.frnt: unknown camera or lidar or imu", "front"),
    ("forward_sensors: [front]", "forward_sensors: [frnt]", "parameters.forward_sensors[0]: unknown camera", "front"),
]


@pytest.mark.parametrize(("right", "wrong", "place", "meant"), NAMED)
def test_sensors_in_parameters_are_looked_up_when_the_file_is_loaded(
    right: str, wrong: str, place: str, meant: str
) -> None:
    assert problems(SYSTEM) == []
    assert SYSTEM.count(right) == 1
    found = problems(SYSTEM.replace(right, wrong))
    assert len(found) == 1
    assert place in found[0]
    assert f"did you mean {meant!r}? valid: " in found[0]


def test_every_stage_with_a_parameter_for_a_sensor_declares_it() -> None:
    for stage in shipped():
        description = STAGES.describe(stage)
        assert not isinstance(description, str)
        named = {name for name in description.parameters if name in ("camera", "lidar", "imu", "sensor")}
        named |= {name for name in description.parameters if name.endswith("_sensors")}
        assert named <= set(description.sensor_parameters), stage


def test_a_sensor_of_another_kind_is_refused_in_a_parameter() -> None:
    found = problems(SYSTEM.replace("{camera: front}", "{camera: top}", 1))
    assert len(found) == 1
    assert found[0].endswith("tasks.post.parameters.camera: 'top' is a lidar; valid: front")
