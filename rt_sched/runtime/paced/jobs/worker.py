"""The process of one task: waits for an arrival, runs the stage, publishes, writes the job down, waits again."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rt_sched.messages import Authenticator
from rt_sched.model import Task
from rt_sched.ports import JobContext, JobStopped, Stage
from rt_sched.runtime.host.cpu_time import thread_clock
from rt_sched.runtime.host.waiting import WaitMeter
from rt_sched.runtime.paced.clock import PacedClock
from rt_sched.runtime.paced.devices.ownership import Tenure
from rt_sched.runtime.paced.jobs.arrivals import Arrivals
from rt_sched.runtime.paced.jobs.codec import Encoded
from rt_sched.runtime.paced.jobs.dated import Sight
from rt_sched.runtime.paced.jobs.edges import Publish, packed
from rt_sched.runtime.paced.jobs.inbox import Arrival, Inbox, Letter
from rt_sched.runtime.paced.jobs.journal import Journal
from rt_sched.runtime.paced.seats.turns import Turns
from rt_sched.runtime.paced.sections.holding import Holding
from rt_sched.runtime.protection import InputGuard
from rt_sched.runtime.stage_graph import NoData, Outputs, run_job
from rt_sched.trace.records import JobStatus
from rt_sched.trace.setup import EdgeRow, OverrunAction, TaskRow
from rt_sched.units import ceil_int

_CONCERN_NEXT = (OverrunAction.SKIP_NEXT, OverrunAction.DEGRADE)


@dataclass(frozen=True, slots=True)
class Post:
    """Everything that a worker works with; its parts lie in shared memory, so that another can go on in its place.

    `publish`: hands on what a job has packed, by port, with its number and stamp; its last argument notes that the job
    has finished, returns the run time from which on the messages count, None where there are to be none, and is called
    before anybody can read. `sight`: of `inbox`.
    `keep`: puts it into the record of the run. `tenure`: whether the process owns its task, and what is in force.
    `authenticator`: of messages that must carry a tag. `holding`: of a task with critical sections.
    """

    task: Task
    row: TaskRow
    edges: tuple[EdgeRow, ...]
    clock: PacedClock
    arrivals: Arrivals
    inbox: Inbox
    sight: Sight
    journal: Journal
    turns: Turns
    publish: Publish
    keep: Callable[[int, Outputs | NoData, Mapping[str, Encoded]], None]
    tenure: Tenure
    authenticator: Authenticator | None = None
    holding: Holding | None = None


class BudgetTimer(Protocol):
    """Does something when a job has used up its budget, or nearly: CPU time of the thread, in ns of the host."""

    def arm(self, budget_ns: int) -> None: ...
    def disarm(self) -> None: ...


class Worker:
    """`stage`: started. `timers`: on the thread's CPU time, for jobs that must not exceed their budget."""

    def __init__(self, post: Post, stage: Stage, timers: Sequence[BudgetTimer]) -> None:
        self._post, self._stage = post, stage
        budget_ns = post.row.budget_ns
        self._budget_ns = None if budget_ns is None else ceil_int(budget_ns / post.clock.rate)
        self._timers = () if self._budget_ns is None else tuple(timers)
        self._used_ns = 0
        self._overrun_ns: int | None = None
        self._guard = InputGuard(post.task, keeps_memory=stage.stateful, authenticator=post.authenticator)
        self._pid = os.getpid()
        self._cpu = thread_clock(0)
        self._meter = WaitMeter() if post.row.suspensions else None

    def serve(self) -> None:
        """Job after job until the run ends, or the task is another's."""
        with nullcontext() if self._meter is None else closing(self._meter):
            while (arrival := self._post.arrivals.wait()) is not None:
                if self._post.journal.full or not self._post.tenure.holds:
                    return
                self.do(arrival)

    def do(self, arrival: Arrival) -> None:
        """One job."""
        post = self._post
        deadline_ns = arrival.arrival_ns + post.row.deadline_ns
        follows = self._follows_overrun(arrival)
        if follows and post.row.overrun_action is OverrunAction.SKIP_NEXT:
            post.journal.suppress(arrival.arrival_ns, deadline_ns, self._pid)
            for letter in arrival.bound.values():
                letter.release()
            return
        number = post.journal.begin(
            arrival.arrival_ns, arrival.arrival_ns, deadline_ns, self._pid, is_extra=arrival.is_extra
        )
        row = post.journal.rows[number]
        row["degraded"] = follows
        with post.turns.turn(deadline_ns, arrival.arrival_ns):
            self._used_ns = time.thread_time_ns()
            for timer in self._timers:
                timer.arm(self._budget_ns or 1)
            with post.sight.held_at(arrival.arrival_ns if post.row.let else None):
                read = dict(arrival.bound) | post.inbox.consumed() | post.inbox.registers(arrival.bound)
            start_ns = post.clock.now_ns()
            row["start_ns"] = start_ns
            for slot, letter in read.items():
                row["inputs"][slot] = letter.head.number
            missing = [edge.input for slot, edge in enumerate(post.edges) if edge.required and slot not in read]
            if missing:
                row["status"] = JobStatus.SKIPPED
            else:
                row["capture_ns"] = post.inbox.capture_ns(read, arrival.bound, arrival.arrival_ns)
                context = JobContext(
                    task=post.task.name,
                    number=number,
                    arrival_ns=arrival.arrival_ns,
                    start_ns=start_ns,
                    finish_ns=start_ns,
                    deadline_ns=deadline_ns,
                    weights=post.tenure.weights(arrival.arrival_ns),
                    new_readers=post.tenure.new_readers(start_ns),
                    degraded=follows,
                    sections=post.holding,
                )
                try:
                    is_published = self._compute(row, number, context, read)
                    row["status"] = JobStatus.COMPLETED if is_published else JobStatus.LOST
                except JobStopped:
                    row["status"] = JobStatus.ABORTED
            for timer in self._timers:
                timer.disarm()
            executed_ns = time.thread_time_ns() - self._used_ns
            row["executed_ns"] = executed_ns
        self._note_overrun(executed_ns)
        for letter in {*arrival.bound.values(), *read.values()}:
            letter.release()

    def _compute(self, row: np.void, number: int, context: JobContext, read: Mapping[int, Letter]) -> bool:
        """Runs the stage and hands on what it publishes; False where the task is another's by then.

        Raises JobStopped where the stage was asked to give the job up.
        """
        post = self._post
        with self._sections(number), self._measured(row):
            result = run_job(
                post.task, self._stage, self._guard, context, _results(read), finished_ns=post.clock.now_ns
            )
        parcels = packed(result, tuple(self._stage.outputs))
        if not post.tenure.holds:
            return False
        post.publish(parcels, number, int(row["capture_ns"]), lambda: self._finished(row))
        post.keep(number, result, parcels)
        return True

    @contextmanager
    def _measured(self, row: np.void) -> Iterator[None]:
        """What the job waits of its own accord meanwhile is written down, where it declares that it does."""
        if self._meter is None:
            yield
            return
        self._meter.begin()
        try:
            yield
        finally:
            waited = self._meter.end()
            row["waited_ns"], row["waits"] = waited.total_ns, waited.count

    def _sections(self, number: int) -> AbstractContextManager[None]:
        """The critical sections of a job are entered by its stage, or all of them meanwhile."""
        holding = self._post.holding
        if holding is None:
            return nullcontext()
        holding.begin(number, self._let_exceed if self._timers else None)
        return nullcontext() if getattr(self._stage, "enters_sections", False) else holding.whole_job()

    def _let_exceed(self, by_ns: int) -> None:
        """The job's budget is enforced when it is exceeded by so much; what is left of it counts from its start."""
        left_ns = (self._budget_ns or 0) - (time.thread_time_ns() - self._used_ns)
        for timer in self._timers:
            timer.arm(max(1, left_ns + by_ns))

    def _note_overrun(self, executed_ns: int) -> None:
        """After an overrun with the action `skip_next` or `degrade` the next job that arrives is another one.

        The overrun is taken to have come as long before the end as the job took beyond its budget: what had arrived
        before it is not concerned.
        """
        if self._budget_ns is None or self._post.row.overrun_action not in _CONCERN_NEXT:
            return
        beyond_ns = executed_ns - self._budget_ns
        if beyond_ns > 0:
            self._overrun_ns = self._post.clock.now_ns() - self._post.clock.run_span_ns(beyond_ns)

    def _follows_overrun(self, arrival: Arrival) -> bool:
        """Whether the job is the first to arrive after an overrun that concerns it."""
        if self._overrun_ns is None or arrival.arrival_ns < self._overrun_ns or arrival.is_extra:
            return False
        self._overrun_ns = None
        return True

    def _finished(self, row: np.void) -> int | None:
        """Writes down that the job has finished now: from here on it counts as completed, whatever happens.

        Returns from when on its messages count: with LET from its deadline on, and after that they never do.
        """
        row["finish_ns"] = finish_ns = self._post.clock.now_ns()
        if not self._post.row.let:
            return finish_ns
        deadline_ns = int(row["deadline_ns"])
        return deadline_ns if finish_ns <= deadline_ns else None


def _results(read: Mapping[int, Letter]) -> dict[int, Outputs | NoData]:
    """What `run_job` takes: each slot holds one port, whatever its name."""
    return {slot: letter.value() for slot, letter in read.items()}
