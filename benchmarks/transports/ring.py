"""rt_sched.transport: a queue in shared memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rt_sched.model.task import Edge, EdgeKind
from rt_sched.transport import Channel, ChannelReader, Segment
from transports import DEPTH

TITLE = "rt-sched"
IN_PLACE = True


class Peer:
    def __init__(self, size: int) -> None:
        reader = ChannelReader("reader", Edge(EdgeKind.QUEUE, DEPTH))
        self.segment = Segment.create([Channel("c", size, (reader,))])
        self.size = size

    def receiver(self) -> Iterator[memoryview]:
        reader = self.segment.reader("c", "reader")
        while True:
            message = reader.take()
            if message is None:
                reader.wait(None)
                continue
            yield message.data
            message.release()

    def sender(self) -> None:
        self.writer = self.segment.writer("c")

    def send(self, source: np.ndarray) -> None:
        self.writer.send(source.data, 0, 0)

    def loan(self) -> memoryview:
        self.open = self.writer.loan(self.size)
        return self.open.data

    def publish(self) -> None:
        self.writer.publish(self.open, 0, 0)

    def close(self) -> None:
        self.writer.close()
        self.segment.close()
