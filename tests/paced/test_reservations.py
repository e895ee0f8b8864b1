"""Reservations of tasks and of the publisher: what they hold, where they fit, and what is said where they do not."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.analysis.methods.reservations import Reservation
from rt_sched.analysis.system.engine import mode_bounds
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
from rt_sched.runtime.paced.seats.beside import Beside
from rt_sched.runtime.paced.seats.fitting import Room
from rt_sched.runtime.paced.seats.reservations import as_scheduling, check_room, task_reservations
from rt_sched.units import NS_PER_MS, NS_PER_S

from .conftest import SYSTEM

BYTES = {("front_wide", None): 622_080, ("lidar_top", None): 1_700_000}
SHARE = Fraction(9, 10)
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
    check_room(system, plan, reservations, [0, 1], [], SHARE)
    with pytest.raises(DeploymentError, match=r"core 0 take 1\d\d\.\d% .* admits 90\.0%"):
        check_room(system, plan, reservations, [0, 0], [], SHARE)
    extra = [("more", 1, Reservation(3, 10, 10))]
    with pytest.raises(DeploymentError, match="core 1 take"):
        check_room(system, plan, reservations, [0, 1], extra, SHARE)
    tight = reservations | {2: Reservation(50 * NS_PER_MS, 40 * NS_PER_MS, 100 * NS_PER_MS)}
    with pytest.raises(DeploymentError, match="post_front_wide may take"):
        check_room(system, plan, tight, [0, 1], [], Fraction(1))


def test_the_publisher_goes_where_it_delays_the_fewest(system: System, plan: Plan) -> None:
    found = publisher_of(system, plan, BYTES, None)
    assert plan.processors[found.processor].device == "ecu-a" and found.reservation is None
    assert [one.name for one in found.wakeups] == ["front_wide", "lidar_top"]
    reserved = publisher_of(system, plan, BYTES, Room.beside(system, plan, SHARE, LOSS)).reservation
    assert reserved is not None and reserved.runtime_ns > found.wakeups[0].cost_ns + found.wakeups[1].cost_ns
    assert reserved.deadline_ns == reserved.period_ns, "a sample of one sensor may come soon after that of another"
    assert publisher_of(system, plan, {}, None).wakeups == ()


def with_imu(system: System) -> tuple[System, dict[tuple[str, str | None], int]]:
    """Its messages may come 1 ms apart, two of them, but not all the time."""
    imu = replace(system.sensors[0], name="imu", rate_hz=Fraction(200), jitter_ns=2 * NS_PER_MS, capture_jitter_ns=0)
    return replace(system, sensors=(*system.sensors, imu)), BYTES | {("imu", None): 100}


def test_a_fast_sensor_with_jitter_leaves_bounds_to_the_tasks(system: System) -> None:
    fast, bytes_of = with_imu(system)
    for tier, policy in ((Tier.FIFO, None), (Tier.DEADLINE, "edf")):
        short = tuple(
            replace(task, execution=replace(task.execution, bcet_ns=1, wcet_ns=task.execution.wcet_ns // 2))
            for task in fast.tasks
        )
        loaded = replace(fast, tasks=short)
        plan = make_plan(loaded, policy=policy)
        room = Room.beside(loaded, plan, SHARE, LOSS) if tier is Tier.DEADLINE else None
        publisher = publisher_of(loaded, plan, bytes_of, room)
        if publisher.reservation is not None:
            assert Fraction(publisher.reservation.runtime_ns, publisher.reservation.period_ns) < Fraction(3, 10)
        share = host_share(loaded, plan, tier, Beside(publisher, ()), None)
        bounds = mode_bounds(mode_loads(share.system, share.plan)[0], share.methods)
        assert all(one.bound is not None for one in bounds.values()), tier


def test_what_does_not_fit_is_refused_with_its_part(system: System) -> None:
    fast, bytes_of = with_imu(system)
    plan = make_plan(fast, policy="edf")
    publisher = publisher_of(fast, plan, bytes_of, Room.beside(fast, plan, SHARE, LOSS))
    beside = [(name, place, one) for name, place, one in Beside(publisher, ()).reserved]
    with pytest.raises(DeploymentError, match=r"core 0 take 1\d\d\.\d% of it \(\d\d\.\d% for the samples\), and the"):
        check_room(fast, plan, task_reservations(fast, plan), [0, 1], beside, SHARE)


@pytest.mark.parametrize("tier", [Tier.FIFO, Tier.DEADLINE])
def test_nothing_counts_for_the_kernel_where_tasks_leave_others_enough(system: System, tier: Tier) -> None:
    plan = make_plan(system, policy="edf" if tier is Tier.DEADLINE else None)
    room = Room.beside(system, plan, SHARE, LOSS) if tier is Tier.DEADLINE else None
    beside = Beside(publisher_of(system, plan, BYTES, room), ())
    spared = host_share(system, plan, tier, beside, LOSS)
    assert spared.counted == () and spared.why_no_bounds is None
    assert all(left is not None and left >= LOSS.lost_ns for left in spared.spare_ns.values())
    greedy = host_share(system, plan, tier, beside, replace(LOSS, lost_ns=300 * NS_PER_MS))
    assert greedy.counted == ("ecu-a.cpu.0", "ecu-b.cpu.0")
    assert (greedy.why_no_bounds is None) == (tier is Tier.FIFO)
    names = [task.name for load in mode_loads(greedy.system, greedy.plan)[0].loads for task in load.tasks]
    assert sum("lent to others" in name for name in names) == (2 if tier is Tier.FIFO else 0)
    assert sum(name.startswith("samples published") for name in names) == (2 if tier is Tier.FIFO else 1)
