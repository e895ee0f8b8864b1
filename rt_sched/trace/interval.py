"""An interval of a run as a Trace of its own, collected from parts of the run, so that its length does not matter."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rt_sched.trace.records import (
    Bools,
    DropTable,
    EventKind,
    EventTable,
    Int8s,
    Int64s,
    JobStatus,
    JobTable,
    SampleTable,
    SliceTable,
    Trace,
)

Columns = dict[str, npt.NDArray[Any]]

#: Events that tell what a job holds and waits for, which may begin before an interval and last into it.
OF_LOCKS = (EventKind.REQUEST, EventKind.LOCK, EventKind.UNLOCK, EventKind.OWNER_DEAD)
_JOBS = tuple(column.name for column in fields(JobTable) if column.name != "inputs")
_SLICES = tuple(column.name for column in fields(SliceTable))
_EVENTS = tuple(column.name for column in fields(EventTable))
#: Numbers of jobs in a key, which also holds the task: 2 to this power.
_NUMBER_BITS = 40


class Interval:
    """[start_ns, end_ns) of a run, which is told in parts; a later part may tell a job again, and knows it better."""

    def __init__(self, start_ns: int, end_ns: int) -> None:
        self.start_ns, self.end_ns = start_ns, end_ns
        self._jobs: list[Columns] = []
        self._slices: list[Columns] = []
        self._events: list[Columns] = []
        self._complete = False

    def add(self, part: Trace, until_ns: int) -> None:
        """The next part of the run: what happened until `until_ns` and no part has told."""
        if self._complete:
            return
        key = (part.jobs.task.astype(np.int64) << _NUMBER_BITS) + part.jobs.number
        slices = self._slices_inside(part)
        there = self._there(part.jobs.arrival_ns, part.jobs.finish_ns, part.jobs.status)
        there[part.slices.job[slices]] = True
        for known in self._jobs[-1:]:
            there |= np.isin(key, known["key"])
        self._jobs.append(_columns(part.jobs, _JOBS, there) | {"key": key[there]})
        self._slices.append(_columns(part.slices, _SLICES, slices) | {"job": key[part.slices.job[slices]]})
        events = self._events_told(part, there)
        of = part.events.job[events]
        named = np.full(len(of), -1, np.int64)
        named[of >= 0] = key[of[of >= 0]]
        self._events.append(_columns(part.events, _EVENTS, events) | {"job": named})
        if until_ns < self.start_ns:
            self._forget()
        self._complete = until_ns >= self.end_ns and not (self._jobs[-1]["status"] == JobStatus.UNFINISHED).any()

    @property
    def jobs_kept(self) -> int:
        """How many rows of jobs are in memory."""
        return sum(len(part["key"]) for part in self._jobs)

    def trace(self, names: Trace) -> Trace:
        """The jobs that were there in the interval, in order of arrival, and what cores did for them in it.

        Of events it has those of the interval, the changes of frequencies before it, and the locking of its jobs. There
        are no messages in it. `names`: any part of the run.
        """
        jobs, slices, events = (_joined(parts) for parts in (self._jobs, self._slices, self._events))
        _, newest = np.unique(jobs["key"][::-1], return_index=True)
        rows = len(jobs["key"]) - 1 - newest
        there = self._there(*(jobs[name][rows] for name in ("arrival_ns", "finish_ns", "status")))
        rows = rows[there | np.isin(jobs["key"][rows], slices["job"])]
        rows = rows[np.lexsort((jobs["task"][rows], jobs["arrival_ns"][rows]))]
        jobs = {name: column[rows] for name, column in jobs.items()}
        order = np.argsort(jobs["key"])

        def row_of(keys: npt.NDArray[Any]) -> Int64s:
            place = np.minimum(np.searchsorted(jobs["key"], keys, sorter=order), max(len(order) - 1, 0))
            found = order[place] if len(order) else place - 1
            return np.where(jobs["key"][found] == keys, found, -1) if len(order) else found

        slices["job"] = row_of(slices["job"])
        told = (events["job"] < 0) | np.isin(events["job"], jobs["key"])
        events = {name: column[told] for name, column in events.items()}
        events["job"] = row_of(events["job"])
        del jobs["key"]
        none = np.zeros(0, np.int64)
        return replace(
            names,
            jobs=JobTable(**jobs, inputs=np.full((len(rows), names.jobs.inputs.shape[1]), -1, np.int64)),
            slices=SliceTable(**slices),
            drops=DropTable(none, none.astype(np.int32), none, none.astype(np.int8)),
            samples=SampleTable(none.astype(np.int32), none, none, none, none.astype(np.int8)),
            transfers=type(names.transfers)(),
            events=EventTable(**events),
        )

    def _there(self, arrival_ns: Int64s, finish_ns: Int64s, status: Int8s) -> Bools:
        """Jobs that are in the interval, or may come to be, whether they run in it or not."""
        there = (status == JobStatus.UNFINISHED) | (finish_ns >= self.start_ns) | (arrival_ns >= self.start_ns)
        inside: Bools = there & (arrival_ns < self.end_ns)
        return inside

    def _slices_inside(self, part: Trace) -> Bools:
        return (part.slices.end_ns > self.start_ns) & (part.slices.start_ns < self.end_ns)

    def _events_told(self, part: Trace, there: Bools) -> Bools:
        events = part.events
        of_job = np.zeros(len(events), np.bool_)
        of_job[events.job >= 0] = there[events.job[events.job >= 0]]
        told = (events.time_ns >= self.start_ns) & (of_job | (events.job < 0))
        told |= (events.kind == EventKind.FREQUENCY) | (np.isin(events.kind, OF_LOCKS) & of_job)
        return told & (events.time_ns < self.end_ns)

    def _forget(self) -> None:
        """Before the interval: only the jobs of the newest part are still there."""
        alive = self._jobs[-1]["key"]
        self._jobs = self._jobs[-1:]
        events = _joined(self._events)
        kept = np.isin(events["job"], alive) | (events["job"] < 0)
        self._events = [{name: column[kept] for name, column in events.items()}]


def interval_of(trace: Trace, start_ns: int, end_ns: int) -> Trace:
    """[start_ns, end_ns) of a whole run."""
    interval = Interval(start_ns, end_ns)
    interval.add(trace, trace.horizon_ns)
    return interval.trace(trace)


def _columns(table: object, names: tuple[str, ...], rows: Bools) -> Columns:
    return {name: getattr(table, name)[rows] for name in names}


def _joined(parts: list[Columns]) -> Columns:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
