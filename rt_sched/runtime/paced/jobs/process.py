"""What a worker process does around its jobs: takes its seat, starts and warms up its stage, says that it is ready."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from rt_sched.errors import RtSchedError
from rt_sched.model import Task
from rt_sched.ports import Stage
from rt_sched.runtime.host.child import name_process
from rt_sched.runtime.host.cpu_time import CpuTimer, thread_clock
from rt_sched.runtime.host.memory import keep_freed_memory, lock_memory, stop_collecting
from rt_sched.runtime.host.refusal import Refused
from rt_sched.runtime.host.scheduling import Scheduling, SchedulingClass, set_scheduling
from rt_sched.runtime.host.sleeping import set_timer_slack_ns
from rt_sched.runtime.paced.clock import PacedClock
from rt_sched.runtime.paced.devices.ownership import Tenure
from rt_sched.runtime.paced.faults.marks import MarkedTimer, Marks
from rt_sched.runtime.paced.jobs.journal import Journal
from rt_sched.runtime.paced.jobs.practice import practise
from rt_sched.runtime.paced.jobs.rehearsal import Example
from rt_sched.runtime.paced.jobs.stopping import Stopper
from rt_sched.runtime.paced.jobs.worker import BudgetTimer, Post, Worker
from rt_sched.runtime.paced.roster import Roster, State
from rt_sched.runtime.paced.seats.tier import Seat
from rt_sched.runtime.paced.seats.turns import Turns
from rt_sched.runtime.spares import keeps_spare
from rt_sched.trace.setup import EdgeRow, TaskRow

#: How often a worker does its example before the run; the last times are as fast as jobs will be.
_REHEARSALS = 3


@dataclass(frozen=True, slots=True)
class Employment:
    """All that a worker process needs. `core`: of the host; `go_to_core` confines the process to it.

    `make_stage`: a started stage, a new one each time; `as_struck`: what serves the run in its place.

    `open_post`: connects the process to its edges, as the one that serves the task from then on; told whether the stage
    keeps what it is given. `prepare_post`: the slow part of that, which others do not notice. `tenure`: as which owner
    the process serves its task.
    """

    index: int
    task: Task
    row: TaskRow
    edges: tuple[EdgeRow, ...]
    turns: Turns
    seat: Seat
    core: int
    go_to_core: Callable[[], None]
    make_stage: Callable[[], Stage]
    as_struck: Callable[[Stage], Stage]
    example: Example | None
    open_post: Callable[[bool], Post]
    prepare_post: Callable[[], None]
    clock: PacedClock
    roster: Roster
    marks: Marks
    journal: Journal
    tenure: Tenure


def work(job: Employment, spare_after: int | None) -> None:
    """The whole life of a worker. A spare is ready before it knows whether it will be needed; `spare_after`: how many
    were called before it, None for no spare.
    """
    places, mine = job.roster.places, job.index
    state = "state" if spare_after is None else "spare_state"
    with failures_told(job):
        stage = prepared(job)
        places[state][mine] = State.READY
        if spare_after is not None:
            if not _called(job, spare_after):
                return
        elif not job.clock.wait_until_prepared():
            return
        if not job.tenure.holds:
            return
        post, timers = job.open_post(stage.stateful), budget_timers(job, stage)
        set_scheduling(job.seat.scheduling)
        places["state"][mine] = State.SEATED
        if job.clock.wait_until_begun() and _back(job):
            serve(job, stage, post, timers)


def prepared(job: Employment) -> Stage:
    """A stage ready for its jobs, in a process that is."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    name_process(job.task.name)
    job.go_to_core()
    set_timer_slack_ns(1)
    keep_freed_memory()
    stage = job.as_struck(_warmed(job))
    stop_collecting()
    with suppress(Refused):  # the launcher says so once for all workers
        lock_memory(as_used=True)
    return stage


def serve(job: Employment, stage: Stage, post: Post, timers: Sequence[BudgetTimer]) -> None:
    """The task's jobs, until the run ends or somebody else owns the task."""
    places, mine = job.roster.places, job.index
    places["state"][mine] = State.SERVING
    job.roster.back(mine, job.clock.now_ns())
    Worker(post, stage, timers).serve()
    if job.tenure.holds:
        places["state"][mine] = State.ENDED
    # To give all memory back takes tens of milliseconds, which others may still need for their last jobs.
    set_scheduling(replace(Scheduling.other(), reset_on_fork=job.seat.scheduling.reset_on_fork))


@contextmanager
def failures_told(job: Employment) -> Iterator[None]:
    """Whatever is raised meanwhile stands in the roster; what is no defect of the code ends here."""
    mine = job.index
    try:
        yield
    except RtSchedError as error:
        job.roster.fail(mine, str(error), is_defect=getattr(error, "is_defect", False))
    except Exception as error:
        job.roster.fail(mine, f"{type(error).__name__}: {error}", is_defect=True)
        raise


def _back(job: Employment) -> bool:
    """Waits as long as the task is kept away; False when the run has ended before.

    Nobody else wakes at time 0: a reservation whose deadline is before its period serves nothing between the two, so
    the first message would wait for a period after a wake-up that had nothing to do.
    """
    away_until_ns = job.marks.away_until_ns(job.index)
    return not away_until_ns or job.clock.sleep_until(away_until_ns)


def _called(job: Employment, calls: int) -> bool:
    """Waits until the task needs its spare for one more time than `calls`; False when the run has ended before."""
    call = job.roster.spare_call(job.index)
    while call.count() == calls and not job.clock.ended:
        call.wait(calls, None)
    return not job.clock.ended


def budget_timers(job: Employment, stage: Stage) -> list[BudgetTimer]:
    """What stops the process in the middle of a job that must not go on, and what asks its stage to end before.

    Under SCHED_DEADLINE nobody could ask: on the one core of the task nothing else runs before it.
    """
    if not keeps_spare(job.task):
        return []
    timers: list[BudgetTimer] = [MarkedTimer(CpuTimer(thread_clock(0), signal.SIGSTOP), job.marks, job.index)]
    ask, under = getattr(stage, "stop_job", None), job.seat.scheduling.scheduling_class
    if ask is not None and under is not SchedulingClass.DEADLINE:
        timers.append(Stopper(ask, job.row.budget_granularity_ns, real_time=under.is_real_time))
    return timers


def _warmed(job: Employment) -> Stage:
    """A stage that has done its example; a stateful one does it only once, and has forgotten it."""
    stage = job.make_stage()
    if job.example is None:
        return stage
    times = 1 if stage.stateful else _REHEARSALS
    practise(job.task, job.row, job.edges, stage, job.example, times)
    if not stage.stateful:
        return stage
    stage.stop()
    return job.make_stage()
