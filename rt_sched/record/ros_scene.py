"""Objects in space as ROS 2 messages: detections to compute with, markers to look at.

The detections hold every object. The markers draw what a viewer gains from: the nearest objects, and all to which a
camera gave a class, as boxes with a text (and an arrow for the velocity of a track); of all others their outlines on
the ground, together in one marker.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from rt_sched.messages import Boxes3D, RoadCorridor, TrackedObjects
from rt_sched.record.bulk_messages import AT_ORIGIN, MarkerArray, Pose, Stamp, detection_3d_array
from rt_sched.record.ros_types import Colour, RosMessage, RosTypes, colour_of

#: So many objects, the nearest to the origin of their frame, are drawn in detail whatever they are.
NEAREST_IN_DETAIL = 48

_BOX_COLOUR: Colour = (0.55, 0.75, 1.00)
_SEEN_COLOUR, _ASSUMED_COLOUR = (0.2, 1.0, 0.4, 1.0), (1.0, 0.9, 0.1, 0.5)
_NO_CLASS = "unknown"
#: A velocity arrow ends where the object will be after this time.
_ARROW_S = 1.0
#: Shaft and head diameter and head length of an arrow, height of a text, width of a line; in metres.
_ARROW_SCALE = (0.15, 0.35, 0.4)
_TEXT_SCALE = (0.0, 0.0, 0.6)
_LINE_SCALE = (0.08, 0.0, 0.0)

# Kinds and actions of visualization_msgs/Marker.
_ARROW, _CUBE, _LINE_LIST, _TEXT = 0, 1, 5, 9
_ADD, _DELETE_ALL = 0, 3

# Corners of a rectangle in halves of its size, and the two ends of each of its sides.
_CORNERS = np.array([(1, 1), (-1, 1), (-1, -1), (1, -1)], dtype=np.float64)
_SIDES = np.array([0, 1, 1, 2, 2, 3, 3, 0])


class SceneMessages:
    """Converter of Boxes3D and TrackedObjects."""

    def __init__(self, build: RosTypes) -> None:
        self._build = build

    def boxes(self, topic: str, message: Boxes3D) -> Iterator[RosMessage]:
        """Detections and markers of a LiDAR sweep; the text of a box is its number of points."""
        stamp = self._build.stamp(message.capture_time_ns)
        centers_m, sizes_m = message.centers_m.astype(np.float64), message.sizes_m.astype(np.float64)
        yaws_rad: list[float] = message.yaws_rad.tolist()
        sizes: list[list[float]] = sizes_m.tolist()
        poses = [_pose(x, y, z, yaw) for (x, y, z), yaw in zip(centers_m.tolist(), yaws_rad, strict=True)]
        ids = [str(index) for index in range(len(poses))]
        names, scores = ["object"] * len(poses), [1.0] * len(poses)
        data = detection_3d_array(stamp, message.frame_id, names, scores, poses, sizes, ids)
        yield RosMessage(topic, "vision_msgs/msg/Detection3DArray", data)

        markers = _cleared(MarkerArray(stamp, message.frame_id))
        in_detail = _nearest(centers_m)
        points: list[int] = message.num_points.tolist()
        for index in np.flatnonzero(in_detail).tolist():
            _cube(markers, index, poses[index], sizes[index], _BOX_COLOUR)
            x, y, z, *_ = poses[index]
            _text(markers, index, (x, y, z + sizes[index][2] / 2 + 0.4), f"{points[index]} points")
        grounds_m = centers_m[:, 2] - sizes_m[:, 2] / 2
        outlines_m = _outlines(centers_m[:, :2], sizes_m[:, :2], yaws_rad, grounds_m)
        _lines(markers, outlines_m[~in_detail], _BOX_COLOUR)
        yield _marker_message(topic, markers)

    def tracks(self, topic: str, message: TrackedObjects) -> Iterator[RosMessage]:
        """Detections and markers of fused objects; the text of a track is its class, number, speed and sensors."""
        stamp = self._build.stamp(message.capture_time_ns)
        ids: list[int] = message.track_ids.tolist()
        sizes: list[list[float]] = message.sizes_m.tolist()
        # A track is a point on the ground: its box stands on the plane z = 0 of the vehicle frame.
        poses = [
            _pose(x, y, size[2] / 2, 0.0) for (x, y), size in zip(message.positions_m.tolist(), sizes, strict=True)
        ]
        scores, id_texts = message.scores.tolist(), [str(track_id) for track_id in ids]
        data = detection_3d_array(stamp, message.frame_id, message.labels, scores, poses, sizes, id_texts)
        yield RosMessage(topic, "vision_msgs/msg/Detection3DArray", data)

        markers = _cleared(MarkerArray(stamp, message.frame_id))
        has_class = np.array([label != _NO_CLASS for label in message.labels], dtype=np.bool_)
        in_detail = has_class | _nearest(message.positions_m)
        velocities: list[list[float]] = message.velocities_m_s.tolist()
        for index in np.flatnonzero(in_detail).tolist():
            label, marker_id, size = message.labels[index], ids[index] % 2**31, sizes[index]
            (x, y, z, *_), (speed_x, speed_y) = poses[index], velocities[index]
            _cube(markers, marker_id, poses[index], size, colour_of(label))
            speed_m_s, seen_by = math.hypot(speed_x, speed_y), ", ".join(message.seen_by[index])
            text = f"{label} #{ids[index]} {speed_m_s:.1f} m/s\n{seen_by}"
            _text(markers, marker_id, (x, y, size[2] + 0.8), text)
            _arrow(markers, marker_id, (x, y, z), (x + speed_x * _ARROW_S, y + speed_y * _ARROW_S, z))
        turns_rad, grounds_m = [0.0] * len(ids), np.zeros(len(ids))
        outlines_m = _outlines(message.positions_m, message.sizes_m[:, :2], turns_rad, grounds_m)
        _lines(markers, outlines_m[~in_detail], colour_of(_NO_CLASS))
        yield _marker_message(topic, markers)


def corridor_markers(topic: str, stamp: Stamp, message: RoadCorridor) -> RosMessage:
    """The edges of the road as two lines on the ground, bright where they were seen."""
    markers = _cleared(MarkerArray(stamp, message.frame_id))
    edges = ((message.left_m, message.left_seen), (message.right_m, message.right_seen))
    for number, (edge_m, seen) in enumerate(edges):
        points = np.stack((message.stations_m, edge_m, np.zeros(len(edge_m))), axis=1)
        pieces = np.stack((points[:-1], points[1:]), axis=1)
        for part, colour in enumerate((_SEEN_COLOUR, _ASSUMED_COLOUR)):
            chosen = pieces[seen[:-1] == (part == 0)].reshape(-1, 3)
            if len(chosen):
                marker_id = 2 * number + part
                scale = _LINE_SCALE
                markers.add(
                    "edges", marker_id, _LINE_LIST, _ADD, pose=AT_ORIGIN, scale=scale, colour=colour, points=chosen
                )
    return _marker_message(topic, markers)


def _pose(x: float, y: float, z: float, yaw_rad: float) -> Pose:
    return (x, y, z, 0.0, 0.0, math.sin(yaw_rad / 2), math.cos(yaw_rad / 2))


def _nearest(positions_m: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Which of the positions float64[n, 2 or more] are among the nearest on the plane; of equal ones the first."""
    order = np.argsort((positions_m[:, :2] ** 2).sum(axis=1), kind="stable")
    chosen = np.zeros(len(positions_m), dtype=np.bool_)
    chosen[order[:NEAREST_IN_DETAIL]] = True
    return chosen


