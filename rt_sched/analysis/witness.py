"""A legal run that misses a deadline, found and replayed by the scheduling kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rt_sched.analysis.engine import TaskBound
from rt_sched.analysis.resolve import ModeLoad
from rt_sched.analysis.result import Witness
from rt_sched.lowering import lower
from rt_sched.lowering.nominal_samples import nominal_samples
from rt_sched.lowering.task_rows import Execution
from rt_sched.sim import Simulation

#: Longest run that is tried, in periods of the slowest task, and in jobs.
_PERIODS, _MOST_JOBS = 20, 200_000


def find_witnesses(mode: ModeLoad, bounds: Mapping[int, TaskBound], open_tasks: Sequence[int]) -> dict[int, Witness]:
    """For those of `open_tasks` that miss in the tried runs: the first miss seen."""
    if not open_tasks:
        return {}
    slowest_ns = max((task.separation_ns for task in mode.system.tasks), default=1)
    rate = sum(1 / task.separation_ns for task in mode.system.tasks)
    horizon_ns = min(_PERIODS * slowest_ns, int(_MOST_JOBS / rate) + 1)
    machine = lower(
        mode.system,
        mode.plan,
        nominal_samples(mode.system, horizon_ns),
        horizon_ns=horizon_ns,
        execution=Execution.WCET,
    )
    simulation = Simulation(machine)
    simulation.run()
    jobs = simulation.trace().jobs
    end = np.where(jobs.finish_ns >= 0, jobs.finish_ns, horizon_ns)
    late = (end > jobs.deadline_ns) & (jobs.deadline_ns <= horizon_ns)
    witnesses = {}
    for index in open_tasks:
        mine = np.flatnonzero(late & (jobs.task == index))
        if len(mine):
            first = int(mine[0])
            finish_ns = int(jobs.finish_ns[first])
            witnesses[index] = Witness(
                "all jobs need their worst case, sensors deliver nominally",
                int(jobs.number[first]),
                int(jobs.arrival_ns[first]),
                finish_ns if finish_ns >= 0 else None,
                int(jobs.deadline_ns[first]),
                horizon_ns,
            )
    return witnesses
