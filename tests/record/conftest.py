"""A short run that has everything: preemption, misses, overruns, drops, skips, aborts, and the loss of two parts."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from rt_sched.lowering.machine_input import (
    DeadlineAction,
    EdgeKind,
    EdgeRow,
    FaultRow,
    FaultTarget,
    MachineInput,
    Policy,
    ProcessorRow,
    Role,
    Samples,
    TaskRow,
)
from rt_sched.sim import Simulation
from rt_sched.trace import Trace

MS = 1_000_000


@pytest.fixture(scope="session")
def eventful_trace() -> Trace:
    arrivals = [(k * 33 * MS + 2 * MS, 0, k * 33 * MS) for k in range(30)]
    arrivals += [(k * 100 * MS + 3 * MS, 1, k * 100 * MS) for k in range(10)]
    samples = Samples(*(np.array(column, dtype=np.int64) for column in zip(*arrivals, strict=True)))
    given = MachineInput(
        processors=(
            ProcessorRow("orin-1.cpu.0", Policy.FIXED_PRIORITY, preemptive=True),
            ProcessorRow("orin-1.gpu.0", Policy.FIFO, preemptive=False),
            ProcessorRow("orin-2.cpu.0", Policy.EDF, preemptive=True),
            ProcessorRow("orin-2.cpu.1", Policy.FIXED_PRIORITY, preemptive=True),
        ),
        sensors=("front", "lidar"),
        tasks=(
            TaskRow("prepare", 0, 30 * MS, tuple(range(4 * MS, 4 * MS + 33 * 100_000, 100_000)), level=1),
            TaskRow("infer", 1, 60 * MS, 45 * MS, budget_ns=44 * MS),
            TaskRow("cluster", 2, 60 * MS, 40 * MS),
            TaskRow("plan", 2, 20 * MS, 5 * MS, rate_hz=Fraction(30)),
            TaskRow("imu", 0, 5 * MS, MS, level=0, rate_hz=Fraction(200)),
            TaskRow("late", 3, 10 * MS, 12 * MS, level=1, rate_hz=Fraction(20), deadline_action=DeadlineAction.ABORT),
            TaskRow("starved", 3, 10 * MS, MS, rate_hz=Fraction(10)),
            TaskRow("fuse", 3, 50 * MS, MS, level=2, tolerance_ns=10 * MS),
        ),
        edges=(
            EdgeRow(0, "image", EdgeKind.QUEUE, Role.EACH, sensor=0),
            EdgeRow(1, "tensor", EdgeKind.QUEUE, Role.EACH, task=0),
            EdgeRow(2, "cloud", EdgeKind.QUEUE, Role.EACH, sensor=1),
            EdgeRow(3, "objects", EdgeKind.LATEST, Role.READ, task=1, required=False),
            EdgeRow(3, "boxes", EdgeKind.LATEST, Role.READ, task=2, required=False),
            EdgeRow(7, "camera", EdgeKind.QUEUE, Role.PAIRED, task=1, depth=2),
            EdgeRow(7, "lidar", EdgeKind.QUEUE, Role.PAIRED, task=2, depth=2),
            EdgeRow(6, "never", EdgeKind.LATEST, Role.READ, task=5),
        ),
        horizon_ns=1_000 * MS,
        seed=3,
        samples=samples,
        faults=(
            FaultRow(700 * MS, FaultTarget.SENSOR, 0),
            FaultRow(851 * MS, FaultTarget.PROCESSOR, 2),
        ),
    )
    simulation = Simulation(given)
    simulation.run()
    return simulation.trace()
