"""The segments of a chain: what reads at its own instants, and how long until the next segment sees that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

from rt_sched import model
from rt_sched.analysis.chains.phases import Grid
from rt_sched.analysis.loads.resolve import ModeLoad
from rt_sched.analysis.result import Term, TermKind
from rt_sched.analysis.system.engine import TaskBound, outputs_of
from rt_sched.analysis.system.propagation import Streams, edge_streams, sensor_gap_ns, sensor_streams
from rt_sched.errors import RtSchedError
from rt_sched.lowering.machine_input import Role
from rt_sched.trace.setup import EdgeKind, EdgeRow, OverrunAction, Policy, Protocol, TaskRow
from rt_sched.units import NS_PER_S, ceil_int


class Unbounded(RtSchedError):
    """No bound on a chain exists, or none is known; the message says which part is to blame."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Part of a chain that begins with a read on its own grid. `name`: of the sensor or task that reads.

    `gap_ns`: largest distance of two reading instants. `terms`: of the delay from such an instant until the output of
    the last task is visible; `terms_to_next`: until the next segment surely reads it, less where that one is less
    urgent on the same core. `grid`: the instants of a clock-driven task without jitter of its arrivals, else None.
    `repeats`: whether jobs that something else activates publish what was read last once more.
    """

    name: str
    gap_ns: int
    terms: tuple[Term, ...]
    terms_to_next: tuple[Term, ...]
    grid: Grid | None = None
    repeats: bool = False

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
    """

    name: str
    gap_ns: int
    grid: Grid | None
    terms: list[Term]
    least_ns: int = 0
    repeats: bool = False
    emptied: str | None = None

    def ended(self, to_next: Sequence[Term]) -> Segment:
        """The segment; `to_next`: terms until the next one reads, all terms for the last. Raises Unbounded."""
        if self.emptied is not None and to_next is not self.terms:
            raise Unbounded(f"task {self.emptied} may publish without new data, over what was not read yet")
        return Segment(self.name, self.gap_ns, tuple(self.terms), tuple(to_next), self.grid, self.repeats)


def segments_of(mode: ModeLoad, bounds: Mapping[int, TaskBound], path: Sequence[str]) -> list[Segment]:
    """The segments of the chain `path` in order. Raises Unbounded."""
    return Walk(mode, bounds).along(path)


