"""What is known before a paced run of the size of its messages, and what becomes of one that is larger."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from rt_sched.app.inputs.decoding import largest_messages
from rt_sched.app.paced.rehearsing import rehearsed_until_ns
from rt_sched.config import load_system_text
from rt_sched.errors import DataError
from rt_sched.runtime.paced.clock import PacedClock
from rt_sched.runtime.paced.feed.line import ReadyLine, line_channels
from rt_sched.runtime.paced.jobs.codec import Encoded
from rt_sched.runtime.paced.jobs.rehearsal import REHEARSED_NS
from rt_sched.runtime.stage_graph import NoData, Outputs
from rt_sched.trace.records import SampleStatus, SampleTable
from rt_sched.transport import Segment

S = 1_000_000_000
SYSTEM = """
rt_sched: 1
name: late
devices: {ecu: {processing_elements: {cpu: {kind: cpu}}}}
sensors:
  eye: {kind: camera, rate: 20Hz, attached_to: ecu, topic: /eye}
  top: {kind: lidar, rate: 10Hz, attached_to: ecu, topic: /top}
tasks:
  see: {runs_on: ecu.cpu, inputs: {image: eye}, execution: {wcet: 1ms}}
"""


@pytest.mark.parametrize(
    ("eye_ns", "read", "until_ns"),
    [
        (1 * S, {"eye", "top"}, 2 * S),
        (4 * S, {"eye", "top"}, 4 * S),
        (4 * S, {"top"}, 2 * S),
        (60 * S, {"eye", "top"}, 2 * S),
    ],
)
def test_the_rehearsal_waits_for_every_sensor_that_is_read(eye_ns: int, read: set[str], until_ns: int) -> None:
    system = load_system_text(SYSTEM, file_name="x", base_dir=Path(), stages=None)
    arrival_ns = np.array([2 * S, eye_ns, 3 * S], np.int64)
    status = np.full(3, SampleStatus.WAITING, np.int8)
    samples = SampleTable(np.array([1, 0, 1], np.int32), np.arange(3), arrival_ns, arrival_ns, status)
    assert rehearsed_until_ns(system, samples, read) == until_ns + REHEARSED_NS


@dataclass
class _Sent:
    topic: str
    payload: SimpleNamespace
    problem: str | None = None


def test_the_largest_message_of_the_whole_recording_counts() -> None:
    sent = [
        _Sent("/eye", SimpleNamespace(data=b"x" * size), problem)
        for size, problem in ((10, None), (90_000, None), (200_000, "cut off"), (20, None))
    ]
    sent.append(_Sent("/top", SimpleNamespace(data=b"damaged"), None))

    def decode(message: _Sent) -> bytes:
        if message.topic == "/top":
            raise DataError("damaged")
        return bytes(message.payload.data)

    recording = SimpleNamespace(messages=lambda topics: iter(sent))
    found = largest_messages(recording, {"/eye": "eye", "/top": "top"}, decode)  # type: ignore[arg-type]
    assert found == {"eye": Encoded(Outputs({None: b"x" * 90_000})).size}
    assert largest_messages(recording, {}, decode) == {}  # type: ignore[arg-type]


def test_a_sample_that_is_larger_than_its_channel_is_replaced_by_the_reason() -> None:
    system = load_system_text(SYSTEM, file_name="x", base_dir=Path(), stages=None)
    (channel,) = line_channels(system, {"eye": 4096})
    segment = Segment.create([channel])
    line = ReadyLine(segment, channel, PacedClock())  # type: ignore[arg-type]
    for row, size in enumerate((100, 9000, 100)):
        assert line.put(Encoded(Outputs({None: b"x" * size})), row, 0)
    contents = []
    for _ in range(3):
        letter = line.get()
        assert letter is not None
        contents.append(letter.value())
        letter.release()
    assert [isinstance(one, NoData) for one in contents] == [False, True, False]
    assert isinstance(contents[1], NoData) and "does not fit" in contents[1].reason
