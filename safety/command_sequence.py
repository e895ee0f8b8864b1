"""The commands of a backup path, one after the other: order of the stamps, counter, and letting go of the brake."""

from __future__ import annotations

from rt_sched.messages.control import Command, SensorView
from rt_sched.ports.stage import Rejected
from rt_sched.units import NS_PER_MS, NS_PER_S

#: Longest pause between two measurements that belong together; what is older still begins a new epoch.
MAX_PAUSE_NS = 500 * NS_PER_MS


class CommandSequence:
    """Stateful. `release_m_s3`: how fast it lets go of the brake; it brakes at once. `what`: the input."""

    def __init__(self, release_m_s3: float, what: str) -> None:
        self._release_m_s3 = release_m_s3
        self._what = what
        self._last: Command | None = None
        self._counter = 0

    def check_order(self, stamp_ns: int) -> None:
        """Rejects a measurement that is not newer than the last one decided on; one far older begins a new epoch."""
        if self._last is None:
            return
        older_ns = self._last.capture_time_ns - stamp_ns
        if older_ns == 0:
            raise Rejected(f"the {self._what}'s capture stamp repeats the last one")
        if 0 < older_ns <= MAX_PAUSE_NS:
            raise Rejected(f"the {self._what} is {older_ns} ns older than the last one")
        if older_ns > 0:
            self._last = None

    def next(
        self, stamp_ns: int, sensor: str, wanted_m_s2: float, *, emergency: bool, time_to_collision_ns: int | None
    ) -> Command:
        """The command that asks for `wanted_m_s2`, or for a little less brake than the last where that was firmer."""
        self._counter += 1
        self._last = Command(
            capture_time_ns=stamp_ns,
            source="backup",
            counter=self._counter,
            acceleration_m_s2=self._eased(wanted_m_s2, stamp_ns),
            emergency=emergency,
            time_to_collision_ns=time_to_collision_ns,
            valid=True,
            views=(SensorView(sensor, stamp_ns),),
        )
        return self._last

    def _eased(self, wanted_m_s2: float, stamp_ns: int) -> float:
        """What vanishes for one measurement may still be there."""
        if self._last is None:
            return wanted_m_s2
        after_s = (stamp_ns - self._last.capture_time_ns) / NS_PER_S
        return min(wanted_m_s2, self._last.acceleration_m_s2 + self._release_m_s3 * after_s)
