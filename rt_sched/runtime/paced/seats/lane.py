"""One job at a time on a processor, the most urgent next: for processors that do not preempt, and without privileges.

Whoever ends a job hands the lane on; nobody decides in between. The order is that of the scheduling kernel: key, then
release, then task.
"""

from __future__ import annotations

import numpy as np

from rt_sched.runtime.host.mutex import MUTEX_BYTES, Protocol, SharedMutex
from rt_sched.runtime.paced.shared import shared_array
from rt_sched.transport.bell import Bell

_FREE = -1
_PLACE = np.dtype([("waits", np.int32), ("granted", np.int32), ("key", np.int64), ("release_ns", np.int64)])


class Lane:
    """A lane for `places` members, which are numbered from 0 on, in shared memory."""

    def __init__(self, places: int) -> None:
        self._places = shared_array(_PLACE, places)
        self._owner = shared_array(np.int64, 1)
        self._owner[0] = _FREE
        self._mutex = SharedMutex.create(shared_array(np.uint8, MUTEX_BYTES), protocol=Protocol.INHERIT)
        self._grants = [Bell(self._places["granted"][place : place + 1].ctypes.data) for place in range(places)]

    @property
    def owner(self) -> int | None:
        """Who has the lane."""
        owner = int(self._owner[0])
        return None if owner == _FREE else owner

    @property
    def waiting(self) -> int:
        """How many wait for it."""
        return int(np.count_nonzero(self._places["waits"]))

    def enter(self, place: int, key: int, release_ns: int) -> None:
        """Waits until the lane is this member's; lower keys go first."""
        mine = self._places[place]
        seen = self._grants[place].count()
        with self._mutex.held():
            if self._owner[0] == _FREE:
                self._owner[0] = place
                return
            mine["key"], mine["release_ns"], mine["waits"] = key, release_ns, 1
        while self._owner[0] != place:
            self._grants[place].wait(seen, None)
            seen = self._grants[place].count()

    def bury(self, place: int) -> None:
        """`leave` for a member that has died. Whoever has the lane then is called once more: the dead one may have
        handed it on and died before it could say so.
        """
        self.leave(place)
        owner = self.owner
        if owner is not None:
            self._grants[owner].ring()

    def leave(self, place: int) -> None:
        """Hands the lane on, if it is this member's, which waits no more."""
        following = None
        with self._mutex.held():
            self._places[place]["waits"] = 0
            if self._owner[0] == place:
                following = self._most_urgent()
                self._owner[0] = _FREE if following is None else following
                if following is not None:
                    self._places[following]["waits"] = 0
        if following is not None:
            self._grants[following].ring()

    def _most_urgent(self) -> int | None:
        waiting = np.flatnonzero(self._places["waits"])
        order = [(int(self._places[i]["key"]), int(self._places[i]["release_ns"]), int(i)) for i in waiting]
        return min(order)[2] if order else None
