"""The backup path alone on the sweeps of the shipped log: it brakes in time, and for nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rt_sched.messages import Command, PointCloud
from rt_sched.ports import JobContext, SensorDescription, StageContext
from safety.backup import LidarCorridor
from sensors.recording import open_recording

LOG = Path(__file__).resolve().parents[2] / "replay_data" / "hazard.mcap"
POSE = ((1.0, 0.0, 0.0, 1.1), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 1.9))
FRONT_M = 3.75

#: The scene: both at 13 m/s, 22 m apart, the lead brakes with 6 m/s^2 from 1.2 s on.
SPEED_M_S, GAP_M, LEAD_BRAKES_S, LEAD_M_S2 = 13.0, 22.0, 1.2, -6.0
#: From capture to the actuators: the limit of the chain.
LATENCY_S = 0.1


@pytest.fixture(scope="module")
def sweeps() -> list[PointCloud]:
    recording = open_recording(LOG, salvage=False)
    try:
        return [recording.decode(message) for message in recording.messages(["/lidar/top/points"])]
    finally:
        recording.close()


def commands(sweeps: list[PointCloud]) -> list[Command]:
    stage = LidarCorridor(ego_front_m=FRONT_M)
    lidar = SensorDescription("top", "lidar", 100_000_000, sensor_to_vehicle=POSE)
    stage.start(StageContext("backup", Path(), {"top": lidar}))
    job = JobContext("backup", 0, 0, 0, 0, 0)
    return [stage.process(job, {"points": sweep})["command"] for sweep in sweeps]


def without_what_is_ahead(sweep: PointCloud) -> PointCloud:
    """The sweep without the returns of whatever stands in the lane ahead."""
    x, y, z = sweep.xyz_m.T
    kept = ~((x > 3.0) & (np.abs(y) < 1.4) & (z > -1.75))
    return PointCloud(sweep.capture_time_ns, sweep.frame_id, sweep.xyz_m[kept], sweep.intensity[kept])


def test_the_modelled_car_stops_behind_the_one_that_brakes(sweeps: list[PointCloud]) -> None:
    asked = commands(sweeps)
    start_ns = 1_700_000_000 * 10**9
    times_s = np.array([(command.capture_time_ns - start_ns) / 1e9 + LATENCY_S for command in asked])
    step_s = 0.005
    speed, lead, gap, least = SPEED_M_S, SPEED_M_S, GAP_M, GAP_M
    for time_s in np.arange(0.0, 6.0, step_s):
        last = int(np.searchsorted(times_s, time_s, side="right")) - 1
        # What is asked while nobody is braking for the first time is not what the test is about.
        acceleration = asked[last].acceleration_m_s2 if last >= 0 else 0.0
        if acceleration > -1.0:
            acceleration = 0.0
        speed = max(0.0, speed + acceleration * step_s)
        lead = max(0.0, lead + (LEAD_M_S2 if time_s >= LEAD_BRAKES_S else 0.0) * step_s)
        gap += (lead - speed) * step_s
        least = min(least, gap)
    assert speed == 0.0
    assert least > 1.0


def test_it_brakes_at_a_plausible_time_to_collision(sweeps: list[PointCloud]) -> None:
    braking = [c for c in commands(sweeps) if c.acceleration_m_s2 <= -4.0]
    assert braking
    first = braking[0].time_to_collision_ns
    assert first is not None
    assert 2.2e9 <= first <= 3.0e9


def test_without_the_points_of_the_lead_it_does_not_brake(sweeps: list[PointCloud]) -> None:
    asked = commands([without_what_is_ahead(sweep) for sweep in sweeps])
    assert {command.acceleration_m_s2 for command in asked} == {-0.5}
    assert not any(command.emergency for command in asked)


def test_before_the_lead_brakes_it_does_not(sweeps: list[PointCloud]) -> None:
    asked = commands(sweeps[:12])
    assert {command.acceleration_m_s2 for command in asked} == {-0.5}
