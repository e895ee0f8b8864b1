"""Where a message was: on links, visible at its readers, and what became of it there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np
import numpy.typing as npt

from rt_sched.trace.checker.declared import Routes
from rt_sched.trace.records import DropReason, EventKind, JobStatus, SampleStatus, message_of_sample, sample_of
from rt_sched.trace.setup import EdgeKind
from rt_sched.trace.waits.kinds import Cause, Part, PartKind, Reason
from rt_sched.trace.waits.schedule import Schedule


class FateKind(str, Enum):
    """What became of a message on one edge.

    `read`, by jobs that ended well; `reader_ended`: read by jobs of which none did; `superseded` in a register by a
    newer one; `dropped` by a queue; `not_delivered`: its sensor or link was lost, or it was on its way when the run
    ended; `waiting`: at its reader when the run ended; `not_published`: the job gave no output.
    """

    READ = "read"
    READER_ENDED = "reader_ended"
    SUPERSEDED = "superseded"
    DROPPED = "dropped"
    NOT_DELIVERED = "not_delivered"
    WAITING = "waiting"
    NOT_PUBLISHED = "not_published"


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of `message` on `edge` (an index), when that is known, and by whom.

    `by`: the jobs that read it, or the newer message; `drop`: why a queue dropped it.
    """

    kind: FateKind
    edge: int
    message: int
    time_ns: int | None = None
    by: tuple[int, ...] = ()
    drop: DropReason | None = None


