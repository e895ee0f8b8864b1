"""A trace read for explanations: keys of jobs, owners of locks, slices of cores, all by instant."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise

import numpy as np

from rt_sched.trace.checker.demands import declared_demands
from rt_sched.trace.checker.findings import Findings
from rt_sched.trace.checker.form import check_form
from rt_sched.trace.checker.history import NEVER_NS, History
from rt_sched.trace.checker.keys import key_at, own_keys
from rt_sched.trace.checker.locks import check_locks
from rt_sched.trace.checker.servers import server_keys
from rt_sched.trace.checker.windows import Spans, TableWindows, spans_of
from rt_sched.trace.records import EventKind, SliceKind, Trace
from rt_sched.trace.setup import Policy, ProcessorRow

#: Begin, end, job.
Span = tuple[int, int, int]


class Schedule:
    """What a trace and its setup say about who might run when. Nothing here checks the trace; `check_trace` does.

    Raises ValueError where the trace carries no setup, or its records do not refer to each other as they should.
    """

    def __init__(self, trace: Trace) -> None:
        if trace.setup is None:
            raise ValueError("the trace carries no setup, so the rules it was made under are not known")
        found = Findings()
        if not check_form(trace, trace.setup, found):
            raise ValueError(f"the records of the trace are not in form: {found.result(()).violations[0]}")
        self.trace, self.setup = trace, trace.setup
        self.history = History(trace, trace.setup)
        self._own = own_keys(self.history)
        self._served = server_keys(self.history)
        self.locks = check_locks(self.history, self._own, self._served, found)

    # -- keys: smaller is better

    def own_key(self, job: int) -> int:
        """Level, absolute deadline or release, as the policy says."""
        return int(self._own[job])

    def served_key(self, job: int, time_ns: int) -> int:
        """The own key, or the deadline of the bandwidth server that stands in for it."""
        return key_at(self._served.get(job), self.own_key(job), time_ns)

    def key(self, job: int, time_ns: int) -> int:
        """What the job is ordered by at an instant, with ceilings and inheritance."""
        return key_at(self.locks.keys.get(job), self.own_key(job), time_ns)

    def key_changes(self, job: int) -> list[int]:
        """Instants at which the key changes or the job begins or ceases to be bound to its core."""
        steps = [time_ns for time_ns, _ in self.locks.keys.get(job, ())]
        return steps + [time_ns for span in self.locks.fixed.get(job, ()) for time_ns in span]

    # -- processors

    def processor(self, job: int) -> ProcessorRow:
        """The processor of a job."""
        return self.setup.processors[int(self.history.row[job])]

    def end_ns(self, job: int) -> int:
        """When a job ended, the horizon for those that did not."""
        return min(int(self.history.end_ns[job]), self.trace.horizon_ns)

    @cached_property
    def _first_slice(self) -> list[int]:
        """Where the slices of every job begin among those ordered by job."""
        ordered = self.trace.slices.job[self.history.slices_by_job]
        places: list[int] = np.searchsorted(ordered, np.arange(len(self.trace.jobs) + 1)).tolist()
        return places

    def slices_of(self, job: int) -> Iterator[tuple[int, int, SliceKind]]:
        """The slices of a job in order: begin, end, kind."""
        slices = self.trace.slices
        mine = self.history.slices_by_job[self._first_slice[job] : self._first_slice[job + 1]]
        for start_ns, end_ns, kind in zip(slices.start_ns[mine], slices.end_ns[mine], slices.kind[mine], strict=True):
            yield int(start_ns), int(end_ns), SliceKind(int(kind))

    @cached_property
    def _on_core(self) -> list[tuple[list[int], list[int], list[int], list[int]]]:
        slices, order = self.trace.slices, self.history.slices_by_core
        bounds = np.searchsorted(slices.processor[order], np.arange(len(self.trace.processor_names) + 1)).tolist()
        start, end = slices.start_ns[order].tolist(), slices.end_ns[order].tolist()
        job, kind = slices.job[order].tolist(), slices.kind[order].tolist()
        return [
            (start[first:last], end[first:last], job[first:last], kind[first:last]) for first, last in pairwise(bounds)
        ]

    def cores(self, job: int) -> range:
        """The cores that serve the queue of a job."""
        row = int(self.history.row[job])
        first = int(self.history.first_core[row])
        return range(first, first + self.setup.processors[row].cores)

    def on_core(self, core: int, start_ns: int, end_ns: int) -> Iterator[tuple[int, int, int, SliceKind]]:
        """What a core did in [start_ns, end_ns): begin, end, job, kind; begin and end may lie outside."""
        starts, ends, jobs, kinds = self._on_core[core]
        for place in range(bisect_right(ends, start_ns), bisect_left(starts, end_ns)):
            yield starts[place], ends[place], jobs[place], SliceKind(kinds[place])

    @cached_property
    def _frequencies(self) -> dict[int, list[tuple[int, int]]]:
        """Row of every processor whose frequency changes -> instants and the frequency from then on."""
        found: dict[int, list[tuple[int, int]]] = {}
        for change in sorted(self.setup.frequency_changes, key=lambda one: one.time_ns):
            begin = [(-1, self.setup.processors[change.processor].frequency_khz)]
            found.setdefault(change.processor, begin).append((change.time_ns, change.frequency_khz))
        return found

    def frequencies(self, job: int, start_ns: int, end_ns: int) -> Iterator[tuple[int, int, int | None]]:
        """[start_ns, end_ns) in pieces with the frequency of the job's core in kHz, None where it never changes."""
        steps = self._frequencies.get(int(self.history.row[job]))
        if steps is None:
            yield start_ns, end_ns, None
            return
        place = bisect_right(steps, (start_ns, NEVER_NS)) - 1
        while start_ns < end_ns:
            until_ns = min(end_ns, steps[place + 1][0]) if place + 1 < len(steps) else end_ns
            yield start_ns, until_ns, steps[place][1]
            start_ns, place = until_ns, place + 1

    @cached_property
    def declared_demand_ns(self) -> list[int]:
        """Per job the demand at the frequency for which it is declared."""
        demands: list[int] = declared_demands(self.history).tolist()
        return demands

    @cached_property
    def _windows(self) -> dict[int, tuple[Spans, list[int], list[int]]]:
        return {}

    def windows(self, row: int) -> tuple[Spans, list[int], list[int]]:
        """Slices or entries of a processor, their begins, and the job that each entry belongs to (-1: none)."""
        if row not in self._windows:
            if self.setup.processors[row].policy is Policy.TABLE:
                table = TableWindows(self.history, row, self.locks)
                spans, owner = table.spans, table.owner.tolist()
            else:
                spans, owner = spans_of(self.history, row), []
            self._windows[row] = spans, spans.begin_ns.tolist(), owner
        return self._windows[row]

    # -- what holds a job back

    def between(self, job: int, begin: EventKind, end: EventKind) -> list[tuple[int, int]]:
        """Spans of a job from an event of one kind to the next of another, or to its end."""
        ends = self._of_job(end).get(job, [])
        found = []
        for time_ns, position in self._of_job(begin).get(job, []):
            until_ns = next((at_ns for at_ns, later in ends if later > position), self.end_ns(job))
            found.append((time_ns, until_ns))
        return found

    def _of_job(self, kind: EventKind) -> dict[int, list[tuple[int, int]]]:
        if kind not in self._told:
            rows: dict[int, list[tuple[int, int]]] = defaultdict(list)
            for time_ns, job, _, position in self.history.events(kind):
                rows[job].append((time_ns, position))
            self._told[kind] = rows
        return self._told[kind]

    @cached_property
    def _told(self) -> dict[EventKind, dict[int, list[tuple[int, int]]]]:
        return {}

    @cached_property
    def lock_waits(self) -> dict[int, list[tuple[int, int, int, bool]]]:
        """Per job its waits for locks, ascending: begin, end, resource, whether it spins meanwhile."""
        requests = {(job, time_ns): value for time_ns, job, value, _ in self.history.events(EventKind.REQUEST)}
        waits: dict[int, list[tuple[int, int, int, bool]]] = defaultdict(list)
        for job, begin_ns, end_ns, spins in sorted(self.locks.waits):
            waits[job].append((begin_ns, end_ns, requests[job, begin_ns], spins))
        return waits

    @cached_property
    def owners(self) -> list[list[Span]]:
        """Per resource who held its lock, and from when until when, ascending."""
        spans: list[list[Span]] = [[] for _ in self.setup.resources]
        owner: dict[int, tuple[int, int]] = {}
        events = [
            (position, kind, time_ns, job, value)
            for kind in (EventKind.LOCK, EventKind.UNLOCK, EventKind.OWNER_DEAD)
            for time_ns, job, value, position in self.history.events(kind)
        ]
        for _, kind, time_ns, job, resource in sorted(events):
            if kind is EventKind.LOCK:
                owner[resource] = time_ns, job
            elif resource in owner:
                begin_ns, holder = owner.pop(resource)
                spans[resource].append((begin_ns, time_ns, holder))
        for resource, (begin_ns, holder) in owner.items():
            spans[resource].append((begin_ns, NEVER_NS, holder))
        return spans

    def owner_spans(self, resource: int, start_ns: int, end_ns: int) -> Iterator[Span]:
        """Who held a lock in [start_ns, end_ns), cut to it; spans in which nobody did are left out."""
        spans = self.owners[resource]
        for begin_ns, until_ns, job in spans[max(bisect_left(spans, (start_ns,)) - 1, 0) :]:
            if begin_ns >= end_ns:
                return
            if max(begin_ns, start_ns) < min(until_ns, end_ns):
                yield max(begin_ns, start_ns), min(until_ns, end_ns), job

    def resources_of(self, job: int, time_ns: int) -> tuple[str, ...]:
        """Names of the resources that a job holds from an instant on."""
        return tuple(
            resource.name
            for index, resource in enumerate(self.setup.resources)
            if any(owner == job for _, _, owner in self.owner_spans(index, time_ns, time_ns + 1))
        )
