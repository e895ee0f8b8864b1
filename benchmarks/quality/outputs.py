"""What a replay saw and decided, read back from the output.mcap of its run folder."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rt_sched.errors import DataError

Array = npt.NDArray[np.float64]

#: Fused objects are read where they are made, not from copies of them on other devices.
_DETECTIONS, _OBJECTS, _DECISION = "/detections", "/fuse/objects", "rt_sched_msgs/msg/ArbiterDecision"


@dataclass(frozen=True, slots=True, eq=False)
class Detections:
    """Boxes float64[n, 4] (x_min, y_min, x_max, y_max in pixels) that one frame of one camera gave."""

    camera: str
    time_ns: int
    boxes: Array
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Tracks:
    """Fused objects at an instant: centres float64[n, 2] and sizes float64[n, 2] on the ground, vehicle frame."""

    time_ns: int
    ids: tuple[str, ...]
    centres: Array
    sizes: Array
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Decision:
    """The command that went to the actuators at `time_ns`; `ttc_s` is infinite when nothing closes in."""

    time_ns: int
    acceleration_m_s2: float
    emergency: bool
    ttc_s: float
    state: str
    selected: str


@dataclass(frozen=True, slots=True)
class Outputs:
    """Everything of a run that is judged, each in order of time."""

    detections: list[Detections] = field(default_factory=list)
    tracks: list[Tracks] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)


def read_outputs(path: Path) -> Outputs:
    """The outputs in the MCAP file `path`; header stamps and decision times are absolute, in ns."""
    from mcap.reader import make_reader
    from mcap_ros2.decoder import DecoderFactory

    found = Outputs()
    with path.open("rb") as stream:
        reader = make_reader(stream, decoder_factories=[DecoderFactory()])
        summary = reader.get_summary()
        if summary is None:
            raise DataError(f"{path}: has no summary")
        schemas = {number: schema.name for number, schema in summary.schemas.items()}
        wanted = [
            channel.topic
            for channel in summary.channels.values()
            if channel.topic.endswith(_DETECTIONS)
            or channel.topic == _OBJECTS
            or schemas[channel.schema_id] == _DECISION
        ]
        for schema, channel, _, message in reader.iter_decoded_messages(topics=wanted):
            if schema is None:
                continue
            name = schema.name.removeprefix("vision_msgs/msg/")
            if name == "Detection2DArray":
                found.detections.append(_detections(message))
            elif channel.topic == _OBJECTS:
                found.tracks.append(_tracks(message))
            elif schema.name == _DECISION:
                found.decisions.append(_decision(message))
    return found


def _stamp_ns(stamp: Any) -> int:
    return int(stamp.sec) * 10**9 + int(stamp.nanosec)


def _detections(message: Any) -> Detections:
    boxes = [
        (
            item.bbox.center.position.x - item.bbox.size_x / 2,
            item.bbox.center.position.y - item.bbox.size_y / 2,
            item.bbox.center.position.x + item.bbox.size_x / 2,
            item.bbox.center.position.y + item.bbox.size_y / 2,
        )
        for item in message.detections
    ]
    labels = tuple(item.results[0].hypothesis.class_id for item in message.detections)
    camera = message.header.frame_id.removesuffix("_optical")
    return Detections(camera, _stamp_ns(message.header.stamp), np.array(boxes).reshape(-1, 4), labels)


def _tracks(message: Any) -> Tracks:
    items = message.detections
    return Tracks(
        _stamp_ns(message.header.stamp),
        tuple(item.id for item in items),
        np.array([(i.bbox.center.position.x, i.bbox.center.position.y) for i in items]).reshape(-1, 2),
        np.array([(i.bbox.size.x, i.bbox.size.y) for i in items]).reshape(-1, 2),
        tuple(item.results[0].hypothesis.class_id for item in items),
    )


def _decision(message: Any) -> Decision:
    command = message.command
    return Decision(
        _stamp_ns(message.decided_at),
        float(command.acceleration_m_s2),
        bool(command.emergency),
        float(command.time_to_collision_s),
        str(message.state),
        str(message.selected),
    )
