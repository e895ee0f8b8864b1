"""The segments of a chain: what reads at its own instants, and how long until the next segment sees that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from rt_sched import model
from rt_sched.analysis.chains.delays import Delays, Unbounded, sum_of
from rt_sched.analysis.chains.phases import Grid
from rt_sched.analysis.loads.resolve import ModeLoad
from rt_sched.analysis.result import Term, TermKind
from rt_sched.analysis.system.engine import TaskBound
from rt_sched.analysis.system.propagation import sensor_gap_ns
from rt_sched.lowering.machine_input import Role
from rt_sched.trace.setup import EdgeKind, EdgeRow, OverrunAction, Policy, Protocol, TaskRow

__all__ = ["Segment", "Unbounded", "Walk", "segments_of"]


@dataclass(frozen=True, slots=True)
class Segment:
    """Part of a chain that begins with a read on its own grid. `name`: of the sensor or task that reads.

    `gap_ns`: largest distance of two reading instants. `terms`: of the delay from such an instant until the output of
    the last task is visible; `terms_to_next`: until the next segment surely reads it, less where that one is less
    urgent on the same core. `grid`: the instants of a clock-driven task without jitter of its arrivals, else None.
    `repeats`: whether jobs that something else activates publish what was read last once more. `unlimited`: no largest
    distance exists, `gap_ns` is 0.
    """

    name: str
    gap_ns: int
    terms: tuple[Term, ...]
    terms_to_next: tuple[Term, ...]
    grid: Grid | None = None
    repeats: bool = False
    unlimited: bool = False

    @property
    def delay_ns(self) -> int:
        """Sum of `terms`."""
        return sum(term.value_ns for term in self.terms)

    @property
    def to_next_ns(self) -> int:
        """Sum of `terms_to_next`."""
        return sum(term.value_ns for term in self.terms_to_next)

    def without_priorities(self) -> Segment:
        """The segment as if nothing were known of priorities."""
        return replace(self, terms_to_next=self.terms)


@dataclass(slots=True)
class _Open:
    """A segment while the path is followed. `least_ns`: least delay of the first task's arrivals behind its grid.

    `emptied`: a task that may publish without new data, because the queue that it takes it from may be empty.
    `queued`: whether data waits in a queue that another task does not empty at once, so that it is behind its grid.
    """

    name: str
    gap_ns: int
    grid: Grid | None
    terms: list[Term]
    least_ns: int = 0
    repeats: bool = False
    emptied: str | None = None
    unlimited: bool = False
    queued: bool = False

    def ended(self, to_next: Sequence[Term]) -> Segment:
        """The segment; `to_next`: terms until the next one reads, all terms for the last. Raises Unbounded."""
        if self.emptied is not None and to_next is not self.terms:
            raise Unbounded(f"task {self.emptied} may publish without new data, over what was not read yet")
        return Segment(
            self.name, self.gap_ns, tuple(self.terms), tuple(to_next), self.grid, self.repeats, self.unlimited
        )


def segments_of(
    mode: ModeLoad, bounds: Mapping[int, TaskBound], path: Sequence[str], *, unlimited: bool = False
) -> list[Segment]:
    """The segments of the chain `path` in order, as `Walk.along` gives them. Raises Unbounded."""
    return Walk(mode, bounds).along(path, unlimited=unlimited)


class Walk:
    """One mode with its bounds, from which the segments of any chain follow."""

    def __init__(self, mode: ModeLoad, bounds: Mapping[int, TaskBound]) -> None:
        self._mode, self._bounds = mode, bounds
        self._rows = mode.setup.tasks
        self._task_of = {row.name: index for index, row in enumerate(self._rows)}
        self._sensor_of = {name: index for index, name in enumerate(mode.setup.sensors)}
        self._delays = Delays(mode, bounds)

    def along(self, path: Sequence[str], *, unlimited: bool = False) -> list[Segment]:
        """Segments of a path from a sensor or timed task. Raises Unbounded; with `unlimited` not for a first task that
        has no largest separation.
        """
        segments: list[Segment] = []
        now = self._first(path[0], unlimited=unlimited)
        for source, target in pairwise(path):
            index = self._task_of[target]
            number, edge = self._delays.edge(source, target)
            now.terms += self._delays.transfer(number)
            if edge.role is Role.READ and edge.kind is EdgeKind.LATEST:
                segments.append(now.ended(self._to_next(source, index, now.terms)))
                now = self._begin(index)
                continue
            if edge.role is Role.READ:
                now.terms += self._delays.queued(number, sum_of(now.terms), now.gap_ns)
                now.emptied = None if edge.required else self._rows[index].name
                now.queued = True
            elif edge.role is Role.PAIRED:
                now.terms += self._partners(index, now)
            else:
                now.repeats = now.repeats or self._has_other_activations(number, edge)
            now.terms.append(self._until_end(index, self._delays.response(index, number), now))
        segments.append(now.ended(now.terms))
        return segments

    def _first(self, name: str, *, unlimited: bool) -> _Open:
        """The begin of the first segment of a path from `name`."""
        if name not in self._sensor_of:
            index = self._task_of[name]
            if unlimited and self._delays.may_stay_away(index):
                return _Open(name, 0, None, [self._delays.response(index)], unlimited=True)
            return self._begin(index)
        sensor = self._mode.system.sensors[self._sensor_of[name]]
        latency_ns = sensor.latency_ns + sensor.jitter_ns
        terms = [Term(TermKind.SENSOR, latency_ns, sensor.name)] if latency_ns else []
        return _Open(sensor.name, sensor_gap_ns(sensor), None, terms)

    def _begin(self, index: int) -> _Open:
        """A segment that begins with task `index`."""
        row = self._rows[index]
        gap_ns = self._delays.gap_ns(index)
        if row.timed:
            return _Open(row.name, gap_ns, self._grid(index), [self._delays.response(index)])
        jitter_ns, least_ns = self._delays.arrival_delays(index)
        terms = [Term(TermKind.RELEASE_JITTER, jitter_ns, row.name)] if jitter_ns else []
        return _Open(row.name, gap_ns, None, [*terms, self._delays.response(index)], least_ns)

    def _grid(self, index: int) -> Grid | None:
        """The arrivals of a timed task where they are known instants of its device's clock, in every mode."""
        row, system = self._rows[index], self._mode.system
        # The first arrival of a sporadic task may come at any time, also where its distances are all the same.
        if row.rate_hz is None or isinstance(system.tasks[index].activation, model.Sporadic):
            return None
        if not all(row.name in mode.tasks for mode in system.modes):
            return None
        name = self._mode.plan.processors[row.processor].device
        return Grid(row.rate_hz, row.offset_ns, name, self._delays.clock(name).sync_error_ns)

    def _partners(self, index: int, now: _Open) -> list[Term]:
        """How long a message may wait for those that it is paired with."""
        streams = self._bounds[index].streams
        row = self._rows[index]
        if len(streams) != 1 or not (streams[0].stamped or self._bounds[index].of_one_source):
            raise Unbounded(f"task {row.name}: how long its inputs wait for each other is not known")
        latest_ns = streams[0].worst_ns + streams[0].stamp_lag_ns
        waited_ns = latest_ns - now.least_ns - sum_of(now.terms)
        return [Term(TermKind.PARTNER, waited_ns, row.name)] if waited_ns > 0 else []

    def _until_end(self, index: int, response: Term, now: _Open) -> Term:
        """A response, or less where the latest end of the task is known: by how much later than all before it that is.

        What delays one task of a graph does not delay the next ones once more, and the job with the longest response
        has seldom arrived latest.
        """
        one = self._bounds[index]
        if one.latest_ns is None or len(one.streams) != 1 or now.queued:
            return response
        left_ns = one.latest_ns + one.streams[0].stamp_lag_ns - now.least_ns - sum_of(now.terms)
        return replace(response, value_ns=max(0, min(response.value_ns, left_ns)))

    def _has_other_activations(self, number: int, edge: EdgeRow) -> bool:
        """Whether jobs of the reader of an edge are also made by other inputs, and then read this one again."""
        return any(n != number and e.role is Role.EACH for n, e in self._mode.into[edge.target])

    def _to_next(self, source: str, index: int, terms: Sequence[Term]) -> list[Term]:
        """The delay until task `index` surely reads what `source` made."""
        if source not in self._task_of:
            return list(terms)
        before = self._task_of[source]
        row, reader = self._rows[before], self._rows[index]
        if not self._never_begins_while_pending(row, reader) or terms[-1].kind is not TermKind.RESPONSE:
            return list(terms)
        earlier = list(terms[:-1])
        jitter_ns = row.jitter_ns
        return [*earlier, Term(TermKind.RELEASE_JITTER, jitter_ns, row.name)] if jitter_ns else earlier

    def _never_begins_while_pending(self, row: TaskRow, reader: TaskRow) -> bool:
        """Whether jobs of `reader` begin only when no released job of `row` is unfinished."""
        processor = self._mode.setup.processors[row.processor]
        return (
            row.processor == reader.processor
            and processor.policy is Policy.FIXED_PRIORITY
            and processor.cores == 1
            and row.level < reader.level
            and not row.suspensions
            and not row.let
            and not reader.let
            and not self._may_wait_unready(row)
        )

    def _may_wait_unready(self, row: TaskRow) -> bool:
        """Whether a job that began may leave its core to less urgent ones: for a lock, or for more of its budget."""
        plain = (Protocol.NONE, Protocol.PRIORITY_INHERITANCE)
        locks = any(self._mode.setup.resources[one.resource].protocol in plain for one in row.sections)
        return locks or (row.budget_ns is not None and row.overrun_action is OverrunAction.THROTTLE)
