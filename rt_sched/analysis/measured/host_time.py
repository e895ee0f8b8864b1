"""Whether a host let tasks run whenever one was ready, which every bound of a paced run takes for granted.

A job ends late when what ran in its stead was none of the tasks: another system took the whole core, or the kernel was
busy with something that nobody preempts. No record says so, but the responses do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from rt_sched.analysis.loads.load import LoadTask, ProcessorLoad
from rt_sched.analysis.loads.resolve import ModeLoad
from rt_sched.analysis.measured.deviation import Deviation
from rt_sched.analysis.measured.monitors import Monitor, monitor_of
from rt_sched.analysis.methods.reservations import Reservation
from rt_sched.model import Policy
from rt_sched.trace.records import Int64s, JobStatus, Trace


def host_monitor(mode: ModeLoad, trace: Trace, reservations: Mapping[int, Reservation]) -> Monitor | None:
    """Responses beside all that their processors had to do first; None where no job completed.

    The limit of a job's response are the declared times, with their switches, of itself and of all jobs that were there
    meanwhile and not less urgent. Tasks of the host, which have no jobs in the trace, count as often as they may come.
    Under `reservations`, by task, the time counts from when the job's reservation has its runtime.
    """
    return monitor_of(
        "host",
        "response beside the declared times of all jobs that went first",
        lambda: _looked(mode, trace, reservations),
    )


@dataclass(frozen=True, slots=True)
class _Jobs:
    """Jobs of one processor by their arrival: rows of the trace, from when to when each was there, its key and cost."""

    rows: Int64s
    begin_ns: Int64s
    end_ns: Int64s
    key: Int64s
    cost_ns: Int64s


def _looked(
    mode: ModeLoad, trace: Trace, reservations: Mapping[int, Reservation]
) -> Iterator[tuple[int, list[Deviation]]]:
    for load in mode.loads:
        jobs = _jobs_of(load, trace, reservations)
        names = {task.index: task.name for task in load.tasks}
        seen = set(trace.jobs.task[jobs.rows].tolist())
        of_host = [task for task in load.tasks if task.index not in seen and not task.message_activated]
        longest_ns = int((jobs.end_ns - jobs.begin_ns).max(initial=0))
        checked, found = 0, []
        for place, row in enumerate(jobs.rows.tolist()):
            if trace.jobs.status[row] != JobStatus.COMPLETED:
                continue
            begin_ns, end_ns = int(jobs.begin_ns[place]), int(jobs.end_ns[place])
            near = slice(*np.searchsorted(jobs.begin_ns, (begin_ns - longest_ns, end_ns)).tolist())
            first = (jobs.end_ns[near] > begin_ns) & (jobs.key[near] <= jobs.key[place])
            first |= jobs.rows[near] == row
            limit_ns = int(jobs.cost_ns[near][first].sum()) + load.row.switch_ns
            limit_ns += sum(_most_ns(task, end_ns - begin_ns) for task in of_host)
            limit_ns += 0 if load.row.preemptive else int(jobs.cost_ns[near].max(initial=0))
            checked += 1
            if end_ns - begin_ns > limit_ns:
                name = names[int(trace.jobs.task[row])]
                found.append(Deviation(name, int(trace.jobs.number[row]), begin_ns, end_ns - begin_ns, limit_ns))
        yield checked, found


def _most_ns(task: LoadTask, window_ns: int) -> int:
    return sum((window_ns // one.period_ns + 2) * task.cost_ns for one in task.streams)


def _jobs_of(load: ProcessorLoad, trace: Trace, reservations: Mapping[int, Reservation]) -> _Jobs:
    jobs = trace.jobs
    tasks = {task.index: task for task in load.tasks}
    rows = np.flatnonzero(np.isin(jobs.task, list(tasks)) & (jobs.start_ns >= 0))
    begin_ns = jobs.arrival_ns[rows].copy()
    end_ns = np.where(jobs.finish_ns[rows] >= 0, jobs.finish_ns[rows], trace.horizon_ns)
    key = jobs.deadline_ns[rows].copy()
    cost_ns = np.zeros(len(rows), np.int64)
    for index, task in tasks.items():
        mine = np.flatnonzero(jobs.task[rows] == index)
        cost_ns[mine] = task.cost_ns
        if index in reservations:
            begin_ns[mine] = _served_from_ns(begin_ns[mine], reservations[index].period_ns)
            key[mine] = begin_ns[mine] + reservations[index].deadline_ns
        elif load.policy is Policy.FIXED_PRIORITY:
            key[mine] = task.level
        elif load.policy is Policy.FIFO:
            key[mine] = jobs.release_ns[rows][mine]
    order = np.argsort(begin_ns, kind="stable")
    return _Jobs(rows[order], begin_ns[order], np.maximum(end_ns, begin_ns)[order], key[order], cost_ns[order])


def _served_from_ns(arrival_ns: Int64s, period_ns: int) -> Int64s:
    """When the reservation of each job has its runtime at the latest: a period after that of the one before."""
    found = arrival_ns.copy()
    for place in range(1, len(found)):
        found[place] = max(found[place], found[place - 1] + period_ns)
    return found