def _outlines(
    centers_m: npt.NDArray[np.float64],
    sizes_m: npt.NDArray[np.float64],
    yaws_rad: Iterable[float],
    grounds_m: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """Sides of rectangles on the ground as pairs of points: float64[n, 8, 3] from n centres, sizes, turns, heights."""
    # numpy's sine differs in its last bit between processors; equal runs give equal files everywhere.
    turns = np.array([(math.cos(yaw), math.sin(yaw)) for yaw in yaws_rad]).reshape(-1, 2, 1)
    halves = _CORNERS * sizes_m[:, None, :] / 2
    along, across = halves[..., 0], halves[..., 1]
    outlines = np.empty((len(centers_m), 8, 3))
    outlines[..., 0] = (centers_m[:, :1] + turns[:, 0] * along - turns[:, 1] * across)[:, _SIDES]
    outlines[..., 1] = (centers_m[:, 1:2] + turns[:, 1] * along + turns[:, 0] * across)[:, _SIDES]
    outlines[..., 2] = grounds_m[:, None]
    return outlines


def _marker_message(topic: str, markers: MarkerArray) -> RosMessage:
    return RosMessage(f"{topic}/markers", "visualization_msgs/msg/MarkerArray", markers.data())


def _cleared(markers: MarkerArray) -> MarkerArray:
    """Removes what the topic showed before: objects that are gone must not stay on the screen."""
    nothing = (0.0, 0.0, 0.0, 0.0)
    markers.add("", 0, _CUBE, _DELETE_ALL, pose=AT_ORIGIN, scale=(1.0, 1.0, 1.0), colour=nothing)
    return markers


def _cube(markers: MarkerArray, marker_id: int, pose: Pose, size: list[float], colour: Colour) -> None:
    markers.add("boxes", marker_id, _CUBE, _ADD, pose=pose, scale=size, colour=(*colour, 0.5))


def _text(markers: MarkerArray, marker_id: int, position: tuple[float, float, float], text: str) -> None:
    pose = (*position, 0.0, 0.0, 0.0, 1.0)
    markers.add("labels", marker_id, _TEXT, _ADD, pose=pose, scale=_TEXT_SCALE, colour=(1.0, 1.0, 1.0, 1.0), text=text)


def _arrow(
    markers: MarkerArray, marker_id: int, base: tuple[float, float, float], tip: tuple[float, float, float]
) -> None:
    yellow, points = (1.0, 0.9, 0.1, 1.0), np.array([base, tip])
    markers.add("velocities", marker_id, _ARROW, _ADD, pose=AT_ORIGIN, scale=_ARROW_SCALE, colour=yellow, points=points)


def _lines(markers: MarkerArray, outlines_m: npt.NDArray[np.float64], colour: Colour) -> None:
    """One marker for all outlines float64[n, 8, 3]; none when there are none."""
    if len(outlines_m):
        points, opaque = outlines_m.reshape(-1, 3), (*colour, 1.0)
        markers.add("outlines", 0, _LINE_LIST, _ADD, pose=AT_ORIGIN, scale=_LINE_SCALE, colour=opaque, points=points)
