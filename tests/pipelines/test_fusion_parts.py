"""Association, projection and the Kalman filter against hand-worked numbers."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.association import assigned_pairs, intersection_matrix, iou_matrix
from pipelines.projection import CameraGeometry
from pipelines.tracking import EgoRates, TrackFilter, rotation
from rt_sched.ports import SensorDescription

#: Optical axis along the vehicle's x, 1.5 m above the road, 1 m ahead of the origin.
FORWARD = ((0.0, 0.0, 1.0, 1.0), (-1.0, 0.0, 0.0, 0.0), (0.0, -1.0, 0.0, 1.5))


def camera(pose: tuple[tuple[float, float, float, float], ...] = FORWARD) -> CameraGeometry:
    description = SensorDescription("front", "camera", 33_333_333, 640, 400, (500.0, 500.0, 320.0, 200.0), pose)
    geometry = CameraGeometry.of(description)
    assert geometry is not None
    return geometry


def test_overlap_of_boxes_by_hand() -> None:
    first = np.array([[0.0, 0.0, 10.0, 10.0], [5.0, 5.0, 5.0, 5.0]])
    second = np.array([[5.0, 0.0, 15.0, 10.0], [20.0, 20.0, 30.0, 30.0], [0.0, 0.0, 10.0, 10.0]])
    assert iou_matrix(first, second) == pytest.approx(np.array([[1 / 3, 0.0, 1.0], [0.0, 0.0, 0.0]]))
    assert intersection_matrix(first, second)[0] == pytest.approx([50.0, 0.0, 100.0])
    assert iou_matrix(first, np.zeros((0, 4))).shape == (2, 0)


def test_the_assignment_of_least_total_cost_is_taken_within_the_limit() -> None:
    # Taking the cheapest pair first, (0, 0) at 1, would leave (1, 1) at 9 and cost 10; 2 + 3 is less.
    assert assigned_pairs(np.array([[1.0, 2.0], [3.0, 9.0]]), 10.0) == [(0, 1), (1, 0)]
    # Alone costs the limit: a pair at the limit or beyond is none.
    assert assigned_pairs(np.array([[1.0, 2.0], [3.0, 9.0]]), 3.0) == [(0, 0)]
    assert assigned_pairs(np.array([[math.nan, math.inf], [math.inf, 3.0]]), 5.0) == [(1, 1)]
    assert assigned_pairs(np.full((2, 2), math.inf), 5.0) == []
    assert assigned_pairs(np.zeros((0, 3)), 1.0) == assigned_pairs(np.zeros((3, 0)), 1.0) == []


@given(
    st.integers(1, 4).flatmap(
        lambda m: st.lists(st.lists(st.floats(0, 10), min_size=m, max_size=m), min_size=1, max_size=4)
    )
)
@settings(max_examples=100, deadline=None)
def test_no_other_assignment_costs_less(rows: list[list[float]]) -> None:
    cost, limit = np.array(rows), 5.0
    pairs = assigned_pairs(cost, limit)
    assert len({row for row, _ in pairs}) == len({column for _, column in pairs}) == len(pairs)
    assert all(cost[pair] < limit for pair in pairs)

    def total(chosen: list[tuple[int, int]]) -> float:
        return sum(float(cost[pair]) for pair in chosen) + limit * (min(cost.shape) - len(chosen))

    n, m = cost.shape
    every = [
        list(zip(some, columns, strict=True))
        for size in range(min(n, m) + 1)
        for some in itertools.combinations(range(n), size)
        for columns in itertools.permutations(range(m), size)
    ]
    best = min(total(chosen) for chosen in every if all(cost[pair] < limit for pair in chosen))
    assert total(pairs) == pytest.approx(best)


def test_a_box_ahead_projects_where_the_pinhole_says() -> None:
    # Near end 11 m ahead of the origin, 10 m of the camera; 2 m wide, from the road to 1.5 m: u = 320 -+ 50, lower
    # edge v = 200 + 500 * 1.5 / 10 = 275, upper edge on the horizon.
    boxes, visible = camera().project_boxes(np.array([[13.0, 0.0, 0.75]]), np.array([[4.0, 2.0, 1.5]]))
    assert visible.tolist() == [True]
    assert boxes[0] == pytest.approx([270.0, 200.0, 370.0, 275.0])


def test_what_lies_behind_or_beside_the_image_is_not_visible() -> None:
    centers = np.array([[-10.0, 0.0, 0.75], [10.0, 40.0, 0.75], [3.0, 2.5, 0.75]])
    boxes, visible = camera().project_boxes(centers, np.tile([4.0, 1.8, 1.5], (3, 1)))
    assert visible.tolist() == [False, False, True]
    # The third begins beside the camera: it leaves the image on the left.
    assert boxes[2, 0] == 0.0


def test_the_foot_of_a_box_on_flat_ground() -> None:
    assert camera().ground_point(320.0, 275.0, 0.0) == pytest.approx([11.0, 0.0])
    # 100 px to the right at 10 m: 2 m to the right, which is -y.
    assert camera().ground_point(420.0, 275.0, 0.0) == pytest.approx([11.0, -2.0])
    assert camera().ground_point(320.0, 199.0, 0.0) is None


@given(st.floats(6, 60), st.floats(-1, 1))
@settings(max_examples=100, deadline=None)
def test_ground_point_undoes_the_projection(x: float, slope: float) -> None:
    y = slope * x * 0.5
    # A speck of an object on the road: its image is its foot.
    boxes, _ = camera().project_boxes(np.array([[x, y, 0.0]]), np.full((1, 3), 1e-9))
    assert camera().ground_point(boxes[0, 0], boxes[0, 3], 0.0) == pytest.approx([x, y], rel=1e-5, abs=1e-5)


def test_the_foot_of_a_detection_and_its_uncertainty() -> None:
    # 75 px for 1.5 m is 10 m by height, as by the lower edge: no disagreement. The lower edge is uncertain by
    # sqrt(3.75^2 + 5^2 + 1) = 6.33 px: 750 / 81.33 = 9.22 m, 0.78 m less. Across, 10 * (1 + 5) / 500 = 0.12 m.
    foot = camera().foot_of_box(np.array([270.0, 200.0, 370.0, 275.0]), 1.5, 0.0)
    assert foot is not None
    assert foot[0] == pytest.approx([11.0, 0.0])
    assert np.sqrt(np.diag(foot[1])) == pytest.approx([0.778, 0.12], abs=1e-3)
    # Half as high it would be 20 m away: half of the 10 m of disagreement counts.
    half = camera().foot_of_box(np.array([270.0, 237.5, 370.0, 275.0]), 1.5, 0.0)
    assert half is not None
    assert math.sqrt(half[1][0, 0]) == pytest.approx(math.hypot(0.647, 5.0), abs=0.02)


@pytest.mark.parametrize(
    "box",
    [(270, 100, 370, 190), (0, 200, 100, 275), (18, 200, 100, 275), (540, 200, 622, 275), (270, 200, 370, 389)],
    ids=str,
)
def test_a_box_above_the_horizon_or_cut_off_has_no_foot(box: tuple[float, ...]) -> None:
    assert camera().foot_of_box(np.array(box, np.float64), 1.5, 0.0) is None


def test_an_image_of_another_size_has_scaled_intrinsics() -> None:
    half = camera().scaled_to(320, 200)
    assert (half.fx, half.fy, half.cx, half.cy) == (250.0, 250.0, 160.0, 100.0)
    assert camera().scaled_to(640, 400).fx == 500.0


def steady() -> TrackFilter:
    """A filter whose objects hardly accelerate."""
    return TrackFilter(1e-6, 1.0)


def test_one_dimensional_filter_by_hand() -> None:
    # Position variance 1, speed variance 4, no acceleration. After 1 s: P = [[5, 4], [4, 4]]. A measurement at 2 m
    # with variance 5: S = 10, K = [0.5, 0.4]; x = 1 m, v = 0.8 m/s; P = [[2.5, 2], [2, 2.4]].
    filter_ = steady()
    filter_.add(np.zeros(2), np.eye(2), (2.0, 2.0))
    filter_.predict(1.0)
    assert filter_.covariance[0][np.ix_([0, 2], [0, 2])] == pytest.approx(np.array([[5.0, 4.0], [4.0, 4.0]]))
    filter_.update(0, np.array([2.0, 0.0]), 5.0 * np.eye(2), 0.0)
    assert filter_.mean[0, :4] == pytest.approx([1.0, 0.0, 0.8, 0.0])
    assert filter_.covariance[0][np.ix_([0, 2], [0, 2])] == pytest.approx(np.array([[2.5, 2.0], [2.0, 2.4]]))


def test_a_measurement_that_surprises_counts_less() -> None:
    # Variance 1 + 1; 12 m off is a squared distance of 72, 12 times what 95 % stay below: variance 12 instead of 1.
    filter_ = steady()
    filter_.add(np.zeros(2), np.eye(2), (1.0, 1.0))
    filter_.update(0, np.array([12.0, 0.0]), np.eye(2), 0.0)
    assert filter_.mean[0, 0] == pytest.approx(12.0 / 13.0)


def test_an_acceleration_fades_with_its_time() -> None:
    # Singer: a(t) = a exp(-t / T); v gains a T (1 - exp(-t / T)), x gains a T^2 (t / T - 1 + exp(-t / T)).
    filter_ = TrackFilter(3.0, 2.0)
    filter_.add(np.zeros(2), np.eye(2), (1.0, 1.0))
    filter_.mean[0, 4] = -6.0
    filter_.predict(1.0)
    left = math.exp(-0.5)
    assert filter_.mean[0] == pytest.approx([-24.0 * (0.5 - 1.0 + left), 0, -12.0 * (1.0 - left), 0, -6.0 * left, 0])


def test_the_noise_keeps_the_acceleration_at_its_sigma() -> None:
    filter_ = TrackFilter(3.0, 2.0)
    filter_.add(np.zeros(2), np.eye(2), (1.0, 1.0))
    for _ in range(400):
        filter_.predict(0.05)
    assert filter_.covariance[0, 4, 4] == pytest.approx(9.0, rel=1e-3)


def test_a_braking_object_is_followed_without_lasting_error() -> None:
    # Measured without noise at 10 Hz, braking with 6 m/s^2 from 1 s on: speed within 0.6 m/s of the truth 0.5 s later.
    filter_ = TrackFilter(5.0, 2.0)
    filter_.add(np.array([20.0, 0.0]), 0.0064 * np.eye(2), (10.0, 2.5))
    for k in range(1, 31):
        t = k / 10
        filter_.predict(0.1)
        filter_.update(0, np.array([20.0 - 3.0 * max(t - 1.0, 0.0) ** 2, 0.0]), 0.0064 * np.eye(2), 0.0)
        if t >= 1.5:
            assert filter_.mean[0, 2] == pytest.approx(-6.0 * (t - 1.0), abs=0.6)
    assert filter_.mean[0, 4] == pytest.approx(-6.0, abs=1.0)


def test_a_late_measurement_counts_as_if_it_had_come_in_time() -> None:
    # Also while the vehicle brakes: the old position knows what it has done since.
    ego = EgoRates(forward_acceleration_m_s2=-7.0)
    prompt, late = steady(), steady()
    for filter_ in (prompt, late):
        filter_.add(np.array([10.0, 1.0]), np.eye(2), (5.0, 5.0))
    prompt.predict(0.1, ego)
    prompt.update(0, np.array([9.0, 1.1]), 0.1 * np.eye(2), 0.0)
    prompt.predict(0.08, ego)
    late.predict(0.18, ego)
    late.update(0, np.array([9.0, 1.1]), 0.1 * np.eye(2), 0.08)
    assert late.mean == pytest.approx(prompt.mean, abs=1e-9)
    assert late.covariance == pytest.approx(prompt.covariance, abs=1e-9)


def test_predicting_in_two_steps_is_predicting_in_one() -> None:
    one, two = TrackFilter(3.0, 1.5), TrackFilter(3.0, 1.5)
    for filter_ in (one, two):
        filter_.add(np.array([20.0, -3.0]), np.eye(2), (4.0, 4.0))
        filter_.mean[0, 2:] = [-5.0, 1.0, -2.0, 0.5]
    one.predict(0.3)
    two.predict(0.1)
    two.predict(0.2)
    assert two.mean == pytest.approx(one.mean)
    assert two.covariance == pytest.approx(one.covariance, rel=1e-6)


def test_the_turning_and_braking_vehicle_is_taken_into_account() -> None:
    # A standing post 20 m ahead, relative speed -10 m/s. The vehicle turns a quarter to the left within 1 s: 10 m away,
    # now to the right.
    filter_ = steady()
    filter_.add(np.array([20.0, 0.0]), np.eye(2), (1.0, 1.0))
    filter_.mean[0, 2] = -10.0
    filter_.predict(1.0, EgoRates(yaw_rate_rad_s=math.pi / 2))
    assert filter_.mean[0, :4] == pytest.approx([0.0, -10.0, 0.0, 10.0], abs=1e-9)
    # Braking with 6 m/s^2 for 1 s takes 6 m/s of closing speed and 3 m of approach away.
    filter_ = steady()
    filter_.add(np.array([20.0, 0.0]), np.eye(2), (1.0, 1.0))
    filter_.mean[0, 2] = -10.0
    filter_.predict(1.0, EgoRates(forward_acceleration_m_s2=-6.0))
    assert filter_.mean[0, :4] == pytest.approx([13.0, 0.0, -4.0, 0.0])


def test_distance_is_measured_in_standard_deviations_and_vagueness_is_told() -> None:
    # S = 3 + 1 on the diagonal: 4 m are 2 standard deviations; its area is 4 times that of the noise alone.
    filter_ = steady()
    filter_.add(np.zeros(2), np.diag([3.0, 3.0]), (1.0, 1.0))
    squared, vague = filter_.distances(np.array([[4.0, 0.0], [0.0, 2.0]]), np.stack([np.eye(2)] * 2), np.zeros(2))
    assert squared == pytest.approx(np.array([[4.0, 1.0]]))
    assert vague == pytest.approx(np.full((1, 2), math.log(4.0)))
    assert rotation(math.pi / 2) @ np.array([1.0, 0.0]) == pytest.approx([0.0, 1.0])


def test_a_height_known_tells_the_range_from_the_box() -> None:
    # 75 px of 500 px focal length at 10 m are 1.5 m. The box has grown to 100 px: 7.5 m from the camera at x = 1 m.
    foot = np.array([11.0, 0.0])
    assert camera().apparent_height_m(np.array([270.0, 200.0, 370.0, 275.0]), foot) == pytest.approx(1.5)
    box = np.array([250.0, 180.0, 390.0, 280.0])
    moved, covariance = camera().foot_by_height(box, foot, 1.5, 2.1)
    assert moved == pytest.approx([8.5, 0.0])
    assert np.sqrt(np.diag(covariance)) == pytest.approx([0.3, 7.5 * 8.0 / 500.0])
    # 140 px are 2.1 m there: of a car 1.5 m wide a side shows, and the middle may be 0.3 m off.
    _, aslant = camera().foot_by_height(box, foot, 1.5, 1.5)
    assert math.sqrt(aslant[1, 1]) == pytest.approx(math.hypot(0.12, 0.3))


def test_the_near_end_is_the_outer_part_of_a_box_that_shows_a_side_too() -> None:
    # At 10 m, 2 m are 100 px. To the right of straight ahead the near end is on the right, to the left on the left.
    ahead = camera()
    assert ahead.near_end(np.array([400.0, 200.0, 560.0, 275.0]), 10.0, 2.0).tolist() == [460, 200, 560, 275]
    assert ahead.near_end(np.array([80.0, 200.0, 240.0, 275.0]), 10.0, 2.0).tolist() == [80, 200, 180, 275]
    assert ahead.near_end(np.array([400.0, 200.0, 480.0, 275.0]), 10.0, 2.0).tolist() == [400, 200, 480, 275]
    sideways = camera(((-1.0, 0.0, 0.0, 1.0), (0.0, 0.0, -1.0, 0.0), (0.0, -1.0, 0.0, 1.5)))
    assert sideways.near_end(np.array([400.0, 200.0, 560.0, 275.0]), 10.0, 2.0).tolist() == [400, 200, 560, 275]
