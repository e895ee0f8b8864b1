"""The ROS 2 messages that make up most of a recording, packed to CDR field by field.

Serializers that walk over message objects take some twenty times as long. Definitions of the types: `schemas.py`, and
ROS 2 Humble for visualization_msgs. A stamp is (seconds, nanoseconds), a pose x, y, z in metres and a quaternion
x, y, z, w.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from rt_sched.record.cdr import Layout, align, body, new_message, set_count, string

Stamp = tuple[int, int]
Pose = tuple[float, float, float, float, float, float, float]
Rgba = tuple[float, float, float, float]

AT_ORIGIN: Pose = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)

# Header and number of elements: the start of each array of detections.
_ARRAY = Layout("i I s I")
# Header, one hypothesis with its pose, a covariance of 36 zeros; centre, turn and size of the box; id.
_DETECTION_2D = Layout("i I s I s 8d 288x 5d s")
_DETECTION_3D = Layout("i I s I s 8d 288x 10d s")
_COUNT = Layout("I")
# Stamp, type, four corners, colour of the outline, no colours per corner, colour inside, thickness.
_OUTLINE = Layout("i I B I 12d I 5d")
_TEXT = Layout("i I 2d s 9d")
# Header, namespace, id, type, action, pose, scale, colour, lifetime, frame_locked, number of points.
_MARKER = Layout("i I 2s 3i 10d 4f i I ? I")
# colors, texture_resource, texture, uv_coordinates; text; mesh_resource, mesh_file, mesh_use_embedded_materials.
_MARKER_END = Layout("3s")

_LINE_LOOP = 2
_NO_TEXT = string("")
_CLEAR: Rgba = (0.0, 0.0, 0.0, 0.0)
_BLACK: Rgba = (0.0, 0.0, 0.0, 0.7)
_WHITE: Rgba = (1.0, 1.0, 1.0, 1.0)


def _part(fields: str, *values: float | bytes) -> bytes:
    part = new_message()
    Layout(fields).append(part, *values)
    return body(part)


_NO_TEXTURE = _part("I s i I 2s 2I", 0, _NO_TEXT, 0, 0, _NO_TEXT, _NO_TEXT, 0, 0)
_NO_MESH = _part("2s I ?", _NO_TEXT, _NO_TEXT, 0, False)


def detection_2d_array(
    stamp: Stamp,
    frame_id: str,
    names: Sequence[str],
    scores: Sequence[float],
    boxes: Iterable[Sequence[float]],
    ids: Sequence[str],
) -> bytes:
    """A vision_msgs/Detection2DArray with one hypothesis per box; a box is centre x, y, size x, y in pixels."""
    out, frame = new_message(), string(frame_id)
    _ARRAY.append(out, *stamp, frame, len(names))
    for name, score, (x, y, size_x, size_y), object_id in zip(names, scores, boxes, ids, strict=True):
        _DETECTION_2D.append(
            out, *stamp, frame, 1, string(name), score, *AT_ORIGIN, x, y, 0.0, size_x, size_y, string(object_id)
        )
    return bytes(out)


def detection_3d_array(
    stamp: Stamp,
    frame_id: str,
    names: Sequence[str],
    scores: Sequence[float],
    poses: Sequence[Pose],
    sizes: Sequence[Sequence[float]],
    ids: Sequence[str],
) -> bytes:
    """A vision_msgs/Detection3DArray with one hypothesis per box; its pose is that of the box; sizes in metres."""
    out, frame = new_message(), string(frame_id)
    _ARRAY.append(out, *stamp, frame, len(names))
    for name, score, pose, size, object_id in zip(names, scores, poses, sizes, ids, strict=True):
        _DETECTION_3D.append(out, *stamp, frame, 1, string(name), score, *pose, *pose, *size, string(object_id))
    return bytes(out)


def image_annotations(
    stamp: Stamp,
    boxes: Sequence[Sequence[float]],
    colours: Sequence[Rgba],
    texts: Sequence[str],
    *,
    thickness: float,
    font_size: float,
) -> bytes:
    """A foxglove_msgs/ImageAnnotations: an outline per box (x_min, y_min, x_max, y_max) and a text at its corner."""
    out = new_message()
    _COUNT.append(out, 0)
    _COUNT.append(out, len(boxes))
    for (left, top, right, bottom), colour in zip(boxes, colours, strict=True):
        corners = (left, top, right, top, right, bottom, left, bottom)
        _OUTLINE.append(out, *stamp, _LINE_LOOP, 4, *corners, *colour, 0, *_CLEAR, thickness)
    _COUNT.append(out, len(texts))
    for (left, top, _, _), text in zip(boxes, texts, strict=True):
        _TEXT.append(out, *stamp, left, top, string(text), font_size, *_WHITE, *_BLACK)
    return bytes(out)


class MarkerArray:
    """Builder of a visualization_msgs/MarkerArray whose markers share one header."""

    def __init__(self, stamp: Stamp, frame_id: str) -> None:
        self._stamp = stamp
        self._frame = string(frame_id)
        self._out = new_message()
        self._count = 0
        _COUNT.append(self._out, 0)

    def add(
        self,
        namespace: str,
        marker_id: int,
        kind: int,
        action: int,
        *,
        pose: Pose,
        scale: Sequence[float],
        colour: Rgba,
        points: npt.NDArray[np.float64] | None = None,
        text: str = "",
    ) -> None:
        """Append a marker; `kind` and `action` are numbers of visualization_msgs/Marker, `points` float64[n, 3]."""
        out = self._out
        head = (*self._stamp, self._frame, string(namespace), marker_id, kind, action)
        count = 0 if points is None else len(points)
        _MARKER.append(out, *head, *pose, *scale, *colour, 0, 0, False, count)
        if points is not None and count:
            align(out, 8)
            out += points.astype("<f8").tobytes()
        _MARKER_END.append(out, _NO_TEXTURE, string(text), _NO_MESH)
        self._count += 1

    def data(self) -> bytes:
        """The message with all markers added so far."""
        set_count(self._out, self._count)
        return bytes(self._out)
