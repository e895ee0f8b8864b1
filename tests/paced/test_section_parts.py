"""Parts of critical sections without a run: the order of locks, what a job may enter, and what is written down."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import replace
from fractions import Fraction

import pytest

from rt_sched.errors import DeploymentError
from rt_sched.runtime.host.child import fork
from rt_sched.runtime.host.scheduling import Scheduling
from rt_sched.runtime.paced.clock import PacedClock
from rt_sched.runtime.paced.seats.tier import Seat
from rt_sched.runtime.paced.sections.holding import Holding
from rt_sched.runtime.paced.sections.locks import Locks, Mechanism
from rt_sched.runtime.paced.sections.order import in_both_orders, locking_order, nested
from rt_sched.runtime.paced.sections.records import Abandoned
from rt_sched.trace.setup import (
    Policy,
    ProcessorRow,
    Protocol,
    ResourceRow,
    SectionRow,
    Setup,
    TaskRow,
)
from rt_sched.units import NS_PER_MS as MS

BUS, MAP, LOG = range(3)
ROW = TaskRow("brake", 0, 20 * MS, 5 * MS, rate_hz=Fraction(10))
#: The map inside the bus, and then the log alone.
USER = replace(ROW, sections=(SectionRow(MAP, 2, MS), SectionRow(BUS, 1, 2 * MS), SectionRow(LOG, 3 * MS, 4 * MS)))
OTHER = Seat(Scheduling.other())


def locks_of(*rows: TaskRow, protocol: Protocol = Protocol.PRIORITY_INHERITANCE, seat: Seat = OTHER) -> Locks:
    resources = tuple(ResourceRow(name, protocol) for name in ("bus", "map", "log"))
    setup = Setup((ProcessorRow("ecu.cpu", Policy.FIXED_PRIORITY, True),), (), rows, (), resources=resources)
    return Locks(setup, rows, [seat] * len(rows))


@pytest.fixture
def clock() -> PacedClock:
    found = PacedClock()
    found.begin(time.monotonic_ns())
    return found


@pytest.fixture
def locks() -> Locks:
    return locks_of(USER, USER)


def test_the_order_of_locks_is_that_of_all_nestings() -> None:
    assert nested(USER) == {(BUS, MAP)}
    turned = replace(ROW, sections=(SectionRow(LOG, 0, 9), SectionRow(BUS, 1, 2)))
    assert locking_order([USER]) == [BUS, MAP, LOG]
    assert locking_order([USER, turned]) == [LOG, BUS, MAP]
    circle = replace(ROW, sections=(SectionRow(MAP, 0, 9), SectionRow(LOG, 1, 2)))
    assert in_both_orders([USER, turned]) == []
    assert in_both_orders([USER, turned, circle]) == [BUS, MAP, LOG]
    same = replace(ROW, sections=(SectionRow(MAP, 0, 9), SectionRow(BUS, 0, 9)))
    assert nested(same) == {(BUS, MAP)}


@pytest.mark.parametrize(
    ("protocol", "seat", "mechanism", "ceiling"),
    [
        (Protocol.NONE, Seat(Scheduling.fifo(7)), Mechanism.PLAIN, None),
        (Protocol.PRIORITY_INHERITANCE, Seat(Scheduling.fifo(7)), Mechanism.INHERITANCE, None),
        (Protocol.PRIORITY_INHERITANCE, Seat(Scheduling.deadline(10**6, 10**7, 10**7)), Mechanism.INHERITANCE, None),
        (Protocol.PRIORITY_INHERITANCE, OTHER, Mechanism.PLAIN, None),
        (Protocol.PRIORITY_CEILING, Seat(Scheduling.fifo(7)), Mechanism.CEILING, 7),
        (Protocol.PRIORITY_CEILING, Seat(Scheduling.fifo(7), lane=True), Mechanism.PLAIN, None),
        (Protocol.PRIORITY_CEILING, OTHER, Mechanism.PLAIN, None),
    ],
)
def test_a_protocol_takes_what_the_class_of_its_users_has(
    protocol: Protocol, seat: Seat, mechanism: Mechanism, ceiling: int | None
) -> None:
    locks = locks_of(USER, protocol=protocol, seat=seat)
    assert (locks.mechanisms[BUS], locks.ceilings[BUS]) == (mechanism, ceiling)


def test_a_job_enters_what_its_task_declares_and_as_it_nests(locks: Locks, clock: PacedClock) -> None:
    holding = Holding(locks, 0, USER, OTHER, clock)
    holding.begin(3, None)
    with holding.hold("bus") as is_abandoned, holding.hold("map"):
        assert not is_abandoned
    with holding.hold("map"):
        pass
    with pytest.raises(DeploymentError, match=r"enters a section of 'disk', which .* it has: bus, log, map"):
        holding.hold("disk")
    with holding.hold("map"), pytest.raises(DeploymentError, match="of 'bus' inside one of 'map'"):
        holding.hold("bus")
    with holding.hold("log"), pytest.raises(DeploymentError, match="of 'log' inside one of 'log'"):
        holding.hold("log")
    entered = {one.resource: one.entered for one in locks.record(set()).taken}
    assert entered == {BUS: 1, MAP: 3, LOG: 1}


def test_whole_jobs_hold_everything_and_enter_for_nothing(locks: Locks, clock: PacedClock) -> None:
    holding = Holding(locks, 0, USER, OTHER, clock)
    holding.begin(0, None)
    with holding.whole_job(), holding.hold("map"), holding.hold("bus"):
        assert not _is_free(locks, LOG)
    assert _is_free(locks, LOG) and _is_free(locks, BUS)
    assert [one.entered for one in locks.record(set()).taken if one.task == 0] == [1, 1, 1]


def test_a_section_is_left_whatever_is_raised(locks: Locks, clock: PacedClock) -> None:
    holding = Holding(locks, 0, USER, OTHER, clock)
    holding.begin(0, None)
    with pytest.raises(ZeroDivisionError), holding.hold("bus"), holding.hold("map"):
        raise ZeroDivisionError
    assert _is_free(locks, BUS) and _is_free(locks, MAP)


def test_what_takes_longer_than_declared_is_told_with_its_job(locks: Locks, clock: PacedClock) -> None:
    holding = Holding(locks, 0, USER, OTHER, clock)
    for job, cpu_ns in ((4, 0), (5, 3 * MS)):
        holding.begin(job, None)
        with holding.hold("bus"):
            until_ns = time.thread_time_ns() + cpu_ns
            while time.thread_time_ns() < until_ns:
                pass
    (taken,) = locks.record(set()).taken
    assert (taken.entered, taken.longer, taken.first_longer[0].job) == (2, 1, 5)
    assert taken.held_max_ns >= taken.executed_max_ns - MS >= 2 * MS
    assert taken.first_longer[0].executed_ns == taken.executed_max_ns


def test_budgets_are_let_out_for_the_outermost_section_only(locks: Locks, clock: PacedClock) -> None:
    exceeded: list[int] = []
    holding = Holding(locks, 0, USER, OTHER, clock)
    holding.begin(0, exceeded.append)
    with holding.hold("bus"), holding.hold("map"):
        assert exceeded == [2 * MS - 1]
    assert exceeded == [2 * MS - 1, 0]


def test_a_wait_that_costs_the_deadline_is_told_while_it_lasts(locks: Locks, clock: PacedClock) -> None:
    holding = Holding(locks, 1, USER, OTHER, clock)
    holding.begin(8, None)
    locks.acquire(BUS, 0, clock.now_ns)
    waiter = threading.Thread(target=_enter, args=(holding,))
    began_ns = clock.now_ns()
    waiter.start()
    until = time.monotonic() + 10
    while not locks.records.long_waits() and time.monotonic() < until:
        time.sleep(0.001)
    locks.release(BUS)
    waiter.join(10)
    (wait,) = locks.records.long_waits()
    assert (wait.task, wait.resource, wait.job) == (1, BUS, 8)
    assert wait.time_ns - began_ns >= 15 * MS  # its deadline without its demand
    (taken,) = (one for one in locks.record(set()).taken if one.task == 1)
    assert (taken.long_waits, taken.entered) == (1, 1) and taken.wait_max_ns >= 15 * MS


def test_whoever_comes_after_a_dead_owner_is_told(locks: Locks, clock: PacedClock) -> None:
    pid = fork(lambda: _die_in(locks, clock))
    os.waitpid(pid, 0)
    assert locks.record({pid}).abandoned == (Abandoned(MAP, 0, pid, None, None),)
    assert locks.record({pid + 1}).abandoned == ()
    holding = Holding(locks, 1, USER, OTHER, clock)
    holding.begin(0, None)
    with holding.hold("map") as is_abandoned:
        assert is_abandoned
    with holding.hold("map") as is_abandoned:
        assert not is_abandoned
    (died,) = locks.record({pid}).abandoned
    assert (died.resource, died.task, died.pid, died.found_by) == (MAP, 0, pid, 1)


def _die_in(locks: Locks, clock: PacedClock) -> None:
    locks.acquire(MAP, 0, clock.now_ns)
    os._exit(0)


def _enter(holding: Holding) -> None:
    with holding.hold("bus"):
        pass


def _is_free(locks: Locks, resource: int) -> bool:
    """For another thread: a mutex refuses the one that holds it."""
    found: list[bool] = []

    def ask() -> None:
        how = locks._mutexes[resource].acquire(0)
        found.append(how is not None)
        if how is not None:
            locks._mutexes[resource].release()

    asking = threading.Thread(target=ask)
    asking.start()
    asking.join()
    return found[0]
