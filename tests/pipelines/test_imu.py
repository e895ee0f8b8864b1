"""IMU integration against motions whose integrals are known."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from pipelines.imu import GRAVITY_M_S2, Integrate
from rt_sched.errors import DeploymentError
from rt_sched.messages import EgoMotion, ImuSample
from rt_sched.ports import JobContext, Rejected, SensorDescription, StageContext

MS = 1_000_000
PERIOD_NS = 5 * MS
JOB = JobContext("imu", 0, 0, 0, 0, 0)
LEVEL = np.array([0.0, 0.0, GRAVITY_M_S2])


def sample(stamp_ns: int, rate: list[float] | None = None, force: np.ndarray | None = None) -> ImuSample:
    """No two samples of a real sensor are equal to the last bit."""
    grain = np.array([0.0, 0.0, 1e-9 * (stamp_ns // MS % 1009)])
    return ImuSample(
        stamp_ns, "imu", np.array(rate or [0.0, 0.0, 0.0]) + grain, (LEVEL if force is None else force) + grain
    )


def feed(stage: Integrate, message: ImuSample) -> EgoMotion:
    ego = stage.process(JOB, {"imu": message})["ego"]
    assert isinstance(ego, EgoMotion)
    return ego


def started(pose: tuple[tuple[float, float, float, float], ...] | None = None, **parameters: float) -> Integrate:
    stage = Integrate(**parameters)  # type: ignore[arg-type]
    stage.start(
        StageContext("imu", Path(), {"imu": SensorDescription("imu", "imu", PERIOD_NS, sensor_to_vehicle=pose)})
    )
    return stage


def test_a_quarter_turn_in_one_second() -> None:
    stage = started()
    for k in range(201):
        ego = feed(stage, sample(k * PERIOD_NS, [0.0, 0.0, math.pi / 2]))
    assert ego.heading_rad == pytest.approx(math.pi / 2, abs=1e-6)
    assert ego.yaw_rate_rad_s == pytest.approx(math.pi / 2)
    assert ego.speed_change_m_s == pytest.approx(0.0, abs=1e-9)


def test_a_ramp_of_braking_by_the_trapezoidal_rule() -> None:
    # -6 m/s^2 reached linearly within 0.3 s, then held to 1 s: -0.9 - 4.2 = -5.1 m/s.
    stage = started()
    for k in range(201):
        braking = -6.0 * min(k * 0.005 / 0.3, 1.0)
        ego = feed(stage, sample(k * PERIOD_NS, force=LEVEL + np.array([braking, 0.0, 0.0])))
    # While the ramp is below 2.4 m/s^2 it cannot be told from a slope: 0.12 s out of the time constant of 10 s.
    assert ego.speed_change_m_s == pytest.approx(-5.1, abs=0.015)
    assert ego.forward_acceleration_m_s2 == pytest.approx(-6.0, abs=0.02)


def test_long_hard_braking_is_not_taken_for_a_slope() -> None:
    stage = started()
    for k in range(2001):
        ego = feed(stage, sample(k * PERIOD_NS, force=LEVEL + np.array([-7.0, 0.0, 0.0])))
    assert ego.forward_acceleration_m_s2 == pytest.approx(-7.0)
    assert ego.speed_change_m_s == pytest.approx(-70.0)


def test_a_tilted_mounting_is_learnt_from_gravity() -> None:
    # Two degrees nose down: at rest the sensor's x axis feels -g sin 2 = -0.34 m/s^2.
    tilt = math.radians(2.0)
    force = GRAVITY_M_S2 * np.array([-math.sin(tilt), 0.0, math.cos(tilt)])
    stage = started(gravity_time_constant_s=1.0)
    first = feed(stage, sample(0, force=force))
    assert first.forward_acceleration_m_s2 == pytest.approx(-0.342, abs=0.001)
    for k in range(1, 2001):
        last = feed(stage, sample(k * PERIOD_NS, force=force))
    assert abs(last.forward_acceleration_m_s2) < 1e-3


def test_driving_over_a_crest_keeps_up_upright() -> None:
    # The vehicle pitches nose down by 0.1 rad in 1 s at constant speed; the gyroscope says so at once.
    stage = started()
    for k in range(201):
        pitch = 0.1 * k / 200
        force = GRAVITY_M_S2 * np.array([-math.sin(pitch), 0.0, math.cos(pitch)])
        ego = feed(stage, sample(k * PERIOD_NS, [0.0, 0.1, 0.0], force))
    assert abs(ego.forward_acceleration_m_s2) < 0.02


def test_the_declared_pose_turns_the_axes() -> None:
    # The sensor's y axis points forward.
    stage = started(((0.0, 1.0, 0.0, 0.0), (-1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0)))
    ego = feed(stage, sample(0, [0.0, 0.0, 0.2], LEVEL + np.array([0.0, 3.0, 0.0])))
    assert ego.forward_acceleration_m_s2 == pytest.approx(3.0)
    assert ego.yaw_rate_rad_s == pytest.approx(0.2)


def test_an_imu_mounted_upside_down_is_recognised() -> None:
    stage = started()
    ego = feed(stage, sample(0, [0.0, 0.0, 0.3], -LEVEL))
    assert ego.yaw_rate_rad_s == pytest.approx(-0.3)
    assert ego.forward_acceleration_m_s2 == pytest.approx(0.0)


def test_over_a_long_gap_nothing_is_integrated() -> None:
    stage = started(max_gap_ms=20.0)
    feed(stage, sample(0, [0.0, 0.0, 1.0]))
    feed(stage, sample(20 * MS, [0.0, 0.0, 1.0]))
    ego = feed(stage, sample(41 * MS, [0.0, 0.0, 1.0]))
    assert ego.heading_rad == pytest.approx(0.02)
    assert stage.gaps == 1
    assert feed(stage, sample(51 * MS, [0.0, 0.0, 1.0])).heading_rad == pytest.approx(0.03)


def test_late_and_repeated_samples_are_rejected_without_a_trace() -> None:
    stage = started()
    feed(stage, sample(0, [0.0, 0.0, 1.0]))
    feed(stage, sample(10 * MS, [0.0, 0.0, 1.0]))
    for stamp_ns, words in ((10 * MS, "repeats"), (5 * MS, "5ms older")):
        with pytest.raises(Rejected, match=words):
            feed(stage, sample(stamp_ns, [0.0, 0.0, 30.0]))
    assert feed(stage, sample(20 * MS, [0.0, 0.0, 1.0])).heading_rad == pytest.approx(0.02)


def test_time_that_steps_far_back_starts_a_new_epoch_once() -> None:
    stage = started()
    for k in range(3):
        feed(stage, sample(10**12 + k * PERIOD_NS, [0.0, 0.0, 1.0]))
    assert feed(stage, sample(0, [0.0, 0.0, 1.0])).heading_rad == 0.0
    assert feed(stage, sample(PERIOD_NS, [0.0, 0.0, 1.0])).heading_rad == pytest.approx(0.005)
    assert stage.epochs == 1


def test_numbers_that_are_not_finite_are_rejected() -> None:
    with pytest.raises(Rejected, match="angular velocity is not three finite numbers"):
        feed(started(), sample(0, [0.0, math.nan, 0.0]))
    with pytest.raises(Rejected, match="acceleration is not three finite numbers"):
        feed(started(), sample(0, force=np.array([1.0, math.inf, 2.0])))
    with pytest.raises(Rejected, match="acceleration is not three finite numbers"):
        feed(started(), ImuSample(0, "imu", np.zeros(3), np.zeros(2)))


def test_parameters_and_sensor_names_are_checked() -> None:
    with pytest.raises(ValueError, match=r"max_gap_ms: 0 is out of range; valid: from 0\.1 to 10000 ms"):
        Integrate(max_gap_ms=0)
    sensors = {"imu": SensorDescription("imu", "imu", PERIOD_NS)}
    with pytest.raises(DeploymentError, match="'imv' is not an IMU; did you mean 'imu'"):
        Integrate(sensor="imv").start(StageContext("imu", Path(), sensors))
