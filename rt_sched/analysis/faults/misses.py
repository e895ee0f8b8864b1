"""How many of some consecutive jobs may miss their deadline, where a bound on all of them says only "late".

Sources: Bernat, Burns, Llamosi 2001 (patterns of periodic tasks with known offsets); Quinton, Hanke, Ernst 2012 and Xu,
Hammadeh, Kroeller, Ernst, Quinton 2015 (misses due to rare overload).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from rt_sched.analysis.faults.overrun import Overrun, with_extra_job
from rt_sched.analysis.faults.result import Misses
from rt_sched.analysis.faults.transitions.methods import responses_of_busy_period
from rt_sched.analysis.loads.load import LoadTask, ProcessorLoad
from rt_sched.analysis.loads.resolve import ModeLoad
from rt_sched.analysis.methods import METHODS
from rt_sched.analysis.methods.offsets import MOST_CYCLES, OFFSET_SIMULATION, hyperperiod_ns
from rt_sched.analysis.result import Verdict
from rt_sched.analysis.system.engine import TaskBound, mode_bounds
from rt_sched.lowering.machine_input import MachineInput, TaskRow
from rt_sched.sim import Simulation
from rt_sched.trace.records import Bools, JobStatus
from rt_sched.trace.setup import DeadlineAction, OverrunAction

#: Consecutive jobs that are looked at for a task without a weakly-hard deadline of its own.
USUAL_K = 10


def steady_misses(mode: ModeLoad, bounds: Mapping[int, TaskBound]) -> list[Misses]:
    """Of every task of the mode with a weakly-hard deadline."""
    found = []
    for index, one in sorted(bounds.items()):
        constraint = mode.setup.tasks[index].weakly_hard
        if constraint is None:
            continue
        m, k = constraint
        load = None if _in_time(one) else _load_of(mode, bounds, index)
        at_most, reason = (0, "no job is late") if _in_time(one) else _pattern(load, index, k)
        found.append(_judged(one.task.name, at_most, k, k - m, reason))
    return found


def overrun_misses(
    mode: ModeLoad, overrun: Overrun, usual: Mapping[int, TaskBound], bounds: Mapping[int, TaskBound]
) -> list[Misses]:
    """Of every task with a weakly-hard deadline, and of every one that the overrun may make late.

    `usual`, `bounds`: bounds without and with the overrun.
    """
    found = []
    extended = with_extra_job(mode, overrun)
    once: dict[int, TaskBound] | None = None
    for index, one in sorted(bounds.items()):
        row = mode.setup.tasks[index]
        own = overrun.cut and index == overrun.index
        if row.weakly_hard is None and _in_time(one) and not own:
            continue
        m, k = row.weakly_hard or (USUAL_K, USUAL_K)
        if not _in_time(usual[index]):
            at_most, reason = None, "it may be late without the overrun, too"
        elif _in_time(one):
            at_most, reason = 0, "no job is late"
        else:
            if once is None:
                once = mode_bounds(extended, METHODS)
            at_most, reason = _late_at_once(extended, overrun, once, index, k)
        if at_most is not None and index == overrun.index:
            at_most, reason = _with_own(mode, overrun, at_most, reason, k)
        found.append(_judged(one.task.name, at_most, k, None if row.weakly_hard is None else k - m, reason))
    return found


def _in_time(one: TaskBound) -> bool:
    return one.bound is not None and one.bound.value_ns <= one.task.deadline_ns


def _judged(task: str, at_most: int | None, k: int, allowed: int | None, reason: str) -> Misses:
    if at_most is None:
        return Misses(task, None, k, allowed, Verdict.INCONCLUSIVE, reason)
    if allowed is None:
        verdict = Verdict.INCONCLUSIVE if at_most else Verdict.SCHEDULABLE
        return Misses(task, at_most, k, None, verdict, reason)
    verdict = Verdict.SCHEDULABLE if at_most <= allowed else Verdict.INCONCLUSIVE
    return Misses(task, at_most, k, allowed, verdict, reason)


def _with_own(mode: ModeLoad, overrun: Overrun, at_most: int, reason: str, k: int) -> tuple[int, str]:
    """Jobs of the task that its budget ends, and those that are suppressed after one that overran."""
    suppresses = mode.setup.tasks[overrun.index].overrun_action is OverrunAction.SKIP_NEXT
    if not overrun.cut and not suppresses:
        return at_most, reason
    hit = most_listed(overrun.jobs, k)
    ends = f"its budget {'ends' if overrun.cut else 'costs the next of'} {hit} of them"
    return min(k, at_most + hit), ends if not at_most else f"{reason}; {ends}"


def most_listed(jobs: tuple[int, ...], k: int) -> int:
    """Most of the numbers `jobs` among any k consecutive numbers."""
    return max((sum(first <= job < first + k for job in jobs) for first in jobs), default=0)


def _late_at_once(
    mode: ModeLoad, overrun: Overrun, once: Mapping[int, TaskBound], index: int, k: int
) -> tuple[int | None, str]:
    """All that overruns falls into one busy period, which makes so many of its jobs late; with several overruns each
    may have a busy period of its own."""
    row = mode.setup.tasks[index]
    if row.deadline_action is DeadlineAction.SKIP_NEXT:
        return None, "a late job suppresses the next one, which is not followed"
    load = _load_of(mode, once, index)
    if load is None:
        return None, "arrivals have no bound"
    responses = responses_of_busy_period(load, index)
    if isinstance(responses, str):
        return None, responses
    late = sum(response_ns > row.deadline_ns for response_ns in responses)
    windows = len(overrun.jobs)
    text = f"one busy period with the overrun makes {late} of its {len(responses)} jobs late"
    return min(k, late * windows), text if windows == 1 else f"{text}, and there are up to {windows} of them"


def _load_of(mode: ModeLoad, bounds: Mapping[int, TaskBound], index: int) -> ProcessorLoad | None:
    """The processor of a task, with the arrivals that its tasks were found to have."""
    number = mode.setup.tasks[index].processor
    tasks = [bounds[i].task for i in sorted(bounds) if mode.setup.tasks[i].processor == number]
    if not all(task.streams for task in tasks):
        return None
    load = mode.loads[number]
    return replace(load, tasks=tuple(sorted(tasks, key=lambda task: (task.level, task.index))))


def _pattern(load: ProcessorLoad | None, index: int, k: int) -> tuple[int | None, str]:
    """Of a task whose arrivals are known instants: the misses of the run in which all jobs need their worst case.

    In no other run does any job end later (Ha, Liu 1994), so what is in time there is so in all of them.
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
    total = np.concatenate(([0], np.cumsum(late)))
    most = int((total[k:] - total[:-k]).max())
    return most, f"in the run with all worst cases {int(late.sum())} of {len(late)} jobs are late"


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
