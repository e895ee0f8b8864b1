"""Recorded messages in the order in which the schedule delivers them, read once from start to end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from rt_sched.errors import DataError
from rt_sched.ports import RecordedMessage, Recording
from rt_sched.runtime.timeline import Timeline


class SampleFeed:
    """Hands out the recorded message of each sample, samples asked for in rising order.

    Holds back only messages whose file order differs from their arrival order.
    """

    def __init__(self, recording: Recording, topics: Sequence[str], timeline: Timeline) -> None:
        self._path = recording.path
        self._messages: Iterator[RecordedMessage] = iter(recording.messages(topics))
        self._file_index = timeline.file_index
        self._accepted = np.zeros(int(timeline.file_index.max(initial=-1)) + 1, np.bool_)
        self._accepted[timeline.file_index] = True
        self._held: dict[int, RecordedMessage] = {}
        self._next = 0

    @property
    def position(self) -> int:
        """The sample that `next()` hands out."""
        return self._next

    def next(self) -> RecordedMessage:
        """The message of sample `position`; raises DataError when the recording changed since its stamps were read."""
        wanted = int(self._file_index[self._next])
        while wanted not in self._held:
            message = next(self._messages, None)
            if message is None:
                raise DataError(f"{self._path}: changed while it was being read")
            if message.index < len(self._accepted) and self._accepted[message.index]:
                self._held[message.index] = message
        self._next += 1
        return self._held.pop(wanted)
