"""The backup path: closing speeds and thresholds by hand, and whether the modelled car stops."""

from __future__ import annotations

from pathlib import Path

import lidar_sweeps as sweeps
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rt_sched.errors import DeploymentError
from rt_sched.messages import Command, PointCloud
from rt_sched.ports import JobContext, Rejected, SensorDescription, StageContext
from safety.backup import LidarCorridor

MS = 1_000_000
SWEEP_NS = 100 * MS
SENSORS = {"top": SensorDescription("top", "lidar", SWEEP_NS, sensor_to_vehicle=sweeps.POSE)}


def scene(capture_ns: int, gap_m: float | None, y: float = 0.0) -> PointCloud:
    """A sweep of a road with a car at `gap_m`, or without one."""
    return sweeps.sweep(capture_ns, sweeps.cast([] if gap_m is None else [sweeps.car(gap_m, y)]))


def started(**parameters: object) -> LidarCorridor:
    stage = LidarCorridor(**parameters)  # type: ignore[arg-type]
    stage.start(StageContext("backup", Path(), SENSORS))
    return stage


def feed(stage: LidarCorridor, message: PointCloud | None) -> Command:
    job = JobContext("backup", 0, 0, 0, 0, 0)
    command = stage.process(job, {"points": message})["command"]
    assert isinstance(command, Command)
    return command


def approach(gaps_m: list[float | None], y: float = 0.0, **parameters: object) -> list[Command]:
    stage = started(**parameters)
    return [feed(stage, scene(k * SWEEP_NS, gap_m, y)) for k, gap_m in enumerate(gaps_m)]


def test_closing_speed_and_time_to_collision_by_hand() -> None:
    # 1 m per 100 ms is 10 m/s; 28 m at 10 m/s is 2.8 s: brake (3.0 s), no emergency (1.4 s; 100 / 53 = 1.9 m/s^2).
    commands = approach([30.0, 29.0, 28.0])
    assert [c.time_to_collision_ns for c in commands[:2]] == [None, None]
    assert commands[2].time_to_collision_ns == pytest.approx(2_800 * MS, rel=0.01)
    assert (commands[2].acceleration_m_s2, commands[2].emergency) == (-4.0, False)
    assert (commands[2].source, commands[2].counter, commands[2].capture_time_ns) == ("backup", 3, 2 * SWEEP_NS)
    assert [(v.sensor, v.capture_time_ns) for v in commands[2].views] == [("top", 2 * SWEEP_NS)]


def test_emergency_below_its_time_to_collision() -> None:
    # 13.9 m at 10 m/s: 1.39 s.
    command = approach([15.8, 14.8, 13.8])[-1]
    assert (command.acceleration_m_s2, command.emergency) == (-8.0, True)
    assert not approach([16.2, 15.2, 14.2])[-1].emergency


def test_emergency_where_gentle_braking_would_not_do() -> None:
    # 30 m/s with 60 m left needs 900 / 117 = 7.7 m/s^2, though 2 s are left.
    command = approach([66.0, 63.0, 60.0])[-1]
    assert (command.acceleration_m_s2, command.emergency) == (-8.0, True)


def test_nothing_near_asks_for_a_gentle_slow_down() -> None:
    command = feed(started(), scene(0, None))
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
    assert not approach([0.7, 0.6, 0.5])[-1].emergency
    assert approach([0.5, 0.4, 0.3])[-1].emergency


def test_it_brakes_at_once_and_lets_go_slowly() -> None:
    commands = approach([15.0, 14.0, 13.0, *[None] * 7], release_m_s3=20.0)
    # 350 ms after the last sweep that showed it.
    assert [c.acceleration_m_s2 for c in commands[2:]] == pytest.approx([-8.0] * 4 + [-6.0, -4.0, -2.0, -0.5])
    assert [c.emergency for c in commands[2:]] == [True] * 4 + [False] * 4


@pytest.mark.parametrize("missing", [(6,), (9,), (12,), (12, 13), (6, 9, 12)])
@pytest.mark.parametrize("instead_m", [None, 45.0, 3.0])
def test_sweeps_that_do_not_show_the_obstacle_do_not_loosen_the_brake(
    missing: tuple[int, ...], instead_m: float | None
) -> None:
    """15 m/s towards something; some sweeps show nothing, or what stands this far behind it."""
    gaps: list[float | None] = [30.0 - 1.5 * k for k in range(16)]
    whole = approach(gaps)
    behind = [None if instead_m is None else gap + instead_m for gap in gaps if gap is not None]
    holed = approach([behind[k] if k in missing else gap for k, gap in enumerate(gaps)])
    for k, (command, other) in enumerate(zip(whole, holed, strict=True)):
        assert other.acceleration_m_s2 <= command.acceleration_m_s2 + 0.01, k
        assert other.emergency or not command.emergency, k


def test_what_has_gone_is_held_for_no_longer_than_it_says() -> None:
    gaps: list[float | None] = [30.0 - 1.5 * k for k in range(12)]
    found = approach([*gaps, *[None] * 8])
    assert [command.emergency for command in found[11:16]] == [True, True, True, True, False]
    # Let go at 20 m/s^3.
    assert [command.acceleration_m_s2 for command in found[14:]] == pytest.approx([-8, -6, -4, -2, -0.5, -0.5])


@pytest.mark.parametrize("revealed_m", [20.0, 40.0])
def test_what_a_car_that_leaves_the_lane_reveals_is_measured_as_early(revealed_m: float) -> None:
    gaps: list[float | None] = [12.0 - 0.2 * k for k in range(8)]
    standing: list[float | None] = [revealed_m - 1.2 * k for k in range(28)]
    revealed, alone = approach([*gaps, *standing])[8:], approach(standing)
    first = [next(k for k, command in enumerate(found) if command.emergency) for found in (revealed, alone)]
    assert first[0] == first[1]


