"""Samples of the IMU that are wrong: none stops a stage, none lasts, none eases an emergency's brake."""

from __future__ import annotations

import copy
import functools
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines import imu_health as health
from pipelines.control import Control
from pipelines.ego import EgoHistory
from pipelines.ego_speed import EgoSpeed, Sweep
from pipelines.fusion import Fuse
from pipelines.imu import Integrate
from pipelines.planning import Plan
from pipelines.strapdown import GRAVITY_M_S2
from pipelines.understanding import Understand
from rt_sched.messages import Boxes3D, Command, EgoMotion, ImuSample
from rt_sched.ports import JobContext, Rejected, SensorDescription, StageContext

MS = 1_000_000
LEVEL = (0.0, 0.0, GRAVITY_M_S2)
LEVEL_POSE = ((1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0))
SENSORS = {
    "top": SensorDescription("top", "lidar", 100 * MS, sensor_to_vehicle=LEVEL_POSE),
    "imu": SensorDescription("imu", "imu", 5 * MS, sensor_to_vehicle=LEVEL_POSE),
}


def job(at_ns: int = 0) -> JobContext:
    return JobContext("task", 0, at_ns, at_ns, at_ns, at_ns)


def integrator() -> Integrate:
    stage = Integrate()
    stage.start(StageContext("imu", Path(), SENSORS))
    return stage


def sample(k: int, rate: tuple[float, float, float] = (0.0, 0.0, 0.0), force: tuple[float, ...] = LEVEL) -> ImuSample:
    """The k-th sample at 200 Hz; no two of a real sensor are equal to the last bit."""
    grain = 1e-4 * np.sin(np.arange(1.0, 4.0) * k)
    return ImuSample(k * 5 * MS, "imu", np.array(rate) + grain, np.array(force) + grain)


def feed(stage: Integrate, given_: ImuSample) -> EgoMotion | None:
    try:
        ego = stage.process(job(), {"imu": given_})["ego"]
    except Rejected:
        return None
    assert isinstance(ego, EgoMotion)
    return ego


def numbers_of(ego: EgoMotion) -> list[float]:
    assert ego.state is not None
    speed = [] if ego.speed_m_s is None else [ego.speed_m_s]
    state = (*ego.state.orientation_wxyz, *ego.state.velocity_m_s, *ego.state.position_m, ego.state.velocity_sigma_m_s)
    return [ego.yaw_rate_rad_s, ego.forward_acceleration_m_s2, ego.heading_rad, ego.speed_change_m_s, *speed, *state]


any_value = st.one_of(
    st.floats(),
    st.sampled_from([1e300, -1e300, 1.7e308, 1e18, -1e18, math.inf, -math.inf, math.nan, 5e-324, 34.9, 156.9]),
)


@functools.cache
def standing() -> Integrate:
    """One that has stood for 1.1 s and knows it; to be copied."""
    stage = integrator()
    for k in range(220):
        feed(stage, sample(k))
    return stage


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), any_value), min_size=1, max_size=4), st.integers(1, 5))
def test_no_value_of_a_sample_stops_the_integration_or_lasts(wrong: list[tuple[int, float]], times: int) -> None:
    stage = copy.deepcopy(standing())
    for k in range(220, 220 + times):
        values = np.array([*sample(k).angular_velocity_rad_s, *sample(k).linear_acceleration_m_s2])
        for place, value in wrong:
            values[place] = value
        feed(stage, ImuSample(k * 5 * MS, "imu", values[:3], values[3:]))
    for k in range(220 + times, 260):
        ego = feed(stage, sample(k))
    assert ego is not None
    assert np.isfinite(numbers_of(ego)).all()
    assert ego.speed_m_s is None or abs(ego.speed_m_s) < 8.0
    # Five samples of what the sensor can measure, 35 rad/s and 157 m/s^2, and the swing about the origin.
    assert abs(ego.heading_rad) < 1.5
    assert abs(ego.speed_change_m_s) < 8.0
    assert np.abs([ego.yaw_rate_rad_s, ego.forward_acceleration_m_s2]).max() < 3.0


