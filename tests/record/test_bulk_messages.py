"""Hand-packed messages against the general serializer of rosbags: equal to the last byte, whatever goes in."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rt_sched.record.bulk_messages import MarkerArray, detection_2d_array, detection_3d_array, image_annotations
from rt_sched.record.cdr import Layout, align, body, new_message, string
from rt_sched.record.schemas import typestore

STORE = typestore()
TYPES = STORE.types

texts = st.text(max_size=9)
doubles = st.floats()
singles = st.floats(width=32)
numbers = st.integers(-(2**31), 2**31 - 1)
stamps = st.tuples(numbers, st.integers(0, 10**9 - 1))


def _tuples(values, length):
    return st.tuples(*[values] * length)


def _serialized(type_name, value):
    return bytes(STORE.serialize_cdr(value, type_name))


def _header(stamp, frame_id):
    return TYPES["std_msgs/msg/Header"](TYPES["builtin_interfaces/msg/Time"](*stamp), frame_id)


def _pose(x, y, z, qx, qy, qz, qw):
    point, turn = TYPES["geometry_msgs/msg/Point"](x, y, z), TYPES["geometry_msgs/msg/Quaternion"](qx, qy, qz, qw)
    return TYPES["geometry_msgs/msg/Pose"](point, turn)


def _hypothesis(name, score, pose):
    with_covariance = TYPES["geometry_msgs/msg/PoseWithCovariance"](pose, np.zeros(36))
    hypothesis = TYPES["vision_msgs/msg/ObjectHypothesis"](name, score)
    return TYPES["vision_msgs/msg/ObjectHypothesisWithPose"](hypothesis, with_covariance)


@settings(deadline=None)
@given(stamps, texts, st.lists(st.tuples(texts, doubles, _tuples(doubles, 4), texts), max_size=4))
def test_detections_in_pictures(stamp, frame_id, found):
    names, scores, boxes, ids = zip(*found, strict=True) if found else ((), (), (), ())
    header, origin = _header(stamp, frame_id), _pose(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
    detections = []
    for name, score, (x, y, size_x, size_y), object_id in found:
        centre = TYPES["vision_msgs/msg/Pose2D"](TYPES["vision_msgs/msg/Point2D"](x, y), 0.0)
        box = TYPES["vision_msgs/msg/BoundingBox2D"](centre, size_x, size_y)
        hypotheses = [_hypothesis(name, score, origin)]
        detections.append(TYPES["vision_msgs/msg/Detection2D"](header, hypotheses, box, object_id))
    name = "vision_msgs/msg/Detection2DArray"
    expected = _serialized(name, TYPES[name](header, detections))
    assert detection_2d_array(stamp, frame_id, names, scores, boxes, ids) == expected


@settings(deadline=None)
@given(stamps, texts, st.lists(st.tuples(texts, doubles, _tuples(doubles, 7), _tuples(doubles, 3), texts), max_size=4))
def test_detections_in_space(stamp, frame_id, found):
    names, scores, poses, sizes, ids = zip(*found, strict=True) if found else ((),) * 5
    header, detections = _header(stamp, frame_id), []
    for name, score, pose, size, object_id in found:
        box = TYPES["vision_msgs/msg/BoundingBox3D"](_pose(*pose), TYPES["geometry_msgs/msg/Vector3"](*size))
        results = [_hypothesis(name, score, _pose(*pose))]
        detections.append(TYPES["vision_msgs/msg/Detection3D"](header, results, box, object_id))
    name = "vision_msgs/msg/Detection3DArray"
    expected = _serialized(name, TYPES[name](header, detections))
    assert detection_3d_array(stamp, frame_id, names, scores, poses, sizes, ids) == expected


@settings(deadline=None)
@given(stamps, st.lists(st.tuples(_tuples(doubles, 4), _tuples(doubles, 4), texts), max_size=4), doubles, doubles)
def test_annotations(stamp, drawn, thickness, font_size):
    boxes, colours, labels = zip(*drawn, strict=True) if drawn else ((), (), ())
    time = TYPES["builtin_interfaces/msg/Time"](*stamp)
    point, colour = TYPES["foxglove_msgs/msg/Point2"], TYPES["foxglove_msgs/msg/Color"]
    line, text = TYPES["foxglove_msgs/msg/PointsAnnotation"], TYPES["foxglove_msgs/msg/TextAnnotation"]
    clear, black, white = colour(0.0, 0.0, 0.0, 0.0), colour(0.0, 0.0, 0.0, 0.7), colour(1.0, 1.0, 1.0, 1.0)
    lines, writings = [], []
    for (left, top, right, bottom), outline, label in drawn:
        corners = [point(left, top), point(right, top), point(right, bottom), point(left, bottom)]
        lines.append(line(time, line.LINE_LOOP, corners, colour(*outline), [], clear, thickness))
        writings.append(text(time, corners[0], label, font_size, white, black))
    name = "foxglove_msgs/msg/ImageAnnotations"
    expected = _serialized(name, TYPES[name]([], lines, writings))
    assert image_annotations(stamp, boxes, colours, labels, thickness=thickness, font_size=font_size) == expected


markers = st.fixed_dictionaries(
    {
        "namespace": texts,
        "marker_id": numbers,
        "kind": numbers,
        "action": numbers,
        "pose": _tuples(doubles, 7),
        "scale": _tuples(doubles, 3),
        "colour": _tuples(singles, 4),
        "points": st.none() | st.lists(_tuples(doubles, 3), max_size=3),
        "text": texts,
    }
)


@settings(deadline=None)
@given(stamps, texts, st.lists(markers, max_size=4))
def test_markers(stamp, frame_id, drawn):
    made, values = MarkerArray(stamp, frame_id), []
    nothing = np.zeros(0, np.uint8)
    for marker in drawn:
        points = marker["points"]
        array = None if points is None else np.array(points, dtype=np.float64).reshape(-1, 3)
        made.add(**{**marker, "points": array})
        values.append(
            TYPES["visualization_msgs/msg/Marker"](
                header=_header(stamp, frame_id),
                ns=marker["namespace"],
                id=marker["marker_id"],
                type=marker["kind"],
                action=marker["action"],
                pose=_pose(*marker["pose"]),
                scale=TYPES["geometry_msgs/msg/Vector3"](*marker["scale"]),
                color=TYPES["std_msgs/msg/ColorRGBA"](*marker["colour"]),
                lifetime=TYPES["builtin_interfaces/msg/Duration"](0, 0),
                frame_locked=False,
                points=[TYPES["geometry_msgs/msg/Point"](*point) for point in points or ()],
                colors=[],
                texture_resource="",
                texture=TYPES["sensor_msgs/msg/CompressedImage"](_header((0, 0), ""), "", nothing),
                uv_coordinates=[],
                text=marker["text"],
                mesh_resource="",
                mesh_file=TYPES["visualization_msgs/msg/MeshFile"]("", nothing),
                mesh_use_embedded_materials=False,
            )
        )
    name = "visualization_msgs/msg/MarkerArray"
    assert made.data() == _serialized(name, TYPES[name](values))


def test_values_lie_at_multiples_of_their_size():
    out = new_message()
    Layout("B").append(out, 1)
    Layout("I s ? d 2x B").append(out, 2, string("ab"), True, 0.5, 3)
    assert body(out) == (b"\x01\0\0\0\x02\0\0\0\x03\0\0\0ab\0\x01" + struct.pack("<d", 0.5) + b"\0\0\x03")
    align(out, 4)
    assert len(body(out)) == 28
    align(out, 4)
    assert len(body(out)) == 28


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="'2q' is no field; valid kinds"):
        Layout("i 2q")
    with pytest.raises(struct.error):
        Layout("i").append(new_message(), 2**31)
