"""What the watch over sensors is told before a run: whom it watches, how often, at what cost, and for whom."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.analysis.system.engine import mode_bounds
from rt_sched.app.health.order import fed_context, health_order
from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.app.inputs.systems import stage_context
from rt_sched.app.paced.host_supply import host_share, leaves_enough
from rt_sched.config import load_system
from rt_sched.errors import DeploymentError
from rt_sched.model import Plan, System
from rt_sched.planner.plan import make_plan
from rt_sched.runtime.health_order import HealthOrder
from rt_sched.runtime.host.scheduling import Scheduling
from rt_sched.runtime.host.supply import SupplyLoss
from rt_sched.runtime.host.tiers import Tier
from rt_sched.runtime.paced.feed.publisher import publisher_of
from rt_sched.runtime.paced.health.side import seat_of
from rt_sched.runtime.paced.seats.beside import Beside
from rt_sched.units import NS_PER_MS

from .conftest import SYSTEM

BYTES: dict[tuple[str, str | None], int] = {("front_wide", None): 700_000, ("lidar_top", None): 1_600_000}
SENSORS = ("front_wide", "lidar_top")


@pytest.fixture(scope="module")
def system() -> System:
    return load_system(SYSTEM, stages=ImportedStages())


@pytest.fixture(scope="module")
def plan(system: System) -> Plan:
    return make_plan(system)


def asking(system: System, **parameters: object) -> System:
    """With an arbiter that asks for reports."""
    tasks = tuple(
        replace(task, parameters=(*task.parameters, *parameters.items())) if task.name == "arbiter" else task
        for task in system.tasks
    )
    return replace(system, tasks=tasks)


def ordered(system: System, plan: Plan, recorded: tuple[str, ...] = SENSORS, *, always: bool = False) -> HealthOrder:
    found = health_order(system, plan, recorded, BYTES, 4000 * NS_PER_MS, always=always)
    assert found is not None
    return found


def test_it_is_there_for_an_arbiter_that_asks_or_for_a_script(system: System, plan: Plan) -> None:
    assert health_order(system, plan, SENSORS, BYTES, 0, always=False) is None
    assert health_order(system, plan, (), BYTES, 0, always=True) is None
    assert ordered(system, plan, always=True).reader is None
    found = ordered(asking(system, health_age_limit_ms=250, recovery_samples=7), plan)
    assert (found.reader, found.device, found.age_limit_ns, found.good_samples) == (
        "arbiter",
        "ecu-b",
        250 * NS_PER_MS,
        7,
    )
    assert [one.name for one in ordered(system, plan, ("lidar_top",), always=True).sensors] == ["lidar_top"]


def test_a_cycle_needs_a_quarter_of_its_period_at_most(system: System, plan: Plan) -> None:
    both, one = ordered(system, plan, always=True), ordered(system, plan, ("lidar_top",), always=True)
    for found in (both, one):
        assert found.period_ns % (10 * NS_PER_MS) == 0
        assert 4 * found.cycle_wcet_ns <= found.period_ns
        assert found.age_limit_ns == 10 * found.period_ns
        assert found.delay_ns == 2 * found.period_ns
    assert one.cycle_wcet_ns < both.cycle_wcet_ns


def test_a_limit_that_reports_cannot_keep_is_refused(system: System, plan: Plan) -> None:
    least_ns = 3 * ordered(system, plan, always=True).period_ns
    assert ordered(asking(system, health_age_limit_ms=least_ns // NS_PER_MS), plan).age_limit_ns == least_ns
    with pytest.raises(DeploymentError, match=r"task arbiter: health_age_limit_ms: 20 is too short"):
        ordered(asking(system, health_age_limit_ms=20), plan)


def test_the_timer_of_silence_begins_when_the_watch_does(system: System, plan: Plan) -> None:
    camera = ordered(system, plan, always=True).sensors[0]
    first, later = camera.silence(0), camera.silence(500 * NS_PER_MS)
    due_ns = 7 * NS_PER_MS + first.worst_case_ns
    assert (first.look(due_ns), first.look(due_ns + 1) is None) == (None, False)
    assert later.look(500 * NS_PER_MS + later.worst_case_ns) is None
    assert {one.name for one in camera.monitors()} >= {"stamp_age", "frozen", "black", "payload", "rate"}
    assert camera.monitors()[0] is not camera.monitors()[0]


def test_only_the_arbiter_that_asks_is_told_where_reports_come_from(system: System, plan: Plan) -> None:
    asks = asking(system, health_age_limit_ms=250)
    order = ordered(asks, plan)
    contexts = {task.name: stage_context(asks, task, authenticator=None) for task in asks.tasks}
    assert "health" in fed_context(contexts["arbiter"], order).sources
    assert fed_context(contexts["fuse"], order) is contexts["fuse"]
    assert fed_context(contexts["arbiter"], None) is contexts["arbiter"]
    assert contexts["arbiter"].rests_on == {"primary": ("front_wide",), "backup": ("lidar_top",)}


def test_it_stands_below_all_tasks_unless_a_core_is_free(system: System, plan: Plan) -> None:
    order = ordered(system, plan, always=True)
    shared, free = seat_of(order, Tier.FIFO, None, 1), seat_of(order, Tier.FIFO, 3, 1)
    assert (shared.cores, free.cores) == ((1,), (3,))
    assert shared.scheduling == free.scheduling == Scheduling.fifo(1)
    ordinary = replace(order, is_ordinary=True)
    for found in (seat_of(order, Tier.DEADLINE, None, 1), seat_of(ordinary, Tier.FIFO, None, 1)):
        assert found.scheduling == Scheduling.other(-20)
    assert seat_of(ordinary, Tier.FIFO, 3, 1) == free
    assert seat_of(order, Tier.USER, 3, 1).scheduling == Scheduling.other()


def test_it_comes_before_other_processes_only_where_enough_is_left_to_them(system: System, plan: Plan) -> None:
    processes, watch = Beside(publisher_of(system, plan, BYTES, None), ()), ordered(system, plan, always=True)

    def leaves(lost_ms: int, watch: HealthOrder = watch, tier: Tier = Tier.FIFO) -> bool:
        loss = SupplyLoss(lost_ms * NS_PER_MS, 1000 * NS_PER_MS, "")
        return leaves_enough(system, plan, tier, processes, loss, watch)

    small = replace(watch, cycle_wcet_ns=10_000)
    assert leaves(50, small) and not leaves(50, small, Tier.DEADLINE)
    assert not leaves(50, replace(watch, cycle_wcet_ns=watch.period_ns))
    assert leaves(900)  # what is counted anyway
    ordinary = replace(watch, is_ordinary=True)
    assert host_share(system, plan, Tier.FIFO, processes, None, ordinary) == host_share(
        system, plan, Tier.FIFO, processes, None
    )


def test_beside_tasks_it_is_one_more_of_their_core_and_delays_none(system: System, plan: Plan) -> None:
    processes, watch = Beside(publisher_of(system, plan, BYTES, None), ()), ordered(system, plan, always=True)
    without = host_share(system, plan, Tier.FIFO, processes, None)
    beside = host_share(system, plan, Tier.FIFO, processes, None, watch)
    name = plan.processors[watch.processor].name
    modes = [mode_loads(share.system, share.plan)[0] for share in (without, beside)]
    alone, also = (mode_bounds(mode, without.methods) for mode in modes)
    watched = also.pop(len(without.system.tasks))
    switch_ns = 200_000  # there is somebody to take the core from now
    for index, one in also.items():
        before_ns, after_ns = alone[index].bound.value_ns, one.bound.value_ns
        assert before_ns is not None and after_ns is not None
        assert before_ns <= after_ns <= before_ns + 4 * switch_ns
    assert watched.bound.value_ns is not None and watched.bound.value_ns > watch.cycle_wcet_ns
    assert [task.name for task in beside.system.tasks if task not in without.system.tasks] == ["sensors watched"]
    placed = {one.task: one for one in beside.plan.placements}
    assert plan.processors[placed["sensors watched"].processor].name == name
    mine = [one.level for one in without.plan.placements if one.processor == watch.processor]
    assert placed["sensors watched"].level > max(mine)
    assert host_share(system, plan, Tier.USER, processes, None, watch).system is system
