"""The jobs that a processor had in a run, in order of when they were there, with what each may take of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rt_sched.analysis.loads.load import ProcessorLoad
from rt_sched.analysis.loads.resolve import ModeLoad
from rt_sched.analysis.measured.declared_jobs import declared_jobs
from rt_sched.analysis.methods.reservations import Reservation
from rt_sched.model import Policy
from rt_sched.trace.records import Int64s, Trace
from rt_sched.trace.setup import TaskRow


@dataclass(frozen=True, slots=True)
class PresentJobs:
    """By job: its row in the trace, its task, from when on it is there, its urgency (least first), and what it may
    take with its switches. `end_ns`: when it was gone. `known_tasks`: how many the run knows, the first of a mode.
    """

    rows: tuple[int, ...]
    task: tuple[int, ...]
    begin_ns: tuple[int, ...]
    end_ns: tuple[int, ...]
    key: tuple[int, ...]
    cost_ns: tuple[int, ...]
    known_tasks: int


def present_jobs(
    mode: ModeLoad,
    load: ProcessorLoad,
    trace: Trace,
    reservations: Mapping[int, Reservation],
    *,
    executed: bool = False,
) -> PresentJobs:
    """All jobs of a run that were on the processor of `load`, also of tasks that came to it later.

    They are there from their release on; under `reservations` from when theirs has its runtime, which is its period
    after that of the job before at the earliest. With `executed` they take what they executed, with declared overheads.
    """
    jobs, columns = trace.jobs, []
    number = next(place for place, row in enumerate(mode.setup.processors) if row.name == load.row.name)
    costs_ns = {task.index: task.cost_ns + task.suspension_ns for task in load.tasks}
    beside_ns = {task.index: costs_ns[task.index] - task.wcet_ns for task in load.tasks}
    for index in range(_tasks_of(trace)):
        there_ns = np.maximum(jobs.arrival_ns, jobs.release_ns)
        reserved = reservations.get(index)
        if reserved is not None:
            there_ns = _served_from_ns(there_ns, np.flatnonzero(jobs.task == index), reserved.period_ns)
        for declared, rows in declared_jobs(mode.setup, trace, index):
            if declared.processor != number or not len(rows):
                continue
            begin_ns = there_ns[rows]
            if reserved is not None:
                key, cost_ns = begin_ns + reserved.deadline_ns, reserved.runtime_ns
            else:
                key = _keys(load.policy, declared, begin_ns, jobs.deadline_ns[rows])
                cost_ns = costs_ns.get(index, _cost_ns(load, declared))
            end_ns = np.where(jobs.finish_ns[rows] >= 0, jobs.finish_ns[rows], trace.horizon_ns)
            takes_ns = np.full(len(rows), cost_ns, np.int64)
            if executed:
                takes_ns = jobs.executed_ns[rows] + beside_ns.get(index, 2 * load.row.switch_ns)
            of_task = np.full(len(rows), index, np.int64)
            columns.append(np.stack([rows, of_task, begin_ns, np.maximum(end_ns, begin_ns), key, takes_ns]))
    table = np.concatenate(columns, axis=1) if columns else np.zeros((6, 0), np.int64)
    table = table[:, np.lexsort((table[0], table[2]))]
    return _as_rows(table.tolist(), _tasks_of(trace))


def _as_rows(columns: list[list[int]], known_tasks: int) -> PresentJobs:
    rows, task, begin_ns, end_ns, key, cost_ns = (tuple(column) for column in columns)
    return PresentJobs(rows, task, begin_ns, end_ns, key, cost_ns, known_tasks)


def _tasks_of(trace: Trace) -> int:
    return len(trace.task_names) if trace.setup is None else len(trace.setup.tasks)


def _keys(policy: Policy, declared: TaskRow, begin_ns: Int64s, deadline_ns: Int64s) -> Int64s:
    if policy is Policy.FIXED_PRIORITY:
        return np.full(len(begin_ns), declared.level, np.int64)
    return begin_ns if policy is Policy.FIFO else deadline_ns


def _cost_ns(load: ProcessorLoad, declared: TaskRow) -> int:
    """Of a task that came from elsewhere."""
    demand_ns = declared.demand_ns if isinstance(declared.demand_ns, int) else max(declared.demand_ns)
    return demand_ns + 2 * load.row.switch_ns


def _served_from_ns(there_ns: Int64s, rows: Int64s, period_ns: int) -> Int64s:
    found = there_ns.copy()
    rows = rows[np.argsort(there_ns[rows], kind="stable")]
    for before, row in zip(rows[:-1].tolist(), rows[1:].tolist(), strict=True):
        found[row] = max(found[row], found[before] + period_ns)
    return found
