"""Messages of this product as ROS 2 messages that viewers draw without a plug-in."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rt_sched.errors import DataError
from rt_sched.messages import (
    ArbiterDecision,
    ArbiterState,
    Boxes3D,
    Command,
    Detections2D,
    EgoMotion,
    EncodedImage,
    TrackedObjects,
)
from rt_sched.record.schemas import typestore
from rt_sched.units import NS_PER_S

#: Where the state of the arbiter appears, the topic on which ROS tools look for diagnostics.
DIAGNOSTICS_TOPIC = "/diagnostics"

_LEVEL = {
    ArbiterState.STARTING: (1, "starting"),
    ArbiterState.NOMINAL: (0, "nominal"),
    ArbiterState.DEGRADED: (1, "degraded"),
    ArbiterState.BACKUP: (2, "backup path in command"),
    ArbiterState.MINIMAL_RISK: (2, "minimal-risk manoeuvre"),
}
#: Distinct, readable on dark and light pictures; r, g, b in 0..1.
_PALETTE = (
    (0.20, 0.80, 0.20),
    (1.00, 0.60, 0.00),
    (0.10, 0.65, 1.00),
    (0.95, 0.25, 0.35),
    (0.80, 0.45, 1.00),
    (1.00, 0.90, 0.10),
    (0.10, 0.85, 0.75),
)
_BOX_COLOUR = (0.55, 0.75, 1.00)
#: A velocity arrow ends where the object will be after this time.
_ARROW_S = 1.0


@dataclass(frozen=True, slots=True)
class RosMessage:
    """A message to write: its topic, type name such as vision_msgs/msg/Detection2DArray, and rosbags value."""

    topic: str
    type_name: str
    value: Any


class RosMessages:
    """Converter with the time offset of one run: absolute stamp = `time_zero_ns` + stamp on the run's clock."""

    def __init__(self, time_zero_ns: int) -> None:
        self._time_zero_ns = time_zero_ns
        self._types: Mapping[str, Any] = typestore().types
        self._no_covariance = np.zeros(36, dtype=np.float64)
        self._converters: dict[type, Callable[[str, Any], Iterator[RosMessage]]] = {
            Detections2D: self._detections,
            Boxes3D: self._boxes,
            TrackedObjects: self._tracks,
            Command: self._command,
            ArbiterDecision: self._decision,
            EgoMotion: self._ego_motion,
        }
        self._point = self._types["geometry_msgs/msg/Point"]
        self._upright = self._types["geometry_msgs/msg/Quaternion"](0.0, 0.0, 0.0, 1.0)

    def convert(self, topic: str, message: object) -> Iterator[RosMessage]:
        """ROS 2 messages that show `message`; none for a type that is not recorded, such as Tensor or CameraImage.

        Raises DataError when a stamp does not fit into a ROS 2 time.
        """
        converter = self._converters.get(type(message))
        return iter(()) if converter is None else converter(topic, message)

    def image(self, topic: str, image: EncodedImage) -> RosMessage:
        """The frame as it was recorded, its bytes untouched."""
        header = self._header(image.capture_time_ns, image.frame_id)
        data = np.frombuffer(image.data, dtype=np.uint8)
        if image.height == 0:
            name = "sensor_msgs/msg/CompressedImage"
            return RosMessage(topic, name, self._types[name](header, image.encoding, data))
        name = "sensor_msgs/msg/Image"
        value = self._types[name](
            header, image.height, image.width, image.encoding, int(image.big_endian), image.row_bytes, data
        )
        return RosMessage(topic, name, value)

    def static_transforms(self, parent: str, child_to_parent: dict[str, npt.NDArray[np.float64]]) -> RosMessage:
        """Poses of sensor frames in the frame `parent`; each matrix is float64[3, 4], rotation and translation."""
        transforms = []
        for child, matrix in child_to_parent.items():
            x, y, z = (float(value) for value in matrix[:, 3])
            transform = self._types["geometry_msgs/msg/Transform"](
                self._types["geometry_msgs/msg/Vector3"](x, y, z), self._quaternion(matrix[:, :3])
            )
            header = self._header(0, parent)
            transforms.append(self._types["geometry_msgs/msg/TransformStamped"](header, child, transform))
        name = "tf2_msgs/msg/TFMessage"
        return RosMessage("/tf_static", name, self._types[name](transforms))

    def _detections(self, topic: str, message: Detections2D) -> Iterator[RosMessage]:
        header = self._header(message.capture_time_ns, message.frame_id)
        boxes: list[list[float]] = message.boxes_px.tolist()
        scores: list[float] = message.scores.tolist()
        names = message.class_names
        types = self._types
        pose_2d, point_2d = types["vision_msgs/msg/Pose2D"], types["vision_msgs/msg/Point2D"]
        box_2d, detection = types["vision_msgs/msg/BoundingBox2D"], types["vision_msgs/msg/Detection2D"]
        found = []
        for (x_min, y_min, x_max, y_max), score, name in zip(boxes, scores, names, strict=True):
            centre = pose_2d(point_2d((x_min + x_max) / 2, (y_min + y_max) / 2), 0.0)
            box = box_2d(centre, x_max - x_min, y_max - y_min)
            found.append(detection(header, [self._hypothesis(name, score)], box, ""))
        type_name = "vision_msgs/msg/Detection2DArray"
        yield RosMessage(topic, type_name, types[type_name](header, found))

        point, colour = types["foxglove_msgs/msg/Point2"], types["foxglove_msgs/msg/Color"]
        line, text = types["foxglove_msgs/msg/PointsAnnotation"], types["foxglove_msgs/msg/TextAnnotation"]
        nothing, black, white = colour(0.0, 0.0, 0.0, 0.0), colour(0.0, 0.0, 0.0, 0.7), colour(1.0, 1.0, 1.0, 1.0)
        thickness = max(1.0, message.image_width / 640)
        font_size = max(8.0, message.image_width / 80)
        outlines, labels = [], []
        for (x_min, y_min, x_max, y_max), score, name in zip(boxes, scores, names, strict=True):
            corners = [point(x_min, y_min), point(x_max, y_min), point(x_max, y_max), point(x_min, y_max)]
            outline = colour(*_colour_of(name), 1.0)
            outlines.append(line(header.stamp, line.LINE_LOOP, corners, outline, [], nothing, thickness))
            labels.append(text(header.stamp, corners[0], f"{name} {score:.2f}", font_size, white, black))
        type_name = "foxglove_msgs/msg/ImageAnnotations"
        yield RosMessage(f"{topic}/annotations", type_name, types[type_name]([], outlines, labels))

    def _boxes(self, topic: str, message: Boxes3D) -> Iterator[RosMessage]:
        header = self._header(message.capture_time_ns, message.frame_id)
        points: list[int] = message.num_points.tolist()
        poses = [
            self._pose(x, y, z, yaw)
            for (x, y, z), yaw in zip(message.centers_m.tolist(), message.yaws_rad.tolist(), strict=True)
        ]
        sizes = [self._types["geometry_msgs/msg/Vector3"](*size) for size in message.sizes_m.tolist()]
        objects = [("object", 1.0, str(index)) for index in range(len(poses))]
        yield self._detections_3d(topic, header, poses, sizes, objects)
        markers = [self._clear(header)]
        for index, (pose, size) in enumerate(zip(poses, sizes, strict=True)):
            markers.append(self._cube(header, index, pose, size, _BOX_COLOUR))
            above = self._point(pose.position.x, pose.position.y, pose.position.z + size.z / 2 + 0.4)
            markers.append(self._label(header, index, above, f"{points[index]} points"))
        yield self._markers(topic, markers)

    def _tracks(self, topic: str, message: TrackedObjects) -> Iterator[RosMessage]:
        header = self._header(message.capture_time_ns, message.frame_id)
        ids: list[int] = message.track_ids.tolist()
        sizes = [self._types["geometry_msgs/msg/Vector3"](*size) for size in message.sizes_m.tolist()]
        # A track is a point on the ground: its box stands on the plane z = 0 of the vehicle frame.
        poses = [
            self._pose(x, y, size.z / 2, 0.0) for (x, y), size in zip(message.positions_m.tolist(), sizes, strict=True)
        ]
        objects = list(zip(message.labels, message.scores.tolist(), map(str, ids), strict=True))
        yield self._detections_3d(topic, header, poses, sizes, objects)
        markers = [self._clear(header)]
        velocities: list[list[float]] = message.velocities_m_s.tolist()
        for index, (pose, size) in enumerate(zip(poses, sizes, strict=True)):
            label, (speed_x, speed_y), marker = message.labels[index], velocities[index], ids[index] % 2**31
            markers.append(self._cube(header, marker, pose, size, _colour_of(label)))
            base = pose.position
            text = f"{label} #{ids[index]} {math.hypot(speed_x, speed_y):.1f} m/s\n{', '.join(message.seen_by[index])}"
            markers.append(self._label(header, marker, self._point(base.x, base.y, size.z + 0.8), text))
            tip = self._point(base.x + speed_x * _ARROW_S, base.y + speed_y * _ARROW_S, base.z)
            markers.append(self._arrow(header, marker, base, tip))
        yield self._markers(topic, markers)

    def _command(self, topic: str, message: Command) -> Iterator[RosMessage]:
        yield RosMessage(topic, "rt_sched_msgs/msg/Command", self._command_value(message))

    def _decision(self, topic: str, message: ArbiterDecision) -> Iterator[RosMessage]:
        header = self._header(message.capture_time_ns, "")
        decided_at = self._time(message.decided_at_ns)
        latency_s = (message.decided_at_ns - message.capture_time_ns) / NS_PER_S
        state, stale = message.state.value, list(message.stale_sensors)
        name = "rt_sched_msgs/msg/ArbiterDecision"
        command = self._command_value(message.command)
        value = self._types[name](
            header, decided_at, latency_s, state, message.selected, message.reason, stale, command
        )
        yield RosMessage(topic, name, value)

        pair = self._types["diagnostic_msgs/msg/KeyValue"]
        level, summary = _LEVEL[message.state]
        values = [
            pair("state", state),
            pair("selected", message.selected),
            pair("stale_sensors", ", ".join(stale)),
            pair("acceleration_m_s2", repr(float(message.command.acceleration_m_s2))),
            pair("emergency", str(message.command.emergency).lower()),
            pair("latency_ns", str(message.decided_at_ns - message.capture_time_ns)),
        ]
        text = f"{summary}: {message.reason}" if message.reason else summary
        status = self._types["diagnostic_msgs/msg/DiagnosticStatus"](level, f"arbiter {topic}", text, "", values)
        name = "diagnostic_msgs/msg/DiagnosticArray"
        diagnostics_header = self._types["std_msgs/msg/Header"](decided_at, "")
        yield RosMessage(DIAGNOSTICS_TOPIC, name, self._types[name](diagnostics_header, [status]))

    def _ego_motion(self, topic: str, message: EgoMotion) -> Iterator[RosMessage]:
        name = "rt_sched_msgs/msg/EgoMotion"
        value = self._types[name](
            self._header(message.capture_time_ns, message.frame_id),
            message.yaw_rate_rad_s,
            message.forward_acceleration_m_s2,
            message.heading_rad,
            message.speed_change_m_s,
        )
        yield RosMessage(topic, name, value)

    def _command_value(self, command: Command) -> Any:
        collision_ns = command.time_to_collision_ns
        return self._types["rt_sched_msgs/msg/Command"](
            self._header(command.capture_time_ns, ""),
            command.source,
            command.counter,
            command.acceleration_m_s2,
            command.emergency,
            math.inf if collision_ns is None else collision_ns / NS_PER_S,
            command.valid,
            [view.sensor for view in command.views],
            [self._time(view.capture_time_ns) for view in command.views],
        )

    def _time(self, run_time_ns: int) -> Any:
        seconds, nanoseconds = divmod(self._time_zero_ns + int(run_time_ns), NS_PER_S)
        if not -(2**31) <= seconds < 2**31:
            raise DataError(
                f"the stamp {self._time_zero_ns + int(run_time_ns)} ns lies outside the years 1901 to 2038 "
                "that a ROS 2 time can hold; correct the clock of the recording"
            )
        return self._types["builtin_interfaces/msg/Time"](seconds, nanoseconds)

    def _header(self, run_time_ns: int, frame_id: str) -> Any:
        return self._types["std_msgs/msg/Header"](self._time(run_time_ns), frame_id)

    def _pose(self, x: float, y: float, z: float, yaw_rad: float) -> Any:
        turn = self._types["geometry_msgs/msg/Quaternion"](0.0, 0.0, math.sin(yaw_rad / 2), math.cos(yaw_rad / 2))
        return self._types["geometry_msgs/msg/Pose"](self._point(x, y, z), turn)

    def _quaternion(self, rotation: npt.NDArray[np.float64]) -> Any:
        """Unit quaternion of a rotation matrix, by its largest component (S. W. Shepperd, 1978)."""
        (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = rotation.tolist()
        squares = (1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz, 1 + xx + yy + zz)
        rows = (
            (squares[0], xy + yx, xz + zx, zy - yz),
            (xy + yx, squares[1], yz + zy, xz - zx),
            (xz + zx, yz + zy, squares[2], yx - xy),
            (zy - yz, xz - zx, yx - xy, squares[3]),
        )
        row = rows[max(range(4), key=squares.__getitem__)]
        length = math.hypot(*row)
        return self._types["geometry_msgs/msg/Quaternion"](*(value / length for value in row))

    def _hypothesis(self, name: str, score: float, pose: Any = None) -> Any:
        types = self._types
        pose = types["geometry_msgs/msg/Pose"](self._point(0.0, 0.0, 0.0), self._upright) if pose is None else pose
        with_covariance = types["geometry_msgs/msg/PoseWithCovariance"](pose, self._no_covariance)
        hypothesis = types["vision_msgs/msg/ObjectHypothesis"](name, score)
        return types["vision_msgs/msg/ObjectHypothesisWithPose"](hypothesis, with_covariance)

    def _detections_3d(
        self, topic: str, header: Any, poses: list[Any], sizes: list[Any], objects: list[tuple[str, float, str]]
    ) -> RosMessage:
        box_3d, detection = self._types["vision_msgs/msg/BoundingBox3D"], self._types["vision_msgs/msg/Detection3D"]
        found = [
            detection(header, [self._hypothesis(label, score, pose)], box_3d(pose, size), name)
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
        pose, scale = self._pose(0.0, 0.0, 0.0, 0.0), self._types["geometry_msgs/msg/Vector3"](1.0, 1.0, 1.0)
        return self._marker(header, "", 0, kind.CUBE, scale, (0.0, 0.0, 0.0, 0.0), pose, [], "", action=kind.DELETEALL)

    def _cube(self, header: Any, marker_id: int, pose: Any, size: Any, colour: tuple[float, float, float]) -> Any:
        kind = self._types["visualization_msgs/msg/Marker"]
        return self._marker(header, "boxes", marker_id, kind.CUBE, size, (*colour, 0.5), pose, [], "", kind.ADD)

    def _label(self, header: Any, marker_id: int, position: Any, text: str) -> Any:
        kind = self._types["visualization_msgs/msg/Marker"]
        pose = self._types["geometry_msgs/msg/Pose"](position, self._upright)
        scale = self._types["geometry_msgs/msg/Vector3"](0.0, 0.0, 0.6)
        white = (1.0, 1.0, 1.0, 1.0)
        return self._marker(header, "labels", marker_id, kind.TEXT_VIEW_FACING, scale, white, pose, [], text, kind.ADD)

    def _arrow(self, header: Any, marker_id: int, base: Any, tip: Any) -> Any:
        kind = self._types["visualization_msgs/msg/Marker"]
        pose = self._pose(0.0, 0.0, 0.0, 0.0)
        scale = self._types["geometry_msgs/msg/Vector3"](0.15, 0.35, 0.4)
        yellow = (1.0, 0.9, 0.1, 1.0)
        return self._marker(header, "velocities", marker_id, kind.ARROW, scale, yellow, pose, [base, tip], "", kind.ADD)


def _colour_of(name: str) -> tuple[float, float, float]:
    return _PALETTE[zlib.crc32(name.encode()) % len(_PALETTE)]
