"""Association, projection and the Kalman filter against hand-worked numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.association import greedy_pairs, intersection_matrix, iou_matrix
from pipelines.projection import CameraGeometry
from pipelines.tracking import TrackFilter, rotation
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


def test_greedy_takes_the_cheapest_first_and_breaks_ties_by_index() -> None:
    cost = np.array([[1.0, 0.5, 9.0], [0.6, 0.4, 9.0], [math.nan, math.inf, 3.0]])
    assert greedy_pairs(cost, 5.0) == [(1, 1), (0, 0), (2, 2)]
    assert greedy_pairs(cost, 0.45) == [(1, 1)]
    assert greedy_pairs(np.ones((2, 2)), 1.0) == [(0, 0), (1, 1)]
    assert greedy_pairs(np.zeros((0, 3)), 1.0) == []


@given(st.lists(st.lists(st.floats(0, 10), min_size=4, max_size=4), min_size=1, max_size=5))
@settings(max_examples=100, deadline=None)
def test_greedy_pairs_are_one_to_one_and_leave_no_pair_within_the_limit(rows: list[list[float]]) -> None:
    cost = np.array(rows)
    pairs = greedy_pairs(cost, 5.0)
    used_rows, used_columns = {row for row, _ in pairs}, {column for _, column in pairs}
    assert len(used_rows) == len(used_columns) == len(pairs)
    for row in set(range(len(rows))) - used_rows:
        assert all(cost[row, column] > 5.0 for column in set(range(4)) - used_columns)


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
    "box", [(270, 100, 370, 190), (0, 200, 100, 275), (540, 200, 640, 275), (270, 200, 370, 400)], ids=str
)
def test_a_box_above_the_horizon_or_cut_off_has_no_foot(box: tuple[float, ...]) -> None:
    assert camera().foot_of_box(np.array(box, np.float64), 1.5, 0.0) is None


def test_an_image_of_another_size_has_scaled_intrinsics() -> None:
    half = camera().scaled_to(320, 200)
    assert (half.fx, half.fy, half.cx, half.cy) == (250.0, 250.0, 160.0, 100.0)
    assert camera().scaled_to(640, 400).fx == 500.0


def test_one_dimensional_filter_by_hand() -> None:
    # Position variance 1, speed variance 4, no process noise. After 1 s: P = [[5, 4], [4, 4]]. A measurement at 2 m
    # with variance 5: S = 10, K = [0.5, 0.4]; x = 1 m, v = 0.8 m/s; P = [[2.5, 2], [2, 2.4]].
    filter_ = TrackFilter(1e-12)
    filter_.add(np.zeros(2), np.eye(2), (2.0, 2.0))
    filter_.predict(1.0)
    assert filter_.covariance[0][np.ix_([0, 2], [0, 2])] == pytest.approx(np.array([[5.0, 4.0], [4.0, 4.0]]))
    filter_.update(0, np.array([2.0, 0.0]), 5.0 * np.eye(2), 0.0)
    assert filter_.mean[0] == pytest.approx([1.0, 0.0, 0.8, 0.0])
    assert filter_.covariance[0][np.ix_([0, 2], [0, 2])] == pytest.approx(np.array([[2.5, 2.0], [2.0, 2.4]]))


def test_a_late_measurement_counts_as_if_it_had_come_in_time() -> None:
    prompt, late = TrackFilter(1e-12), TrackFilter(1e-12)
    for filter_ in (prompt, late):
        filter_.add(np.array([10.0, 1.0]), np.eye(2), (5.0, 5.0))
    prompt.predict(0.1)
    prompt.update(0, np.array([9.0, 1.1]), 0.1 * np.eye(2), 0.0)
    prompt.predict(0.08)
    late.predict(0.18)
    late.update(0, np.array([9.0, 1.1]), 0.1 * np.eye(2), 0.08)
    assert late.mean == pytest.approx(prompt.mean)
    assert late.covariance == pytest.approx(prompt.covariance)


def test_predicting_in_two_steps_is_predicting_in_one() -> None:
    one, two = TrackFilter(3.0), TrackFilter(3.0)
    for filter_ in (one, two):
        filter_.add(np.array([20.0, -3.0]), np.eye(2), (4.0, 4.0))
        filter_.mean[0, 2:] = [-5.0, 1.0]
    one.predict(0.3)
    two.predict(0.1)
    two.predict(0.2)
    assert two.mean == pytest.approx(one.mean)
    assert two.covariance == pytest.approx(one.covariance)


def test_the_turning_and_braking_vehicle_is_taken_into_account() -> None:
    # A standing post 10 m ahead, relative speed -10 m/s. The vehicle turns a quarter to the left within 1 s: the post
    # would be at the origin then, so look at one 20 m ahead: 10 m away, now to the right.
    filter_ = TrackFilter(1.0)
    filter_.add(np.array([20.0, 0.0]), np.eye(2), (1.0, 1.0))
    filter_.mean[0, 2] = -10.0
    filter_.predict(1.0, yaw_rate_rad_s=math.pi / 2)
    assert filter_.mean[0] == pytest.approx([0.0, -10.0, 0.0, 10.0], abs=1e-9)
    # Braking with 6 m/s^2 for 1 s takes 6 m/s of closing speed and 3 m of approach away.
    filter_ = TrackFilter(1.0)
    filter_.add(np.array([20.0, 0.0]), np.eye(2), (1.0, 1.0))
    filter_.mean[0, 2] = -10.0
    filter_.predict(1.0, ego_acceleration_m_s2=-6.0)
    assert filter_.mean[0] == pytest.approx([13.0, 0.0, -4.0, 0.0])


def test_distance_is_measured_in_standard_deviations() -> None:
    filter_ = TrackFilter(1.0)
    filter_.add(np.zeros(2), np.diag([3.0, 3.0]), (1.0, 1.0))
    # S = 3 + 1 on the diagonal: 4 m are 2 standard deviations.
    assert filter_.distances(np.array([[4.0, 0.0], [0.0, 2.0]]), np.stack([np.eye(2)] * 2), 0.0) == pytest.approx(
        np.array([[4.0, 1.0]])
    )
    assert rotation(math.pi / 2) @ np.array([1.0, 0.0]) == pytest.approx([0.0, 1.0])
