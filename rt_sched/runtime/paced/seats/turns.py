"""When a job that has arrived may run: at once, when its processor's lane is free, or when its deadline ranks first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rt_sched.runtime.paced.seats.lane import Lane
from rt_sched.runtime.paced.seats.ranking import Ranking
from rt_sched.runtime.paced.seats.tier import lane_key
from rt_sched.trace.setup import Policy


@dataclass(frozen=True, slots=True)
class Turns:
    """Of one task on one processor, where it has the number `place`. With neither, the kernel's class decides alone."""

    policy: Policy
    level: int
    place: int
    lane: Lane | None = None
    ranking: Ranking | None = None

    @contextmanager
    def turn(self, deadline_ns: int, release_ns: int) -> Iterator[None]:
        """The job may run meanwhile."""
        if self.ranking is not None:
            self.ranking.enter(self.place, deadline_ns, release_ns)
        if self.lane is not None:
            self.lane.enter(self.place, lane_key(self.policy, self.level, deadline_ns, release_ns), release_ns)
        try:
            yield
        finally:
            if self.lane is not None:
                self.lane.leave(self.place)
            if self.ranking is not None:
                self.ranking.leave(self.place)

    def lost(self) -> None:
        """The worker has died or was stopped for good, perhaps in its turn."""
        if self.lane is not None:
            self.lane.bury(self.place)
        if self.ranking is not None:
            self.ranking.leave(self.place, alive=False)
