"""The backup path: gaps, closing speeds and thresholds by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rt_sched.errors import DeploymentError
from rt_sched.messages import Boxes3D, Command
from rt_sched.ports import JobContext, Rejected, SensorDescription, StageContext
from safety.backup import LidarCorridor

MS = 1_000_000
SWEEP_NS = 100 * MS
SENSORS = {"top": SensorDescription("top", "lidar", SWEEP_NS)}


def boxes(capture_ns: int, *objects: tuple[float, float], frame_id: str = "vehicle", points: int = 50) -> Boxes3D:
    """Cars of 4 x 1.8 x 1.5 m with their centres at (x, y)."""
    n = len(objects)
    centers = np.array([[x, y, 0.8] for x, y in objects], np.float32).reshape(n, 3)
    sizes = np.tile(np.array([[4.0, 1.8, 1.5]], np.float32), (n, 1))
    return Boxes3D(capture_ns, frame_id, centers, sizes, np.zeros(n, np.float32), np.full(n, points, np.int32))


def started(**parameters: object) -> LidarCorridor:
    stage = LidarCorridor(**parameters)  # type: ignore[arg-type]
    stage.start(StageContext("backup", Path(), SENSORS))
    return stage


def feed(stage: LidarCorridor, message: Boxes3D | None) -> Command:
    job = JobContext("backup", 0, 0, 0, 0, 0)
    command = stage.process(job, {"boxes": message})["command"]
    assert isinstance(command, Command)
    return command


def approach(gaps_m: list[float], y: float = 0.0) -> list[Command]:
    """The centre lies half a length and the 2 m of the vehicle's front behind the gap."""
    stage = started()
    return [feed(stage, boxes(k * SWEEP_NS, (gap + 4.0, y))) for k, gap in enumerate(gaps_m)]


def test_closing_speed_and_time_to_collision_by_hand() -> None:
    # 1 m per 100 ms is 10 m/s; 28 m at 10 m/s is 2.8 s: brake (3.0 s), no emergency (1.4 s).
    commands = approach([30.0, 29.0, 28.0])
    assert [c.time_to_collision_ns for c in commands[:2]] == [None, None]
    assert commands[2].time_to_collision_ns == pytest.approx(2_800 * MS, abs=MS)
    assert (commands[2].acceleration_m_s2, commands[2].emergency) == (-4.0, False)
    assert (commands[2].source, commands[2].counter, commands[2].capture_time_ns) == ("backup", 3, 2 * SWEEP_NS)
    assert [(v.sensor, v.capture_time_ns) for v in commands[2].views] == [("top", 2 * SWEEP_NS)]


def test_emergency_below_its_time_to_collision() -> None:
    # 13.9 m at 10 m/s: 1.39 s.
    command = approach([15.9, 14.9, 13.9])[-1]
    assert (command.acceleration_m_s2, command.emergency) == (-8.0, True)
    assert not approach([16.1, 15.1, 14.1])[-1].emergency


def test_nothing_near_asks_for_a_gentle_slow_down() -> None:
    command = feed(started(), boxes(0))
    assert (command.acceleration_m_s2, command.emergency, command.time_to_collision_ns) == (-0.5, False, None)
    assert command.valid


def test_a_car_in_the_next_lane_does_not_count() -> None:
    assert approach([15.0, 14.0, 13.0], y=3.5)[-1].acceleration_m_s2 == -0.5
    # 2.1 m to the side the car reaches 1.2 m from the centre line, inside the 1.3 m of the corridor.
    assert approach([15.0, 14.0, 13.0], y=2.1)[-1].emergency


def test_a_car_that_cuts_in_is_no_closing_speed_of_its_own() -> None:
    # From 20 m to 14 m within one sweep would be 60 m/s.
    commands = approach([20.0, 20.0, 14.0, 14.0, 14.0])
    assert not any(command.emergency for command in commands)
    # 10 m nearer in one sweep cannot be motion: the history starts again.
    assert approach([30.0, 29.0, 19.0])[-1].time_to_collision_ns is None


