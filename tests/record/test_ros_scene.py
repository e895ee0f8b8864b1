"""What is drawn of many objects: the near ones and those with a class in detail, the others by their outlines."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rt_sched.messages import Boxes3D, TrackedObjects
from rt_sched.record.ros_scene import NEAREST_IN_DETAIL, SceneMessages
from rt_sched.record.ros_types import RosTypes
from rt_sched.record.schemas import typestore

CUBE, LINE_LIST = 1, 5  # visualization_msgs/Marker


def _boxes(centers_m, sizes_m, yaws_rad) -> Boxes3D:
    count = len(centers_m)
    columns = (np.asarray(values, dtype=np.float32) for values in (centers_m, sizes_m, yaws_rad))
    return Boxes3D(5, "lidar", *columns, num_points=np.arange(count, dtype=np.int32))


def _tracks(positions_m, labels) -> TrackedObjects:
    count = len(labels)
    return TrackedObjects(
        capture_time_ns=5,
        frame_id="vehicle",
        track_ids=np.arange(100, 100 + count),
        positions_m=np.asarray(positions_m, dtype=np.float64),
        velocities_m_s=np.zeros((count, 2)),
        sizes_m=np.full((count, 3), (4.0, 2.0, 1.5)),
        labels=tuple(labels),
        scores=np.full(count, 0.5),
        seen_by=(("lidar",),) * count,
        views=(),
    )


def _converted(convert, message):
    """The decoded detections and, without the one that clears, the markers."""
    found, drawn = convert("/t/p", message)
    assert (found.topic, drawn.topic) == ("/t/p", "/t/p/markers")
    store = typestore()
    markers = store.deserialize_cdr(drawn.data, drawn.type_name).markers
    return store.deserialize_cdr(found.data, found.type_name).detections, markers[1:]


@pytest.fixture
def scene() -> SceneMessages:
    return SceneMessages(RosTypes(0))


def _of(namespace, markers):
    return [marker for marker in markers if marker.ns == namespace]


def test_the_nearest_boxes_are_drawn_in_detail_and_the_others_by_one_marker(scene):
    count = NEAREST_IN_DETAIL + 12
    # Of every five boxes the first is the farthest.
    distances_m = np.array([200 - index if index % 5 == 0 else index for index in range(count)])
    centers_m = np.column_stack([distances_m, np.zeros(count), np.ones(count)])
    detections, markers = _converted(scene.boxes, _boxes(centers_m, np.full((count, 3), 2), np.zeros(count)))
    assert [detection.id for detection in detections] == [str(index) for index in range(count)]
    near = [index for index in range(count) if index % 5]
    assert [marker.id for marker in _of("boxes", markers)] == near
    assert [marker.text for marker in _of("labels", markers)] == [f"{index} points" for index in near]
    assert all(marker.type == CUBE for marker in _of("boxes", markers))
    (outlines,) = _of("outlines", markers)
    assert (outlines.type, len(outlines.points)) == (LINE_LIST, 8 * 12)
    middles = [np.mean([point.x for point in outlines.points[i : i + 8]]) for i in range(0, 8 * 12, 8)]
    assert middles == [200 - index for index in range(0, count, 5)]


def test_an_outline_is_the_foot_of_its_box(scene):
    count = NEAREST_IN_DETAIL + 1
    centers_m = np.zeros((count, 3))
    centers_m[-1] = (30, 40, 2)
    yaw_rad = math.radians(30)
    _, markers = _converted(scene.boxes, _boxes(centers_m, np.full((count, 3), (4, 2, 3)), np.full(count, yaw_rad)))
    (outlines,) = _of("outlines", markers)
    along, left = np.array([math.cos(yaw_rad), math.sin(yaw_rad)]), np.array([-math.sin(yaw_rad), math.cos(yaw_rad)])
    corners = [(30, 40) + 2 * a * along + 1 * b * left for a, b in ((1, 1), (-1, 1), (-1, -1), (1, -1))]
    expected = [corner for i in range(4) for corner in (corners[i], corners[(i + 1) % 4])]
    np.testing.assert_allclose([(point.x, point.y) for point in outlines.points], expected, atol=1e-5)
    assert {point.z for point in outlines.points} == {0.5}


def test_a_track_with_a_class_is_drawn_in_detail_however_far_it_is(scene):
    labels = ["unknown"] * (NEAREST_IN_DETAIL + 3)
    labels[-2] = "car"
    positions_m = [(float(index), 1.0) for index in range(len(labels))]
    detections, markers = _converted(scene.tracks, _tracks(positions_m, labels))
    assert len(detections) == len(labels)
    detailed = [*range(100, 100 + NEAREST_IN_DETAIL), 100 + len(labels) - 2]
    for namespace in ("boxes", "labels", "velocities"):
        assert [marker.id for marker in _of(namespace, markers)] == detailed
    (outlines,) = _of("outlines", markers)
    corners = {(point.x, point.y, point.z) for point in outlines.points}
    expected = {(x + a, 1.0 + b, 0.0) for x in (48.0, 50.0) for a in (-2, 2) for b in (-1, 1)}
    assert corners == expected


def test_of_objects_at_equal_distance_the_first_are_the_nearest(scene):
    count = NEAREST_IN_DETAIL + 5
    _, markers = _converted(scene.tracks, _tracks([(3.0, 4.0)] * count, ["unknown"] * count))
    assert [marker.id for marker in _of("boxes", markers)] == list(range(100, 100 + NEAREST_IN_DETAIL))


@pytest.mark.parametrize("count", [0, NEAREST_IN_DETAIL])
def test_few_objects_need_no_outlines(scene, count):
    _, markers = _converted(scene.tracks, _tracks(np.zeros((count, 2)), ["unknown"] * count))
    assert len(markers) == 3 * count
    _, markers = _converted(scene.boxes, _boxes(np.zeros((count, 3)), np.ones((count, 3)), np.zeros(count)))
    assert len(markers) == 2 * count