class Messages:
    """The messages of a run, by edge."""

    def __init__(self, schedule: Schedule) -> None:
        self._schedule, self._trace = schedule, schedule.trace

    @cached_property
    def _transfers(self) -> dict[tuple[int, int], int]:
        transfers = self._trace.transfers
        keys = zip(transfers.edge.tolist(), transfers.message.tolist(), strict=True)
        return {key: row for row, key in enumerate(keys)}

    @cached_property
    def _routes(self) -> list[Routes]:
        setup = self._schedule.setup
        return [Routes(setup, edge) for edge in range(len(setup.edges))]

    @cached_property
    def _links(self) -> npt.NDArray[np.int64]:
        """The link of every transfer, int64[n_transfers]."""
        transfers = self._trace.transfers
        links = np.full(len(transfers), -1, np.int64)
        for edge, routes in enumerate(self._routes):
            mine = transfers.edge == edge
            links[mine] = routes.links_at(transfers.queued_ns[mine])
        return links

    @cached_property
    def _let_published(self) -> set[int]:
        return {job for _, job, _, _ in self._schedule.history.events(EventKind.LET_PUBLISH)}

    def published_ns(self, message: int) -> int | None:
        """When a sample arrived, or a job's output appeared; None where it did not."""
        sample = int(sample_of(message))
        if sample >= 0:
            samples = self._trace.samples
            return int(samples.arrival_ns[sample]) if samples.status[sample] == SampleStatus.DELIVERED else None
        jobs = self._trace.jobs
        if jobs.status[message] != JobStatus.COMPLETED:
            return None
        if not self._schedule.history.task_row(message).let:
            return int(jobs.finish_ns[message])
        return int(jobs.deadline_ns[message]) if message in self._let_published else None

    def visible_ns(self, edge: int, message: int) -> int | None:
        """When the message was at the end of an edge; None where it never was."""
        row = self._transfers.get((edge, message))
        if row is not None:
            delivered_ns = int(self._trace.transfers.delivered_ns[row])
            return delivered_ns if delivered_ns >= 0 else None
        published_ns = self.published_ns(message)
        direct = published_ns is not None and self._routes[edge].link_at(published_ns) is None
        return published_ns if direct else None

    def transfer_parts(self, edge: int, message: int) -> Iterator[Part]:
        """From publication to the end of the edge, which is no time where the edge has no link."""
        row = self._transfers.get((edge, message))
        if row is None:
            return
        index = int(self._links[row])
        transfers, link = self._trace.transfers, self._schedule.setup.links[index].name
        queued_ns, start_ns = int(transfers.queued_ns[row]), int(transfers.start_ns[row])
        delivered_ns, at_ns = int(transfers.delivered_ns[row]), queued_ns
        for begin_ns, end_ns, other in self._on_link(index, queued_ns, start_ns):
            yield Part(PartKind.LINK_QUEUE, at_ns, begin_ns, resource=link)
            yield Part(PartKind.LINK_QUEUE, begin_ns, end_ns, (Cause(other, Reason.BEFORE),), link)
            at_ns = end_ns
        yield Part(PartKind.LINK_QUEUE, at_ns, start_ns, resource=link)
        yield Part(PartKind.LINK, start_ns, delivered_ns, resource=link)

    def _on_link(self, link: int, start_ns: int, end_ns: int) -> Iterator[tuple[int, int, int]]:
        """What a link sent in [start_ns, end_ns), cut to it: begin, end, message."""
        transfers = self._trace.transfers
        sent = (self._links == link) & (transfers.start_ns >= 0)
        inside = sent & (transfers.start_ns < end_ns) & (transfers.end_ns > start_ns)
        rows = np.flatnonzero(inside)
        for row in rows[np.argsort(transfers.start_ns[rows], kind="stable")].tolist():
            begin_ns, until_ns = int(transfers.start_ns[row]), int(transfers.end_ns[row])
            yield max(begin_ns, start_ns), min(until_ns, end_ns), int(transfers.message[row])

    def readers(self, edge: int, message: int) -> list[int]:
        """Jobs that read a message on an edge, in order of arrival; those that were skipped read nothing."""
        jobs, row = self._trace.jobs, self._schedule.setup.edges[edge]
        slot = self._trace.edges[edge].slot
        mine = (jobs.task == row.target) & (jobs.inputs[:, slot] == message) & (jobs.status != JobStatus.SKIPPED)
        rows: list[int] = np.flatnonzero(mine).tolist()
        return rows

    def fate(self, edge: int, message: int) -> Fate:
        """What became of a message on an edge."""
        trace = self._trace
        readers = self.readers(edge, message)
        if readers:
            done = [job for job in readers if self.published_ns(job) is not None]
            return Fate(FateKind.READ if done else FateKind.READER_ENDED, edge, message, by=tuple(done or readers))
        dropped = np.flatnonzero((trace.drops.edge == edge) & (trace.drops.message == message))
        if len(dropped):
            row = int(dropped[0])
            reason = DropReason(int(trace.drops.reason[row]))
            return Fate(FateKind.DROPPED, edge, message, int(trace.drops.time_ns[row]), drop=reason)
        if self.published_ns(message) is None and message >= 0:
            return Fate(FateKind.NOT_PUBLISHED, edge, message, self._schedule.end_ns(message))
        visible_ns = self.visible_ns(edge, message)
        if visible_ns is None:
            return Fate(FateKind.NOT_DELIVERED, edge, message)
        newer = self._newer(edge, message, visible_ns)
        if newer is not None and self._schedule.setup.edges[edge].kind is EdgeKind.LATEST:
            return Fate(FateKind.SUPERSEDED, edge, message, newer[0], (newer[1],))
        return Fate(FateKind.WAITING, edge, message, visible_ns)

    def _newer(self, edge: int, message: int, visible_ns: int) -> tuple[int, int] | None:
        """The next message of the same source on an edge: when it was visible, and its id."""
        trace, sample = self._trace, int(sample_of(message))
        if sample >= 0:
            later = np.flatnonzero(trace.samples.sensor[sample + 1 :] == trace.samples.sensor[sample]) + sample + 1
            following = [int(message_of_sample(int(row))) for row in later]
        else:
            mine = self._schedule.history.jobs_of_task[int(trace.jobs.task[message])]
            following = mine[np.searchsorted(mine, message) + 1 :].tolist()
        for other in following:
            other_ns = self.visible_ns(edge, other)
            if other_ns is not None and other_ns >= visible_ns:
                return other_ns, other
        return None