def test_standing_close_behind_something_holds_the_brake() -> None:
    commands = approach([3.0, 3.0, 3.0])
    assert {command.acceleration_m_s2 for command in commands} == {-4.0}
    # 1 m/s: the emergency begins at a quarter of 1.4 s.
    assert not approach([0.6, 0.5, 0.4])[-1].emergency
    assert approach([0.5, 0.4, 0.3])[-1].emergency


def test_few_points_are_no_object() -> None:
    stage = started(min_points=10)
    assert feed(stage, boxes(0, (7.0, 0.0), points=9)).acceleration_m_s2 == -0.5
    assert feed(stage, boxes(SWEEP_NS, (7.0, 0.0), points=10)).acceleration_m_s2 == -4.0


def test_boxes_in_the_lidar_frame_are_carried_over_with_its_pose() -> None:
    # Turned by a quarter to the left: what the sensor has on its y axis at -10 lies 10 m ahead.
    pose = ((0.0, -1.0, 0.0, 1.0), (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 1.0, 1.9))
    stage = LidarCorridor()
    sensor = SensorDescription("top", "lidar", SWEEP_NS, sensor_to_vehicle=pose)
    stage.start(StageContext("backup", Path(), {"top": sensor}))
    # 5 m ahead by the sensor's y, plus 1 m of offset; across, the car reaches 0.9 m back: gap 6 - 0.9 - 2 = 3.1 m.
    near = Boxes3D(
        0,
        "lidar_top",
        np.array([[0.0, -5.0, 0.0]], np.float32),
        np.array([[4.0, 1.8, 1.5]], np.float32),
        np.zeros(1, np.float32),
        np.full(1, 50, np.int32),
    )
    assert feed(stage, near).acceleration_m_s2 == -4.0
    assert feed(stage, boxes(SWEEP_NS, (5.0, 0.0), frame_id="lidar_top")).acceleration_m_s2 == -0.5


def test_repeated_and_late_sweeps_are_rejected_and_a_new_epoch_starts_again() -> None:
    stage = started()
    for k, gap in enumerate([30.0, 29.0, 28.0]):
        feed(stage, boxes(10**10 + k * SWEEP_NS, (gap + 4.0, 0.0)))
    with pytest.raises(Rejected, match="repeats"):
        feed(stage, boxes(10**10 + 2 * SWEEP_NS, (32.0, 0.0)))
    with pytest.raises(Rejected, match="older than the last one"):
        feed(stage, boxes(10**10 + SWEEP_NS, (32.0, 0.0)))
    assert feed(stage, boxes(0, (31.0, 0.0))).time_to_collision_ns is None
    with pytest.raises(Rejected, match="no sweep"):
        feed(stage, None)


def test_the_nearer_never_brakes_less() -> None:
    for closing in (2.0, 8.0, 15.0):
        steps = np.arange(60.0, 0.5, -0.5)
        braking = [approach([gap + 2 * closing / 10, gap + closing / 10, gap])[-1].acceleration_m_s2 for gap in steps]
        assert braking == sorted(braking, reverse=True)
        assert braking[-1] == -8.0


def test_several_lidars_need_a_name() -> None:
    sensors = {name: SensorDescription(name, "lidar", SWEEP_NS) for name in ("left", "top")}
    with pytest.raises(DeploymentError, match=r"several LiDARs \(left, top\)"):
        LidarCorridor().start(StageContext("backup", Path(), sensors))
    with pytest.raises(DeploymentError, match="'roof' is no LiDAR of this run; valid: left, top"):
        LidarCorridor(lidar="roof").start(StageContext("backup", Path(), sensors))
    with pytest.raises(ValueError, match=r"emergency_ttc_s: 5\.0 is out of range; valid: from 0\.1 to 3"):
        LidarCorridor(emergency_ttc_s=5.0)
