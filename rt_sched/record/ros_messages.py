"""Messages of this product as ROS 2 messages that viewers draw without a plug-in."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from rt_sched.messages import (
    ArbiterDecision,
    ArbiterState,
    Boxes3D,
    Command,
    Detections2D,
    EgoMotion,
    EncodedImage,
    RoadCorridor,
)
from rt_sched.record.bulk_messages import detection_2d_array, image_annotations
from rt_sched.record.ros_decision import DecisionMessages
from rt_sched.record.ros_scene import SceneMessages, corridor_markers
from rt_sched.record.ros_types import RosMessage, RosTypes, colour_of
from rt_sched.units import NS_PER_S

#: Where the state of the arbiter appears, the topic on which ROS tools look for diagnostics.
DIAGNOSTICS_TOPIC = "/diagnostics"

_COMMAND = "rt_sched_msgs/msg/Command"
_LEVEL = {
    ArbiterState.STARTING: (1, "starting"),
    ArbiterState.NOMINAL: (0, "nominal"),
    ArbiterState.DEGRADED: (1, "degraded"),
    ArbiterState.BACKUP: (2, "backup path in command"),
    ArbiterState.MINIMAL_RISK: (2, "minimal-risk manoeuvre"),
}


class RosMessages:
    """Converter with the time offset of one run: absolute stamp = `time_zero_ns` + stamp on the run's clock."""

    def __init__(self, time_zero_ns: int) -> None:
        self._build = RosTypes(time_zero_ns)
        self._types = self._build.types
        scene = SceneMessages(self._build)
        self._converters: dict[type, Callable[[str, Any], Iterator[RosMessage]]] = {
            Detections2D: self._detections,
            Boxes3D: scene.boxes,
            Command: self._command,
            ArbiterDecision: self._decision,
            EgoMotion: self._ego_motion,
            RoadCorridor: self._corridor,
            **DecisionMessages(self._build, scene).converters,
        }

    def convert(self, topic: str, message: object) -> Iterator[RosMessage]:
        """ROS 2 messages that show `message`; none for a type that is not recorded, such as Tensor or CameraImage.

        Raises DataError when a stamp does not fit into a ROS 2 time.
        """
        converter = self._converters.get(type(message))
        return iter(()) if converter is None else converter(topic, message)

    def image(self, topic: str, image: EncodedImage) -> RosMessage:
        """The frame as it was recorded, its bytes untouched."""
        header = self._build.header(image.capture_time_ns, image.frame_id)
        data = np.frombuffer(image.data, dtype=np.uint8)
        if image.height == 0:
            name = "sensor_msgs/msg/CompressedImage"
            return self._build.message(topic, name, header, image.encoding, data)
        name, big_endian = "sensor_msgs/msg/Image", int(image.big_endian)
        layout = (image.height, image.width, image.encoding, big_endian, image.row_bytes)
        return self._build.message(topic, name, header, *layout, data)

    def static_transforms(self, parent: str, child_to_parent: Mapping[str, npt.NDArray[np.float64]]) -> RosMessage:
        """Poses of sensor frames in the frame `parent`; each matrix is float64[3, 4], rotation and translation."""
        transforms = []
        for child, matrix in child_to_parent.items():
            x, y, z = (float(value) for value in matrix[:, 3])
            transform = self._types["geometry_msgs/msg/Transform"](
                self._build.vector(x, y, z), self._build.quaternion(matrix[:, :3])
            )
            header = self._build.header(0, parent)
            transforms.append(self._types["geometry_msgs/msg/TransformStamped"](header, child, transform))
        return self._build.message("/tf_static", "tf2_msgs/msg/TFMessage", transforms)

    def _detections(self, topic: str, message: Detections2D) -> Iterator[RosMessage]:
        stamp, names = self._build.stamp(message.capture_time_ns), message.class_names
        boxes: list[list[float]] = message.boxes_px.tolist()
        scores: list[float] = message.scores.tolist()
        middles = [
            ((x_min + x_max) / 2, (y_min + y_max) / 2, x_max - x_min, y_max - y_min)
            for x_min, y_min, x_max, y_max in boxes
        ]
        ids = [str(number) if number else "" for number in message.tracks.ids] if message.tracks else [""] * len(names)
        numbers = [f" #{number}" if number else "" for number in ids]
        data = detection_2d_array(stamp, message.frame_id, names, scores, middles, ids)
        yield RosMessage(topic, "vision_msgs/msg/Detection2DArray", data)

        data = image_annotations(
            stamp,
            boxes,
            [(*colour_of(name), 1.0) for name in names],
            [f"{name} {score:.2f}{number}" for name, score, number in zip(names, scores, numbers, strict=True)],
            thickness=max(1.0, message.image_width / 640),
            font_size=max(8.0, message.image_width / 80),
        )
        yield RosMessage(f"{topic}/annotations", "foxglove_msgs/msg/ImageAnnotations", data)

    def _command(self, topic: str, message: Command) -> Iterator[RosMessage]:
        yield self._build.message(topic, _COMMAND, *self._command_fields(message))

    def _decision(self, topic: str, message: ArbiterDecision) -> Iterator[RosMessage]:
        header = self._build.header(message.capture_time_ns, "")
        decided_at = self._build.time(message.decided_at_ns)
        latency_s = (message.decided_at_ns - message.capture_time_ns) / NS_PER_S
        state, stale = message.state.value, list(message.stale_sensors)
        name = "rt_sched_msgs/msg/ArbiterDecision"
        command = self._types[_COMMAND](*self._command_fields(message.command))
        chosen = (state, message.selected, message.reason, stale, command)
        yield self._build.message(topic, name, header, decided_at, latency_s, *chosen)

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
        yield self._build.message(DIAGNOSTICS_TOPIC, name, diagnostics_header, [status])

    def _corridor(self, topic: str, message: RoadCorridor) -> Iterator[RosMessage]:
        yield self._build.message(
            topic,
            "rt_sched_msgs/msg/RoadCorridor",
            self._build.header(message.capture_time_ns, message.frame_id),
            message.camera,
            message.method,
            message.confidence,
            message.stations_m,
            message.left_m,
            message.right_m,
            message.left_seen,
            message.right_seen,
        )
        yield corridor_markers(topic, self._build.stamp(message.capture_time_ns), message)

    def _ego_motion(self, topic: str, message: EgoMotion) -> Iterator[RosMessage]:
        yield self._build.message(
            topic,
            "rt_sched_msgs/msg/EgoMotion",
            self._build.header(message.capture_time_ns, message.frame_id),
            message.yaw_rate_rad_s,
            message.forward_acceleration_m_s2,
            message.heading_rad,
            message.speed_change_m_s,
        )

    def _command_fields(self, command: Command) -> tuple[Any, ...]:
        collision_ns = command.time_to_collision_ns
        return (
            self._build.header(command.capture_time_ns, ""),
            command.source,
            command.counter,
            command.acceleration_m_s2,
            command.emergency,
            math.inf if collision_ns is None else collision_ns / NS_PER_S,
            command.valid,
            [view.sensor for view in command.views],
            [self._build.time(view.capture_time_ns) for view in command.views],
        )
