"""Helpers of this folder's tests are imported by their bare names; `make` builds segments that end with the test."""

import sys
from pathlib import Path

import pytest

from rt_sched.model.task import Edge, EdgeKind, Overflow
from rt_sched.transport import Channel, ChannelReader, Segment

sys.path.insert(0, str(Path(__file__).parent))

EDGES = {
    "latest": Edge(EdgeKind.LATEST),
    "oldest": Edge(EdgeKind.QUEUE, 3, Overflow.DROP_OLDEST),
    "newest": Edge(EdgeKind.QUEUE, 3, Overflow.DROP_NEWEST),
}


@pytest.fixture
def make():
    """make(reader=edge, ...): a segment with one channel, "frames"; an edge may be "latest", "oldest" or "newest"."""
    segments = []

    def made(*, message_bytes=64, loans=1, holds=1, bell=None, **readers):
        edges = {name: EDGES.get(edge, edge) for name, edge in readers.items()}
        ends = tuple(ChannelReader(name, edge, holds, bell) for name, edge in edges.items())
        segments.append(Segment.create([Channel("frames", message_bytes, ends, loans)]))
        return segments[-1]

    yield made
    for segment in segments:
        segment.close()
