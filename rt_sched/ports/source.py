"""What a recording is, whatever file format it has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol


class TopicKind(str, Enum):
    """What the messages of a topic are to this product; OTHER is anything it does not map to a sensor."""

    CAMERA = "camera"
    LIDAR = "lidar"
    IMU = "imu"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class TopicInfo:
    """One topic of a recording. `schema` is the ROS 2 type name, such as sensor_msgs/msg/Imu."""

    name: str
    schema: str
    kind: TopicKind
    messages: int


@dataclass(frozen=True, slots=True, eq=False)
class RecordedMessage:
    """One message as it lies in the file, with its header stamp already read.

    `log_time_ns`: when the recorder got it. `capture_time_ns`: header stamp, or None where the type has none or it
    is zero. `index`: running number in file order over the whole recording. `problem`: why it cannot be decoded, or
    None. `payload` is the format's own serialised data; `Recording.decode` turns it into a message.
    """

    topic: str
    index: int
    log_time_ns: int
    capture_time_ns: int | None
    payload: Any
    problem: str | None = None


class Recording(Protocol):
    """An opened recording. Iteration may be repeated and always gives the same sequence."""

    @property
    def path(self) -> str: ...
    @property
    def files(self) -> Sequence[str]:
        """The files in which it lies; `path` itself, but where that is a folder."""

    @property
    def topics(self) -> Sequence[TopicInfo]: ...
    @property
    def damage(self) -> str | None:
        """What was unreadable, with the byte offset, when opened with salvage; None for an intact file."""

    def messages(self, topics: Sequence[str] | None = None) -> Iterator[RecordedMessage]:
        """Messages in order of (log_time_ns, index); only the named topics where given."""

    def decode(self, message: RecordedMessage) -> Any:
        """The message as EncodedImage, PointCloud or ImuSample, stamps as recorded; raises DataError."""

    def close(self) -> None: ...
