"""Bounds under reservations beside a hard constant-bandwidth server that is served step by step, and known answers."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rt_sched.analysis.loads.load import LoadTask, ProcessorLoad, Stream
from rt_sched.analysis.methods.reservations import Reservation, reservation_method, waited_ns
from rt_sched.analysis.system.spare_time import workload_ns
from rt_sched.model import Policy, Processor
from rt_sched.trace import setup as rows


def load_of(*tasks: LoadTask, preemptive: bool = True) -> ProcessorLoad:
    processor = Processor("ecu", "cpu", 0, Policy.EDF, preemptive)
    return ProcessorLoad(processor, rows.ProcessorRow("ecu.cpu", rows.Policy.EDF, preemptive), tasks)


def task_of(index: int, cost_ns: int, period_ns: int, deadline_ns: int, jitter_ns: int = 0) -> LoadTask:
    stream = Stream(period_ns, jitter_ns)
    return LoadTask(index, f"t{index}", index, cost_ns, 1, deadline_ns, (stream,), message_activated=True)


def bounds_of(load: ProcessorLoad, reservations: dict[int, Reservation]) -> list[int | None]:
    method = reservation_method(reservations)
    assert method.refuse(load) is None
    return [None if one.bound is None else one.bound.value_ns for one in method.find(load)]


def test_known_answers() -> None:
    """EDF of (2, 5) and (4, 10) with implicit deadlines, by hand; jitter comes on top of its own task only."""
    reservations = {0: Reservation(2, 5, 5), 1: Reservation(4, 10, 10)}
    assert bounds_of(load_of(task_of(0, 2, 5, 5), task_of(1, 4, 10, 10)), reservations) == [3, 8]
    assert bounds_of(load_of(task_of(0, 2, 5, 5, 7), task_of(1, 3, 10, 10)), reservations) == [10, 8]


@pytest.mark.parametrize(
    ("jitter", "separation", "period", "most"),
    [(0, 10, 10, 0), (7, 10, 10, 7), (7, 10, 8, 5), (1, 10, 8, 0), (25, 10, 10, 25), (25, 10, 8, 19), (20, 10, 9, 18)],
)
def test_a_shorter_period_makes_up_for_jitter(jitter: int, separation: int, period: int, most: int) -> None:
    assert waited_ns(jitter, separation, period) == most


def test_what_it_does_not_cover_is_refused() -> None:
    one = Reservation(2, 5, 5)
    fits = task_of(0, 2, 5, 5)
    cases = [
        (load_of(fits, preemptive=False), {0: one}, "not preempted"),
        (load_of(fits), {}, "no reservation"),
        (load_of(task_of(0, 3, 5, 5)), {0: one}, "more than its reservation"),
        (load_of(task_of(0, 2, 4, 5)), {0: one}, "more often"),
    ]
    for load, reservations, words in cases:
        refusal = reservation_method(reservations).refuse(load)
        assert refusal is not None and words in refusal.reason


def test_a_core_whose_reservations_are_too_many_has_no_bounds() -> None:
    load = load_of(task_of(0, 3, 10, 4), task_of(1, 3, 10, 4))
    (first, second) = reservation_method({0: Reservation(3, 4, 10), 1: Reservation(3, 4, 10)}).find(load)
    assert first.bound is None and second.bound is None and "by its deadline" in first.reason


@dataclass
class Server:
    """Hard constant-bandwidth server as Linux has it, in whole steps; `jobs`: arrival and work left of each."""

    reservation: Reservation
    jobs: list[list[int]]
    left: int = 0
    deadline: int = -1
    begin: int = -(10**9)
    throttled_until: int = -1
    waits: list[list[int]] = field(default_factory=list)

    def wake(self, now: int) -> None:
        """The first job of a pause: goes on with what is left where that is no more than its bandwidth allows."""
        runtime, deadline, period = (
            self.reservation.runtime_ns,
            self.reservation.deadline_ns,
            self.reservation.period_ns,
        )
        if now >= self.begin + period:
            self.begin, self.left, self.deadline = now, runtime, now + deadline
        elif now >= self.deadline:  # constrained: no runtime until the next period
            self.left, self.throttled_until = 0, self.begin + period
        elif self.left * deadline > (self.deadline - now) * runtime:
            self.left = (self.deadline - now) * runtime // deadline

    def renew(self, now: int) -> None:
        if self.left == 0 and now >= self.begin + self.reservation.period_ns:
            self.begin, self.left = self.begin + self.reservation.period_ns, self.reservation.runtime_ns
            self.deadline = self.begin + self.reservation.deadline_ns

    def ready(self, now: int) -> bool:
        return bool(self.waits) and self.left > 0 and now >= self.throttled_until


def longest_responses(servers: list[Server], end: int) -> list[int]:
    longest = [0] * len(servers)
    for now in range(end):
        for server in servers:
            arrived = [job for job in server.jobs if job[0] == now]
            if arrived and not server.waits:
                server.wake(now)
            server.waits += arrived
            if server.waits:
                server.renew(now)
        running = min((s for s in servers if s.ready(now)), key=lambda one: one.deadline, default=None)
        if running is not None:
            running.left -= 1
            running.waits[0][1] -= 1
            if running.waits[0][1] == 0:
                job = running.waits.pop(0)
                place = servers.index(running)
                longest[place] = max(longest[place], now + 1 - job[0])
    return longest


@st.composite
def jittered(draw: st.DrawFn) -> tuple[list[LoadTask], dict[int, Reservation], list[list[list[int]]]]:
    tasks, reservations, jobs = [], {}, []
    for index in range(draw(st.integers(1, 3))):
        period = draw(st.integers(6, 24))
        runtime = draw(st.integers(1, max(1, period // 3)))
        deadline = draw(st.integers(runtime, period))
        jitter = draw(st.integers(0, 30))
        reservations[index] = Reservation(runtime, deadline, period)
        period += draw(st.integers(0, 8))  # of arrivals
        tasks.append(task_of(index, runtime, period, deadline, jitter))
        delays = draw(st.lists(st.integers(0, jitter), min_size=8, max_size=8))
        takes = draw(st.lists(st.integers(1, runtime), min_size=8, max_size=8))
        offset, arrival, mine = draw(st.integers(0, period)), 0, []
        for number, (delay, work) in enumerate(zip(delays, takes, strict=True)):
            arrival = max(arrival, offset + number * period + delay)
            mine.append([arrival, work])
        jobs.append(mine)
    return tasks, reservations, jobs


@given(jittered())
def test_no_job_of_a_server_takes_longer_than_its_bound(case) -> None:  # type: ignore[no-untyped-def]
    tasks, reservations, jobs = case
    bounds = bounds_of(load_of(*tasks), reservations)
    servers = [Server(reservations[index], mine) for index, mine in enumerate(jobs)]
    for longest, bound in zip(longest_responses(servers, 600), bounds, strict=True):
        assert bound is None or longest <= bound


@given(
    st.integers(1, 6),
    st.integers(4, 12),
    st.integers(0, 20),
    st.lists(st.integers(0, 40), min_size=12, max_size=12),
    st.integers(0, 60),
    st.integers(1, 60),
)
def test_no_window_holds_more_than_the_workload(
    cost: int, period: int, slack: int, delays: list[int], begin: int, window: int
) -> None:
    """Jobs execute as one block each, anywhere between their point and `latest` after it, one after the other."""
    latest, at, busy = cost + slack, 0, []
    for number, delay in enumerate(delays):
        point = number * period
        at = max(at, point + min(delay, slack))
        if at + cost > point + latest:
            return  # such a task has a larger bound
        busy += range(at, at + cost)
        at += cost
    assert sum(begin <= one < begin + window for one in busy) <= workload_ns(cost, period, latest, window)


@pytest.mark.parametrize(("window", "most"), [(1, 1), (3, 3), (4, 4), (10, 6), (100, 33)])
def test_workloads_known_by_hand(window: int, most: int) -> None:
    """3 of every 10, which may end 10 after the point: the first at the end of its 10, the next one at once."""
    assert workload_ns(3, 10, 10, window) == most
