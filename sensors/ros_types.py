"""ROS message types as recordings carry them: names, definitions, header stamps, deserialisation.

Serialised data is ROS 2 CDR (OMG CDR with a four byte encapsulation header) or ROS 1 (packed little-endian).
"""

from __future__ import annotations

import re
import struct
import threading
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rt_sched.errors import DataError
from rt_sched.ports.source import RecordedMessage, TopicKind
from rt_sched.units import NS_PER_S

IMAGE = "sensor_msgs/msg/Image"
COMPRESSED_IMAGE = "sensor_msgs/msg/CompressedImage"
POINT_CLOUD = "sensor_msgs/msg/PointCloud2"
VELODYNE_SCAN = "velodyne_msgs/msg/VelodyneScan"
IMU = "sensor_msgs/msg/Imu"

_KINDS = {
    IMAGE: TopicKind.CAMERA,
    COMPRESSED_IMAGE: TopicKind.CAMERA,
    POINT_CLOUD: TopicKind.LIDAR,
    VELODYNE_SCAN: TopicKind.LIDAR,
    IMU: TopicKind.IMU,
}
#: Types that ROS itself does not define.
_FURTHER = {
    "velodyne_msgs/msg/VelodynePacket": "{time} stamp\nuint8[1206] data",
    VELODYNE_SCAN: "std_msgs/Header header\nvelodyne_msgs/VelodynePacket[] packets",
}
_HEADER_FIELD = re.compile(r"(?:std_msgs/)?(?:msg/)?Header\s+\w+")
_IDL_FORMATS = ("ros2idl", "omgidl")
_RULER = "=" * 80
_NOT_IDL = re.compile(r"^(?:#|IDL: ).*$", re.MULTILINE)
_CDR_STAMP = {0: struct.Struct(">iI"), 1: struct.Struct("<iI")}
_ROS1_STAMP = struct.Struct("<II")
_CDR_STAMP_OFFSET = 4
_ROS1_STAMP_OFFSET = 4


@dataclass(frozen=True, slots=True, eq=False)
class RosChannel:
    """One stream of equally typed messages on a topic.

    `schema`: type name in the form pkg/msg/Type where it is a ROS type, else as recorded. `encoding`: "cdr", "ros1"
    or what else the file says. `definition`, `definition_format` ("ros1msg", "ros2msg", "ros2idl", "omgidl"): the
    type's text,
    empty where the file has none. `has_header`: the type begins with a std_msgs/Header. `problem`: why no message of
    this channel can be decoded, or None.
    """

    topic: str
    schema: str
    encoding: str
    definition: str
    definition_format: str
    has_header: bool
    problem: str | None

    @property
    def kind(self) -> TopicKind:
        """What the channel is to this product; OTHER when its encoding is not a ROS one."""
        return _KINDS.get(self.schema, TopicKind.OTHER) if self.encoding in ("cdr", "ros1") else TopicKind.OTHER


@dataclass(frozen=True, slots=True, eq=False)
class SerializedMessage:
    """The payload of a recorded message: bytes as they lie in the file and the channel that says what they are."""

    data: memoryview
    channel: RosChannel


def ros_type_name(name: str) -> str:
    """pkg/Type and pkg/msg/Type, both as pkg/msg/Type; anything else unchanged."""
    parts = name.split("/")
    return f"{parts[0]}/msg/{parts[1]}" if len(parts) == 2 else name


def make_channel(topic: str, schema: str, encoding: str, definition: str, definition_format: str) -> RosChannel:
    """A channel with everything that follows from its type worked out."""
    ros = encoding in ("cdr", "ros1")
    name = ros_type_name(schema) if ros else schema
    problem = None
    if not ros:
        problem = f"message encoding {encoding!r} is not read; cdr and ros1 are"
    elif name not in _KINDS:
        problem = f"type {name or '(none)'} is not decoded; decoded are {', '.join(_KINDS)}"
    has_header = ros and _begins_with_header(name, definition if definition_format.endswith("msg") else "")
    return RosChannel(topic, name, encoding, definition, definition_format, has_header, problem)


