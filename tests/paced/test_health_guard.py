"""Whoever watches the sensors is watched: its end and its standstill are noticed, and another takes its place."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from rt_sched.runtime.health_order import HealthOrder, WatchLoss
from rt_sched.runtime.paced.clock import PacedClock
from rt_sched.runtime.paced.health.guard import HealthGuard
from rt_sched.runtime.paced.health.notes import HealthNotes

MS = 1_000_000
ORDER = HealthOrder(
    sensors=(),
    device="ecu",
    period_ns=10 * MS,
    cycle_wcet_ns=MS,
    processor=0,
    age_limit_ns=300 * MS,
    good_samples=3,
    reader=None,
)


class Watched:
    """A process that only reports, and its guard, looked after as a supervisor does."""

    def __init__(self) -> None:
        self.clock, self.notes = PacedClock(), HealthNotes(ORDER)
        self.pids: set[int] = set()
        self.guard = HealthGuard(self._live, self.notes, self.clock, ORDER.age_limit_ns)
        self.guard.do(time.monotonic_ns())
        self.until(lambda: bool(self.notes.life["ready"]))
        self.clock.begin(time.monotonic_ns())
        self.until(lambda: self.notes.cycles > 3)

    def _live(self) -> None:
        self.notes.life["ready"] = 1
        self.clock.wait_until_begun()
        while not self.clock.ended:
            self.notes.back(self.clock.now_ns())
            self.notes.cycle(0, 0, 0, host_ns=time.monotonic_ns())
            time.sleep(0.01)

    @property
    def pid(self) -> int:
        return int(self.notes.life["pid"])

    def losses(self) -> tuple[WatchLoss, ...]:
        return self.notes.read().losses

    def until(self, there: Callable[[], bool], limit_s: float = 20) -> None:
        end = time.monotonic() + limit_s
        while not there():
            assert time.monotonic() < end
            self.guard.do(time.monotonic_ns())
            if self.pid > 0:
                self.pids.add(self.pid)
            time.sleep(0.005)

    def end(self) -> None:
        self.clock.end()
        self.guard.do(time.monotonic_ns())
        for pid in self.pids:
            with suppress(ProcessLookupError, ChildProcessError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


@pytest.fixture
def watched() -> Iterator[Watched]:
    one = Watched()
    yield one
    one.end()


def test_a_process_that_ends_is_replaced_and_counts_go_on(watched: Watched) -> None:
    before, cycles = watched.pid, watched.notes.cycles
    os.kill(before, signal.SIGKILL)
    watched.until(lambda: bool(watched.losses()) and watched.losses()[0].back_ns is not None)
    (loss,) = watched.losses()
    assert not loss.still and (loss.back_ns or 0) >= loss.noticed_ns >= loss.last_ns > 0
    assert watched.pid != before and watched.notes.cycles > cycles


def test_a_process_that_stands_still_is_noticed_and_goes_on_if_it_can(watched: Watched) -> None:
    before = watched.pid
    os.kill(before, signal.SIGSTOP)
    stopped_ns = watched.clock.now_ns()
    watched.until(lambda: bool(watched.losses()))
    (loss,) = watched.losses()
    assert loss.still and loss.back_ns is None
    assert 0 < loss.last_ns < loss.noticed_ns - ORDER.age_limit_ns
    assert loss.noticed_ns - stopped_ns > ORDER.age_limit_ns // 2
    os.kill(before, signal.SIGCONT)
    watched.until(lambda: watched.losses()[0].back_ns is not None)
    assert watched.pid == before


def test_a_process_that_stands_still_for_long_is_replaced(watched: Watched) -> None:
    before = watched.pid
    os.kill(before, signal.SIGSTOP)
    watched.until(lambda: bool(watched.losses()) and watched.losses()[0].back_ns is not None)
    assert watched.pid != before
    assert [loss.still for loss in watched.losses()] == [True]


def test_a_pause_is_no_standstill(watched: Watched) -> None:
    os.kill(watched.pid, signal.SIGSTOP)
    watched.clock.pause()
    end = time.monotonic() + 2 * ORDER.age_limit_ns / 1e9
    watched.until(lambda: time.monotonic() > end)
    assert watched.losses() == ()
    os.kill(watched.pid, signal.SIGCONT)
    watched.clock.resume()


def test_what_ends_with_the_run_is_not_replaced(watched: Watched) -> None:
    before = watched.pid
    watched.clock.end()
    os.kill(before, signal.SIGKILL)
    os.waitid(os.P_PID, before, os.WEXITED | os.WNOWAIT)
    watched.guard.do(time.monotonic_ns())
    assert watched.pid == before and watched.losses() == ()
