"""Schedules written by hand, for charts: pieces of jobs in, a Trace out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rt_sched.trace.records import (
    DropTable,
    EventKind,
    EventTable,
    JobStatus,
    JobTable,
    SampleTable,
    SliceKind,
    SliceTable,
    Trace,
)
from rt_sched.trace.setup import Policy, ProcessorRow, Protocol, ResourceRow, Setup, TaskRow

Piece = tuple[int, int, int] | tuple[int, int, int, SliceKind]


class Schedule:
    """Tasks "t0", "t1", ... on cores of one element each; what is added becomes rows of the trace."""

    def __init__(self, tasks: int, cores: int = 1, names: Sequence[str] | None = None) -> None:
        self.names = tuple(names or (f"t{number}" for number in range(tasks)))
        self.cores = cores
        self._jobs: list[tuple[int, int, int, int, int, int, int, bool]] = []
        self._pieces: list[tuple[int, int, int, int, int]] = []
        self._events: list[tuple[int, int, int, int, int, int]] = []

    def job(
        self,
        task: int,
        arrival: int,
        pieces: Sequence[Piece],
        *,
        deadline: int,
        status: JobStatus = JobStatus.COMPLETED,
        missed: bool = False,
    ) -> int:
        """`pieces`: (core, start, end) or (core, start, end, kind)."""
        number = sum(job[0] == task for job in self._jobs)
        start = min((piece[1] for piece in pieces), default=-1)
        finish = max((piece[2] for piece in pieces), default=-1) if status == JobStatus.COMPLETED else -1
        row = len(self._jobs)
        self._jobs.append((task, number, arrival, start, finish, deadline, int(status), missed))
        for core, begin, end, *kind in pieces:
            self._pieces.append((core, row, begin, end, int(kind[0]) if kind else int(SliceKind.EXECUTE)))
        return row

    def event(self, time: int, kind: EventKind, *, job: int = -1, processor: int = 0, value: int = 0) -> None:
        self._events.append((time, int(kind), processor, -1, job, value))

    def trace(self, horizon: int) -> Trace:
        jobs = np.array(self._jobs, np.int64).reshape(-1, 8)
        pieces = np.array(sorted(self._pieces, key=lambda piece: piece[3]), np.int64).reshape(-1, 5)
        events = np.array(sorted(self._events), np.int64).reshape(-1, 6)
        none = np.zeros(0, np.int64)
        zeros = np.zeros(len(jobs), np.int64)
        processors = tuple(ProcessorRow(f"p{core}", Policy.EDF, True, frequency_khz=1000) for core in range(self.cores))
        rows = tuple(TaskRow(name, 0, 10, 1, level) for level, name in enumerate(self.names))
        return Trace(
            task_names=self.names,
            processor_names=tuple(processor.name for processor in processors),
            sensor_names=(),
            edges=(),
            jobs=JobTable(
                task=jobs[:, 0].astype(np.int32),
                number=jobs[:, 1],
                arrival_ns=jobs[:, 2],
                release_ns=jobs[:, 2],
                start_ns=jobs[:, 3],
                finish_ns=jobs[:, 4],
                deadline_ns=jobs[:, 5],
                demand_ns=zeros,
                executed_ns=zeros,
                capture_ns=zeros,
                status=jobs[:, 6].astype(np.int8),
                missed=jobs[:, 7].astype(np.bool_),
                overrun=zeros.astype(np.bool_),
                inputs=np.zeros((len(jobs), 0), np.int64),
            ),
            slices=SliceTable(
                pieces[:, 0].astype(np.int32), pieces[:, 1], pieces[:, 2], pieces[:, 3], pieces[:, 4].astype(np.int8)
            ),
            drops=DropTable(none, none.astype(np.int32), none, none.astype(np.int8)),
            samples=SampleTable(none.astype(np.int32), none, none, none, none.astype(np.int8)),
            horizon_ns=horizon,
            seed=1,
            events=EventTable(
                events[:, 0],
                events[:, 1].astype(np.int8),
                events[:, 2].astype(np.int32),
                events[:, 3].astype(np.int32),
                events[:, 4],
                events[:, 5],
            ),
            setup=Setup(processors, (), rows, (), (ResourceRow("bus", Protocol.PRIORITY_INHERITANCE),)),
        )


def example(names: Sequence[str] = ("high", "low")) -> Trace:
    """`low` holds the bus when `high` wants it, is preempted later, and misses its deadline; the clock is halved."""
    schedule = Schedule(2, names=names)
    low = schedule.job(1, 0, [(0, 0, 4), (0, 5, 20), (0, 30, 34)], deadline=32, missed=True)
    high = schedule.job(0, 4, [(0, 4, 5), (0, 20, 30)], deadline=40)
    schedule.job(0, 35, [], deadline=60, status=JobStatus.UNFINISHED)
    schedule.event(2, EventKind.LOCK, job=low)
    schedule.event(5, EventKind.REQUEST, job=high)
    schedule.event(20, EventKind.UNLOCK, job=low)
    schedule.event(20, EventKind.LOCK, job=high)
    schedule.event(25, EventKind.UNLOCK, job=high)
    schedule.event(30, EventKind.FREQUENCY, value=500)
    return schedule.trace(40)
