"""The braking decision: times to collision by hand, monotony, corridor, and a lead vehicle that brakes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.decision import Brake
from rt_sched.errors import DeploymentError
from rt_sched.messages import Command, EgoMotion, SensorView, TrackedObjects
from rt_sched.ports import JobContext, SensorDescription, StageContext

MS = 1_000_000
VIEWS = (SensorView("front", 90 * MS), SensorView("imu", 99 * MS), SensorView("top", 50 * MS))
SENSORS = {
    "front": SensorDescription("front", "camera", 33 * MS),
    "imu": SensorDescription("imu", "imu", 5 * MS),
    "top": SensorDescription("top", "lidar", 100 * MS),
}


def objects(*rows: tuple[float, float, float], views: tuple[SensorView, ...] = VIEWS) -> TrackedObjects:
    """Cars of 4 x 1.8 m: gap to the bumper (2 m ahead of the origin), lateral position, closing speed."""
    n = len(rows)
    return TrackedObjects(
        capture_time_ns=100 * MS,
        frame_id="vehicle",
        track_ids=np.arange(n),
        positions_m=np.array([[gap + 4.0, y] for gap, y, _ in rows], np.float64).reshape(n, 2),
        velocities_m_s=np.array([[-closing, 0.0] for _, _, closing in rows], np.float64).reshape(n, 2),
        sizes_m=np.tile([4.0, 1.8, 1.5], (n, 1)).reshape(n, 3),
        labels=("car",) * n,
        scores=np.ones(n),
        seen_by=(("top",),) * n,
        views=views,
    )


def started(**parameters: object) -> Brake:
    stage = Brake(**parameters)  # type: ignore[arg-type]
    stage.start(StageContext("decision", Path(), SENSORS))
    return stage


def decide(message: TrackedObjects | None, ego: EgoMotion | None = None, stage: Brake | None = None) -> Command:
    job = JobContext("decision", 0, 100 * MS, 101 * MS, 102 * MS, 133 * MS)
    command = (stage or started()).process(job, {"objects": message, "ego": ego})["command"]
    assert isinstance(command, Command)
    return command


def test_no_object_no_brake() -> None:
    command = decide(objects())
    assert (command.acceleration_m_s2, command.emergency, command.time_to_collision_ns) == (0.0, False, None)
    assert command.valid
    assert command.views == VIEWS


@pytest.mark.parametrize(
    ("gap", "closing", "ttc_s", "acceleration", "emergency"),
    [
        (40.0, 10.0, 4.0, 0.0, False),
        # 30 / 10 = 3.0 s: warn.
        (30.0, 10.0, 3.0, -1.0, False),
        # 24 / 10 = 2.4 s: brake; 100 / (2 * 22) = 2.27 needed, at least 3.
        (24.0, 10.0, 2.4, -3.0, False),
        # 17 / 10 = 1.7 s; 100 / (2 * 15) = 3.33 needed.
        (17.0, 10.0, 1.7, -10.0 / 3.0, False),
        (16.0, 10.0, 1.6, -8.0, True),
        # 50 / 25 = 2.0 s, but 625 / (2 * 48) = 6.5 m/s^2 needed.
        (50.0, 25.0, 2.0, -8.0, True),
        (0.0, 3.0, 0.0, -8.0, True),
        # 2.4 / 2 = 1.2 s, but at half of 4 m/s the emergency begins at 0.8 s: 4 / (2 * 0.5) needed.
        (2.4, 2.0, 1.2, -4.0, False),
        (1.6, 2.0, 0.8, -8.0, True),
        # Creeping up to a stopped car.
        (2.0, 0.6, 10.0 / 3.0, 0.0, False),
    ],
)
def test_thresholds_by_hand(gap: float, closing: float, ttc_s: float, acceleration: float, emergency: bool) -> None:
    command = decide(objects((gap, 0.0, closing)))
    assert command.time_to_collision_ns == pytest.approx(ttc_s * 1e9, abs=1)
    assert command.acceleration_m_s2 == pytest.approx(acceleration)
    assert command.emergency is emergency


def test_what_draws_away_or_lies_beside_or_behind_does_not_count() -> None:
    assert decide(objects((5.0, 0.0, -3.0), (5.0, 3.5, 10.0), (-30.0, 0.0, 10.0))).acceleration_m_s2 == 0.0


def test_the_corridor_follows_the_curve_where_the_speed_is_known() -> None:
    # 0.2 rad/s at 10 m/s: radius 50 m; an object with its centre 20 m ahead lies 4 m to the left of straight on.
    ego = EgoMotion(99 * MS, "vehicle", 0.2, 0.0, 0.0, 4.0)
    left, straight = objects((16.0, 4.0, 10.0)), objects((16.0, 0.0, 10.0))
    stage = started(initial_speed_m_s=6.0)
    assert decide(left, ego, stage).emergency
    assert not decide(straight, ego, started(initial_speed_m_s=6.0)).emergency
    assert not decide(left, ego).emergency


def test_emergency_is_held_until_the_danger_is_clearly_over() -> None:
    stage = started()
    steps = [(16.0, True), (17.0, True), (21.9, True), (22.1, False), (17.0, False)]
    assert [decide(objects((gap, 0.0, 10.0)), None, stage).emergency for gap, _ in steps] == [held for _, held in steps]


def test_capture_time_is_the_oldest_required_or_the_freshest_seeing_view() -> None:
    assert decide(objects()).capture_time_ns == 90 * MS
    assert decide(objects(), stage=started(required_sensors=["front", "top"])).capture_time_ns == 50 * MS


def test_without_data_the_command_is_not_valid() -> None:
    only_imu = objects(views=(SensorView("imu", 99 * MS),))
    no_lidar = objects(views=VIEWS[:2])
    assert not decide(None).valid
    assert not decide(only_imu).valid
    assert decide(no_lidar).valid
    assert not decide(no_lidar, stage=started(required_sensors=["top"])).valid


def test_counter_and_source() -> None:
    stage = started()
    assert [decide(objects(), None, stage).counter for _ in range(3)] == [1, 2, 3]
    assert decide(objects()).source == "primary"


@given(st.floats(0.0, 99.0), st.floats(0.0, 99.0), st.floats(0.0, 40.0), st.floats(0.0, 40.0))
@settings(max_examples=300, deadline=None)
def test_nearer_or_faster_never_brakes_less(gap: float, nearer: float, closing: float, faster: float) -> None:
    gap, nearer = max(gap, nearer), min(gap, nearer)
    closing, faster = min(closing, faster), max(closing, faster)
    calm, tense = decide(objects((gap, 0.0, closing))), decide(objects((nearer, 0.0, faster)))
    assert tense.acceleration_m_s2 <= calm.acceleration_m_s2
    assert tense.emergency or not calm.emergency


@given(
    st.lists(st.tuples(st.floats(0, 90), st.floats(-4, 4), st.floats(-10, 30)), min_size=1, max_size=6), st.randoms()
)
@settings(max_examples=100, deadline=None)
def test_more_objects_never_brake_less_and_their_order_is_nothing(
    rows: list[tuple[float, float, float]], random: object
) -> None:
    command = decide(objects(*rows))
    assert command.acceleration_m_s2 <= min(decide(objects(row)).acceleration_m_s2 for row in rows)
    assert -8.0 <= command.acceleration_m_s2 <= 0.0
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert decide(objects(*shuffled)) == command


def test_a_lead_vehicle_that_brakes_leads_to_emergency_in_time() -> None:
    # Both drive 13 m/s with a gap of 22 m; the lead brakes with 6 m/s^2 at 0 s. After t the gap is 22 - 3 t^2 and it
    # closes with 6 t: 1.6 s of time to collision are reached where 22 - 3 t^2 = 9.6 t, at t = 1.548 s.
    stage = started()
    emergencies = []
    for k in range(60):
        t = k / 30
        command = decide(objects((22.0 - 3.0 * t**2, 0.0, 6.0 * t)), None, stage)
        if command.emergency:
            emergencies.append((t, command))
    first_s, first = emergencies[0]
    assert 1.548 <= first_s < 1.548 + 1 / 30
    assert first.time_to_collision_ns == pytest.approx((22.0 - 3.0 * first_s**2) / (6.0 * first_s) * 1e9, rel=1e-6)
    assert len(emergencies) == 60 - round(first_s * 30)


def test_parameters_are_checked() -> None:
    with pytest.raises(ValueError, match=r"emergency_ttc_s: 9 is out of range; valid: from 0\.1 to 2\.4 s"):
        Brake(emergency_ttc_s=9)
    with pytest.raises(ValueError, match="required_sensors: 'top' is not a list of sensor names"):
        Brake(required_sensors="top")
    with pytest.raises(DeploymentError, match="required sensor 'tap': did you mean 'top'"):
        started(required_sensors=["tap"])
