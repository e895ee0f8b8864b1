"""The shipped system files load with the stages that ship, say nothing odd, and fit the rig and data they are for."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from rt_sched.analysis.braking import time_to_command_ns
from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.config import load_system, system_notes
from rt_sched.model import Join, OnMessage, Periodic, SensorKind, System
from rt_sched.units import NS_PER_MS
from sensors.scene.rig import quad_orin_rig, rig_as_data

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))


def _load(name: str) -> System:
    return load_system(ROOT / "examples" / name, stages=ImportedStages())


@pytest.fixture(scope="module")
def quad() -> System:
    return _load("quad_orin.yaml")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_loads_without_a_note(path: Path) -> None:
    system = load_system(path, stages=ImportedStages())
    assert system.name == path.stem
    assert system_notes(system) == ()
    assert len(path.read_text().splitlines()) < 330


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_stage_can_be_created(path: Path) -> None:
    stages = ImportedStages()
    for task in load_system(path, stages=stages).tasks:
        assert type(stages.create(task)).__name__ == task.stage.partition(":")[2]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_processing_element_has_room(path: Path) -> None:
    system = load_system(path, stages=ImportedStages())
    for device in system.devices:
        for pe in device.processing_elements:
            load = sum(
                Fraction(task.execution.wcet_ns, task.separation_ns)
                for task in system.tasks
                if task.pe == (device.name, pe.name)
            )
            assert load <= Fraction(4, 5) * pe.cores


def test_quad_orin_is_the_worked_example(quad: System) -> None:
    assert [device.name for device in quad.devices] == ["orin-1", "orin-2", "orin-3", "orin-4", "gateway"]
    at = {sensor.name: sensor.attached_to for sensor in quad.sensors}
    assert {name: devices[0] for name, devices in at.items()} == {
        "front_wide": "orin-1",
        "front_standard": "orin-1",
        "front_tele": "orin-2",
        "right": "orin-2",
        "left": "orin-3",
        "rear": "orin-3",
        "surround_left": "orin-4",
        "surround_right": "orin-4",
        "lidar_top": "orin-4",
        "imu": "orin-1",
    }
    assert all(len(devices) == 2 for name, devices in at.items() if name != "imu")
    rates = {sensor.kind: sensor.rate_hz for sensor in quad.sensors}
    assert rates == {SensorKind.CAMERA: 30, SensorKind.LIDAR: 10, SensorKind.IMU: 200}
    assert sum(sensor.kind is SensorKind.CAMERA for sensor in quad.sensors) == 8


def test_no_single_orin_carries_both_ways_to_brake(quad: System) -> None:
    assert quad.safety is not None and quad.safety.backup is not None
    device = {task.name: task.pe[0] for task in quad.tasks}
    names = (quad.safety.primary, quad.safety.backup, quad.safety.arbiter)
    assert len({device[name] for name in names}) == 3
    assert device["arbiter"] == "gateway"


def test_quad_orin_fits_its_budget_from_capture_to_command(quad: System) -> None:
    """Hand calculation of the slowest path, with both cameras of a GPU in its way and every wait at its longest."""
    tasks = {task.name: task for task in quad.tasks}
    sensors = {sensor.name: sensor for sensor in quad.sensors}

    def wcet(name: str) -> int:
        return tasks[name].execution.wcet_ns

    def arrival(name: str) -> int:
        return sensors[name].latency_ns + sensors[name].jitter_ns

    camera = arrival("front_wide") + wcet("pre_front_wide") + 2 * wcet("infer_front_wide") + wcet("post_front_wide")
    fuse = tasks["fuse"].activation
    assert isinstance(fuse, Periodic)
    assert camera <= fuse.offset_ns, "detections of a cycle are there when its fusion starts"
    decided = sum(map(wcet, ("fuse", "understand", "plan", "control")))
    to_command = decided + tasks["arbiter"].separation_ns + wcet("arbiter")
    lidar = arrival("lidar_top") + wcet("pre_lidar") + wcet("cluster")
    for ready in (camera, lidar):
        assert ready + tasks["fuse"].separation_ns + to_command <= 100 * NS_PER_MS
    assert wcet("backup") <= tasks["backup"].deadline_ns <= 20 * NS_PER_MS
    to_backup = arrival("lidar_top") + wcet("backup") + tasks["arbiter"].separation_ns + wcet("arbiter")
    assert to_backup <= 100 * NS_PER_MS


def _sources(system: System, task: str) -> set[str]:
    """The sensors and tasks whose data a task uses."""
    tasks = {one.name: one for one in system.tasks}
    found: set[str] = set()
    todo = [task]
    while todo:
        sources = {given.source for given in tasks[todo.pop()].inputs} - found
        found |= sources
        todo += sources & tasks.keys()
    return found


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_lost_camera_is_noticed_within_the_recovery_limit(path: Path) -> None:
    system = load_system(path, stages=ImportedStages())
    arbiter = next(task for task in system.tasks if task.name == "arbiter")
    assert system.safety is not None and system.safety.recovery_limit_ns is not None
    limits_ms = dict(arbiter.parameters)["view_age_limit_ms"]
    behind = _sources(system, system.safety.primary)
    watched = [one.name for one in system.sensors if one.kind is not SensorKind.IMU and one.name in behind]
    assert sorted(limits_ms) == sorted(watched)
    for sensor in system.sensors:
        if sensor.kind is SensorKind.CAMERA:
            limit_ns = limits_ms[sensor.name] * NS_PER_MS
            assert limit_ns + arbiter.separation_ns + arbiter.execution.wcet_ns <= system.safety.recovery_limit_ns


def test_quad_orin_describes_the_rig_of_the_shipped_log(quad: System) -> None:
    rig = rig_as_data(quad_orin_rig())
    sensors = {sensor.name: sensor for sensor in quad.sensors}
    mounted = [*rig["cameras"], rig["lidar"], rig["imu"]]
    assert set(sensors) == {entry["name"] for entry in mounted}
    for entry in mounted:
        sensor = sensors[entry["name"]]
        assert sensor.rate_hz == Fraction(entry["rate_hz"])
        assert entry["topic"].startswith(sensor.topics[0].removesuffix("*"))
        pose = sensor.calibration.sensor_to_vehicle
        assert pose is not None
        for row, expected in zip(pose, entry["sensor_to_vehicle"], strict=True):
            assert row == pytest.approx(expected, abs=2e-6)
        if "intrinsics" in entry:
            assert [sensor.calibration.image_width, sensor.calibration.image_height] == entry["image_size"]
            assert sensor.calibration.intrinsics == pytest.approx(tuple(entry["intrinsics"].values()), abs=2e-6)


def test_fusion_reads_every_camera_and_loses_none_by_waiting(quad: System) -> None:
    fuse = next(task for task in quad.tasks if task.name == "fuse")
    cameras = {sensor.name for sensor in quad.sensors if sensor.kind is SensorKind.CAMERA}
    read = {item.name.removeprefix("detections_") for item in fuse.inputs if item.name.startswith("detections_")}
    assert read == cameras
    assert not any(item.required for item in fuse.inputs)


def test_activation_is_derived_for_the_camera_tasks(quad: System) -> None:
    tasks = {task.name: task for task in quad.tasks}
    assert tasks["infer_rear"].activation == OnMessage(Join.LATEST, "tensor")
    assert tasks["infer_rear"].pe == ("orin-3", "gpu")
    assert tasks["post_rear"].parameters == (("camera", "rear"),)
    assert tasks["infer_rear"].separation_ns == 33_333_333


@pytest.mark.parametrize(
    ("example", "recording"),
    [("kitti_single_orin.yaml", "kitti360_small_50f"), ("kitti78_single_orin.yaml", "kitti78_small")],
)
def test_kitti_calibration_projects_as_published(example: str, recording: str) -> None:
    calibration_file = ROOT.parent / "shared/data/recordings/calibration.yaml"
    if not calibration_file.exists():
        pytest.skip(f"{calibration_file} is missing")
    import numpy as np
    from ruamel.yaml import YAML

    published = YAML(typ="safe", pure=True).load(calibration_file.read_text())[recording]
    sensors = {sensor.name: sensor for sensor in _load(example).sensors}
    camera, lidar = sensors["front"].calibration, sensors["lidar"].calibration
    assert camera.intrinsics == pytest.approx(tuple(published["intrinsics"].values()))
    assert [camera.image_width, camera.image_height] == published["image_size"]
    assert camera.sensor_to_vehicle is not None and lidar.sensor_to_vehicle is not None
    point = np.array([12.0, -3.0, 0.5])
    in_camera = np.array(published["lidar_to_camera"]) @ np.append(point, 1.0)
    pose = np.array(camera.sensor_to_vehicle)
    in_vehicle = np.array(lidar.sensor_to_vehicle) @ np.append(point, 1.0)
    assert pose[:, :3] @ in_camera + pose[:, 3] == pytest.approx(in_vehicle, abs=1e-6)


def test_quad_orin_declares_every_single_loss(quad: System) -> None:
    lost = {scenario.target: scenario for scenario in quad.fault_scenarios}
    watched = {sensor.name for sensor in quad.sensors if sensor.kind is not SensorKind.IMU}
    orins = {device.name for device in quad.devices if device.soc == "agx-orin"}
    assert set(lost) == watched | orins
    assert all(scenario.detection_ns is not None for scenario in quad.fault_scenarios)


def test_quad_orin_has_a_requirement_for_every_limit_that_holds_while_braking(quad: System) -> None:
    cases = [one for one in quad.requirements if one.braking is not None]
    assert {limit.owner for one in cases for limit in one.limits} == {
        chain.name for chain in quad.chains if chain.path[-1] == "arbiter"
    }
    limits = {chain.name: chain.max_reaction_ns for chain in quad.chains}
    for one in cases:
        assert one.braking is not None
        for limit in one.limits:
            stated_ns = limits[limit.owner]
            assert stated_ns is not None
            assert stated_ns <= time_to_command_ns(one.braking) < stated_ns + 10_000_000, "it is derived, not just met"
