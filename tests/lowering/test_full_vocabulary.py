"""Each feature of a system file reaches the machine: clocks, frequencies, modes, faults, links, LET, cores."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from rt_sched.config import load_system_text
from rt_sched.kernels.draw import demand_ns
from rt_sched.lowering import Execution, check_plan, lower, nominal_samples
from rt_sched.lowering.machine_input import (
    DeadlineAction,
    FaultRow,
    FaultTarget,
    FrequencyChangeRow,
    LinkRow,
    MachineInput,
    ModeChangeRow,
    OverrunAction,
    Policy,
    Protocol,
    ResourceRow,
    SectionRow,
    SuspensionRow,
    TableEntry,
    TaskRow,
    TimeSlice,
)
from rt_sched.model import Frequency, FrequencyChange, ModeChange, System
from rt_sched.planner import make_plan

MS = 1_000_000
ECU = "devices: {ecu: {processing_elements: {cpu: {kind: cpu}}}}\n"


def _system(text: str) -> System:
    return load_system_text(f"rt_sched: 1\nname: small\n{text}", file_name="s", base_dir=".", stages=None)


def _lowered(text: str, horizon_ns: int = 1000 * MS, fault: str = "", **more: object) -> MachineInput:
    system = _system(text)
    plan = make_plan(system)
    assert check_plan(system, plan) == []
    scenario = next((one for one in system.fault_scenarios if one.name == fault), None)
    samples = nominal_samples(system, horizon_ns)
    return lower(system, plan, samples, horizon_ns=horizon_ns, scenario=scenario, **more)  # type: ignore[arg-type]


def _task(keys: str, devices: str = ECU, **more: object) -> TaskRow:
    return _lowered(f"{devices}tasks:\n  t: {{runs_on: ecu.cpu, {keys}}}\n", **more).tasks[0]


def test_a_fast_clock_shortens_periods_offsets_and_let_deadlines() -> None:
    devices = "devices: {ecu: {processing_elements: {cpu: {kind: cpu}}, clock: {drift: 1000ppm, offset: 7ms}}}\n"
    keys = "activation: {period: 10ms, offset: 1001us}, execution: {wcet: 1ms}, deadline: 10010us"
    row = _task(keys, devices)
    assert row.rate_hz == Fraction(100) * Fraction(1001, 1000)
    assert row.offset_ns == 8 * MS
    assert row.separation_ns == 9_990_009
    assert (row.deadline_ns, row.let) == (10_010_000, False)
    assert _task(f"{keys}, communication: let", devices).deadline_ns == 10 * MS


def test_sporadic_tasks_draw_what_exceeds_the_least_separation() -> None:
    row = _task("activation: {min_separation: 10ms, max_separation: 15ms, jitter: 1ms}, execution: {wcet: 1ms}")
    assert (row.rate_hz, row.separation_ns, row.extra_separation_ns, row.jitter_ns) == (100, 10 * MS, 5 * MS, MS)
    assert _task("activation: {min_separation: 10ms}, execution: {wcet: 1ms}").extra_separation_ns == 0


def test_everything_inside_a_job() -> None:
    given = _lowered(
        "devices: {ecu: {processing_elements: {cpu: {kind: cpu, preemption: at_points}}}}\n"
        "resources: {r: {protocol: priority_ceiling}, s: {protocol: none}}\n"
        "tasks:\n  t:\n    {runs_on: ecu.cpu, activation: {rate: 10Hz}, execution: {wcet: 9ms, memory: 1ms},\n"
        "     suspensions: [{after: 5ms, max: 2ms}], preemption_points: [4ms],\n"
        "     critical_sections: [{resource: s, from: 1ms, to: 3ms}, {resource: r, from: 2ms, to: 3ms}],\n"
        "     budget: {limit: 9ms, granularity: 1us, on_overrun: fail_over}, on_deadline: skip_next,\n"
        "     miss_limit: 1 of 10}\n"
    )
    row = given.tasks[0]
    assert given.resources == (ResourceRow("r", Protocol.PRIORITY_CEILING), ResourceRow("s", Protocol.NONE))
    assert row.sections == (SectionRow(1, MS, 3 * MS), SectionRow(0, 2 * MS, 3 * MS))
    assert row.suspensions == (SuspensionRow(5 * MS, 0, 2 * MS),)
    assert (row.preemption_points_ns, row.memory_ns) == ((4 * MS,), MS)
    assert (row.budget_ns, row.budget_granularity_ns) == (9 * MS, 1000)
    assert (row.overrun_action, row.deadline_action) == (OverrunAction.FAIL_OVER, DeadlineAction.SKIP_NEXT)
    assert row.weakly_hard == (9, 10)
    assert given.processors[0].preemptive


def test_points_mean_nothing_where_any_instant_will_do() -> None:
    assert (
        _task("activation: {rate: 1Hz}, execution: {wcet: 9ms}, preemption_points: [4ms]").preemption_points_ns is None
    )


def test_times_declared_for_another_frequency_are_rescaled_but_for_memory() -> None:
    devices = (
        "devices: {ecu: {processing_elements: {cpu: {kind: cpu, frequency: 1500MHz}}}}\n"
        "resources: {r: {protocol: none}}\n"
    )
    keys = (
        "activation: {rate: 1Hz}, execution: {wcet: 10ms, bcet: 4ms, memory: 1ms, at: 1GHz}, "
        "critical_sections: [{resource: r, from: 3ms, to: 9500us}]"
    )
    row = _task(keys, devices, execution=Execution.WCET)
    assert row.demand_ns == 6 * MS + MS, "9 ms of compute work at two thirds"
    assert row.sections == (SectionRow(0, 2 * MS, 6 * MS + MS // 2),), "the last half millisecond is memory"
    assert _task(keys, devices, execution=Execution.BCET).demand_ns == 2 * MS + MS


def test_high_and_low_tasks() -> None:
    row = _task("activation: {rate: 1Hz}, execution: {wcet: 9ms, wcet_lo: 4ms}, criticality: C")
    assert (row.high_criticality, row.low_budget_ns) == (True, 4 * MS)
    assert not _task("activation: {rate: 1Hz}, execution: {wcet: 9ms}, criticality: D, level: LO").high_criticality


def test_a_chain_decides_how_its_tasks_communicate_unless_they_do() -> None:
    given = _lowered(
        f"{ECU}sensors: {{s: {{kind: imu, rate: 10Hz, attached_to: ecu, topic: /s}}}}\n"
        "tasks:\n"
        "  a: {runs_on: ecu.cpu, inputs: {i: s}, execution: {wcet: 1ms}}\n"
        "  b: {runs_on: ecu.cpu, inputs: {i: a}, execution: {wcet: 1ms}, communication: implicit}\n"
        "  c: {runs_on: ecu.cpu, inputs: {i: b}, execution: {wcet: 1ms}}\n"
        "chains: {x: {path: [s, a, b], communication: let}}\n"
    )
    assert [task.let for task in given.tasks] == [True, False, False]


def test_links_carry_what_inputs_say() -> None:
    given = _lowered(
        "devices:\n  d: {processing_elements: {cpu: {kind: cpu}}}\n  e: {processing_elements: {cpu: {kind: cpu}}}\n"
        "links: {eth: {bandwidth: 8Mbit/s, latency: 1us}}\n"
        "sensors: {s: {kind: imu, rate: 10Hz, attached_to: d, topic: /s}}\n"
        "tasks:\n"
        "  a: {runs_on: d.cpu, inputs: {i: s}, execution: {wcet: 1ms}, output_size: 2kB}\n"
        "  b: {runs_on: e.cpu, inputs: {i: {from: a, link: eth}}, execution: {wcet: 1ms}}\n"
        "faults: {cut: {lose: eth, at: 5ms}}\n",
        fault="cut",
    )
    assert given.links == (LinkRow("eth", Fraction(10**6), 1000),)
    assert [(edge.link, edge.size_bytes) for edge in given.edges] == [(None, 1), (0, 2000)]
    assert given.faults == (FaultRow(5 * MS, FaultTarget.LINK, 0),)


@pytest.mark.parametrize(
    ("element", "rows"),
    [
        ("cores: 4", [("ecu.cpu.0", 1), ("ecu.cpu.1", 1), ("ecu.cpu.2", 1), ("ecu.cpu.3", 1)]),
        ("cores: 4, scheduling: global", [("ecu.cpu[0-3]", 4)]),
        ("cores: 4, scheduling: clustered, cluster_size: 2", [("ecu.cpu[0-1]", 2), ("ecu.cpu[2-3]", 2)]),
    ],
)
def test_cores_that_share_a_queue_are_one_processor(element: str, rows: list[tuple[str, int]]) -> None:
    devices = f"devices: {{ecu: {{processing_elements: {{cpu: {{kind: cpu, {element}, migration_cost: 2us}}}}}}}}\n"
    given = _lowered(
        f"{devices}tasks: {{t: {{runs_on: ecu.cpu, activation: {{rate: 1Hz}}, execution: {{wcet: 1ms}}}}}}"
    )
    assert [(row.name, row.cores) for row in given.processors] == rows
    assert {row.migration_ns for row in given.processors} == {2000}


def test_slices_and_tables_name_their_tasks_by_index() -> None:
    given = _lowered(
        "devices:\n  ecu:\n    processing_elements:\n"
        "      cpu: {kind: cpu, policy: table, table: {cycle: 9ms, entries: [{at: 1ms, length: 2ms, task: b}]}}\n"
        "      gpu: {kind: gpu, policy: time_sliced, slack_sharing: true,\n"
        "            slices: [{length: 4ms, tasks: [c, a], switch_cost: 1us}]}\n"
        "tasks:\n"
        "  a: {runs_on: ecu.gpu, activation: {rate: 1Hz}, execution: {wcet: 1ms}}\n"
        "  b: {runs_on: ecu.cpu, activation: {rate: 1Hz}, execution: {wcet: 1ms}}\n"
        "  c: {runs_on: ecu.gpu, activation: {rate: 1Hz}, execution: {wcet: 1ms}}\n"
    )
    table, sliced = given.processors
    assert (table.policy, table.table, table.cycle_ns) == (Policy.TABLE, (TableEntry(MS, 2 * MS, 1),), 9 * MS)
    assert (sliced.policy, sliced.slices) == (Policy.TIME_SLICED, (TimeSlice(4 * MS, (0, 2), 1000),))
    assert sliced.slack_sharing


MODES = (
    "devices: {ecu: {processing_elements: {cpu: {kind: cpu, frequency: 1GHz}}}}\n"
    "sensors: {s: {kind: imu, rate: 10Hz, attached_to: ecu, topic: /s}}\n"
    "tasks:\n"
    "  a: {runs_on: ecu.cpu, inputs: {i: s}, execution: {wcet: 3ms, bcet: 1ms}}\n"
    "  b: {runs_on: ecu.cpu, activation: {rate: 1Hz}, execution: {wcet: 1ms}, start_latency: 4ms}\n"
    "  c: {runs_on: ecu.cpu, activation: {rate: 1Hz}, execution: {wcet: 1ms}}\n"
    "modes:\n  one: {without: [b]}\n  two: {tasks: [b, c], frequencies: {ecu.cpu: 500MHz}}\n"
    "faults:\n"
    "  lost: {lose: s, at: 150ms, mode: two, mode_after: 10ms}\n"
    "  gone: {lose: ecu, at: 1ms}\n"
    "  frozen: {freeze: s, at: 150ms}\n"
    "  slow: {overrun: a, jobs: [1, 3], demand: 9ms}\n"
)


def test_a_run_begins_in_the_first_mode_and_changes_with_the_fault() -> None:
    given = _lowered(MODES, fault="lost")
    assert [task.active for task in given.tasks] == [True, False, True]
    assert given.tasks[1].start_latency_ns == 4 * MS
    assert given.faults == (FaultRow(150 * MS, FaultTarget.SENSOR, 0),)
    assert given.mode_changes == (ModeChangeRow(160 * MS, (0,), (1,)),)
    assert given.frequency_changes == (FrequencyChangeRow(160 * MS, 0, 500_000),)
    assert given.processors[0].frequency_khz == 1_000_000


def test_going_back_to_a_mode_restores_its_tasks_and_frequencies() -> None:
    given = _lowered(MODES, mode_changes=[ModeChange(9 * MS, "one"), ModeChange(5 * MS, "two")])
    assert given.mode_changes == (ModeChangeRow(5 * MS, (0,), (1,)), ModeChangeRow(9 * MS, (1,), (0,)))
    assert given.frequency_changes == (
        FrequencyChangeRow(5 * MS, 0, 500_000),
        FrequencyChangeRow(9 * MS, 0, 1_000_000),
    )


def test_a_single_frequency_may_change_by_itself() -> None:
    change = FrequencyChange(3 * MS, Frequency("ecu", "cpu", 750_000_000))
    assert _lowered(MODES, frequency_changes=[change]).frequency_changes == (FrequencyChangeRow(3 * MS, 0, 750_000),)


def test_a_lost_device_takes_processor_and_sensor() -> None:
    kinds = {(row.kind, row.time_ns) for row in _lowered(MODES, fault="gone").faults}
    assert kinds == {(FaultTarget.PROCESSOR, MS), (FaultTarget.SENSOR, MS)}


def test_a_frozen_sensor_goes_on_with_its_last_stamp() -> None:
    samples = _lowered(MODES, fault="frozen").samples
    assert samples.capture_ns.tolist() == [0] + [100 * MS] * 9
    assert samples.arrival_ns.tolist() == [n * 100 * MS for n in range(10)]


def test_only_the_jobs_named_overrun_and_the_others_need_what_they_need_anyway() -> None:
    given = _lowered(MODES, fault="slow", seed=5)
    quantiles = np.array(given.tasks[0].demand_ns, np.int64)
    usual = [int(demand_ns(quantiles, np.uint64(5), 0, job)) for job in range(4)]
    assert given.tasks[0].explicit_demands_ns == (usual[0], 9 * MS, usual[2], 9 * MS)
    assert _lowered(MODES, fault="slow", execution=Execution.WCET).tasks[0].explicit_demands_ns == (
        3 * MS, 9 * MS, 3 * MS, 9 * MS,
    )  # fmt: skip


def test_nominal_samples_follow_rate_drift_latency_and_jitter() -> None:
    system = _system(
        f"{ECU}triggers: {{t: {{rate: 30000/1001Hz, offset: 1ms}}}}\n"
        "sensors:\n"
        "  a: {kind: camera, trigger: t, latency: 5ms, attached_to: ecu, topic: /a}\n"
        "  b: {kind: imu, rate: 100Hz, drift: 1000ppm, latency: 2ms, jitter: 1ms, attached_to: ecu, topic: /b}\n"
        "tasks: {x: {runs_on: ecu.cpu, inputs: {i: a}, execution: {wcet: 1ms}}}\n"
    )
    samples = nominal_samples(system, 1000 * MS, seed=3)
    a, b = samples.sensor == 0, samples.sensor == 1
    assert samples.capture_ns[a].tolist() == [MS + k * 1001 * 10**9 // 30000 for k in range(30)]
    assert (samples.arrival_ns[a] - samples.capture_ns[a]).tolist() == [5 * MS] * 30
    assert samples.capture_ns[b][:3].tolist() == [0, 9_990_009, 19_980_019]
    late = samples.arrival_ns[b] - samples.capture_ns[b]
    assert late.min() >= MS
    assert late.max() <= 3 * MS
    assert len(set(late.tolist())) > 90
    assert (np.diff(samples.arrival_ns) >= 0).all()
    assert samples.number[b].tolist() == list(range(int(b.sum())))
    again = nominal_samples(system, 500 * MS, seed=3)
    assert again.arrival_ns[again.sensor == 1][:50].tolist() == samples.arrival_ns[b][:50].tolist()
