"""Run time: at a rate, paused and resumed, shared between processes."""

from __future__ import annotations

import time
from fractions import Fraction

import pytest

from rt_sched.runtime.host.child import in_child
from rt_sched.runtime.paced.clock import PacedClock
from rt_sched.units import NS_PER_MS


def test_run_time_goes_at_its_rate() -> None:
    for rate in (Fraction(1), Fraction(1, 4), Fraction(7, 3)):
        clock = PacedClock(rate)
        begun_ns = time.monotonic_ns()
        clock.begin(begun_ns)
        before_ns, now_ns, after_ns = time.monotonic_ns(), clock.now_ns(), time.monotonic_ns()
        assert (before_ns - begun_ns) * rate - 1 <= now_ns <= (after_ns - begun_ns) * rate
        assert clock.host_ns(now_ns) <= after_ns + 1


def test_a_rate_that_stands_still_is_refused() -> None:
    with pytest.raises(ValueError, match="positive"):
        PacedClock(Fraction(0))


def test_nobody_wakes_before_the_instant() -> None:
    clock = PacedClock()
    clock.begin(time.monotonic_ns())
    for instant_ns in (clock.now_ns() + 3 * NS_PER_MS, clock.now_ns() - 1, 0):
        assert clock.sleep_until(instant_ns)
        assert clock.now_ns() >= instant_ns


def test_a_pause_moves_every_instant() -> None:
    clock = PacedClock()
    clock.begin(time.monotonic_ns())
    clock.pause()
    stood_ns = clock.now_ns()
    host_ns = clock.host_ns(stood_ns + NS_PER_MS)
    time.sleep(0.01)
    assert clock.paused and clock.now_ns() == stood_ns
    clock.resume()
    assert not clock.paused
    assert clock.host_ns(stood_ns + NS_PER_MS) >= host_ns + 9 * NS_PER_MS


def test_another_process_has_the_same_clock() -> None:
    clock = PacedClock()

    def follows() -> tuple[bool, int]:
        return clock.wait_until_begun(), clock.now_ns()

    clock.begin(time.monotonic_ns())
    begun, there_ns = in_child(follows)
    assert begun and 0 <= there_ns <= clock.now_ns()


def test_the_end_wakes_who_waits() -> None:
    clock = PacedClock()
    clock.begin(time.monotonic_ns())
    clock.end()
    assert not clock.sleep_until(10**15)
    assert not clock.wait_until_begun()
