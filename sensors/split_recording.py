"""A recording that lies in several files: a bag that was split by size or time, or topics recorded apart."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rt_sched.messages.sensor import SensorMessage
from rt_sched.ports.source import RecordedMessage, Recording, TopicInfo
from sensors.ros_decode import decode_message


class SplitRecording:
    """Its messages in the order in which they were logged, whatever file they lie in; gaps between files are kept.

    `path`: of the folder. `missing`: names of files that belong to it and are not there.
    """

    def __init__(self, path: str, parts: Sequence[Recording], missing: Sequence[str] = ()) -> None:
        self._path, self._parts, self._missing = path, tuple(parts), tuple(missing)

    @property
    def path(self) -> str:
        return self._path

    @property
    def files(self) -> Sequence[str]:
        return tuple(file for part in self._parts for file in part.files)

    @property
    def topics(self) -> Sequence[TopicInfo]:
        """By name; of the type of the first file that has it."""
        found: dict[str, TopicInfo] = {}
        for part in self._parts:
            for topic in part.topics:
                before = found.get(topic.name)
                counted = topic.messages + (before.messages if before else 0)
                found[topic.name] = replace(before or topic, messages=counted)
        return tuple(found[name] for name in sorted(found))

    @property
    def damage(self) -> str | None:
        """Each file's own, and the files that are missing."""
        notes = [f"{part.files[0]}: {part.damage}" for part in self._parts if part.damage]
        return "; ".join([*notes, *(f"{name} is missing" for name in self._missing)]) or None

    def messages(self, topics: Sequence[str] | None = None) -> Iterator[RecordedMessage]:
        """Messages in order of (log_time_ns, index); only the named topics where given. Raises DataError."""
        return heapq.merge(
            *(self._numbered(number, topics) for number in range(len(self._parts))),
            key=lambda message: (message.log_time_ns, message.index),
        )

    def _numbered(self, number: int, topics: Sequence[str] | None) -> Iterator[RecordedMessage]:
        """The messages of one file, numbered on from those of the files before it."""
        before = sum(topic.messages for part in self._parts[:number] for topic in part.topics)
        for message in self._parts[number].messages(topics):
            yield replace(message, index=before + message.index)

    def decode(self, message: RecordedMessage) -> SensorMessage:
        """The message as EncodedImage, PointCloud or ImuSample, stamps as recorded; raises DataError."""
        return decode_message(message)

    def close(self) -> None:
        """Give the files back. Messages already handed out stay valid."""
        for part in self._parts:
            part.close()
