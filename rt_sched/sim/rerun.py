"""A run's arrivals and demands, simulated once more: what the modelled schedule makes of what really happened."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rt_sched.errors import DataError
from rt_sched.lowering.machine_input import MachineInput, ProcessorRow, Samples, TaskRow
from rt_sched.sim.simulation import Simulation
from rt_sched.trace.records import Int64s, JobStatus, SampleStatus, Trace
from rt_sched.trace.setup import OverrunAction

#: Jobs that took no part in the schedule.
_ABSENT = (JobStatus.SUPPRESSED,)


def rerun(trace: Trace) -> tuple[Trace, list[tuple[Int64s, Int64s]]]:
    """The simulation of the arrivals of samples and timed jobs of `trace` with the executed times of its jobs.

    Switches take no time and nothing is ended by a budget, so that what differs are the costs of the real run. Also, by
    task, the rows of its jobs in `trace` and of the same jobs in the simulation. Raises DataError for a trace that does
    not say under which rules it was made.
    """
    if trace.setup is None:
        raise DataError("the trace does not say under which rules it was made")
    setup = trace.setup
    served = [_served(trace, index) for index in range(len(setup.tasks))]
    delivered = trace.samples.status == SampleStatus.DELIVERED
    given = MachineInput(
        processors=tuple(_without_costs(row) for row in setup.processors),
        sensors=setup.sensors,
        tasks=tuple(_as_it_was(row, trace, served[index]) for index, row in enumerate(setup.tasks)),
        edges=tuple(replace(edge, link=None) for edge in setup.edges),
        horizon_ns=trace.horizon_ns,
        samples=Samples(
            trace.samples.arrival_ns[delivered].astype(np.int64),
            trace.samples.sensor[delivered].astype(np.int64),
            trace.samples.capture_ns[delivered].astype(np.int64),
        ),
        resources=setup.resources,
    )
    simulation = Simulation(given)
    simulation.run()
    simulated = simulation.trace()
    pairs = []
    for index, rows in enumerate(served):
        again = np.flatnonzero(simulated.jobs.task == index)
        count = min(len(rows), len(again))
        pairs.append((rows[:count], again[:count]))
    return simulated, pairs


def _served(trace: Trace, task: int) -> Int64s:
    mine = (trace.jobs.task == task) & ~np.isin(trace.jobs.status, _ABSENT)
    rows = np.flatnonzero(mine)
    return rows[np.argsort(trace.jobs.number[rows], kind="stable")]


def _without_costs(row: ProcessorRow) -> ProcessorRow:
    return replace(row, switch_ns=0, migration_ns=0)


def _as_it_was(row: TaskRow, trace: Trace, rows: Int64s) -> TaskRow:
    """The task with its jobs' executed times, and their arrivals where the clock makes them."""
    demands = tuple(int(value) for value in np.maximum(trace.jobs.executed_ns[rows], 1))
    changed = replace(row, explicit_demands_ns=demands, overrun_action=OverrunAction.LOG, jitter_ns=0, every=1)
    if not row.timed:
        return changed
    arrivals = tuple(int(value) for value in trace.jobs.arrival_ns[rows])
    return replace(changed, rate_hz=None, explicit_arrivals_ns=arrivals, extra_separation_ns=0)