@pytest.mark.parametrize("value", [1e300, -1e300, 1e18, 40.0, math.inf, math.nan])
def test_what_lies_beyond_the_range_is_refused_and_told_by_the_next_message(value: float) -> None:
    stage = integrator()
    feed(stage, sample(0))
    with pytest.raises(Rejected, match="angular velocity"):
        stage.process(job(), {"imu": replace(sample(1), angular_velocity_rad_s=np.array([0.0, value, 0.0]))})
    with pytest.raises(Rejected, match="acceleration"):
        stage.process(job(), {"imu": replace(sample(1), linear_acceleration_m_s2=np.array([value * 10, 0.0, 9.8]))})
    ego = feed(stage, sample(2))
    assert ego is not None
    assert ego.flags == (health.SAMPLES_LOST,)


@pytest.mark.parametrize("milliseconds", [5, 50, 500])
@pytest.mark.parametrize("what", ["rate", "force"])
def test_a_sensor_at_its_end_adds_nothing_that_was_not_measured(what: str, milliseconds: int) -> None:
    """Standing; the sensor reads the end of its range for a while."""
    stage, count = integrator(), milliseconds // 5
    before = [feed(stage, sample(k)) for k in range(300)][-1]
    end = {"rate": {"rate": (0.0, 0.0, 34.9)}, "force": {"force": (156.9, 0.0, GRAVITY_M_S2)}}[what]
    during = [feed(stage, sample(300 + k, **end)) for k in range(count)]
    after = [feed(stage, sample(300 + count + k)) for k in range(19)]
    flag = health.GYRO_SATURATED if what == "rate" else health.FORCE_SATURATED
    assert before is not None
    assert all(ego is not None and flag in ego.flags for ego in (*during, *after))
    last = feed(stage, sample(300 + count + 20))
    assert last is not None
    assert flag not in last.flags
    assert abs(last.heading_rad - before.heading_rad) < 0.01
    assert abs(last.speed_change_m_s - before.speed_change_m_s) < 0.05
    lasting = any(ego is not None and health.AT_END_FOR_LONG in ego.flags for ego in during)
    assert lasting is (milliseconds > 100)


def test_an_accelerometer_in_m_s2_is_refused_where_g_is_stated() -> None:
    stage = Integrate(acceleration_unit="g")
    stage.start(StageContext("imu", Path(), SENSORS))
    with pytest.raises(Rejected, match=r"its mean is 9\.81 as recorded, so its unit is m/s\^2 and not g"):
        stage.process(job(), {"imu": sample(0)})


def motion(at_ns: int, change_m_s: float = 0.0, *, heading_rad: float = 0.0, flags: tuple[str, ...] = ()) -> EgoMotion:
    return EgoMotion(at_ns, "vehicle", 0.0, 0.0, heading_rad, change_m_s, flags=flags)


@given(st.floats(), st.floats())
def test_an_integral_that_jumps_is_carried_on_by_the_rates(change: float, heading: float) -> None:
    history = EgoHistory()
    for k in range(4):
        history.add(motion(k * 33 * MS))
    history.add(motion(4 * 33 * MS, change, heading_rad=heading))
    assert abs(history.speed_change_m_s) <= 15.0 * 0.033
    assert abs(history.turned_rad(3 * 33 * MS, 4 * 33 * MS)) <= 4.0 * 0.033
    if math.isfinite(change) and math.isfinite(heading) and abs(change) > 1.0:
        # From there on the integral's own changes count again.
        history.add(motion(5 * 33 * MS, change, heading_rad=heading))
        assert history.speed_change_m_s == pytest.approx(0.0, abs=1e-9 * abs(change))
        assert history.take_doubt_m_s() == pytest.approx(0.33)
        assert history.take_doubt_m_s() == 0.0


@pytest.mark.parametrize(
    "flag", [health.GAP, health.STUCK, health.GYRO_SATURATED, health.FORCE_SATURATED, health.AT_END_FOR_LONG]
)
def test_flagged_samples_make_the_speed_less_certain(flag: str) -> None:
    history, speed = EgoHistory(), EgoSpeed(None)
    speed.follow(replace(motion(0), speed_m_s=9.0), 0.1, 0.0, 0.0, 0.0)
    for k in range(8):
        history.add(motion(k * 100 * MS, flags=(flag,)))
        speed.follow(motion(k * 100 * MS, flags=(flag,)), 0.1, 0.0, history.speed_change_m_s, history.take_doubt_m_s())
    assert speed.speed_m_s is None