def _begins_with_header(schema: str, definition: str) -> bool:
    if schema in _KINDS:
        return True
    for raw_line in definition.splitlines():
        line = raw_line.split("#")[0].strip()
        if line.startswith("==="):
            return False
        if line and "=" not in line:
            return _HEADER_FIELD.fullmatch(line) is not None
    return False


def recorded_message(channel: RosChannel, index: int, log_time_ns: int, data: memoryview) -> RecordedMessage:
    """The message with its capture stamp read from the bytes; a stamp that cannot be one becomes its `problem`."""
    capture_time_ns, problem = _header_stamp(channel, data) if channel.has_header else (None, None)
    payload = SerializedMessage(data, channel)
    return RecordedMessage(
        channel.topic, index, log_time_ns, capture_time_ns, payload, problem=problem or channel.problem
    )


def _header_stamp(channel: RosChannel, data: memoryview) -> tuple[int | None, str | None]:
    """(stamp or None where it is zero, problem or None)."""
    if channel.encoding == "cdr":
        if len(data) < _CDR_STAMP_OFFSET + 8:
            return None, f"message of {len(data)} bytes is too short for a header"
        if data[0] != 0 or data[1] > 1:
            return None, f"CDR encapsulation {data[0]:02x} {data[1]:02x} is not read; plain CDR (00 00, 00 01) is"
        seconds, nanoseconds = _CDR_STAMP[data[1]].unpack_from(data, _CDR_STAMP_OFFSET)
    else:
        if len(data) < _ROS1_STAMP_OFFSET + 8:
            return None, f"message of {len(data)} bytes is too short for a header"
        seconds, nanoseconds = _ROS1_STAMP.unpack_from(data, _ROS1_STAMP_OFFSET)
    if nanoseconds >= NS_PER_S or seconds < 0:
        return None, f"header stamp {seconds} s + {nanoseconds} ns is not a time"
    return seconds * NS_PER_S + nanoseconds or None, None


_STORE_LOCK = threading.Lock()


def deserialize(message: SerializedMessage) -> Any:
    """The message as an object with the fields of its type; raises DataError.

    The file's own definition of the type is used where it has a readable one, else the standard one of ROS.
    """
    channel = message.channel
    with _STORE_LOCK:
        store = _typestore(channel.schema, channel.encoding, channel.definition, channel.definition_format)
    try:
        if channel.encoding == "cdr":
            return store.deserialize_cdr(message.data, channel.schema)
        return store.deserialize_ros1(message.data, channel.schema)
    # Generated code reports bad bytes by whatever exception they happen to cause.
    except Exception as error:
        raise DataError(f"{channel.schema} message of {len(message.data)} bytes is damaged: {error}") from None


@lru_cache(maxsize=64)
def _typestore(schema: str, encoding: str, definition: str, definition_format: str) -> Any:
    """One store per definition, because two channels of a file may define one nested type differently."""
    from rosbags.typesys import Stores, get_types_from_idl, get_types_from_msg, get_typestore

    standard = get_typestore(Stores.ROS1_NOETIC if encoding == "ros1" else Stores.ROS2_HUMBLE)
    time = "time" if encoding == "ros1" else "builtin_interfaces/Time"
    for name, text in _FURTHER.items():
        standard.register(get_types_from_msg(text.format(time=time), name))
    if not definition:
        return standard
    store = get_typestore(Stores.EMPTY)
    try:
        if definition_format in _IDL_FORMATS:
            # Recorders bundle the files of a type and all it uses, each below a ruler and a line with its name.
            # What the files include is in the bundle, and the parser knows no preprocessor lines.
            for text in filter(None, (_NOT_IDL.sub("", part).strip() for part in definition.split(_RULER))):
                store.register(get_types_from_idl(text))
        else:
            store.register(get_types_from_msg(definition, schema))
        store.get_msgdef(schema)
    # The parser and the code generator have no common exception for a text they cannot read.
    except Exception:
        return standard
    return store
