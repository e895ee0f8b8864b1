"""Plays the recording: one process decodes ahead, another publishes every sample at its instant.

The second does nothing but copy bytes and wait, so it may stand above all tasks. A sample that is not decoded in time
is published late, after those before it and before those after it: the order is that of the recording, and how late
each one was is kept. Time is never stretched.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rt_sched.errors import DataError
from rt_sched.ports import RecordedMessage, Writer
from rt_sched.runtime.feed import SampleFeed
from rt_sched.runtime.paced.clock import PacedClock
from rt_sched.runtime.paced.feed.line import ReadyLine
from rt_sched.runtime.paced.jobs.codec import Encoded
from rt_sched.runtime.stage_graph import NoData, Outputs
from rt_sched.trace.records import SampleTable


@dataclass(frozen=True, slots=True)
class Playback:
    """`lines`: by sensor, what lies decoded; none where nobody reads it. `published_ns`: of each, -1 before."""

    samples: SampleTable
    lines: tuple[ReadyLine | None, ...]
    published_ns: npt.NDArray[np.int64]
    clock: PacedClock

    @property
    def filled(self) -> bool:
        """Whether no more can be decoded before the begin, as a line is full, or there is nothing to decode."""
        lines = [line for line in self.lines if line is not None]
        return not lines or any(line.filled for line in lines)


def decode_ahead(playback: Playback, feed: SampleFeed, decode: Callable[[RecordedMessage], Any]) -> None:
    """Decodes sample after sample, as far ahead as the line is long; returns when all are or the run has ended."""
    samples = playback.samples
    for row in range(len(samples)):
        message, capture_ns = feed.next(), int(samples.capture_ns[row])
        line = playback.lines[int(samples.sensor[row])]
        if line is None:
            continue
        if not line.put(Encoded(_decoded(message, capture_ns, decode)), row, capture_ns):
            return
    for line in playback.lines:
        if line is not None:
            line.close()


def _decoded(message: RecordedMessage, capture_ns: int, decode: Callable[[RecordedMessage], Any]) -> Outputs | NoData:
    try:
        decoded = decode(message)
    except DataError as error:
        return NoData("decode", str(error))
    return Outputs({None: dataclasses.replace(decoded, capture_time_ns=capture_ns)})


def publish_on_time(playback: Playback, writers: Sequence[Writer | None]) -> None:
    """Publishes sample after sample until all are or the run has ended. `writers`: by sensor, claimed."""
    samples, clock = playback.samples, playback.clock
    for row in range(len(samples)):
        line, writer = playback.lines[int(samples.sensor[row])], writers[int(samples.sensor[row])]
        if line is None or writer is None:
            continue
        letter = line.get()
        if letter is None:
            return
        loan = writer.loan(len(letter.data))
        loan.data[:] = letter.data
        if not clock.sleep_until(int(samples.arrival_ns[row])):
            return
        published_ns = clock.now_ns()
        writer.publish(loan, letter.head.capture_ns, published_ns, tag=row)
        playback.published_ns[row] = published_ns
        letter.release()