@pytest.mark.parametrize("told", ["initial", "navigation"])
@pytest.mark.parametrize("wrong_m_s", [0.0, 40.0, -5.0])
def test_what_stands_around_overrules_a_speed_that_is_plainly_wrong(told: str, wrong_m_s: float) -> None:
    places = np.random.default_rng(0).uniform((5.0, 3.0), (80.0, 12.0), (40, 2))
    speed = EgoSpeed(wrong_m_s if told == "initial" else None)
    ego = motion(0) if told == "initial" else replace(motion(0), speed_m_s=wrong_m_s)
    for k in range(9):
        centers = np.column_stack((places - [1.5 * k, 0.0], np.ones(40)))
        speed.measure(Sweep(centers, np.ones((40, 3)), np.zeros(40)))
        speed.follow(ego, 0.1, 0.0, 0.0, 0.0)
    assert speed.speed_m_s == pytest.approx(15.0, abs=0.5)


def drive_at_a_standing_car(faults: object, **fuse: float) -> tuple[list[Command], list[float]]:
    """15 m/s towards a car that stands 70 m ahead between posts, LiDAR and IMU; commands and gaps at 30 Hz.

    `faults`: time in s -> EgoMotion changed by the fault.
    """
    stages = (Fuse(lidar="top", imu="imu", **fuse), Understand(ego_front_m=2.0), Plan(), Control())  # type: ignore[arg-type]
    for stage in stages:
        stage.start(StageContext("task", Path(), SENSORS))
    fusion, understand, planner, control = stages
    noise, commands, gaps, boxes = np.random.default_rng(0), [], [], None
    for k in range(120):
        now, t = 10**9 + k * 33_333_333, k / 30
        if k % 3 == 0:
            posts = [(x - 15.0 * t, y) for x in np.arange(-20.0, 130.0, 7.3) for y in (-6.0, 6.0)]
            places = np.array([(74.2 - 15.0 * t, 0.0), *[p for p in posts if -40.0 < p[0] < 70.0]])
            places = places + noise.normal(0.0, 0.03, places.shape)
            sizes = np.tile([2.0, 0.6, 1.5], (len(places), 1))
            sizes[0] = (4.4, 1.8, 1.5)
            boxes = Boxes3D(
                now,
                "vehicle",
                np.column_stack((places, np.full(len(places), 0.75))).astype(np.float32),
                sizes.astype(np.float32),
                np.zeros(len(places), np.float32),
                np.full(len(places), 100, np.int32),
            )
        ego = faults(t, motion(now - 2 * MS))  # type: ignore[operator]
        objects = fusion.process(job(now), {"boxes": boxes, "ego": ego})["objects"]
        situation = understand.process(job(now), {"objects": objects, "ego": ego})["situation"]
        plan = planner.process(job(now), {"situation": situation})["plan"]
        commands.append(control.process(job(now), {"plan": plan, "ego": ego})["command"])
        gaps.append(70.0 - 15.0 * t)
    return commands, gaps


@pytest.mark.parametrize(
    ("name", "fuse"),
    [
        ("none", {}), ("initial 0", {"initial_speed_m_s": 0.0}), ("lost 30", {}), ("lost 30 early", {}),
        ("won 192", {}), ("nan", {}), ("at rest", {}), ("lost 30", {"initial_speed_m_s": 15.0}),
    ],
)  # fmt: skip
def test_no_fault_of_the_imu_eases_an_emergency_or_begins_one(name: str, fuse: dict[str, float]) -> None:
    def faults(t: float, ego: EgoMotion) -> EgoMotion:
        if name == "lost 30" and t > 3.0:
            return replace(ego, speed_change_m_s=-30.0)
        if name == "lost 30 early" and t > 1.0:
            return replace(ego, speed_change_m_s=-30.0)
        if name == "won 192" and t > 1.0:
            return replace(ego, speed_change_m_s=192.0)
        if name == "nan" and 1.0 < t < 1.2:
            return replace(ego, speed_change_m_s=math.nan, heading_rad=math.nan, yaw_rate_rad_s=math.nan)
        return replace(ego, at_rest=True) if name == "at rest" else ego

    commands, gaps = drive_at_a_standing_car(faults, **fuse)
    first = next(k for k, command in enumerate(commands) if command.emergency)
    # 5 m/s^2 are needed from 24.5 m on, 1.6 s are left at 24 m.
    assert gaps[first] == pytest.approx(24.5, abs=1.6)
    held = [command for command, gap in zip(commands[first:], gaps[first:], strict=True) if gap > 0.5]
    assert all(command.emergency for command in held)
    assert np.diff([command.acceleration_m_s2 for command in held]).max() <= 1e-9
    assert held[-1].acceleration_m_s2 == -8.0
