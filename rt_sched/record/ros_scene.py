"""Objects in space as ROS 2 messages: detections to compute with, markers to look at."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from rt_sched.messages import Boxes3D, TrackedObjects
from rt_sched.record.ros_types import Colour, RosMessage, RosTypes, colour_of

_BOX_COLOUR: Colour = (0.55, 0.75, 1.00)
#: A velocity arrow ends where the object will be after this time.
_ARROW_S = 1.0


class SceneMessages:
    """Converter of Boxes3D and TrackedObjects."""

    def __init__(self, build: RosTypes) -> None:
        self._build = build
        self._types = build.types

    def boxes(self, topic: str, message: Boxes3D) -> Iterator[RosMessage]:
        header = self._build.header(message.capture_time_ns, message.frame_id)
        points: list[int] = message.num_points.tolist()
        poses = [
            self._build.pose(x, y, z, yaw)
            for (x, y, z), yaw in zip(message.centers_m.tolist(), message.yaws_rad.tolist(), strict=True)
        ]
        sizes = [self._build.size(*size) for size in message.sizes_m.tolist()]
        objects = [("object", 1.0, str(index)) for index in range(len(poses))]
        yield self._detections_3d(topic, header, poses, sizes, objects)
        markers = [self._clear(header)]
        for index, (pose, size) in enumerate(zip(poses, sizes, strict=True)):
            markers.append(self._cube(header, index, pose, size, _BOX_COLOUR))
            above = self._build.point(pose.position.x, pose.position.y, pose.position.z + size.z / 2 + 0.4)
            markers.append(self._label(header, index, above, f"{points[index]} points"))
        yield self._markers(topic, markers)

    def tracks(self, topic: str, message: TrackedObjects) -> Iterator[RosMessage]:
        header = self._build.header(message.capture_time_ns, message.frame_id)
        ids: list[int] = message.track_ids.tolist()
        sizes = [self._build.size(*size) for size in message.sizes_m.tolist()]
        # A track is a point on the ground: its box stands on the plane z = 0 of the vehicle frame.
        poses = [
            self._build.pose(x, y, size.z / 2, 0.0)
            for (x, y), size in zip(message.positions_m.tolist(), sizes, strict=True)
        ]
        objects = list(zip(message.labels, message.scores.tolist(), map(str, ids), strict=True))
        yield self._detections_3d(topic, header, poses, sizes, objects)
        markers = [self._clear(header)]
        velocities: list[list[float]] = message.velocities_m_s.tolist()
        for index, (pose, size) in enumerate(zip(poses, sizes, strict=True)):
            label, (speed_x, speed_y), marker = message.labels[index], velocities[index], ids[index] % 2**31
            markers.append(self._cube(header, marker, pose, size, colour_of(label)))
            base = pose.position
            text = f"{label} #{ids[index]} {math.hypot(speed_x, speed_y):.1f} m/s\n{', '.join(message.seen_by[index])}"
            markers.append(self._label(header, marker, self._build.point(base.x, base.y, size.z + 0.8), text))
            tip = self._build.point(base.x + speed_x * _ARROW_S, base.y + speed_y * _ARROW_S, base.z)
            markers.append(self._arrow(header, marker, base, tip))
        yield self._markers(topic, markers)

    def _detections_3d(
        self, topic: str, header: Any, poses: list[Any], sizes: list[Any], objects: list[tuple[str, float, str]]
    ) -> RosMessage:
        box_3d, detection = self._types["vision_msgs/msg/BoundingBox3D"], self._types["vision_msgs/msg/Detection3D"]
        found = [
            detection(header, [self._build.hypothesis(label, score, pose)], box_3d(pose, size), name)
            for pose, size, (label, score, name) in zip(poses, sizes, objects, strict=True)
        ]
        type_name = "vision_msgs/msg/Detection3DArray"
        return RosMessage(topic, type_name, self._types[type_name](header, found))

    def _markers(self, topic: str, markers: list[Any]) -> RosMessage:
        name = "visualization_msgs/msg/MarkerArray"
        return RosMessage(f"{topic}/markers", name, self._types[name](markers))

    def _marker(
        self,
        header: Any,
        namespace: str,
        marker_id: int,
        kind: int,
        scale: Any,
        colour: tuple[float, float, float, float],
        pose: Any,
        points: list[Any],
        text: str,
        action: int,
    ) -> Any:
        types = self._types
        nothing = np.zeros(0, dtype=np.uint8)
        empty_header = types["std_msgs/msg/Header"](types["builtin_interfaces/msg/Time"](0, 0), "")
        return types["visualization_msgs/msg/Marker"](
            header=header,
            ns=namespace,
            id=marker_id,
            type=kind,
            action=action,
            pose=pose,
            scale=scale,
            color=types["std_msgs/msg/ColorRGBA"](*colour),
            lifetime=types["builtin_interfaces/msg/Duration"](0, 0),
            frame_locked=False,
            points=points,
            colors=[],
            texture_resource="",
            texture=types["sensor_msgs/msg/CompressedImage"](empty_header, "", nothing),
            uv_coordinates=[],
            text=text,
            mesh_resource="",
            mesh_file=types["visualization_msgs/msg/MeshFile"]("", nothing),
            mesh_use_embedded_materials=False,
        )

    def _clear(self, header: Any) -> Any:
        """Removes what the topic showed before: objects that are gone must not stay on the screen."""
        kind = self._types["visualization_msgs/msg/Marker"]
        pose, scale = self._build.pose(0.0, 0.0, 0.0, 0.0), self._build.size(1.0, 1.0, 1.0)
        return self._marker(header, "", 0, kind.CUBE, scale, (0.0, 0.0, 0.0, 0.0), pose, [], "", action=kind.DELETEALL)

    def _cube(self, header: Any, marker_id: int, pose: Any, size: Any, colour: Colour) -> Any:
        kind = self._types["visualization_msgs/msg/Marker"]
        return self._marker(header, "boxes", marker_id, kind.CUBE, size, (*colour, 0.5), pose, [], "", kind.ADD)

    def _label(self, header: Any, marker_id: int, position: Any, text: str) -> Any:
        kind = self._types["visualization_msgs/msg/Marker"]
        pose = self._types["geometry_msgs/msg/Pose"](position, self._build.upright)
        scale = self._build.size(0.0, 0.0, 0.6)
        white = (1.0, 1.0, 1.0, 1.0)
        return self._marker(header, "labels", marker_id, kind.TEXT_VIEW_FACING, scale, white, pose, [], text, kind.ADD)

    def _arrow(self, header: Any, marker_id: int, base: Any, tip: Any) -> Any:
        kind = self._types["visualization_msgs/msg/Marker"]
        pose = self._build.pose(0.0, 0.0, 0.0, 0.0)
        scale = self._build.size(0.15, 0.35, 0.4)
        yellow = (1.0, 0.9, 0.1, 1.0)
        return self._marker(header, "velocities", marker_id, kind.ARROW, scale, yellow, pose, [base, tip], "", kind.ADD)
