"""EDF over SCHED_FIFO: priorities follow the deadlines of the jobs that are there.

A worker waits for its next job above all jobs, so that it comes to enter its deadline; then every job of the processor
gets the priority that its deadline deserves. When a job ends, the order of the others stays.
"""

from __future__ import annotations

import threading

import numpy as np

from rt_sched.runtime.host.mutex import MUTEX_BYTES, Protocol, SharedMutex
from rt_sched.runtime.host.scheduling import Scheduling, set_scheduling
from rt_sched.runtime.paced.shared import shared_array

_PLACE = np.dtype([("thread", np.int64), ("deadline_ns", np.int64), ("release_ns", np.int64)])


class Ranking:
    """The jobs of `places` members of one processor, the most urgent at `highest` - 1 and the others below."""

    def __init__(self, places: int, highest: int) -> None:
        self._places = shared_array(_PLACE, places)
        self._highest = highest
        self._mutex = SharedMutex.create(shared_array(np.uint8, MUTEX_BYTES), protocol=Protocol.INHERIT)

    def enter(self, place: int, deadline_ns: int, release_ns: int) -> None:
        """The calling thread has a job; returns when its turn has come."""
        with self._mutex.held():
            self._places[place] = (threading.get_native_id(), deadline_ns, release_ns)
            present = np.flatnonzero(self._places["thread"]).tolist()
            order = sorted(present, key=lambda one: (*self._places[one].tolist()[1:], one))
            for rank, one in enumerate(order):
                try:
                    set_scheduling(Scheduling.fifo(max(1, self._highest - 1 - rank)), int(self._places[one]["thread"]))
                except ProcessLookupError:
                    self._places[one]["thread"] = 0

    def leave(self, place: int, *, alive: bool = True) -> None:
        """The job has ended; a worker that is `alive` waits above all again, and calls this itself."""
        with self._mutex.held():
            self._places[place]["thread"] = 0
        if alive:
            set_scheduling(Scheduling.fifo(self._highest))
