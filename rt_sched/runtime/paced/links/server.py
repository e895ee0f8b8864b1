"""A link as it is modelled (semantics 11): it sends one message after the other, and each arrives a latency later."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rt_sched.runtime.paced.jobs.journal import NONE
from rt_sched.runtime.paced.shared import shared_array

_OUTAGE = np.dtype([("begin_ns", np.int64), ("until_ns", np.int64)])
#: Of one link in one run.
_MOST_OUTAGES = 256
_FOR_EVER = np.iinfo(np.int64).max


class Outages:
    """When a link is lost, half-open; written by whoever cuts it, read by whoever carries."""

    def __init__(self) -> None:
        self._rows = shared_array(_OUTAGE, _MOST_OUTAGES)
        self._count = shared_array(np.int64, 1)

    @property
    def count(self) -> int:
        """How often it was lost so far."""
        return int(self._count[0])

    def cut(self, begin_ns: int, until_ns: int | None) -> None:
        """It is lost from `begin_ns` on; None: for good. Raises IndexError once it was lost too often."""
        self._rows[self.count] = (begin_ns, _FOR_EVER if until_ns is None else until_ns)
        self._count[0] += 1

    def covers(self, time_ns: int) -> bool:
        """Whether it is lost then."""
        rows = self._rows[: self.count]
        return bool(((rows["begin_ns"] <= time_ns) & (time_ns < rows["until_ns"])).any())

    def begins_within(self, after_ns: int, until_ns: int) -> bool:
        """Whether it is lost at an instant in (after_ns, until_ns]."""
        begin_ns = self._rows["begin_ns"][: self.count]
        return bool(((after_ns < begin_ns) & (begin_ns <= until_ns)).any())


@dataclass(frozen=True, slots=True)
class Transfer:
    """Times of one message; -1 where the link was lost when it came."""

    start_ns: int
    end_ns: int
    due_ns: int


class LinkServer:
    """Takes messages in the order in which they were published. A link that was lost in between is free."""

    def __init__(self, latency_ns: int, outages: Outages) -> None:
        self._latency_ns, self._outages = latency_ns, outages
        self._free_ns, self._last_ns = 0, -1

    def send(self, queued_ns: int, transfer_ns: int) -> Transfer:
        """Puts a message behind all that came before."""
        if self._outages.begins_within(self._last_ns, queued_ns):
            self._free_ns = 0
        self._last_ns = queued_ns
        if self._outages.covers(queued_ns):
            return Transfer(NONE, NONE, NONE)
        start_ns = max(self._free_ns, queued_ns)
        self._free_ns = start_ns + transfer_ns
        return Transfer(start_ns, self._free_ns, self._free_ns + self._latency_ns)

    def arrives(self, queued_ns: int, due_ns: int) -> bool:
        """Whether what was sent is still there when it is due."""
        return not self._outages.begins_within(queued_ns, due_ns)
