"""Reservations for processes that wake up for messages, tick by tick as the kernel gives out their deadlines."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from rt_sched.analysis.methods.reservations import Reservation
from rt_sched.runtime.paced.seats.wakeups import Wakeups, demand_ns, reservations_of

KINDS = (Wakeups("imu", 1, 20, 16), Wakeups("camera", 2, 130), Wakeups("lidar", 3, 400, 30))


def test_no_interval_asks_for_more_than_the_demand() -> None:
    draw = np.random.default_rng(1)
    for _ in range(50):
        times = sorted((at, one.cost_ns) for one in KINDS for at in _arrivals(one, 2000, draw))
        for length in (1, 4, 17, 60, 300):
            first = draw.integers(1500)
            asked = sum(cost for at, cost in times if first <= at < first + length)
            assert asked <= demand_ns(KINDS, length)


def test_a_period_serves_as_much_as_may_come_in_it() -> None:
    tried = list(reservations_of(KINDS))
    load = sum(kind.load for kind in KINDS)
    parts = [Fraction(one.runtime_ns, one.period_ns) for one in tried]
    assert parts == sorted(parts, reverse=True) and parts[-1] <= 1.25 * load and parts[0] <= 2 * load
    for one in tried:
        assert one.runtime_ns == demand_ns(KINDS, one.period_ns) < demand_ns(KINDS, one.period_ns + 1)
        assert one.deadline_ns == one.period_ns


def test_one_kind_without_jitter_has_a_period_of_its_own() -> None:
    assert next(reservations_of([Wakeups("only", 3, 100)])) == Reservation(3, 100, 100)
    assert next(reservations_of([])).runtime_ns == 1


@pytest.mark.parametrize("seed", range(20))
def test_every_wakeup_is_served_within_a_period_beside_one_that_takes_all_it_may(seed: int) -> None:
    one = next(reservations_of(KINDS))
    assert _latest(one, seed) <= one.period_ns


def test_with_half_of_it_some_wakeup_waits_for_longer() -> None:
    one = next(reservations_of(KINDS))
    half = Reservation(one.runtime_ns // 2, one.period_ns, one.period_ns)
    assert max(_latest(half, seed) for seed in range(20)) > one.period_ns


def _arrivals(one: Wakeups, until: int, draw: np.random.Generator) -> list[int]:
    start = draw.integers(one.period_ns)
    points = range(start, until, one.period_ns)
    return [
        at + (draw.choice((0, one.jitter_ns)) if draw.random() < 0.7 else draw.integers(one.jitter_ns + 1))
        for at in points
    ]


def _latest(one: Reservation, seed: int) -> int:
    """How long a wake-up waits until all that came up to it is done, beside a server that always has work."""
    draw = np.random.default_rng(seed)
    times = sorted((at, kind.cost_ns) for kind in KINDS for at in _arrivals(kind, 4000, draw))
    other_period = draw.choice((7, 30, 50, 110))
    other_runtime = other_period * (one.period_ns - one.runtime_ns) // one.period_ns
    left, deadline, other_left, other_deadline = 0, 0, other_runtime, other_period
    waiting: list[list[int]] = []
    latest = place = 0
    for now in range(5000):
        while place < len(times) and times[place][0] <= now:
            if not waiting and (deadline <= now or left * one.period_ns > one.runtime_ns * (deadline - now)):
                left, deadline = one.runtime_ns, now + one.period_ns
            waiting.append([times[place][0], times[place][1]])
            place += 1
        if waiting and left == 0 and now >= deadline:
            left, deadline = one.runtime_ns, deadline + one.period_ns
        if other_left == 0 and now >= other_deadline:
            other_left, other_deadline = other_runtime, other_deadline + other_period
        ready = bool(waiting) and left > 0
        if ready and (other_left == 0 or deadline < other_deadline):
            left -= 1
            waiting[0][1] -= 1
            if waiting[0][1] == 0:
                latest = max(latest, now + 1 - waiting.pop(0)[0])
        elif other_left > 0:
            other_left -= 1
    return latest
