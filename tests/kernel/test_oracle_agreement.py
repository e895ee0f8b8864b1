"""The kernel agrees with the tick-by-tick oracle on random systems, job by job, in bulk and stepped."""

from collections import Counter

import pytest
from kernel_oracle import Result, simulate
from kernel_systems import random_system

from rt_sched.lowering.machine_input import MachineInput
from rt_sched.sim import Simulation
from rt_sched.trace import DropReason, JobStatus, SampleStatus, Trace, schedule_sha256

BLOCKS, PER_BLOCK = 10, 300

#: How often each feature must at least have occurred over all systems, so that agreement means something.
LEAST_MET = {
    "COMPLETED": 10000,
    "SKIPPED": 500,
    "ABORTED": 500,
    "LOST": 100,
    "LOST on arrival": 200,
    "sample LOST": 200,
    "missed": 3000,
    "overrun": 2000,
    "at deadline": 100,
    "at budget": 500,
    "preemption": 1000,
    "tie": 1000,
    "backlog": 500,
    "FULL_OLDEST": 500,
    "FULL_NEWEST": 500,
    "UNMATCHED": 200,
    "activated by latest": 1000,
    "activated by queue": 1000,
    "paired": 300,
    "queue read": 500,
}


def rows_of(trace: Trace) -> Result:
    """A trace in the oracle's form."""
    jobs = trace.jobs
    times = (
        jobs.arrival_ns,
        jobs.release_ns,
        jobs.start_ns,
        jobs.finish_ns,
        jobs.deadline_ns,
        jobs.demand_ns,
        jobs.executed_ns,
        jobs.capture_ns,
    )
    numbers = zip(*(column.tolist() for column in (jobs.task, jobs.number, *times)), strict=True)
    ends = zip(jobs.status.tolist(), jobs.missed.tolist(), jobs.overrun.tolist(), jobs.inputs.tolist(), strict=True)
    slices, drops = trace.slices, trace.drops
    slice_rows = zip(slices.processor, slices.job, slices.start_ns, slices.end_ns, strict=True)
    drop_rows = zip(drops.time_ns, drops.edge, drops.message, drops.reason, strict=True)
    return Result(
        jobs=[
            (*row, JobStatus(status).name, missed, overrun, tuple(inputs))
            for row, (status, missed, overrun, inputs) in zip(numbers, ends, strict=True)
        ],
        slices=sorted((tuple(map(int, row)) for row in slice_rows), key=lambda row: (row[3], row[0])),
        drops=[
            (int(time), int(edge), int(message), DropReason(reason).name) for time, edge, message, reason in drop_rows
        ],
        samples=[SampleStatus(status).name for status in trace.samples.status],
    )


def stepped(given: MachineInput) -> Simulation:
    simulation = Simulation(given, rows=1)
    while simulation.step() is not None:
        pass
    return simulation


@pytest.mark.parametrize("block", range(BLOCKS))
def test_kernel_equals_oracle_on_random_systems(block: int) -> None:
    for seed in range(block * PER_BLOCK, (block + 1) * PER_BLOCK):
        given = random_system(seed)
        expected = simulate(given)
        simulation = Simulation(given)
        simulation.run()
        actual = rows_of(simulation.trace())
        for table in ("jobs", "slices", "drops", "samples"):
            assert getattr(actual, table) == getattr(expected, table), f"system {seed}: {table}"
        step_trace = stepped(given).trace()
        assert rows_of(step_trace) == actual, f"system {seed}: stepped and in bulk"
        assert schedule_sha256(step_trace) == schedule_sha256(simulation.trace())


def test_random_systems_met_every_feature_often_enough() -> None:
    met: Counter[str] = Counter()
    for seed in range(BLOCKS * PER_BLOCK):
        met.update(simulate(random_system(seed)).met)
    assert {feature: met[feature] for feature in LEAST_MET if met[feature] < LEAST_MET[feature]} == {}
