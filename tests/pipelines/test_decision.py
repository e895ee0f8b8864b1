"""The decision's three tasks: times to collision by hand, monotony, corridor, limits, a lead vehicle that brakes."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.collision import along_path, needed_deceleration
from pipelines.control import Control
from pipelines.planning import Plan
from pipelines.understanding import Understand
from rt_sched.errors import DeploymentError
from rt_sched.messages import (
    Command,
    EgoMotion,
    MotionPlan,
    SensorView,
    Situation,
    TrackedObjects,
    canonical_digest,
)
from rt_sched.ports import JobContext, SensorDescription, StageContext

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

MS = 1_000_000
VIEWS = (SensorView("front", 90 * MS), SensorView("imu", 99 * MS), SensorView("top", 50 * MS))
SENSORS = {
    "front": SensorDescription("front", "camera", 33 * MS),
    "imu": SensorDescription("imu", "imu", 5 * MS),
    "top": SensorDescription("top", "lidar", 100 * MS),
}
CONTEXT = StageContext("decision", Path(), SENSORS)


def objects(
    *rows: tuple[float, float, float],
    views: tuple[SensorView, ...] = VIEWS,
    sideways: float = 0.0,
    braking: float | None = None,
    sigmas: tuple[float, ...] | None = None,
    speed: float | None = None,
) -> TrackedObjects:
    """Cars of 4 x 1.8 m: gap to the bumper (2 m ahead of the origin), lateral position, closing speed."""
    n = len(rows)
    covariance = None if sigmas is None else np.tile(np.diag(np.square(sigmas)), (n, 1, 1))
    return TrackedObjects(
        capture_time_ns=100 * MS,
        frame_id="vehicle",
        track_ids=np.arange(n),
        positions_m=np.array([[gap + 4.0, y] for gap, y, _ in rows], np.float64).reshape(n, 2),
        velocities_m_s=np.array([[-closing, sideways] for _, _, closing in rows], np.float64).reshape(n, 2),
        sizes_m=np.tile([4.0, 1.8, 1.5], (n, 1)).reshape(n, 3),
        labels=("car",) * n,
        scores=np.ones(n),
        seen_by=(("top",),) * n,
        views=views,
        accelerations_m_s2=None if braking is None else np.tile([-braking, 0.0], (n, 1)),
        covariances=covariance,
        ego_speed_m_s=speed,
    )


def job(arrival_ns: int = 100 * MS) -> JobContext:
    return JobContext("decision", 0, arrival_ns, arrival_ns, arrival_ns, arrival_ns + 33 * MS)


def understand(message: TrackedObjects, ego: EgoMotion | None = None, **parameters: object) -> Situation:
    stage = Understand(**parameters)  # type: ignore[arg-type]
    stage.start(CONTEXT)
    situation = stage.process(job(), {"objects": message, "ego": ego})["situation"]
    assert isinstance(situation, Situation)
    return situation


def planner(**parameters: object) -> Plan:
    stage = Plan(**parameters)  # type: ignore[arg-type]
    stage.start(CONTEXT)
    return stage


def plan(message: TrackedObjects, ego: EgoMotion | None = None, stage: Plan | None = None) -> MotionPlan:
    made = (stage or planner()).process(job(), {"situation": understand(message, ego)})["plan"]
    assert isinstance(made, MotionPlan)
    return made


def controller(**parameters: object) -> Control:
    stage = Control(**parameters)  # type: ignore[arg-type]
    stage.start(CONTEXT)
    return stage


def command(stage: Control, wanted: MotionPlan, arrival_ns: int, ego: EgoMotion | None = None) -> Command:
    made = stage.process(job(arrival_ns), {"plan": wanted, "ego": ego})["command"]
    assert isinstance(made, Command)
    return made


def test_no_object_no_brake() -> None:
    made = plan(objects())
    assert (made.acceleration_m_s2, made.emergency, made.warning, made.time_to_collision_ns) == (
        0.0,
        False,
        False,
        None,
    )
    assert made.valid
    assert command(controller(), made, 0).acceleration_m_s2 == 0.0
    assert command(controller(), made, 0).views == VIEWS


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
        # 1.6 / 2 = 0.8 s, but at a third of 6 m/s the emergency begins at 0.53 s: 4 / (2 * 0.5) needed.
        (1.6, 2.0, 0.8, -4.0, False),
        (1.06, 2.0, 0.53, -8.0, True),
        # Creeping up to a stopped car.
        (2.0, 0.6, 10.0 / 3.0, 0.0, False),
    ],
)
def test_thresholds_by_hand(gap: float, closing: float, ttc_s: float, acceleration: float, emergency: bool) -> None:
    made = plan(objects((gap, 0.0, closing)))
    assert made.time_to_collision_ns == pytest.approx(ttc_s * 1e9, abs=1)
    assert made.acceleration_m_s2 == pytest.approx(acceleration)
    assert made.emergency is emergency
    assert made.warning is (ttc_s <= 3.0)


def test_what_draws_away_or_lies_beside_or_behind_does_not_count() -> None:
    assert plan(objects((5.0, 0.0, -3.0), (5.0, 3.5, 10.0), (-30.0, 0.0, 10.0))).acceleration_m_s2 == 0.0


def test_what_begins_well_behind_the_bumper_stands_alongside() -> None:
    assert understand(objects((-0.9, 0.5, 1.0), (-1.1, 0.5, 1.0))).track_ids.tolist() == [0]


def test_places_along_an_arc_by_hand() -> None:
    # Radius 50 m to the left: after an eighth of a circle the path is at (35.36, 14.64), 39.27 m on.
    x, y = np.array([50 * math.sin(math.pi / 4)]), np.array([50 - 50 * math.cos(math.pi / 4)])
    for sign in (1.0, -1.0):
        way, left = along_path(x, sign * y, sign / 50.0)
        assert (way[0], left[0]) == pytest.approx((50 * math.pi / 4, 0.0), abs=1e-9)
        # 2 m to the left of it lies nearer to the centre of a left bend, farther from that of a right one.
        radius = 50.0 - sign * 2.0
        point = sign * (50.0 - radius * math.cos(math.pi / 4))
        way, left = along_path(np.array([radius * math.sin(math.pi / 4)]), np.array([point]), sign / 50.0)
        assert (way[0], left[0]) == pytest.approx((50 * math.pi / 4, 2.0), abs=1e-9)
    # What lies behind has gone by.
    assert along_path(np.array([-10.0]), np.array([0.0]), 0.02)[0][0] < 0.0


def test_the_corridor_follows_the_curve_where_the_speed_is_known() -> None:
    # 0.2 rad/s at 10 m/s: radius 50 m; an object with its centre 20 m ahead lies 4 m to the left of straight on.
    ego = EgoMotion(99 * MS, "vehicle", 0.2, 0.0, 0.0, 4.0)
    left, straight = objects((16.0, 4.0, 10.0)), objects((16.0, 0.0, 10.0))
    assert understand(left, ego, initial_speed_m_s=6.0).track_ids.tolist() == [0]
    assert understand(straight, ego, initial_speed_m_s=6.0).track_ids.tolist() == []
    assert understand(replace(left, ego_speed_m_s=10.0), ego).track_ids.tolist() == [0]
    assert understand(left, ego).track_ids.tolist() == []


@pytest.mark.parametrize("speed", [5.0, 8.0, 12.0, 15.0, 20.0, 25.0])
@pytest.mark.parametrize("lateral_m_s2", [0.5, 1.0, 1.5])
@pytest.mark.parametrize("beside_m", [4.0, 5.0, 7.0])
def test_without_yaw_rate_what_stands_beside_a_bend_is_no_emergency(
    speed: float, lateral_m_s2: float, beside_m: float
) -> None:
    """A car parked outside a bend that is driven at this lateral acceleration, wherever the straight way meets it."""
    radius = speed**2 / lateral_m_s2
    for angle in np.linspace(0.01, 1.2, 60):
        x, y = (radius + beside_m) * math.sin(angle), radius - (radius + beside_m) * math.cos(angle)
        parked = objects((x - 4.0, y, speed), speed=speed, sigmas=(0.1, 0.1, 0.3, 0.3, 0.5, 0.5))
        assert not plan(parked).emergency, (x, y)
    # What stands right ahead is one, no later than 1.2 s before it.
    ahead = objects((1.2 * speed, 0.0, speed), speed=speed, sigmas=(0.1, 0.1, 0.3, 0.3, 0.5, 0.5))
    assert plan(ahead).emergency


def test_what_crosses_counts_where_it_will_be() -> None:
    # 15 m ahead, closing with 10 m/s: 1.5 s. From 6 m on the right with 4 m/s to the left it is then in the middle.
    sure = (0.1, 0.1, 0.3, 0.3, 1.0, 1.0)
    assert understand(objects((15.0, -6.0, 10.0), sideways=4.0, sigmas=sure)).track_ids.tolist() == [0]
    # From the middle with 4 m/s it is 6 m away by then.
    assert understand(objects((15.0, 0.0, 10.0), sideways=4.0, sigmas=sure)).track_ids.tolist() == []
    # Where the sideways motion may be noise, it is where it is.
    vague = (0.1, 0.1, 0.3, 1.5, 1.0, 1.0)
    assert understand(objects((15.0, 0.0, 10.0), sideways=4.0, sigmas=vague)).track_ids.tolist() == [0]


def test_uncertainty_of_the_time_to_collision() -> None:
    # 20 m give or take 1 m at 10 m/s give or take 1 m/s: hypot(1, 2 * 1) / 10 = 0.22 s.
    situation = understand(objects((20.0, 0.0, 10.0), sigmas=(1.0, 0.1, 1.0, 0.1, 1.0, 1.0)))
    assert situation.times_to_collision_s[0] == pytest.approx(2.0)
    assert situation.time_to_collision_sigmas_s[0] == pytest.approx(math.sqrt(5.0) / 10.0)


def test_an_emergency_needs_certainty() -> None:
    # At 1.6 s, as the truth: half a standard deviation of 1.2 m/s makes it 16 / 9.4 = 1.70 s.
    def sigmas(closing: float, lateral: float = 0.1) -> tuple[float, ...]:
        return (0.1, lateral, closing, 0.1, 1.0, 1.0)

    assert not plan(objects((16.0, 0.0, 10.0), sigmas=sigmas(1.2))).emergency
    assert plan(objects((15.0, 0.0, 10.0), sigmas=sigmas(1.2))).emergency
    # Known too badly for an emergency at any distance, which is braked for all the same.
    vague = plan(objects((10.0, 0.0, 10.0), sigmas=sigmas(1.6)))
    assert (vague.emergency, vague.warning) == (False, True)
    assert vague.acceleration_m_s2 == pytest.approx(-100.0 / 16.0)
    # Reaches 0.2 m into the corridor give or take 2 m: in the way with a probability of a half.
    assert not plan(objects((10.0, 1.8, 10.0), sigmas=sigmas(0.1, 2.0))).emergency


@pytest.mark.parametrize(
    ("gap", "closing", "braking", "speed", "needed"),
    [
        # Standing object, unknown or known speed: 100 / (2 * 18).
        (20.0, 10.0, 0.0, None, 100 / 36),
        (20.0, 10.0, 0.0, 10.0, 100 / 36),
        # 13 m/s, lead at 5 m/s braking with 5: stops after 2.5 m; 169 / (2 * (15 + 2.5)).
        (17.0, 8.0, 5.0, 13.0, 169 / 35),
        # The same where nobody knows how long it can go on braking.
        (17.0, 8.0, 5.0, None, 64 / 30),
        # 30 m/s behind 28 m/s that brake with 3: equal speed after 2 * 3 / 2 = 3 s, both still move: 3 + 4 / (2 * 3).
        (5.0, 2.0, 3.0, 30.0, 3 + 4 / 6),
    ],
)
def test_needed_deceleration_by_hand(
    gap: float, closing: float, braking: float, speed: float | None, needed: float
) -> None:
    found = needed_deceleration(np.array([gap]), np.array([closing]), np.array([braking]), speed, 2.0)
    assert found[0] == pytest.approx(needed)


@given(st.floats(6, 60), st.floats(-5, 15), st.floats(0, 8), st.floats(1, 30))
@settings(max_examples=150, deadline=None)
def test_the_needed_deceleration_just_keeps_the_gap(gap: float, closing: float, braking: float, speed: float) -> None:
    """Both vehicles driven in small steps: the least gap is the one to keep, and a tenth less braking breaks it."""
    closing = min(closing, speed)

    def least_gap(deceleration: float) -> float:
        ego, lead, rest, least = speed, speed - closing, gap, gap
        for _ in range(6000):
            rest += (lead - ego) * 0.005
            ego, lead = max(ego - deceleration * 0.005, 0.0), max(lead - braking * 0.005, 0.0)
            least = min(least, rest)
            if ego == 0.0:
                break
        return least

    needed = float(needed_deceleration(np.array([gap]), np.array([closing]), np.array([braking]), speed, 2.0)[0])
    assert least_gap(needed * 1.02 + 0.02) >= 1.9
    if needed > 1.0:
        assert least_gap(needed * 0.9) < 2.0


def test_braking_of_the_lead_counts_as_far_as_it_is_certain() -> None:
    certain = understand(objects((20.0, 0.0, 5.0), braking=6.0, sigmas=(0.1, 0.1, 0.1, 0.1, 0.1, 0.1), speed=13.0))
    vague = understand(objects((20.0, 0.0, 5.0), braking=1.0, sigmas=(0.1, 0.1, 0.1, 0.1, 3.0, 3.0), speed=13.0))
    assert certain.braking_m_s2[0] == pytest.approx(6.0, abs=0.01)
    assert vague.braking_m_s2[0] == pytest.approx(0.1)
    assert certain.needed_m_s2[0] > 2.0 * vague.needed_m_s2[0]


def test_emergency_is_held_until_the_danger_is_clearly_over() -> None:
    stage = planner()
    steps = [(16.0, True), (17.0, True), (21.9, True), (22.1, False), (17.0, False)]
    assert [plan(objects((gap, 0.0, 10.0)), None, stage).emergency for gap, _ in steps] == [held for _, held in steps]


def test_the_speed_profile_brakes_until_nothing_closes_in() -> None:
    made = plan(objects((24.0, 0.0, 10.0)))
    # 3 m/s^2: 0.3 m/s after 100 ms, 9 m/s after the 3 s that are planned.
    assert made.times_ns.tolist()[:2] == [100 * MS, 200 * MS]
    assert made.speed_changes_m_s[[0, 1, -1]] == pytest.approx([-0.3, -0.6, -9.0])
    # 8 m/s^2 take the 10 m/s away in 1.25 s; a vehicle of 6 m/s cannot lose more.
    assert plan(objects((16.0, 0.0, 10.0))).speed_changes_m_s[[11, 12, -1]] == pytest.approx([-9.6, -10.0, -10.0])
    assert plan(objects((10.0, 0.0, 6.4), speed=6.0)).speed_changes_m_s.min() == -6.0


def test_capture_time_is_the_oldest_required_or_the_freshest_seeing_view() -> None:
    assert understand(objects()).data_time_ns == 90 * MS
    assert understand(objects(), required_sensors=["front", "top"]).data_time_ns == 50 * MS
    assert command(controller(), plan(objects()), 0).capture_time_ns == 90 * MS


def test_without_data_the_command_is_not_valid() -> None:
    only_imu = objects((5.0, 0.0, 10.0), views=(SensorView("imu", 99 * MS),))
    no_lidar = objects(views=VIEWS[:2])
    assert not understand(only_imu).valid
    assert understand(no_lidar).valid
    assert not understand(no_lidar, required_sensors=["top"]).valid
    made = command(controller(), plan(only_imu), 0)
    assert (made.valid, made.acceleration_m_s2, made.emergency) == (False, 0.0, False)


def test_counter_and_source() -> None:
    stage, made = controller(), plan(objects())
    commands = [command(stage, made, arrival) for arrival in (0, 33 * MS, 0)]
    # Time that steps back starts a new epoch, but a counter never steps back.
    assert [c.counter for c in commands] == [1, 2, 3]
    assert {c.source for c in commands} == {"primary"}


def test_an_emergency_builds_up_with_its_jerk_and_is_let_go_with_another() -> None:
    stage, urgent, calm = controller(), plan(objects((16.0, 0.0, 10.0))), plan(objects())
    # 40 m/s^3: 1.32 m/s^2 in the first 33 ms, then 4 m/s^2 per 100 ms, up to 8.
    felt = [command(stage, urgent, k * 100 * MS) for k in range(4)]
    assert [c.acceleration_m_s2 for c in felt] == pytest.approx([-1.32, -5.32, -8.0, -8.0])
    assert all(c.emergency for c in felt)
    # 10 m/s^3 off: 1 m/s^2 per 100 ms; a pause of a second counts as 100 ms.
    eased = [command(stage, calm, 400 * MS), command(stage, calm, 1400 * MS)]
    assert [c.acceleration_m_s2 for c in eased] == pytest.approx([-7.0, -6.0])
    assert not any(c.emergency for c in eased)


@pytest.mark.parametrize(("speed", "least"), [(None, -5.0), (5.0, -5.0), (12.5, -4.25), (20.0, -3.5), (40.0, -3.5)])
def test_normal_braking_keeps_to_what_the_speed_allows(speed: float | None, least: float) -> None:
    wanted = replace(plan(objects((10.0, 0.0, 3.0))), acceleration_m_s2=-7.0, emergency=False, speed_m_s=speed)
    stage = controller()
    felt = [command(stage, wanted, k * 100 * MS).acceleration_m_s2 for k in range(60)]
    assert felt[-1] == pytest.approx(least)
    jerk = 5.0 if speed is None else 5.0 + 2.5 * -min(max((speed - 5.0) / 15.0, 0.0), 1.0)
    assert -np.diff(felt).min() == pytest.approx(jerk * 0.1)


def test_the_vehicle_comes_to_rest_without_a_jolt_and_stays() -> None:
    wanted = replace(plan(objects((3.0, 0.0, 3.0))), emergency=False, acceleration_m_s2=-8.0)
    stage, speed, felt = controller(), 6.0, []
    for k in range(90):
        felt.append(command(stage, replace(wanted, speed_m_s=speed), k * 33 * MS).acceleration_m_s2)
        speed = max(speed + felt[-1] * 0.033, 0.0)
    assert speed == 0.0
    assert felt[-1] == pytest.approx(-0.5)
    assert min(felt) == pytest.approx(-5.0)


@given(st.lists(st.tuples(st.floats(-12, 0), st.booleans(), st.booleans(), st.integers(0, 500)), max_size=30))
@settings(max_examples=100, deadline=None)
def test_no_plan_makes_a_command_that_breaks_a_limit(steps: list[tuple[float, bool, bool, int]]) -> None:
    base, stage = plan(objects((16.0, 0.0, 10.0))), controller()
    before, now_ms, valid_before = 0.0, 0, True
    for acceleration, emergency, valid, pause_ms in steps:
        now_ms += pause_ms
        wanted = replace(base, acceleration_m_s2=acceleration, emergency=emergency, valid=valid)
        made = command(stage, wanted, now_ms * MS)
        assert -8.0 <= made.acceleration_m_s2 <= 0.0
        assert not (made.emergency and made.acceleration_m_s2 >= 0.0)
        if valid and valid_before:
            assert before - made.acceleration_m_s2 <= 40.0 * 0.1 + 1e-9
        before, valid_before = made.acceleration_m_s2, valid


@given(st.floats(0.0, 99.0), st.floats(0.0, 99.0), st.floats(0.0, 40.0), st.floats(0.0, 40.0))
@settings(max_examples=200, deadline=None)
def test_nearer_or_faster_never_brakes_less(gap: float, nearer: float, closing: float, faster: float) -> None:
    gap, nearer = max(gap, nearer), min(gap, nearer)
    closing, faster = min(closing, faster), max(closing, faster)
    calm, tense = plan(objects((gap, 0.0, closing))), plan(objects((nearer, 0.0, faster)))
    assert tense.acceleration_m_s2 <= calm.acceleration_m_s2
    assert tense.emergency or not calm.emergency


@given(
    st.lists(st.tuples(st.floats(0, 90), st.floats(-4, 4), st.floats(-10, 30)), min_size=1, max_size=6),
    st.integers(0, 1000),
)
@settings(max_examples=100, deadline=None)
def test_more_objects_never_brake_less_and_their_order_is_nothing(
    rows: list[tuple[float, float, float]], seed: int
) -> None:
    message = objects(*rows)
    made = plan(message)
    assert made.acceleration_m_s2 <= min(plan(objects(row)).acceleration_m_s2 for row in rows)
    assert -8.0 <= made.acceleration_m_s2 <= 0.0
    order = np.random.default_rng(seed).permutation(len(rows))
    arrays = ("track_ids", "positions_m", "velocities_m_s", "sizes_m", "scores")
    shuffled = replace(message, **{name: getattr(message, name)[order] for name in arrays})
    assert canonical_digest(plan(shuffled)) == canonical_digest(made)


def test_a_lead_vehicle_that_brakes_leads_to_emergency_in_time() -> None:
    # Both drive 13 m/s with a gap of 22 m; the lead brakes with 6 m/s^2 at 0 s. After t the gap is 22 - 3 t^2 and it
    # closes with 6 t: 1.6 s of time to collision are reached where 22 - 3 t^2 = 9.6 t, at t = 1.548 s.
    stage = planner()
    emergencies = []
    for k in range(60):
        t = k / 30
        made = plan(objects((22.0 - 3.0 * t**2, 0.0, 6.0 * t)), None, stage)
        if made.emergency:
            emergencies.append((t, made))
    first_s, first = emergencies[0]
    assert 1.548 <= first_s < 1.548 + 1 / 30
    assert first.time_to_collision_ns == pytest.approx((22.0 - 3.0 * first_s**2) / (6.0 * first_s) * 1e9, rel=1e-6)
    assert len(emergencies) == 60 - round(first_s * 30)


def test_parameters_are_checked() -> None:
    with pytest.raises(ValueError, match=r"emergency_ttc_s: 9 is out of range; valid: from 0\.1 to 2\.4 s"):
        Plan(emergency_ttc_s=9)
    with pytest.raises(ValueError, match="jerk_fast_m_s3: 0 is out of range"):
        Control(jerk_fast_m_s3=0)
    with pytest.raises(ValueError, match="required_sensors: 'top' is not a list of sensor names"):
        Understand(required_sensors="top")
    with pytest.raises(DeploymentError, match="required sensor 'tap': did you mean 'top'"):
        Understand(required_sensors=["tap"]).start(CONTEXT)
