"""Every feature of the format once: what is read, and what counts where nothing is written."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from rt_sched.config import load_system
from rt_sched.lowering import check_plan
from rt_sched.model import (
    BrakingCase,
    Budget,
    Communication,
    CriticalityLevel,
    CriticalSection,
    DeadlineAction,
    DeviceClock,
    FaultEffect,
    FaultScenario,
    Frequency,
    Join,
    Link,
    OnMessage,
    OperatingPoint,
    OverrunAction,
    PEKind,
    Periodic,
    Policy,
    Preemption,
    ProcessingElement,
    Protocol,
    Requirement,
    Scheduling,
    SharedResource,
    Sporadic,
    Suspension,
    System,
    TableEntry,
    Task,
    TimeSlice,
    Trigger,
)
from rt_sched.model.platform import Contention
from rt_sched.planner import make_plan

MS = 1_000_000


@pytest.fixture(scope="module")
def system() -> System:
    return load_system(Path(__file__).parent / "valid_full.yaml", stages=None)


def _task(system: System, name: str) -> Task:
    return next(task for task in system.tasks if task.name == name)


def _element(system: System, device: int, name: str) -> ProcessingElement:
    return next(pe for pe in system.devices[device].processing_elements if pe.name == name)


def test_it_can_be_planned(system: System) -> None:
    assert check_plan(system, make_plan(system)) == []


def test_devices(system: System) -> None:
    assert system.devices[0].clock == DeviceClock(Fraction(-20), MS, 20_000)
    assert system.devices[1].clock == DeviceClock()
    assert (system.devices[0].memory_bytes, system.devices[1].memory_bytes) == (32 * 2**30, None)
    assert system.devices[0].contention == (
        Contention("gpu", "dla0", Fraction(13, 10)),
        Contention("gpu", "cpu", Fraction(21, 20)),
    )
    smp = system.devices[1].processing_elements[0]
    assert (smp.busy_power_mw, smp.idle_power_mw) == (12_000, 800)
    cpu = _element(system, 0, "cpu")
    assert (cpu.cores, cpu.scheduling, cpu.cluster_size, cpu.queue_cores) == (8, Scheduling.CLUSTERED, 4, 4)
    assert (cpu.switch_cost_ns, cpu.migration_cost_ns, cpu.frequency_hz) == (5000, 20_000, 1_728_000_000)
    assert _element(system, 0, "gpu").frequency_hz == 612_000_000
    smp = _element(system, 1, "smp")
    assert (smp.policy, smp.queue_cores, smp.preemption) == (Policy.EDF, 2, Preemption.ANY)
    assert _element(system, 1, "sliced").slices == (
        TimeSlice(6 * MS, ("render",), MS // 2),
        TimeSlice(4 * MS, ("infer",), 0),
    )
    assert _element(system, 1, "sliced").slack_sharing
    fixed = _element(system, 1, "fixed")
    assert (fixed.table, fixed.table_cycle_ns) == ((TableEntry(0, 5 * MS, "control"),), 20 * MS)
    single = _element(system, 1, "single")
    assert (single.preemption, single.frequency_hz) == (Preemption.AT_POINTS, 10**9)
    assert single.operating_points == (OperatingPoint(5 * 10**8, 700_000), OperatingPoint(10**9, 900_000))


def test_links_triggers_and_sensors(system: System) -> None:
    assert system.links == (Link("backbone", Fraction(10**10, 8), 20_000, ("ecu-1", "ecu-2")),)
    assert system.triggers == (Trigger("sync", Fraction(30_000, 1001), 2 * MS, Fraction(5)),)
    left, _, top = system.sensors
    assert (left.rate_hz, left.offset_ns, left.drift_ppm, left.trigger) == (Fraction(30_000, 1001), 2 * MS, 5, "sync")
    assert (left.frame_bytes, left.latency_ns) == (6_200_000, 5 * MS)
    assert (top.trigger, top.drift_ppm, top.frame_bytes) == (None, 30, None)


def test_activations(system: System) -> None:
    assert _task(system, "infer").activation == OnMessage(Join.ALL, None, 5 * MS)
    assert _task(system, "control").activation == Periodic(Fraction(50), 0, MS)
    assert _task(system, "event").activation == Sporadic(10 * MS, 15 * MS, 3 * MS)
    assert (_task(system, "event").separation_ns, _task(system, "event").deadline_ns) == (10 * MS, 10 * MS)


def test_execution(system: System) -> None:
    infer = _task(system, "infer")
    assert infer.execution.wcet_ns == 4 * MS, "that of the GPU it runs on"
    assert (infer.execution.memory_ns, infer.execution.frequency_hz) == (MS, 10**9)
    assert {kind: times.wcet_ns for kind, times in infer.execution_by_kind} == {PEKind.CPU: 30 * MS, PEKind.GPU: 4 * MS}
    assert infer.candidates == (("ecu-1", "gpu"), ("ecu-1", "cpu"))
    assert _task(system, "plan").suspensions == (Suspension(MS, MS // 10, 2 * MS),)
    assert _task(system, "plan").budget_ns == 5 * MS
    assert _task(system, "plan").budget == Budget(100_000, OverrunAction.DEGRADE, MS)
    assert _task(system, "control").budget == Budget(1, OverrunAction.ABORT)
    assert _task(system, "event").preemption_points_ns == (MS // 2, MS)
    assert _task(system, "watch").execution.wcet_lo_ns == 2 * MS


def test_resources(system: System) -> None:
    assert system.resources == (
        SharedResource("map", Protocol.PRIORITY_INHERITANCE),
        SharedResource("log", Protocol.MSRP),
    )
    assert _task(system, "plan").sections == (
        CriticalSection("map", MS, 3 * MS),
        CriticalSection("log", 2 * MS, 3 * MS),
    )


def test_messages(system: System) -> None:
    left, right = _task(system, "infer").inputs
    assert (left.link, left.size_bytes) == ("backbone", 6_200_000), "a frame of the camera"
    assert right.link is None
    assert _task(system, "plan").inputs[0].size_bytes == 20_000, "its own, not that of the producer"
    assert _task(system, "plan").communication is Communication.LET
    assert _task(system, "infer").communication is None
    assert _task(system, "infer").max_disparity_ns == 5 * MS


def test_what_happens_when_things_go_wrong(system: System) -> None:
    assert _task(system, "infer").miss_limit == (1, 10)
    assert _task(system, "event").deadline_action is DeadlineAction.SKIP_NEXT
    watch = _task(system, "watch")
    assert (watch.level, watch.is_high) == (CriticalityLevel.HI, True)
    assert not _task(system, "plan").is_high


def test_modes_and_faults(system: System) -> None:
    normal, limp = system.modes
    assert normal.tasks == ("render", "infer", "control", "plan", "event", "watch")
    assert limp.tasks == ("control", "plan", "spare")
    assert Frequency("ecu-2", "single", 5 * 10**8) in limp.frequencies
    assert Frequency("ecu-1", "cpu", 1_728_000_000) in limp.frequencies
    assert _task(system, "spare").start_latency_ns == 2 * MS
    lose, *_, slow = system.fault_scenarios
    assert lose == FaultScenario(
        "lose_left",
        FaultEffect.LOSE,
        "left",
        time_ns=1000 * MS,
        detection_ns=60 * MS,
        reaction_ns=30 * MS,
        margin_ns=10 * MS,
        mode="limp",
        mode_after_ns=60 * MS,
    )
    assert (slow.effect, slow.jobs, slow.demand_ns) == (FaultEffect.OVERRUN, (3, 4), 9 * MS)


def test_a_task_without_words_has_the_documented_defaults(system: System) -> None:
    render = _task(system, "render")
    assert render.stage == ""
    assert (render.core, render.priority, render.budget_ns, render.miss_limit, render.level) == (None,) * 5
    assert render.deadline_ns == render.separation_ns == 16_666_666
    assert (render.execution.bcet_ns, render.execution.memory_ns) == (3 * MS, 0)
    assert (render.candidates, render.sections, render.suspensions, render.preemption_points_ns) == ((),) * 4
    assert (render.deadline_action, render.communication) == (DeadlineAction.CONTINUE, None)


def test_requirements(system: System) -> None:
    first, second = system.requirements
    assert [str(limit) for limit in first.limits] == ["chains.see.max_reaction", "tasks.infer.max_disparity"]
    assert (first.asil, first.source, first.rationale) == (
        "B(D)",
        "item definition 4.2",
        "stops before an obstacle seen late",
    )
    assert first.braking == BrakingCase(Fraction(125, 9), Fraction(40), Fraction(6), 150 * MS)
    assert second == Requirement("REQ-2", ())