def test_a_sweep_that_is_blind_ahead_is_rejected_with_the_count() -> None:
    points = sweeps.cast([sweeps.car(10.0)])
    behind = points[points[:, 0] < 0.5]
    stage = started()
    for number, blind in enumerate((behind, behind[:0], np.concatenate([behind, points[points[:, 0] > 1.5][:20]]))):
        with pytest.raises(Rejected, match=r"shows \d+ points within 40 m ahead, at least 30 are needed to see"):
            feed(stage, sweeps.sweep(number * SWEEP_NS, blind))
    assert feed(stage, scene(10 * SWEEP_NS, 3.0)).acceleration_m_s2 == -4.0


@pytest.mark.parametrize("shape", [(0,), (7,), (4, 2), (2, 3, 3)])
def test_malformed_sweeps_are_rejected(shape: tuple[int, ...]) -> None:
    with pytest.raises(Rejected, match="expected float"):
        feed(started(), sweeps.sweep(0, np.zeros(shape, np.float32)))
    with pytest.raises(Rejected, match="expected float"):
        feed(started(), sweeps.sweep(0, np.zeros((5, 3), np.int32)))  # type: ignore[arg-type]


def test_repeated_and_late_sweeps_are_rejected_and_a_new_epoch_starts_again() -> None:
    stage = started()
    for k, gap_m in enumerate([30.0, 29.0, 28.0]):
        feed(stage, scene(10**10 + k * SWEEP_NS, gap_m))
    with pytest.raises(Rejected, match="repeats"):
        feed(stage, scene(10**10 + 2 * SWEEP_NS, 28.0))
    with pytest.raises(Rejected, match="older than the last one"):
        feed(stage, scene(10**10 + SWEEP_NS, 28.0))
    assert feed(stage, scene(0, 27.0)).time_to_collision_ns is None
    with pytest.raises(Rejected, match="no sweep"):
        feed(stage, None)


def test_the_nearer_never_brakes_less() -> None:
    for closing in (2.0, 8.0, 15.0):
        steps = [*np.arange(60.0, 1.5, -3.9), 0.6]
        braking = [approach([gap + 2 * closing / 10, gap + closing / 10, gap])[-1].acceleration_m_s2 for gap in steps]
        assert braking == sorted(braking, reverse=True)
        assert braking[-1] == -8.0


def drive(speed_m_s: float, gap_m: float, lead_m_s2: float, lead_m_s: float, seed: int) -> float:
    """The least gap when the car does what the backup path asks 120 ms before, behind a car that brakes."""
    stage, step_s = started(), 0.02
    asked: list[float] = [0.0] * 6
    acceleration, least_m, time_s, sweep = 0.0, gap_m, 0.0, 0
    while speed_m_s > 0.0 and time_s < 12.0 and least_m > 0.0:
        if round(time_s / step_s) % 5 == 0:
            points = sweeps.cast([sweeps.car(gap_m)], rings=48, columns=360, noise_m=0.02, seed=seed + sweep)
            acceleration = feed(stage, sweeps.sweep(sweep * SWEEP_NS, points)).acceleration_m_s2
            sweep += 1
        asked = [*asked[1:], acceleration]
        speed_m_s = max(0.0, speed_m_s + asked[0] * step_s)
        lead_m_s = max(0.0, lead_m_s + lead_m_s2 * step_s)
        gap_m += (lead_m_s - speed_m_s) * step_s
        least_m, time_s = min(least_m, gap_m), time_s + step_s
    return least_m


@pytest.mark.parametrize(
    ("speed_m_s", "gap_m", "lead_m_s2", "lead_m_s"),
    [
        (13.0, 22.0, -6.0, 13.0),
        (13.0, 70.0, 0.0, 0.0),
        (20.0, 78.0, 0.0, 0.0),
        (20.0, 40.0, -6.0, 20.0),
        (6.0, 12.0, -8.0, 6.0),
    ],
)
def test_the_modelled_car_stops_before_the_obstacle(
    speed_m_s: float, gap_m: float, lead_m_s2: float, lead_m_s: float
) -> None:
    assert drive(speed_m_s, gap_m, lead_m_s2, lead_m_s, seed=0) > 0.5


@given(st.floats(8.0, 20.0), st.floats(0.2, 0.9), st.integers(0, 1000))
@settings(max_examples=6, deadline=None)
def test_it_follows_a_steady_car_without_an_emergency(speed: float, headway_s: float, seed: int) -> None:
    stage = started()
    gap_m = 5.0 + headway_s * speed
    for k in range(5):
        points = sweeps.cast([sweeps.car(gap_m)], rings=48, columns=360, noise_m=0.02, seed=seed + k)
        command = feed(stage, sweeps.sweep(k * SWEEP_NS, points))
        assert not command.emergency
        assert command.acceleration_m_s2 == -0.5


def test_several_lidars_need_a_name() -> None:
    sensors = {name: SensorDescription(name, "lidar", SWEEP_NS) for name in ("left", "top")}
    with pytest.raises(DeploymentError, match=r"several LiDARs \(left, top\)"):
        LidarCorridor().start(StageContext("backup", Path(), sensors))
    with pytest.raises(DeploymentError, match="'roof' is no LiDAR of this run; valid: left, top"):
        LidarCorridor(lidar="roof").start(StageContext("backup", Path(), sensors))
    with pytest.raises(ValueError, match=r"emergency_ttc_s: 5\.0 is out of range; valid: from 0\.1 to 3"):
        LidarCorridor(emergency_ttc_s=5.0)
    with pytest.raises(ValueError, match=r"max_height_m: 0\.2 is out of range; valid: from 0\.3 to 10"):
        LidarCorridor(max_height_m=0.2)
