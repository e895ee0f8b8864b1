"""The clock of a paced run: this host's monotonic clock, shifted, at a rate, and stopped while the run is paused."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from rt_sched.runtime.paced.shared import shared_array
from rt_sched.transport.bell import Bell
from rt_sched.units import ceil_int, floor_int

_CONTROL = np.dtype(
    [
        ("origin_ns", np.int64),
        ("paused_ns", np.int64),
        ("changes", np.int32),
        ("ended", np.int32),
        ("prepared", np.int64),
    ]
)


@dataclass(frozen=True, slots=True)
class Pause:
    """Run time stood still at `at_ns` for `lasted_ns` of the host's."""

    at_ns: int
    lasted_ns: int


class PacedClock:
    """Run time from host time: 0 at `begin`, then `rate` ns of run time in every ns of the host.

    Everything that a run's processes share of it lies in shared memory, so all of them stop and go on together. Only
    the process that made it calls `begin`, `pause`, `resume` and `end`.
    """

    def __init__(self, rate: Fraction = Fraction(1)) -> None:
        if rate <= 0:
            raise ValueError(f"the rate must be positive, not {rate}")
        self._rate = rate
        self._control = shared_array(_CONTROL, 1)
        self._changes = Bell(self._control["changes"].ctypes.data)
        self._pauses: list[Pause] = []

    @property
    def rate(self) -> Fraction:
        """Run time per host time."""
        return self._rate

    @property
    def begun(self) -> bool:
        """Whether run time has an origin."""
        return int(self._control["origin_ns"][0]) > 0

    @property
    def ended(self) -> bool:
        """Whether whoever made it has called the run off."""
        return bool(self._control["ended"][0])

    @property
    def paused(self) -> bool:
        """Whether run time stands still."""
        return int(self._control["paused_ns"][0]) > 0

    @property
    def pauses(self) -> tuple[Pause, ...]:
        """Those that are over; known to the process that made the clock."""
        return tuple(self._pauses)

    def prepare(self) -> None:
        """Everybody is to take the place in which the begin finds it."""
        self._control["prepared"][0] = 1
        self._changed()

    def begin(self, at_host_ns: int) -> None:
        """Run time is 0 at `at_host_ns` of the host's monotonic clock."""
        self._control["origin_ns"][0] = at_host_ns
        self._changed()

    def pause(self) -> None:
        """Run time stands still from now on; jobs that run go on, and end at the instant of the pause."""
        if not self.paused:
            self._control["paused_ns"][0] = time.monotonic_ns()
            self._changed()

    def resume(self) -> None:
        """Run time goes on where it stood."""
        if self.paused:
            at_ns, lasted_ns = self.now_ns(), time.monotonic_ns() - int(self._control["paused_ns"][0])
            self._control["origin_ns"][0] += lasted_ns
            self._control["paused_ns"][0] = 0
            self._pauses.append(Pause(at_ns, lasted_ns))
            self._changed()

    def end(self) -> None:
        """Wakes all that wait for run time: there will be none."""
        self._control["ended"][0] = 1
        self._changed()

    def now_ns(self) -> int:
        """Run time now; before the begin it is negative."""
        host_ns = int(self._control["paused_ns"][0]) or time.monotonic_ns()
        return self.run_ns(host_ns)

    def run_ns(self, host_ns: int) -> int:
        """Run time when the host's monotonic clock showed this, if no pause came since."""
        return floor_int((host_ns - int(self._control["origin_ns"][0])) * self._rate)

    def host_ns(self, run_ns: int) -> int:
        """When the host's monotonic clock shows it, if no pause comes between."""
        return int(self._control["origin_ns"][0]) + ceil_int(run_ns / self._rate)

    def host_span_ns(self, run_ns: int) -> int:
        """A length of run time in host time."""
        return ceil_int(run_ns / self._rate)

    def run_span_ns(self, host_ns: int) -> int:
        """A length of host time in run time."""
        return ceil_int(host_ns * self._rate)

    def wait_until_prepared(self) -> bool:
        """Waits for `prepare`; False when the run ends before."""
        return self.wait_until(lambda: bool(self._control["prepared"][0]))

    def wait_until_begun(self) -> bool:
        """Waits for an origin; False when the run ends without one."""
        return self.wait_until(lambda: self.begun)

    def alert(self) -> None:
        """Everybody who waits here is to look once more whether something has changed; any process may say so."""
        self._changed()

    def wait_until(self, there: Callable[[], bool]) -> bool:
        """Waits for what somebody who calls `alert` has made true; False when the run ends before."""
        while not self.ended:
            seen = self._changes.count()
            if there():
                return True
            if not self.ended:
                self._changes.wait(seen, None)
        return False

    def sleep_until(self, run_ns: int, unless: Callable[[], bool] | None = None) -> bool:
        """Sleeps until that run time, through pauses; False when the run has ended before.

        `unless`: asked whenever something has changed; once it is true, the sleep ends early.
        """
        while not self.ended:
            seen = self._changes.count()
            if unless is not None and unless():
                return True
            if self.paused:
                self._changes.wait(seen, None)
            elif not self._changes.wait(seen, self.host_ns(run_ns)) and self.now_ns() >= run_ns:
                return True
        return False

    def _changed(self) -> None:
        self._changes.ring()
