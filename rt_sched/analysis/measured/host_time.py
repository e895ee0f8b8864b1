"""Whether a host let tasks run whenever one was ready, which every bound of a paced run takes for granted.

A job ends late when what ran in its stead was none of the tasks: another system took the whole core, or the kernel was
busy with something that nobody preempts. No record says so, but the responses do: each job is held against the schedule
in which all jobs arrive as they did and take all of their declared times. On one core with fixed priorities of jobs
that schedule is the latest one (Ha, Liu 1994), and it is one of those that the analysis bounds. So whoever ends later
has been kept waiting by something else; and as long as arrivals and executed times are as declared, nobody who is over
a bound ends earlier.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from rt_sched.analysis.loads.resolve import ModeLoad
from rt_sched.analysis.measured.declared_schedule import Core, Ends
from rt_sched.analysis.measured.deviation import Deviation
from rt_sched.analysis.measured.monitors import Monitor, monitor_of
from rt_sched.analysis.measured.present_jobs import PresentJobs, present_jobs
from rt_sched.analysis.measured.reserved_schedule import Reserved
from rt_sched.analysis.methods.reservations import Reservation
from rt_sched.trace.records import JobStatus, Trace


def host_monitor(
    mode: ModeLoad, trace: Trace, reservations: Mapping[int, Reservation], woken: Collection[int] = ()
) -> Monitor | None:
    """Responses beside those of the schedule by declared times; None where no job ended.

    Tasks of `mode` that the run does not know, as they stand for what the host does, come as often as they may.
    `reservations`: by task; under these a job is there from when its reservation has its runtime. `woken`: tasks whose
    reservation may have begun its period before the job came. A job that had not ended when the run did counts with
    what it had waited.
    """
    return monitor_of(
        "host",
        "response beside the declared times of all jobs that went first",
        lambda: _looked(mode, trace, reservations, woken),
    )


def explained_by_overheads(
    mode: ModeLoad, trace: Trace, reservations: Mapping[int, Reservation]
) -> dict[str, tuple[int, int]]:
    """Of each task of a run, how many jobs completed, and how many of these ended no later than what all jobs executed
    and the declared overheads explain: switches, and the tasks of `mode` that stand for what the host does.
    """
    found = dict.fromkeys(trace.task_names, (0, 0))
    for load in mode.loads:
        jobs = present_jobs(mode, load, trace, reservations, executed=True)
        core = Core(load, jobs)
        for place, row in enumerate(jobs.rows):
            if trace.jobs.status[row] == JobStatus.COMPLETED:
                name, end_ns = trace.task_names[trace.jobs.task[row]], int(trace.jobs.finish_ns[row])
                completed, explained = found[name]
                found[name] = completed + 1, explained + (end_ns <= core.latest_ns(place, end_ns))
    return found


def _looked(
    mode: ModeLoad, trace: Trace, reservations: Mapping[int, Reservation], woken: Collection[int]
) -> Iterator[tuple[int, list[Deviation]]]:
    for load in mode.loads:
        jobs = present_jobs(mode, load, trace, reservations)
        core: Ends = Reserved(load, jobs, reservations, woken) if reservations else Core(load, jobs)
        yield _compared(trace, jobs, core)


def _compared(trace: Trace, jobs: PresentJobs, core: Ends) -> tuple[int, list[Deviation]]:
    status, finish_ns, arrival_ns = trace.jobs.status, trace.jobs.finish_ns, trace.jobs.arrival_ns
    checked, found = 0, []
    for place, row in enumerate(jobs.rows):
        if status[row] not in (JobStatus.COMPLETED, JobStatus.UNFINISHED):
            continue
        end_ns = int(finish_ns[row]) if status[row] == JobStatus.COMPLETED else trace.horizon_ns
        latest_ns = core.latest_ns(place, end_ns)
        checked += 1
        if end_ns > latest_ns:
            begin_ns, task = int(arrival_ns[row]), trace.task_names[trace.jobs.task[row]]
            number = int(trace.jobs.number[row])
            found.append(Deviation(task, number, begin_ns, end_ns - begin_ns, latest_ns - begin_ns))
    return checked, found
