"""The process `rt-link-NAME`: holds every message for as long as the modelled link would have it, then hands it on.

All processes share the memory of one host, so nothing really travels. What is emulated is when messages arrive, in
which order, and which never do; how late the process is beside the model is measured.
"""

from __future__ import annotations

import gc
import heapq
import signal
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from rt_sched.ports import Message, Port, Reader, Writer
from rt_sched.runtime.host.child import name_process
from rt_sched.runtime.host.memory import keep_freed_memory, lock_memory
from rt_sched.runtime.host.refusal import Refused
from rt_sched.runtime.host.scheduling import Scheduling, set_scheduling
from rt_sched.runtime.host.sleeping import set_timer_slack_ns
from rt_sched.runtime.paced.clock import PacedClock
from rt_sched.runtime.paced.jobs.journal import NONE
from rt_sched.runtime.paced.links.carrier import TRANSFER, LinkEnd
from rt_sched.runtime.paced.links.server import LinkServer, Outages
from rt_sched.runtime.paced.links.signs import Beats
from rt_sched.runtime.paced.shared import shared_array
from rt_sched.transport.bell import Bell

#: Below the publisher of samples, above all tasks.
LINK_PRIORITY = 84
#: How often it is looked, while run time stands still, whether it goes on.
_LOOK_NS = 10_000_000
#: Room for messages that come closer together than declared.
_SPARE_RECORDS = 256


@dataclass(frozen=True, slots=True)
class _Parcel:
    """A message that was taken: its bytes, stamp and number, and the place of its end."""

    end: int
    data: bytes
    capture_ns: int
    number: int
    published_ns: int


class EmulatedLink:
    """Of one link. `bell`: rings with every message for it. `scheduling`: the class of its process, None for that of
    ordinary ones; `go_to_core`: confines the process that calls it.
    """

    kind: ClassVar[str] = "emulated"

    def __init__(
        self,
        name: str,
        latency_ns: int,
        ends: Sequence[LinkEnd],
        port: Port,
        bell: Callable[[], Bell] | None,
        clock: PacedClock,
        horizon_ns: int,
        outages: Outages,
        scheduling: Scheduling | None,
        go_to_core: Callable[[], None],
        beats: Beats | None = None,
    ) -> None:
        self.name = name
        self._ends, self._port, self._make_bell, self._clock = ends, port, bell, clock
        self._horizon_ns, self._beats = horizon_ns, beats
        self._scheduling, self._go_to_core = scheduling, go_to_core
        self._server = LinkServer(latency_ns, outages)
        room = sum(2 * (horizon_ns // max(end.apart_ns, 1)) + _SPARE_RECORDS for end in ends)
        self._records = shared_array(TRANSFER, room)
        self._count = shared_array(np.int64, 2)
        self._queued: list[tuple[int, int, int, _Parcel]] = []
        self._sent: deque[tuple[int, int, _Parcel]] = deque()
        self._orders = count()

    @property
    def ready(self) -> bool:
        """Whether its process waits for the begin."""
        return bool(self._count[1])

    def transfers(self) -> npt.NDArray[Any]:
        """Every message so far, in the order in which the link took them."""
        return self._records[: int(self._count[0])].copy()

    def run(self) -> None:
        """Until the run has ended."""
        name_process(f"rt-link-{self.name}")
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        set_timer_slack_ns(1)
        keep_freed_memory()
        readers = [self._port.reader(end.channel, end.reader) for end in self._ends]
        writers = [self._port.writer(end.delivered) for end in self._ends]
        gc.collect()
        gc.freeze()
        gc.disable()
        with suppress(Refused):  # the launcher says so once
            lock_memory(as_used=True)
        if self._scheduling is not None:
            self._go_to_core()
            set_scheduling(self._scheduling)
        self._count[1] = 1
        if self._clock.wait_until_begun():
            self._carry(readers, writers)
        set_scheduling(Scheduling.other())  # to give all memory back takes long

    def _carry(self, readers: Sequence[Reader], writers: Sequence[Writer]) -> None:
        bell = None if self._make_bell is None else self._make_bell()
        while not self._clock.ended:
            seen = 0 if bell is None else bell.count()
            for place, reader in enumerate(readers):
                while (message := reader.take()) is not None:
                    self._take(place, message)
            next_ns = self._send_and_deliver(writers)
            if bell is None:
                if next_ns is None or not self._clock.sleep_until(next_ns):
                    return
            elif not self._clock.ended:
                bell.wait(seen, None if next_ns is None else self._host_ns(next_ns))

    def _host_ns(self, run_ns: int) -> int:
        return time.monotonic_ns() + _LOOK_NS if self._clock.paused else self._clock.host_ns(run_ns)

    def _take(self, place: int, message: Message) -> None:
        with message:
            parcel = _Parcel(place, bytes(message.data), message.stamp_ns, message.tag, message.published_ns)
        heapq.heappush(self._queued, (parcel.published_ns, self._ends[place].edge, next(self._orders), parcel))

    def _send_and_deliver(self, writers: Sequence[Writer]) -> int | None:
        """Does all that is due. Returns when there is more to do, None as long as nothing more comes."""
        now_ns = self._clock.now_ns()
        while self._queued and self._queued[0][0] <= now_ns:
            self._send(heapq.heappop(self._queued)[-1])
        while self._sent and self._sent[0][0] <= now_ns:
            due_ns, record, parcel = self._sent.popleft()
            if self._server.arrives(parcel.published_ns, due_ns) and due_ns < self._horizon_ns:
                self._deliver(writers[parcel.end], record, parcel)
        beat_ns = None if self._beats is None else self._beats.go_on(now_ns)
        known = [self._queued[0][0]] if self._queued else []
        known += [self._sent[0][0]] if self._sent else []
        known += [] if beat_ns is None else [beat_ns]
        return min(known, default=None)

    def _send(self, parcel: _Parcel) -> None:
        end = self._ends[parcel.end]
        one = self._server.send(parcel.published_ns, end.transfer_ns)
        record = int(self._count[0])
        times = (one.start_ns, one.end_ns, one.due_ns, NONE)
        self._records[record] = (end.edge, parcel.number, parcel.published_ns, *times)
        self._count[0] = record + 1
        if one.due_ns != NONE:
            self._sent.append((one.due_ns, record, parcel))

    def _deliver(self, writer: Writer, record: int, parcel: _Parcel) -> None:
        loan = writer.loan(len(parcel.data))
        loan.data[:] = parcel.data
        delivered_ns = self._clock.now_ns()
        self._records[record]["delivered_ns"] = delivered_ns
        writer.publish(loan, parcel.capture_ns, delivered_ns, tag=parcel.number)
