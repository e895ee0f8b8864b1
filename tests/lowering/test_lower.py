"""Names become indices, roles follow the join, faults take what hangs on them."""

from fractions import Fraction

import numpy as np
import pytest

from rt_sched.lowering import Execution, lower
from rt_sched.lowering.machine_input import (
    DeadlineAction,
    EdgeKind,
    FaultRow,
    FaultTarget,
    MachineInput,
    Overflow,
    Policy,
    Role,
)
from rt_sched.lowering.task_rows import resample_quantiles
from rt_sched.model import Fault, FaultKind, Plan, System
from rt_sched.sim import Simulation
from rt_sched.trace import JobStatus, SampleTable


def samples_at(*rows: tuple[int, int, int]) -> SampleTable:
    """Samples of (arrival, sensor, capture)."""
    table = np.array(rows, np.int64).reshape(-1, 3)
    zeros = np.zeros(len(table), np.int64)
    return SampleTable(table[:, 1].astype(np.int32), zeros, table[:, 0], table[:, 2], zeros.astype(np.int8))


def lowered(system: System, plan: Plan, *faults: Fault) -> MachineInput:
    return lower(system, plan, samples_at(), horizon_ns=10_000, faults=faults)


def test_processors_and_tasks_keep_their_order(system: System, plan: Plan) -> None:
    given = lowered(system, plan)
    assert [p.name for p in given.processors] == ["orin-1.cpu.0", "orin-1.cpu.1", "orin-1.gpu.0", "orin-2.cpu.0"]
    assert [p.policy for p in given.processors] == [Policy.FIXED_PRIORITY] * 2 + [Policy.FIFO, Policy.FIXED_PRIORITY]
    assert [p.preemptive for p in given.processors] == [True, True, False, True]
    assert [t.name for t in given.tasks] == ["decode", "detect", "pair", "fuse", "watch"]
    assert [t.processor for t in given.tasks] == [1, 2, 3, 3, 3]
    assert [t.level for t in given.tasks] == [0, 0, 1, 0, 2]
    assert [t.rate_hz for t in given.tasks] == [None, None, None, Fraction(30), None]
    assert given.tasks[3].offset_ns == 5
    pair = given.tasks[2]
    assert (pair.tolerance_ns, pair.budget_ns, pair.deadline_action) == (7, 300, DeadlineAction.ABORT)
    assert given.sensors == ("front", "top")


def test_inputs_become_edges_with_the_role_their_join_gives(system: System, plan: Plan) -> None:
    edges = lowered(system, plan).edges
    assert [(e.target, e.input, e.sensor, e.task, e.role) for e in edges] == [
        (0, "image", 0, None, Role.EACH),
        (1, "frame", None, 0, Role.EACH),
        (2, "boxes", None, 1, Role.PAIRED),
        (2, "cloud", 1, None, Role.PAIRED),
        (2, "image", 0, None, Role.READ),
        (3, "in", None, 2, Role.READ),
        (4, "cloud", 1, None, Role.EACH),
        (4, "boxes", None, 2, Role.READ),
    ]
    assert (edges[0].kind, edges[0].depth, edges[0].overflow) == (EdgeKind.QUEUE, 3, Overflow.DROP_NEWEST)
    assert edges[4].kind == EdgeKind.LATEST
    assert [e.required for e in edges] == [True, True, True, True, False, True, True, True]


@pytest.mark.parametrize(("execution", "demand"), [(Execution.WCET, 400), (Execution.BCET, 100)])
def test_execution_may_be_one_bound_for_all_jobs(system: System, plan: Plan, execution: Execution, demand: int) -> None:
    given = lower(system, plan, samples_at(), horizon_ns=10, execution=execution)
    assert {task.demand_ns for task in given.tasks} == {demand}


def test_profiles_are_resampled_exactly_at_their_own_points(system: System, plan: Plan) -> None:
    quantiles = lowered(system, plan).tasks[0].demand_ns
    assert isinstance(quantiles, tuple)
    assert (quantiles[0], quantiles[8], quantiles[16], quantiles[24], quantiles[32]) == (100, 150, 200, 300, 400)
    fine = tuple(range(0, 6500, 65))
    assert resample_quantiles(fine)[::32] == (fine[0], fine[-1])
    assert resample_quantiles((5,)) == (5,) * 33
    own = tuple(k * k + 1 for k in range(33))
    assert resample_quantiles(own) == own


def test_a_lost_device_takes_its_processors_and_the_sensors_it_alone_receives(system: System, plan: Plan) -> None:
    assert lowered(system, plan, Fault(FaultKind.DEVICE, "orin-2", 50)).faults == (
        FaultRow(50, FaultTarget.PROCESSOR, 3),
        FaultRow(50, FaultTarget.SENSOR, 1),
    )
    assert lowered(system, plan, Fault(FaultKind.CAMERA, "front", 9)).faults == (FaultRow(9, FaultTarget.SENSOR, 0),)


def test_a_dual_homed_sensor_is_lost_with_the_last_of_its_devices(system: System, plan: Plan) -> None:
    both = (Fault(FaultKind.DEVICE, "orin-1", 70), Fault(FaultKind.DEVICE, "orin-2", 50))
    sensors = [fault for fault in lowered(system, plan, *both).faults if fault.kind == FaultTarget.SENSOR]
    assert sensors == [FaultRow(70, FaultTarget.SENSOR, 0), FaultRow(50, FaultTarget.SENSOR, 1)]


def test_a_lowered_system_runs_along_its_edges(system: System, plan: Plan) -> None:
    samples = samples_at((10, 0, 3), (20, 1, 8), (5000, 0, 4990), (5000, 1, 4998))
    simulation = Simulation(lower(system, plan, samples, horizon_ns=10_000, execution=Execution.BCET))
    simulation.run()
    trace = simulation.trace()
    names = [trace.task_names[task] for task in trace.jobs.task]
    assert names.count("pair") == 1, "the second pair of stamps is 8 ns apart, the tolerance is 7 ns"
    pair = names.index("pair")
    detect = names.index("detect")
    assert trace.jobs.inputs[pair].tolist() == [detect, -3, -2]
    assert trace.jobs.capture_ns[pair] == 3
    assert trace.edges[3].slot == 1
    assert trace.jobs.status[names.index("fuse")] == JobStatus.SKIPPED
