"""Reservations of tasks and of the publisher: what they hold, where they fit, and what is said where they do not."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.analysis.methods.reservations import Reservation
from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.app.paced.host_supply import host_share
from rt_sched.config import load_system
from rt_sched.errors import DeploymentError
from rt_sched.model import Budget, OverrunAction, Plan, System
from rt_sched.planner import make_plan
from rt_sched.runtime.host.scheduling import Scheduling
from rt_sched.runtime.host.supply import SupplyLoss
from rt_sched.runtime.host.tiers import Tier
from rt_sched.runtime.paced.feed.publisher import publisher_of
from rt_sched.runtime.paced.seats.reservations import as_scheduling, check_room, task_reservations
from rt_sched.units import NS_PER_MS, NS_PER_S

from .conftest import SYSTEM

BYTES = {("front_wide", None): 622_080, ("lidar_top", None): 1_700_000}
LOSS = SupplyLoss(50 * NS_PER_MS, NS_PER_S, "the fair server")


@pytest.fixture(scope="module")
def system() -> System:
    return load_system(SYSTEM, stages=ImportedStages())


@pytest.fixture(scope="module")
def plan(system: System) -> Plan:
    return make_plan(system, policy="edf")


def test_a_reservation_holds_a_job_with_its_switches_in_each_distance_of_arrivals(system: System, plan: Plan) -> None:
    found = {system.tasks[index].name: one for index, one in task_reservations(system, plan).items()}
    assert found.keys() == {task.name for task in system.tasks}
    assert found["arbiter"] == Reservation(4_900_000, 15 * NS_PER_MS, 38 * NS_PER_MS)
    assert found["plan"] == Reservation(5_400_000, 30 * NS_PER_MS, 95 * NS_PER_MS)  # activated by messages


def test_an_enforced_budget_counts_with_its_granularity(system: System, plan: Plan) -> None:

    limited = replace(system.tasks[0], budget_ns=5 * NS_PER_MS, budget=Budget(4 * NS_PER_MS, OverrunAction.ABORT))
    changed = replace(system, tasks=(limited, *system.tasks[1:]))
    assert task_reservations(changed, plan)[0].runtime_ns == 8 * NS_PER_MS + 400_000


def test_on_a_slower_clock_everything_takes_longer() -> None:
    one = Reservation(2 * NS_PER_MS, 10 * NS_PER_MS, 20 * NS_PER_MS)
    assert as_scheduling(one, Fraction(1, 2)) == Scheduling.deadline(*(n * NS_PER_MS for n in (4, 20, 40)))
    with pytest.raises(DeploymentError, match="runtime <= deadline"):
        as_scheduling(Reservation(3, 2, 4), Fraction(1))


def test_a_core_without_room_is_named_and_a_job_that_does_not_fit(system: System, plan: Plan) -> None:
    reservations = task_reservations(system, plan)
    check_room(system, plan, reservations, [0, 1], {}, Fraction(9, 10))
    with pytest.raises(DeploymentError, match=r"core 0 take 1\d\d\.\d% .* admits 90\.0%"):
        check_room(system, plan, reservations, [0, 0], {}, Fraction(9, 10))
    extra = {1: Reservation(3, 10, 10)}
    with pytest.raises(DeploymentError, match="core 1 take"):
        check_room(system, plan, reservations, [0, 1], extra, Fraction(9, 10))
    tight = reservations | {2: Reservation(50 * NS_PER_MS, 40 * NS_PER_MS, 100 * NS_PER_MS)}
    with pytest.raises(DeploymentError, match="post_front_wide may take"):
        check_room(system, plan, tight, [0, 1], {}, Fraction(1))


def test_the_publisher_goes_where_it_delays_the_fewest(system: System, plan: Plan) -> None:
    found = publisher_of(system, plan, BYTES)
    assert plan.processors[found.processor].device == "ecu-a"
    assert found.reservation.runtime_ns < found.reservation.deadline_ns < found.reservation.period_ns
    assert publisher_of(system, plan, {}).reservation.runtime_ns == 1


@pytest.mark.parametrize("tier", [Tier.FIFO, Tier.DEADLINE])
def test_nothing_counts_for_the_kernel_where_tasks_leave_others_enough(system: System, tier: Tier) -> None:
    plan = make_plan(system, policy="edf" if tier is Tier.DEADLINE else None)
    publisher = publisher_of(system, plan, BYTES)
    spared = host_share(system, plan, tier, publisher, LOSS)
    assert spared.counted == () and spared.why_no_bounds is None
    assert all(left is not None and left >= LOSS.lost_ns for left in spared.spare_ns.values())
    greedy = host_share(system, plan, tier, publisher, replace(LOSS, lost_ns=300 * NS_PER_MS))
    assert greedy.counted == ("ecu-a.cpu.0", "ecu-b.cpu.0")
    assert (greedy.why_no_bounds is None) == (tier is Tier.FIFO)
    names = [task.name for load in mode_loads(greedy.system, greedy.plan)[0].loads for task in load.tasks]
    assert sum("lent to others" in name for name in names) == (2 if tier is Tier.FIFO else 0)
    assert "samples published" in names
