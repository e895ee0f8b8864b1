"""How many of some consecutive jobs may miss their deadline, where a bound on all of them says only "late".

Source: Bernat, Burns, Llamosi 2001 (patterns of periodic tasks with known offsets).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from rt_sched.analysis.loads.load import LoadTask, ProcessorLoad
from rt_sched.analysis.loads.resolve import ModeLoad
from rt_sched.analysis.lost_work import lost_work
from rt_sched.analysis.methods.offsets import MOST_CYCLES, OFFSET_SIMULATION, hyperperiod_ns
from rt_sched.analysis.result import Misses, Verdict
from rt_sched.analysis.system.engine import TaskBound
from rt_sched.lowering.machine_input import MachineInput, TaskRow
from rt_sched.sim import Simulation
from rt_sched.trace.records import Bools, JobStatus
from rt_sched.trace.setup import DeadlineAction, OverrunAction


def steady_misses(mode: ModeLoad, bounds: Mapping[int, TaskBound], proven: Collection[int] = ()) -> dict[int, Misses]:
    """Of every task of the mode with a weakly-hard deadline, by its index. `proven`: those that are never late.

    Jobs that end early by a budget or a switch of criticality, or are suppressed for one, have missed as well.
    """
    found = {}
    for index, one in bounds.items():
        constraint = mode.setup.tasks[index].weakly_hard
        if constraint is None:
            continue
        m, k = constraint
        reason = ends_otherwise(mode, index)
        if reason is not None:
            at_most: int | None = None
        elif in_time(one) or index in proven:
            at_most, reason = 0, "no job is late"
        else:
            at_most, reason = _pattern(mode, load_of(mode, bounds, index), index, k)
        found[index] = judged(one.task.name, at_most, k, k - m, reason)
    return found


def in_time(one: TaskBound) -> bool:
    """Whether a bound proves that no job is late."""
    return one.bound is not None and one.bound.value_ns <= one.task.deadline_ns


def judged(task: str, at_most: int | None, k: int, allowed: int | None, reason: str) -> Misses:
    """The misses with the verdict on them; where none are `allowed` by name, only none at all is SCHEDULABLE."""
    kept = at_most is not None and at_most <= (allowed or 0)
    return Misses(task, at_most, k, allowed, Verdict.SCHEDULABLE if kept else Verdict.INCONCLUSIVE, reason)


def load_of(mode: ModeLoad, bounds: Mapping[int, TaskBound], index: int) -> ProcessorLoad | None:
    """The processor of a task, with the arrivals that its tasks were found to have."""
    number = mode.setup.tasks[index].processor
    tasks = [bounds[i].task for i in sorted(bounds) if mode.setup.tasks[i].processor == number]
    if not all(task.streams for task in tasks):
        return None
    load = mode.loads[number]
    return replace(load, tasks=tuple(sorted(tasks, key=lambda task: (task.level, task.index))))


def ends_otherwise(mode: ModeLoad, index: int) -> str | None:
    """Why jobs of a task may miss although they are not late, None where none can."""
    row = mode.setup.tasks[index]
    lost = lost_work(row)
    if lost is not None and row.overrun_action is not OverrunAction.DEGRADE:
        return f"how often is not known: {lost}"
    load = mode.loads[row.processor]
    if load.switches_mode and not load.tasks[load.at(index)].high:
        return "its jobs are aborted and suppressed while its processor is in HI mode, and how often is not known"
    return None


def _pattern(mode: ModeLoad, load: ProcessorLoad | None, index: int, k: int) -> tuple[int | None, str]:
    """Of a task whose arrivals are known instants: the misses of the run in which all jobs need their worst case.

    In no other run does any job end later (Ha, Liu 1994), so what is in time there is so in all of them. Aborts at
    deadlines only take work away. A late job that suppresses the next one makes two miss, of which the run shows the
    first.
    """
    if load is None:
        return None, "arrivals have no bound"
    refusal = OFFSET_SIMULATION.refuse(load)
    if refusal is not None:
        return None, f"it may be late, and how often is not known: {refusal.reason}"
    found = OFFSET_SIMULATION.find(load)[load.at(index)]
    if found.bound is None:
        return None, found.reason
    task = load.tasks[load.at(index)]
    late = _late_jobs(load, task, k)
    text = f"in the run with all worst cases {int(late.sum())} of {len(late)} jobs are late"
    if mode.setup.tasks[index].deadline_action is DeadlineAction.SKIP_NEXT:
        if task.deadline_ns > task.streams[0].period_ns:
            return None, "a late job suppresses one that arrives after its deadline, which is not followed"
        late[1:] |= late[:-1]
        text += ", and each may suppress the next"
    total = np.concatenate(([0], np.cumsum(late)))
    return int((total[k:] - total[:-k]).max()), text


def _late_jobs(load: ProcessorLoad, task: LoadTask, k: int) -> Bools:
    """Which jobs are late, from the start until every k consecutive ones of the repeating part have been seen."""
    first_ns, cycle_ns = max(one.offset_ns or 0 for one in load.tasks), hyperperiod_ns(load)
    end_ns = first_ns + MOST_CYCLES * cycle_ns + (k + 1) * (task.streams[0].period_ns + 1) + task.deadline_ns
    order = sorted(load.tasks, key=lambda one: one.index)
    rows = tuple(
        TaskRow(t.name, 0, t.deadline_ns, t.wcet_ns, t.level, rate_hz=t.rate_hz, offset_ns=t.offset_ns or 0)
        for t in order
    )
    simulation = Simulation(MachineInput((load.row,), (), rows, (), horizon_ns=end_ns))
    simulation.run()
    jobs = simulation.trace().jobs
    mine = (jobs.task == order.index(task)) & (jobs.deadline_ns <= end_ns)
    late: Bools = jobs.missed[mine] | (jobs.status[mine] != JobStatus.COMPLETED)
    return late
