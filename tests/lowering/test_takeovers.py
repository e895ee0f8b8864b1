"""Changes of plan as changes of tasks, arrivals and presence."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from rt_sched.lowering import Execution, lower
from rt_sched.lowering.machine_input import ExtraArrivalRow, MachineInput, ModeChangeRow, RouteChangeRow
from rt_sched.model import (
    DeviceClock,
    ExecutionTime,
    FaultEffect,
    FaultScenario,
    Link,
    Mode,
    ModeChange,
    PEKind,
    Placement,
    Plan,
    PlanChange,
    System,
    Takeover,
    Variant,
)
from rt_sched.sim import Simulation
from rt_sched.trace import JobStatus, SampleTable

AWAY = 3
LIGHT = Variant("light", ExecutionTime(10, 20, (), memory_ns=5), every=2)
ONE = Takeover(
    losses=("device:orin-1",),
    moves=(Placement("decode", AWAY, 7), Placement("detect", AWAY, 8)),
    dropped=("watch",),
    redone=("decode",),
    at_once=(("fuse", 5),),
)
OTHER = replace(ONE, losses=("camera:front",), moves=ONE.moves[:1], dropped=(), variants=(("pair", "light"),))


def no_samples() -> SampleTable:
    none = np.zeros(0, np.int64)
    return SampleTable(none.astype(np.int32), none, none, none, none.astype(np.int8))


@pytest.fixture
def varied(system: System) -> System:
    tasks = (*system.tasks[:2], replace(system.tasks[2], variants=(LIGHT,)), *system.tasks[3:])
    return replace(system, tasks=tasks)


def lowered(system: System, plan: Plan, *changes: PlanChange, **more: object) -> MachineInput:
    values: dict = {"horizon_ns": 10_000, "execution": Execution.WCET, **more}
    return lower(system, plan, no_samples(), plan_changes=changes, **values)


def changes_of(given: MachineInput) -> list[tuple[int, str, int, int, bool]]:
    return [(one.time_ns, one.row.name, one.row.processor, one.row.level, one.moved) for one in given.task_changes]


def test_moves_become_changes_of_tasks_and_back(varied: System, plan: Plan) -> None:
    given = lowered(varied, plan, PlanChange(90, None), PlanChange(40, ONE))
    assert changes_of(given) == [
        (40, "decode", AWAY, 7, True),
        (40, "detect", AWAY, 8, True),
        (90, "decode", 1, 0, True),
        (90, "detect", 2, 0, True),
    ]
    assert [one.row for one in given.task_changes[2:]] == list(given.tasks[:2])
    assert given.mode_changes == (ModeChangeRow(40, removed=(4,)), ModeChangeRow(90, added=(4,)))
    assert given.extra_arrivals == (ExtraArrivalRow(40, 0), ExtraArrivalRow(45, 3))


def test_from_one_takeover_to_another_only_what_differs_changes(varied: System, plan: Plan) -> None:
    given = lowered(varied, plan, PlanChange(40, ONE), PlanChange(43, OTHER))
    assert changes_of(given)[2:] == [(43, "detect", 2, 0, True), (43, "pair", AWAY, 1, False)]
    pair = given.task_changes[3].row
    assert (pair.demand_ns, pair.memory_ns, pair.every) == (20, 5, 2)
    assert replace(pair, demand_ns=400, memory_ns=0, every=1) == given.tasks[2]
    assert given.extra_arrivals == (ExtraArrivalRow(40, 0), ExtraArrivalRow(43, 0), ExtraArrivalRow(48, 3))


def test_of_several_changes_at_one_instant_the_last_one_lasts(varied: System, plan: Plan) -> None:
    given = lowered(varied, plan, PlanChange(40, ONE), PlanChange(40, None))
    assert (given.task_changes, given.extra_arrivals) == ((), ())


def test_a_task_is_there_when_its_mode_has_it_and_no_takeover_drops_it(varied: System, plan: Plan) -> None:
    every = tuple(task.name for task in varied.tasks)
    modes = (Mode("all", every), Mode("few", every[:4]))
    given = lowered(
        replace(varied, modes=modes),
        plan,
        PlanChange(40, ONE),
        PlanChange(60, None),
        mode_changes=(ModeChange(50, "few"), ModeChange(70, "all")),
    )
    assert given.mode_changes == (
        ModeChangeRow(40, removed=(4,)),
        ModeChangeRow(50),
        ModeChangeRow(70, added=(4,)),
    )


def test_demands_are_those_of_the_new_kind_of_element_at_its_frequency(varied: System, plan: Plan) -> None:
    times = ((PEKind.CPU, ExecutionTime(10, 600, (), frequency_hz=2 * 10**9)), (PEKind.GPU, ExecutionTime(1, 4, ())))
    detect = replace(varied.tasks[1], execution_by_kind=times)
    cpu = replace(varied.devices[1].processing_elements[0], frequency_hz=10**9)
    system = replace(
        varied,
        tasks=(varied.tasks[0], detect, *varied.tasks[2:]),
        devices=(varied.devices[0], replace(varied.devices[1], processing_elements=(cpu,))),
    )
    given = lowered(system, plan, PlanChange(40, ONE))
    assert (given.tasks[1].demand_ns, given.task_changes[1].row.demand_ns) == (4, 1200)


def test_a_moved_task_keeps_the_clock_of_its_nominal_device(varied: System, plan: Plan) -> None:
    slow = replace(varied.devices[1], clock=DeviceClock(drift_ppm=Fraction(1000), offset_ns=30))
    system = replace(varied, devices=(varied.devices[0], slow))
    fuse = Takeover(("device:orin-2",), moves=(Placement("fuse", 0, 0),))
    given = lowered(system, plan, PlanChange(40, fuse))
    assert given.tasks[3].offset_ns > 30
    assert given.task_changes[0].row == replace(given.tasks[3], processor=0, level=0)


def test_overruns_of_a_scenario_are_those_of_the_variant_as_well(varied: System, plan: Plan) -> None:
    scenario = FaultScenario("slow", FaultEffect.OVERRUN, "pair", jobs=(1,), demand_ns=900)
    given = lowered(varied, plan, PlanChange(40, OTHER), scenario=scenario)
    assert given.tasks[2].explicit_demands_ns == (400, 900)
    assert given.task_changes[-1].row.explicit_demands_ns == (20, 900)


def test_messages_take_the_links_that_lead_to_where_tasks_are(varied: System, plan: Plan) -> None:
    link = Link("eth", Fraction(10**9), latency_ns=3, between=("orin-1", "orin-2"))
    inputs = tuple(replace(one, link="eth", size_bytes=7) for one in varied.tasks[2].inputs[:1])
    pair = replace(varied.tasks[2], inputs=(*inputs, *varied.tasks[2].inputs[1:]))
    detect = replace(varied.tasks[1], inputs=(replace(varied.tasks[1].inputs[0], size_bytes=9),))
    system = replace(varied, links=(link,), tasks=(varied.tasks[0], detect, pair, *varied.tasks[3:]))
    given = lowered(system, plan, PlanChange(40, OTHER), PlanChange(50, ONE), PlanChange(90, None))
    assert [edge.link for edge in given.edges[:3]] == [None, None, 0]
    assert given.route_changes == (
        RouteChangeRow(40, 1, 0),
        RouteChangeRow(50, 1, None),
        RouteChangeRow(50, 2, None),
        RouteChangeRow(90, 2, 0),
    )


def test_a_lowered_takeover_runs(varied: System, plan: Plan) -> None:
    simulation = Simulation(lowered(varied, plan, PlanChange(100, ONE), horizon_ns=2_000))
    simulation.run()
    trace = simulation.trace()
    assert trace.jobs.arrival_ns.tolist() == [5, 105], "fuse arrives in its cycle and at once"
    assert set(trace.jobs.status.tolist()) == {JobStatus.SKIPPED}
