"""Gaps in raw sweeps: known scenes, slopes, what must not count, and bad points."""

from __future__ import annotations

import time
from collections.abc import Callable

import lidar_sweeps as sweeps
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safety.corridor import MOST_EVIDENCE, Corridor, first_surface, look_ahead, thinned

CORRIDOR = Corridor(half_width_m=1.3, front_m=2.0, range_m=80.0, clearance_m=0.3, max_height_m=2.5, min_points=5)
POSE = np.array(sweeps.POSE)
#: The road begins at the sensor's height below the sensor, and the bumper is nearer to it by the mounting.
IN_SENSOR_FRAME = Corridor(
    half_width_m=1.3,
    front_m=2.0 - sweeps.MOUNT_X_M,
    range_m=80.0,
    clearance_m=0.3,
    max_height_m=2.5,
    min_points=5,
)


def gap(*boxes: sweeps.Box, **options: float) -> float | None:
    return look_ahead(sweeps.cast(boxes, **options), POSE, CORRIDOR).gap_m  # type: ignore[arg-type]


@pytest.mark.parametrize("gap_m", [0.5, 2.0, 7.0, 15.0, 30.0, 45.0])
@pytest.mark.parametrize("slope", [-0.12, -0.05, 0.0, 0.05, 0.12])
def test_a_car_ahead_is_found_at_its_distance_on_any_slope(gap_m: float, slope: float) -> None:
    found = gap(sweeps.car(gap_m), slope=slope, noise_m=0.02)
    assert found == pytest.approx(gap_m, abs=0.25)


@pytest.mark.parametrize("slope", [-0.14, -0.08, 0.0, 0.08, 0.14])
@pytest.mark.parametrize("slope_from_m", [0.0, 10.0, 30.0])
def test_an_empty_road_is_free_even_where_a_ramp_begins(slope: float, slope_from_m: float) -> None:
    assert gap(slope=slope, slope_from_m=slope_from_m, noise_m=0.02) is None


@pytest.mark.parametrize("gap_m", [1.0, 12.0, 35.0])
def test_without_a_pose_the_road_is_found_in_the_sweep(gap_m: float) -> None:
    points = sweeps.cast([sweeps.car(gap_m)], noise_m=0.02)
    assert look_ahead(points, None, IN_SENSOR_FRAME).gap_m == pytest.approx(gap_m, abs=0.2)
    assert look_ahead(sweeps.cast(noise_m=0.02), None, IN_SENSOR_FRAME).gap_m is None


def test_what_stands_beside_above_or_below_the_corridor_does_not_count() -> None:
    assert gap(sweeps.car(15.0, 3.5)) is None
    bridge = (20.0, 30.0, -8.0, 8.0, 4.5, 5.5)
    assert gap(bridge) is None
    kerb_high = (20.0, 21.0, -8.0, 8.0, 0.0, 0.15)
    assert gap(kerb_high) is None
    assert gap(sweeps.car(15.0, 2.1)) == pytest.approx(15.0, abs=0.1)


def test_a_wall_across_the_whole_road_hides_the_ground_and_is_found() -> None:
    wall = (22.0, 23.0, -20.0, 20.0, 0.0, 3.0)
    assert gap(wall) == pytest.approx(20.0, abs=0.1)
    assert gap(wall, slope=0.1) == pytest.approx(20.0, abs=0.1)


@pytest.mark.parametrize("slope", [-0.12, -0.06, 0.0, 0.06, 0.12])
def test_a_car_far_beyond_the_last_visible_road_is_found(slope: float) -> None:
    points = sweeps.cast([sweeps.car(35.0)], slope=slope, noise_m=0.02)
    x, z = points[:, 0] + sweeps.MOUNT_X_M, points[:, 2] + sweeps.MOUNT_Z_M
    wet = points[(x < 16.0) | (z > slope * x + 0.25)]
    assert look_ahead(wet, POSE, CORRIDOR).gap_m == pytest.approx(35.0, abs=0.3)


