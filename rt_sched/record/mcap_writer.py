"""Recorder of a run's outputs as an MCAP file (profile ros2, CDR) that Foxglove opens without a plug-in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from heapq import heappop, heappush
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from rt_sched.errors import DeploymentError
from rt_sched.messages import EncodedImage
from rt_sched.record.ros_messages import RosMessages
from rt_sched.record.ros_types import RosMessage
from rt_sched.record.schemas import schema_text
from rt_sched.units import NS_PER_MS

#: Written into the header instead of the library's version, so that equal outputs give equal files.
LIBRARY = "rt-sched output recorder 1"
_CHUNK_BYTES = 4 * 1024 * 1024
#: How long a message waits for earlier ones: a camera frame is handed over when a job first reads it, not on arrival.
_HOLD_BACK_NS = 200 * NS_PER_MS


class OutputRecorder:
    """Writes what stages published and the camera frames they saw into one MCAP file, in order of time.

    Messages may come up to 200 ms (of the run's clock) later than their turn. Later ones are written too, out of order,
    which the format allows and readers put right through its index.

    `path`: appears when `close` succeeds; until then the data lies beside it with the suffix .part.
    `time_zero_ns`: absolute time of the run's instant 0. Every log time, publish time and header stamp is that plus a
    time on the run's clock, so a viewer shows the recording's own time line.

    Topics, for task `t` and port `p`:
        Detections2D      /t/p vision_msgs/Detection2DArray   /t/p/annotations foxglove_msgs/ImageAnnotations
        Boxes3D           /t/p vision_msgs/Detection3DArray   /t/p/markers visualization_msgs/MarkerArray
        TrackedObjects    /t/p vision_msgs/Detection3DArray   /t/p/markers visualization_msgs/MarkerArray
                          /t/p/weights rt_sched_msgs/FusionWeights
        ObjectChanges     /t/p rt_sched_msgs/ObjectChanges    /t/p/changed as TrackedObjects
        Situation         /t/p rt_sched_msgs/Situation
        MotionPlan        /t/p rt_sched_msgs/MotionPlan
        Command           /t/p rt_sched_msgs/Command
        ArbiterDecision   /t/p rt_sched_msgs/ArbiterDecision  /diagnostics diagnostic_msgs/DiagnosticArray
        EgoMotion         /t/p rt_sched_msgs/EgoMotion
        RoadCorridor      /t/p rt_sched_msgs/RoadCorridor     /t/p/markers visualization_msgs/MarkerArray
    Detections hold every object; markers show near objects and those with a class in detail, the others by outline.
    Annotations carry the capture stamp of their image, which a viewer needs to draw them over it.

    Raises DeploymentError when the file cannot be written.
    """

    def __init__(self, path: Path, *, time_zero_ns: int = 0) -> None:
        from mcap.writer import CompressionType, Writer

        if time_zero_ns < 0:
            raise ValueError(f"time_zero_ns is {time_zero_ns}; an MCAP log time is never negative")
        self._path = path
        self._part = path.with_name(path.name + ".part")
        self._time_zero_ns = time_zero_ns
        self._latest_ns = 0
        self._order = count()
        self._held: list[tuple[int, int, int, bytes]] = []
        self._messages = RosMessages(time_zero_ns)
        self._schemas: dict[str, int] = {}
        self._channels: dict[tuple[str, str], int] = {}
        self._sequences: dict[int, int] = {}
        try:
            self._file = self._part.open("wb")
        except OSError as error:
            raise DeploymentError(f"cannot write {path}: {error.strerror}") from error
        self._writer = Writer(self._file, chunk_size=_CHUNK_BYTES, compression=CompressionType.LZ4)
        self._writer.start(profile="ros2", library=LIBRARY)

    def add(self, time_ns: int, task_name: str, port: str, message: object) -> None:
        """Record what `task_name` published on `port` at `time_ns` on the run's clock.

        Types that no viewer can draw (tensors, decoded images) and bulk sensor data are passed over.
        """
        for ros_message in self._messages.convert(f"/{task_name}/{port}", message):
            self._write(time_ns, ros_message)

    def add_image(self, time_ns: int, topic: str, image: EncodedImage) -> None:
        """Record a camera frame that arrived at `time_ns`, as it was recorded; nothing is encoded again."""
        self._write(time_ns, self._messages.image(topic, image))

    def add_static_transforms(self, parent: str, child_to_parent: Mapping[str, Sequence[Sequence[float]]]) -> None:
        """Record where sensor frames sit in the frame `parent`, so that a viewer can show them in one scene.

        `child_to_parent`: frame -> 3 rows of 4, rotation and translation in metres. Comes before every other message.
        """
        matrices = {frame: np.asarray(rows, dtype=np.float64) for frame, rows in child_to_parent.items()}
        self._write(0, self._messages.static_transforms(parent, matrices))

    def close(self) -> None:
        """Finish the file and give it its name. A second call does nothing."""
        if self._file.closed:
            return
        self._flush(self._latest_ns)
        try:
            self._writer.finish()  # type: ignore[no-untyped-call]
            self._file.close()
            self._part.replace(self._path)
        except OSError as error:
            raise DeploymentError(f"cannot write {self._path}: {error.strerror}") from error

    def discard(self) -> None:
        """Give up: remove what was written. After `close` this does nothing."""
        if not self._file.closed:
            # What is still buffered fits on a full disk no better now than before, and is not wanted.
            with suppress(OSError):
                self._file.close()
            self._part.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()

    def _write(self, time_ns: int, message: RosMessage) -> None:
        channel = self._channel(message.topic, message.type_name)
        heappush(self._held, (int(time_ns), next(self._order), channel, message.data))
        self._latest_ns = max(self._latest_ns, int(time_ns))
        self._flush(self._latest_ns - _HOLD_BACK_NS)

    def _flush(self, until_ns: int) -> None:
        """Writes what is due at or before `until_ns`, in order of time, then in the order of the calls."""
        try:
            while self._held and self._held[0][0] <= until_ns:
                time_ns, _, channel, data = heappop(self._held)
                sequence = self._sequences[channel] = self._sequences[channel] + 1
                log_time_ns = self._time_zero_ns + time_ns
                self._writer.add_message(channel, log_time_ns, data, log_time_ns, sequence)
        except OSError as error:
            raise DeploymentError(f"cannot write {self._path}: {error.strerror}") from error

    def _channel(self, topic: str, type_name: str) -> int:
        channel = self._channels.get((topic, type_name))
        if channel is None:
            if type_name not in self._schemas:
                text = schema_text(type_name).encode()
                self._schemas[type_name] = self._writer.register_schema(type_name, "ros2msg", text)
            channel = self._writer.register_channel(topic, "cdr", self._schemas[type_name])
            self._channels[topic, type_name] = channel
            self._sequences[channel] = 0
        return channel