class Walk:
    """One mode with its bounds, from which the segments of any chain follow."""

    def __init__(self, mode: ModeLoad, bounds: Mapping[int, TaskBound]) -> None:
        self._mode, self._bounds = mode, bounds
        self._rows = mode.setup.tasks
        self._task_of = {row.name: index for index, row in enumerate(self._rows)}
        self._sensor_of = {name: index for index, name in enumerate(mode.setup.sensors)}
        self._sensors = sensor_streams(mode.system)
        self._outputs: dict[int, Streams] = outputs_of(mode, bounds)

    def along(self, path: Sequence[str]) -> list[Segment]:
        """Segments of a path from a sensor or timed task. Raises Unbounded."""
        segments: list[Segment] = []
        now = self._first(path[0])
        for source, target in pairwise(path):
            index = self._task_of[target]
            number, edge = self._edge(source, target)
            now.terms += self._transfer(number, edge)
            if edge.role is Role.READ and edge.kind is EdgeKind.LATEST:
                segments.append(now.ended(self._to_next(source, index, now.terms)))
                now = self._begin(index)
                continue
            if edge.role is Role.READ:
                now.terms += self._queued(number, edge, now)
                now.emptied = None if edge.required else self._rows[index].name
            elif edge.role is Role.PAIRED:
                now.terms += self._partners(index, now)
            else:
                now.repeats = now.repeats or self._has_other_activations(number, edge)
            now.terms.append(self._response(index, number))
        segments.append(now.ended(now.terms))
        return segments

    def _first(self, name: str) -> _Open:
        """The begin of the first segment of a path from `name`."""
        if name not in self._sensor_of:
            return self._begin(self._task_of[name])
        sensor = self._mode.system.sensors[self._sensor_of[name]]
        latency_ns = sensor.latency_ns + sensor.jitter_ns
        terms = [Term(TermKind.SENSOR, latency_ns, sensor.name)] if latency_ns else []
        return _Open(sensor.name, sensor_gap_ns(sensor), None, terms)

    def _begin(self, index: int) -> _Open:
        """A segment that begins with task `index`."""
        row = self._rows[index]
        gap_ns = self._task_gap_ns(index)
        if row.timed:
            return _Open(row.name, gap_ns, self._grid(index), [self._response(index)])
        jitter_ns, least_ns = self._delays(index)
        terms = [Term(TermKind.RELEASE_JITTER, jitter_ns, row.name)] if jitter_ns else []
        return _Open(row.name, gap_ns, None, [*terms, self._response(index)], least_ns)

    def _grid(self, index: int) -> Grid | None:
        """The arrivals of a timed task where they are known instants of its device's clock, in every mode."""
        row, system = self._rows[index], self._mode.system
        if row.rate_hz is None or row.extra_separation_ns:
            return None
        if not all(row.name in mode.tasks for mode in system.modes):
            return None
        name = self._mode.plan.processors[row.processor].device
        return Grid(row.rate_hz, row.offset_ns, name, self._clock(name).sync_error_ns)

    def _clock(self, device: str) -> model.DeviceClock:
        return next(one.clock for one in self._mode.system.devices if one.name == device)

    def _delays(self, index: int) -> tuple[int, int]:
        """Jitter of the arrivals of a message-activated task, and the least delay behind the instants of its grid."""
        streams = self._bounds[index].streams
        if not streams:
            raise Unbounded(f"task {self._rows[index].name}: {self._bounds[index].reason}")
        return max(stream.jitter_ns for stream in streams), min(stream.best_ns for stream in streams)

    def _response(self, index: int, taken: int | None = None) -> Term:
        """From an arrival of the task until its output is visible; `taken`: the edge that the job surely has a message
        of."""
        row, one = self._rows[index], self._bounds[index]
        if one.bound is None:
            raise Unbounded(f"task {row.name}: {one.reason}")
        self._refuse_losses(index)
        self._refuse_skips(index, taken)
        if not row.let:
            return Term(TermKind.RESPONSE, one.bound.value_ns, row.name)
        if one.bound.value_ns > row.deadline_ns:
            raise Unbounded(f"task {row.name} may not finish before it has to publish (LET)")
        return Term(TermKind.RESPONSE, row.deadline_ns, row.name)

    def _refuse_skips(self, index: int, taken: int | None) -> None:
        """Raise where jobs are skipped because a queue that they take a message from is empty."""
        for number, edge in enumerate(self._mode.setup.edges):
            takes = edge.target == index and edge.role is Role.READ and edge.kind is EdgeKind.QUEUE
            if takes and edge.required and number != taken:
                raise Unbounded(f"task {self._rows[index].name} skips jobs while its queue {edge.input} is empty")

    def _refuse_losses(self, index: int) -> None:
        """Raise where jobs of the task may end without an output."""
        load = next(load for load in self._mode.loads if any(task.index == index for task in load.tasks))
        task = self._bounds[index].task
        if load.switches_mode and not task.high:
            raise Unbounded(f"task {task.name} is shed when a HI task exceeds C_LO, so outputs may be missing")
        if _may_be_cut(self._rows[index]):
            raise Unbounded(f"task {task.name} may need more than its budget, which ends its jobs without an output")
        row = self._rows[index]
        bound = self._bounds[index].bound
        if row.deadline_action.name != "CONTINUE" and bound is not None and bound.value_ns > row.deadline_ns:
            raise Unbounded(f"task {task.name} may miss its deadline, which ends jobs without an output")

    def _edge(self, source: str, target: str) -> tuple[int, EdgeRow]:
        """The first edge between the two, as a trace would follow it."""
        for number, edge in enumerate(self._mode.setup.edges):
            if edge.target == self._task_of[target] and source in (
                None if edge.sensor is None else self._mode.setup.sensors[edge.sensor],
                None if edge.task is None else self._rows[edge.task].name,
            ):
                return number, edge
        raise Unbounded(f"{target} does not read {source}")

    def _transfer(self, number: int, edge: EdgeRow) -> list[Term]:
        """Time on the link of an edge."""
        if edge.link is None:
            return []
        link = self._mode.setup.links[edge.link]
        before = (self._sensors[edge.sensor],) if edge.sensor is not None else self._outputs[edge.task or 0]
        after = edge_streams(self._mode, number, self._sensors, self._outputs)
        if isinstance(before, str) or isinstance(after, str):
            raise Unbounded(f"link {link.name}: {after if isinstance(after, str) else before}")
        if len(before) == 1:
            value_ns = after[0].worst_ns - before[0].worst_ns
        else:
            value_ns = max(b.worst_ns - a.best_ns for a, b in zip(before, after, strict=True))
        return [Term(TermKind.TRANSFER, value_ns, link.name)]

    def _partners(self, index: int, now: _Open) -> list[Term]:
        """How long a message may wait for those that it is paired with."""
        streams = self._bounds[index].streams
        row = self._rows[index]
        if len(streams) != 1 or not streams[0].stamped:
            raise Unbounded(f"task {row.name}: how long its inputs wait for each other is not known")
        latest_ns = streams[0].worst_ns + streams[0].stamp_lag_ns
        waited_ns = latest_ns - now.least_ns - sum(term.value_ns for term in now.terms)
        return [Term(TermKind.PARTNER, waited_ns, row.name)] if waited_ns > 0 else []

    def _queued(self, number: int, edge: EdgeRow, now: _Open) -> list[Term]:
        """How long a message waits in a queue of which every arrival of the reader takes the oldest.

        Of those before it, at most as many as the queue is deep less one are still there; fewer where messages come no
        denser than the reader's jobs. What a reader that begins late finds has waited for up to a gap of messages each.
        """
        gap_ns, row = self._task_gap_ns(edge.target), self._rows[edge.target]
        device = self._mode.plan.processors[row.processor].device
        error_ns = self._clock(device).sync_error_ns
        turns, begins_ns, more = edge.depth, row.offset_ns + error_ns, []
        if row.timed and begins_ns <= gap_ns and not self._mode.system.modes:
            streams = edge_streams(self._mode, number, self._sensors, self._outputs)
            if not isinstance(streams, str) and len(streams) == 1 and gap_ns <= streams[0].period_ns:
                turns = min(turns, 1 - (-streams[0].jitter_ns // streams[0].period_ns))
        else:
            jitter_ns = 0 if row.timed else self._delays(edge.target)[0]
            more = [Term(TermKind.SAMPLING, sum(term.value_ns for term in now.terms) + jitter_ns, row.name)]
            gap_ns = max(gap_ns, now.gap_ns)
        return [Term(TermKind.SAMPLING, turns * gap_ns, row.name, turns, gap_ns), *more]

    def _has_other_activations(self, number: int, edge: EdgeRow) -> bool:
        """Whether jobs of the reader of an edge are also made by other inputs, and then read this one again."""
        others = enumerate(self._mode.setup.edges)
        return any(n != number and e.target == edge.target and e.role is Role.EACH for n, e in others)

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

    def _task_gap_ns(self, index: int) -> int:
        """Largest distance of two arrivals of a task, those of its grid where messages activate it."""
        row, task = self._rows[index], self._mode.system.tasks[index]
        if row.timed:
            if isinstance(task.activation, model.Sporadic) and task.activation.max_separation_ns is None:
                raise Unbounded(f"task {row.name} has no largest separation: it may never read")
            return ceil_int(NS_PER_S / (row.rate_hz or Fraction(1))) + row.extra_separation_ns
        gaps = [
            sensor_gap_ns(self._mode.system.sensors[edge.sensor])
            if edge.sensor is not None
            else self._task_gap_ns(edge.task or 0)
            for edge in self._mode.setup.edges
            if edge.target == index and edge.role is not Role.READ
        ]
        paired = any(e.role is Role.PAIRED for e in self._mode.setup.edges if e.target == index)
        return max(gaps) if paired else min(gaps)


def _may_be_cut(row: TaskRow) -> bool:
    """Whether a job may need more than a budget that ends it, or suppresses the one after it."""
    cutting = (OverrunAction.ABORT, OverrunAction.FAIL_OVER, OverrunAction.SKIP_NEXT)
    longest_ns = row.demand_ns if isinstance(row.demand_ns, int) else row.demand_ns[-1]
    return row.budget_ns is not None and row.overrun_action in cutting and longest_ns > row.budget_ns