def test_a_pedestrian_and_a_pole_are_found_near() -> None:
    assert gap((14.0, 14.4, -0.3, 0.3, 0.0, 1.75)) == pytest.approx(12.0, abs=0.1)
    assert gap((8.0, 8.15, -0.1, 0.1, 0.0, 2.0), columns=1024) == pytest.approx(6.0, abs=0.1)


def test_the_nearer_of_two_counts() -> None:
    assert gap(sweeps.car(25.0), sweeps.car(10.0, 0.5)) == pytest.approx(10.0, abs=0.1)


def test_scattered_spray_is_no_obstacle_but_does_not_hide_one() -> None:
    draw = np.random.default_rng(3)
    spray = np.column_stack([draw.uniform(1.0, 12.0, 60), draw.uniform(-1.3, 1.3, 60), draw.uniform(-1.5, 0.4, 60)])
    for boxes, expected in (((), None), ((sweeps.car(20.0),), 20.0)):
        points = np.concatenate([sweeps.cast(boxes), spray.astype(np.float32)])
        found = look_ahead(points, POSE, CORRIDOR).gap_m
        assert found == (None if expected is None else pytest.approx(expected, abs=0.1))


def test_echoes_from_below_the_road_do_not_lower_the_ground() -> None:
    points = sweeps.cast([sweeps.car(20.0)])
    ghosts = points[::97] * np.float32(1.6)
    both = np.concatenate([points, ghosts[ghosts[:, 2] < -2.2]])
    assert look_ahead(both, POSE, CORRIDOR).gap_m == pytest.approx(20.0, abs=0.1)
    free = sweeps.cast()
    ghosts = free[::97] * np.float32(1.6)
    assert look_ahead(np.concatenate([free, ghosts]), POSE, CORRIDOR).gap_m is None


def test_points_that_are_not_finite_are_left_out() -> None:
    points = sweeps.cast([sweeps.car(10.0)])
    bad = np.array([[np.nan, 0, 0], [5, np.nan, 0], [5, 0, np.nan], [np.inf, 0, 0], [5, 0, np.inf]], np.float32)
    assert look_ahead(np.concatenate([bad, points]), POSE, CORRIDOR) == look_ahead(points, POSE, CORRIDOR)
    assert look_ahead(bad, POSE, CORRIDOR).points == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_empty_sweep_shows_nothing(dtype: type) -> None:
    ahead = look_ahead(np.zeros((0, 3), dtype), POSE, CORRIDOR)
    assert (ahead.points, ahead.gap_m) == (0, None)


def test_the_order_of_points_is_of_no_account() -> None:
    points = sweeps.cast([sweeps.car(12.0)], noise_m=0.02)
    shuffled = points[np.random.default_rng(1).permutation(len(points))]
    assert look_ahead(shuffled, POSE, CORRIDOR) == look_ahead(points, POSE, CORRIDOR)


def test_a_turned_sensor_gives_the_same_gap() -> None:
    points = sweeps.cast([sweeps.car(12.0)])
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    pose = np.column_stack([turn, POSE[:, 3]])
    turned = (points @ turn).astype(np.float32)
    assert look_ahead(turned, pose, CORRIDOR).gap_m == pytest.approx(12.0, abs=0.05)


