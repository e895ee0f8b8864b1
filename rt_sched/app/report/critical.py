"""Runs in which a task waits longest, as the scheduling kernel plays them: what the schedule then looks like."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from rt_sched.analysis.loads.load import LoadTask, ProcessorLoad
from rt_sched.analysis.loads.resolve import ModeLoad
from rt_sched.analysis.methods import METHODS
from rt_sched.analysis.result import ModeResult, TaskResult, Verdict
from rt_sched.analysis.system.critical_runs import critical_run
from rt_sched.analysis.system.engine import loads_with_arrivals
from rt_sched.app.report.played import played_row
from rt_sched.lowering import lower
from rt_sched.lowering.machine_input import MachineInput
from rt_sched.lowering.nominal_samples import nominal_samples
from rt_sched.lowering.task_rows import Execution
from rt_sched.model import ModeChange, Policy, Sporadic
from rt_sched.sim import Simulation
from rt_sched.trace.records import Trace
from rt_sched.trace.statistics import response_ns

Row = dict[str, Any]

#: Runs that a report shows, tasks that must be in time first; jobs in one run.
MOST_RUNS, MOST_JOBS = 24, 20_000
_ORDER = (Verdict.UNSCHEDULABLE, Verdict.INCONCLUSIVE, Verdict.SCHEDULABLE)


def critical_runs(modes: Sequence[ModeLoad], results: Sequence[ModeResult]) -> list[Row]:
    """For every task that is not proven to be in time, and the tightest one of every other shared processor: a run.

    Each is the worst that was found for its task: all that may be released together is, what blocks begins just before.
    """
    rows: list[Row | None] = []
    for mode, result in zip(modes, results, strict=True):
        loads = {
            task.name: (load, task)
            for load in (loads_with_arrivals(mode, METHODS) if _is_entered(mode) else ())
            for task in load.tasks
        }
        chosen = [
            one
            for one in _chosen(result)
            if one.task in loads and (one.verdict is not Verdict.SCHEDULABLE or len(loads[one.task][0].tasks) > 1)
        ]
        rows += [_run_row(mode, one, *loads[one.task]) for one in chosen[: MOST_RUNS - len(rows)]]
    return [row for row in rows if row is not None]


def _is_entered(mode: ModeLoad) -> bool:
    """Whether the mode is the one in which a run begins."""
    return not mode.system.modes or mode.name == mode.system.modes[0].name


def _chosen(result: ModeResult) -> list[TaskResult]:
    def tightness(one: TaskResult) -> tuple[int, float]:
        bound_ns = one.deadline_ns if one.bound is None else one.bound.value_ns
        return _ORDER.index(one.verdict), -bound_ns / one.deadline_ns

    ordered = sorted(result.tasks, key=tightness)
    seen: set[str] = set()
    chosen = []
    for one in ordered:
        if one.verdict is not Verdict.SCHEDULABLE or one.processor not in seen:
            chosen.append(one)
        seen.add(one.processor)
    return chosen


def _run_row(mode: ModeLoad, result: TaskResult, load: ProcessorLoad, task: LoadTask) -> Row | None:
    """The run with the longest response of `task` among those tried; None where it has no job that counts."""
    best: tuple[int, int, str, Trace] | None = None
    for how, given in _tried(mode, result, load, task):
        simulation = Simulation(given)
        simulation.run()
        trace = simulation.trace()
        responses, _ = response_ns(trace)
        mine = np.flatnonzero((trace.jobs.task == task.index) & (responses >= 0))
        if not mine.size:
            continue
        job = int(mine[np.argmax(responses[mine])])
        if best is None or int(responses[job]) > best[0]:
            best = (int(responses[job]), job, how, trace)
    if best is None:
        return None
    response, job, how, trace = best
    bound_ns = None if result.bound is None else result.bound.value_ns
    return played_row(trace, job, response, result.task, result.mode, load.processor, how, bound_ns)


def _tried(
    mode: ModeLoad, result: TaskResult, load: ProcessorLoad, task: LoadTask
) -> Iterator[tuple[str, MachineInput]]:
    reach_ns = result.deadline_ns if result.bound is None else result.bound.value_ns + (result.bound.window_ns or 0)
    latest_ns = max((one.offset_ns or 0 for one in load.tasks), default=0)
    horizon_ns = 2 * (latest_ns + result.deadline_ns + reach_ns) + 1
    if result.witness is not None:
        horizon_ns = max(horizon_ns, min(result.witness.horizon_ns, result.witness.deadline_ns + reach_ns + 1))
    rate = sum(1 / one.separation_ns for one in mode.system.tasks)
    nominal = lower(
        mode.system,
        mode.plan,
        nominal_samples(mode.system, horizon := min(horizon_ns, int(MOST_JOBS / rate) + 1)),
        horizon_ns=horizon,
        execution=Execution.WCET,
        mode_changes=(ModeChange(0, mode.name),) if mode.system.modes else (),
    )
    yield "all jobs need their worst case, and sensors deliver nominally", nominal
    if load.policy in (Policy.FIXED_PRIORITY, Policy.EDF):
        free = [isinstance(one.activation, Sporadic) for one in mode.system.tasks]
        how = "tasks are released together where their arrivals leave it open, and what blocks begins just before"
        yield how, critical_run(nominal, free, load, task, result.bound)
