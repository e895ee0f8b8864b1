"""Legal runs that miss deadlines, found and replayed by the scheduling kernel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import fsum

import numpy as np

from rt_sched import model
from rt_sched.analysis.loads.load import ProcessorLoad
from rt_sched.analysis.loads.resolve import ModeLoad
from rt_sched.analysis.methods.offsets import MOST_CYCLES, OFFSET_SIMULATION, hyperperiod_ns
from rt_sched.analysis.methods.table import shown_by_ns
from rt_sched.analysis.result import Witness
from rt_sched.analysis.system.critical_runs import critical_run, latest_run
from rt_sched.analysis.system.engine import TaskBound
from rt_sched.analysis.system.ties import ties
from rt_sched.analysis.system.tried_runs import drawn_by_name, worst_case_run
from rt_sched.lowering.machine_input import MachineInput
from rt_sched.sim import Simulation
from rt_sched.trace.weakly_hard import measure_weakly_hard

#: Longest run that is tried, in periods of the slowest task, and in jobs.
_PERIODS, _MOST_JOBS = 20, 200_000
#: Policies under which all that can delay a job may be released together with it.
_TRIED = (model.Policy.FIXED_PRIORITY, model.Policy.EDF, model.Policy.FIFO)
#: Most tasks for which a run of their own is tried, and jobs in each such run.
_MOST_RUNS, _RUN_JOBS = 64, 50_000


def find_witnesses(mode: ModeLoad, bounds: Mapping[int, TaskBound], open_tasks: Sequence[int]) -> dict[int, Witness]:
    """For those of `open_tasks` that miss in the tried runs, more often than they may: the first such miss seen."""
    witnesses: dict[int, Witness] = {}
    if not open_tasks:
        return witnesses
    named = sorted(open_tasks, key=lambda index: mode.system.tasks[index].name)
    for how, given in _runs(mode, bounds, named, witnesses):
        for index, witness in first_misses(how, given, named).items():
            witnesses.setdefault(index, witness)
        if len(witnesses) == len(open_tasks):
            break
    return witnesses


def _runs(
    mode: ModeLoad, bounds: Mapping[int, TaskBound], open_tasks: Sequence[int], found: Mapping[int, Witness]
) -> Iterator[tuple[str, MachineInput]]:
    """The nominal run, then one for every task that has not missed yet."""
    slowest_ns = max((task.separation_ns for task in mode.system.tasks), default=1)
    rate = fsum(1 / task.separation_ns for task in mode.system.tasks)
    place = {task.index: load for load in mode.loads for task in load.tasks}
    longest_ns = max([_PERIODS * slowest_ns, *(_repeats_ns(place[i]) for i in open_tasks if _is_followed(bounds[i]))])
    longest_ns = max([longest_ns, *(shown_by_ns(bounds[i].task, bounds[i].bound) for i in open_tasks)])
    nominal = _nominal(mode, min(longest_ns, int(_MOST_JOBS / rate) + 1))
    yield "all jobs need their worst case, sensors deliver nominally", nominal
    late = [i for i in open_tasks if place[i].policy is model.Policy.TABLE and bounds[i].task.release_jitter_ns]
    if set(late) - set(found):
        yield "jobs that a table serves are released as late as they may be", latest_run(nominal, late)
    if mode.system.modes and mode.name != mode.system.modes[0].name:
        return
    free = [isinstance(task.activation, model.Sporadic) for task in mode.system.tasks]
    for index in open_tasks[:_MOST_RUNS]:
        load, one = place[index], bounds[index]
        if index in found or load.policy not in _TRIED:
            continue
        reach_ns = 0 if one.bound is None else 4 * one.bound.value_ns + 4 * (one.bound.window_ns or 0)
        longest_ns = max(reach_ns, _PERIODS * slowest_ns) + one.task.deadline_ns
        given = _nominal(mode, min(longest_ns, int(_RUN_JOBS / rate) + 1))
        how = f"tasks of {load.processor.name} are released together, where {one.task.name} waits longest"
        present = replace(load, tasks=tuple(bounds[task.index].task for task in load.tasks))
        yield how, critical_run(given, free, present, one.task, one.bound)
        if index not in found and ties(load, one.task):
            how = f"tasks of {load.processor.name} are released together, {one.task.name} 1 ns behind them"
            yield how, critical_run(given, free, present, one.task, one.bound, behind_ns=1)


def _is_followed(one: TaskBound) -> bool:
    return one.bound is not None and one.bound.method == OFFSET_SIMULATION.name


def _repeats_ns(load: ProcessorLoad) -> int:
    """Until when a run of periodic tasks has shown every response that it ever will."""
    last_ns = max(task.offset_ns or 0 for task in load.tasks) + max(task.deadline_ns for task in load.tasks)
    return last_ns + MOST_CYCLES * hyperperiod_ns(load)


def _nominal(mode: ModeLoad, horizon_ns: int) -> MachineInput:
    """All jobs need their worst case; a mode that is not the first is entered at the begin."""
    modes = mode.system.modes
    later = bool(modes) and mode.name != modes[0].name
    entered = (model.ModeChange(0, mode.name),) if later else ()
    return worst_case_run(mode.system, mode.plan, horizon_ns, mode_changes=entered)


def first_misses(how: str, given: MachineInput, tasks: Sequence[int]) -> dict[int, Witness]:
    """The first miss of each of these tasks in a run; of one with a weakly-hard deadline, the first that breaks it.

    What the run draws goes by names.
    """
    simulation = Simulation(drawn_by_name(given))
    simulation.run()
    trace = simulation.trace()
    jobs = trace.jobs
    broken = {one.task: one.violations for one in measure_weakly_hard(trace)}
    witnesses = {}
    for index in tasks:
        row = given.tasks[index]
        rows = broken[row.name] if row.weakly_hard else np.flatnonzero(jobs.missed & (jobs.task == index))
        if len(rows):
            first = int(rows[0])
            finish_ns = int(jobs.finish_ns[first])
            witnesses[index] = Witness(
                how,
                int(jobs.number[first]),
                int(jobs.arrival_ns[first]),
                finish_ns if finish_ns >= 0 else None,
                int(jobs.deadline_ns[first]),
                given.horizon_ns,
            )
    return witnesses
