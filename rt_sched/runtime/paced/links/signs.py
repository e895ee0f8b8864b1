"""Signs of life over links, and who notices that they stay away."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rt_sched.runtime.paced.clock import PacedClock
from rt_sched.runtime.paced.devices.supervision import LOOKS_PER_BEAT
from rt_sched.runtime.paced.links.server import Outages
from rt_sched.runtime.paced.shared import shared_array

_NOTICE = np.dtype([("link", np.int64), ("noticed_ns", np.int64), ("last_sign_ns", np.int64)])
_MOST_NOTICES = 256


@dataclass(frozen=True, slots=True)
class LinkNotice:
    """The link, by its place among those that are watched, counts as lost from `noticed_ns` of run time on."""

    link: int
    noticed_ns: int
    last_sign_ns: int


class Signs:
    """The last sign of life that came over each link, in run time; written by who carries, read by the watch."""

    def __init__(self, links: int) -> None:
        self.last_ns = shared_array(np.int64, links)


class Beats:
    """The signs of one link: small, so that only its latency delays them, and no message that is on it."""

    def __init__(self, signs: Signs, place: int, period_ns: int, latency_ns: int, outages: Outages) -> None:
        self._signs, self._place, self._period_ns, self._latency_ns = signs, place, period_ns, latency_ns
        self._outages = outages
        self._next_ns = 0
        self._sent: deque[int] = deque()

    def go_on(self, now_ns: int) -> int:
        """Sends and delivers what is due; returns when there is more."""
        while self._next_ns <= now_ns:
            if not self._outages.covers(self._next_ns):
                self._sent.append(self._next_ns)
            self._next_ns += self._period_ns
        while self._sent and self._sent[0] + self._latency_ns <= now_ns:
            sent_ns = self._sent.popleft()
            if not self._outages.begins_within(sent_ns, sent_ns + self._latency_ns):
                self._signs.last_ns[self._place] = now_ns
        return min(self._next_ns, self._sent[0] + self._latency_ns if self._sent else self._next_ns)


class LinkWatch:
    """What the supervisor of the watching device does beside its work: a link that gives no sign for `timeout_ns` of
    run time is lost, until it gives one again. It looks twice in a period, and when a link is due.

    If the watch itself looks later than it meant to by more than half a period, it cannot tell whether others were
    late, and gives them one more timeout.
    """

    def __init__(self, signs: Signs, clock: PacedClock, period_ns: int, timeout_ns: int) -> None:
        self._signs, self._clock, self._period_ns, self._timeout_ns = signs, clock, period_ns, timeout_ns
        self._rows = shared_array(_NOTICE, _MOST_NOTICES)
        self._count = shared_array(np.int64, 1)
        self._lost: set[int] = set()
        self._since_ns = self._due_ns = 0
        self.next_ns = 0

    def descriptors(self) -> Sequence[int]:
        """Nothing but time makes it look."""
        return ()

    def do(self, now_ns: int) -> None:
        """Looks at every link, from the begin of the run until its end."""
        if now_ns < self.next_ns:
            return
        self.next_ns = now_ns + self._clock.host_span_ns(self._period_ns) // LOOKS_PER_BEAT
        if not self._clock.begun or self._clock.ended:
            return
        run_ns = self._clock.now_ns()
        if self._due_ns and run_ns > self._due_ns + self._period_ns // 2:
            self._since_ns = run_ns
        for place, last_ns in enumerate(self._signs.last_ns.tolist()):
            if run_ns - last_ns <= self._timeout_ns:
                self._lost.discard(place)
            late = run_ns - max(last_ns, self._since_ns) > self._timeout_ns
            if late and place not in self._lost:
                self._lost.add(place)
                self._note(place, run_ns, last_ns)
        self._due_ns = self._next_look_ns(run_ns)
        self.next_ns = now_ns + self._clock.host_span_ns(self._due_ns - run_ns)

    def _note(self, place: int, run_ns: int, last_ns: int) -> None:
        if int(self._count[0]) < _MOST_NOTICES:
            self._rows[int(self._count[0])] = (place, run_ns, last_ns)
            self._count[0] += 1

    def _next_look_ns(self, run_ns: int) -> int:
        """The next regular one, or the instant at which the first link is lost unless it gives a sign before."""
        lost_ns: list[int] = [
            max(last_ns, self._since_ns) + self._timeout_ns + 1
            for place, last_ns in enumerate(self._signs.last_ns.tolist())
            if place not in self._lost
        ]
        return max(run_ns + 1, min([run_ns + self._period_ns // LOOKS_PER_BEAT, *lost_ns]))

    def notices(self) -> tuple[LinkNotice, ...]:
        """What it noticed, in order."""
        return tuple(LinkNotice(*row) for row in self._rows[: int(self._count[0])].tolist())