@given(st.floats(0.5, 40.0), st.floats(-0.8, 0.8), st.floats(1.4, 3.5), st.floats(-0.1, 0.1), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_it_never_looks_past_something_in_the_way(
    gap_m: float, y: float, height: float, slope: float, seed: int
) -> None:
    found = gap(sweeps.car(gap_m, y, height_m=height), slope=slope, noise_m=0.02, seed=seed)
    assert found is not None
    assert gap_m - 0.3 <= found <= gap_m + 0.5


@given(st.binary(max_size=12 * 400))
@settings(max_examples=60, deadline=None)
def test_any_bytes_are_survived(data: bytes) -> None:
    points = np.frombuffer(data[: len(data) // 12 * 12], np.float32).reshape(-1, 3)
    ahead = look_ahead(points, POSE, CORRIDOR)
    assert ahead.gap_m is None or 0.0 <= ahead.gap_m <= CORRIDOR.range_m


def cheapest_ns(work: Callable[[], object]) -> int:
    times = []
    for _ in range(9):
        began = time.process_time_ns()
        work()
        times.append(time.process_time_ns() - began)
    return min(times)


def test_a_full_sweep_costs_little_more_than_a_plain_pass_over_it() -> None:
    points = sweeps.cast([sweeps.car(20.0)], rings=128, columns=1024)
    plain = cheapest_ns(lambda: np.sort(points, axis=0))
    assert cheapest_ns(lambda: look_ahead(points, POSE, CORRIDOR)) < 5 * plain


#: Where every point of a sweep can lie at worst: x from and to, half the width, z from and to, in the sensor's frame.
CROWDS = {
    "road of the lane": (1.0, 80.0, 1.3, -1.95, -1.85),
    "all of the lane": (1.0, 80.0, 1.3, -1.9, 0.5),
    "a wall": (11.0, 11.1, 1.3, -1.9, 0.5),
    "wide road": (1.0, 80.0, 4.0, -1.9, -1.0),
    "one place": (12.0, 12.0, 0.0, -1.0, -1.0),
}


@pytest.mark.parametrize("crowd", CROWDS.values(), ids=CROWDS)
def test_a_lane_full_of_points_costs_a_few_times_the_usual_sweep(
    crowd: tuple[float, float, float, float, float],
) -> None:
    near_m, far_m, half_m, low_m, high_m = crowd
    draw = np.random.default_rng(0)
    spans = ((near_m, far_m), (-half_m, half_m), (low_m, high_m))
    dense = np.column_stack([draw.uniform(*span, 131_072) for span in spans]).astype(np.float32)
    usual = sweeps.cast([sweeps.car(20.0)], rings=128, columns=1460)
    assert abs(len(usual) - len(dense)) < 10_000
    # Measured: 2.6 to 4.3 times; 11 for all of the lane where every point is ordered and interpolated.
    least = min(cheapest_ns(lambda: look_ahead(usual, POSE, CORRIDOR)) for _ in range(2))
    assert cheapest_ns(lambda: look_ahead(dense, POSE, CORRIDOR)) < 8 * least


#: Groups of returns: where, over which length, how many.
GROUPS = st.lists(
    st.tuples(st.floats(0.0, 79.0), st.sampled_from([0.0, 0.05, 0.5, 0.9, 5.0]), st.integers(1, 300)), max_size=6
)


@given(GROUPS, st.integers(1, 200), st.integers(0, 1000), st.sampled_from([np.float32, np.float64]))
@settings(max_examples=300, deadline=None)
def test_thinning_changes_no_distance(
    groups: list[tuple[float, float, int]], min_points: int, seed: int, dtype: type
) -> None:
    draw = np.random.default_rng(seed)
    gaps = [draw.uniform(near_m, min(near_m + length_m, 80.0), count) for near_m, length_m, count in groups]
    gaps_m: npt.NDArray[np.floating] = np.concatenate([np.zeros(0), *gaps]).astype(dtype)
    kept = thinned(gaps_m, min_points)
    assert first_surface(kept, min_points) == first_surface(np.sort(gaps_m), min_points)
    # 80 m of cells of 0.4 m, none of them full.
    assert len(kept) <= 201 * max(MOST_EVIDENCE, min_points)


@given(st.floats(1.0, 35.0), st.integers(0, 10_000), st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_more_returns_from_what_is_in_the_way_never_hide_it(gap_m: float, extra: int, seed: int) -> None:
    points = sweeps.cast([sweeps.car(gap_m)], rings=48, columns=360)
    alone = look_ahead(points, POSE, CORRIDOR).gap_m
    assert alone is not None
    rear = np.random.default_rng(seed).uniform((0.0, -0.9, -1.5), (3.9, 0.9, -0.4), (extra, 3))
    rear[:, 0] += CORRIDOR.front_m + gap_m - sweeps.MOUNT_X_M
    crowded = look_ahead(np.concatenate([points, rear.astype(np.float32)]), POSE, CORRIDOR).gap_m
    assert crowded is not None
    assert gap_m - 0.1 <= crowded <= alone + 1e-4
