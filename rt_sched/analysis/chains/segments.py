"""The segments of a chain: what reads at its own instants, and how long until the next segment sees that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

from rt_sched import model
from rt_sched.analysis.loads.resolve import ModeLoad
from rt_sched.analysis.result import Term, TermKind
from rt_sched.analysis.system.engine import TaskBound, outputs_of
from rt_sched.analysis.system.propagation import Streams, edge_streams, sensor_gap_ns, sensor_streams
from rt_sched.errors import RtSchedError
from rt_sched.lowering.machine_input import Role
from rt_sched.trace.setup import EdgeRow, OverrunAction, Policy, TaskRow
from rt_sched.units import NS_PER_S, ceil_int


class Unbounded(RtSchedError):
    """No bound on a chain exists, or none is known; the message says which part is to blame."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Part of a chain that begins with a read on its own grid. `name`: of the sensor or task that reads.

    `gap_ns`: largest distance of two reading instants. `terms`: of the delay from such an instant until the output of
    the last task is visible; `terms_to_next`: until the next segment surely reads it, less where that one is less
    urgent on the same core. `grid`: (rate in Hz, first instant in ns) of a clock-driven task without jitter of its
    instants, else None.
    """

    name: str
    gap_ns: int
    terms: tuple[Term, ...]
    terms_to_next: tuple[Term, ...]
    grid: tuple[Fraction, int] | None = None

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


def segments_of(mode: ModeLoad, bounds: Mapping[int, TaskBound], path: Sequence[str]) -> list[Segment]:
    """The segments of the chain `path` in order. Raises Unbounded."""
    return _Walk(mode, bounds).along(path)


class _Walk:
    """One mode with its bounds, from which the segments of any chain follow."""

    def __init__(self, mode: ModeLoad, bounds: Mapping[int, TaskBound]) -> None:
        self._mode, self._bounds = mode, bounds
        self._rows = mode.setup.tasks
        self._task_of = {row.name: index for index, row in enumerate(self._rows)}
        self._sensor_of = {name: index for index, name in enumerate(mode.setup.sensors)}
        self._sensors = sensor_streams(mode.system)
        self._outputs: dict[int, Streams] = outputs_of(mode, bounds)

    def along(self, path: Sequence[str]) -> list[Segment]:
        """Segments of a path from a sensor or timed task."""
        segments: list[Segment] = []
        if path[0] in self._sensor_of:
            sensor = self._mode.system.sensors[self._sensor_of[path[0]]]
            latency_ns = sensor.latency_ns + sensor.jitter_ns
            name, gap_ns, grid = sensor.name, sensor_gap_ns(sensor), None
            terms = [Term(TermKind.SENSOR, latency_ns, sensor.name)] if latency_ns else []
        else:
            name, gap_ns, grid, terms = self._begin(self._task_of[path[0]])
        for source, target in pairwise(path):
            index = self._task_of[target]
            number, edge = self._edge(source, target)
            terms = [*terms, *self._transfer(number, edge)]
            if edge.role is Role.READ:
                to_next = self._to_next(source, index, terms)
                segments.append(Segment(name, gap_ns, tuple(terms), tuple(to_next), grid))
                name, gap_ns, grid, terms = self._begin(index)
                continue
            if edge.role is Role.PAIRED:
                terms = [*terms, *self._partners(index, terms)]
            terms = [*terms, self._response(index)]
        segments.append(Segment(name, gap_ns, tuple(terms), tuple(terms), grid))
        return segments

    def _begin(self, index: int) -> tuple[str, int, tuple[Fraction, int] | None, list[Term]]:
        """Name, gap, grid and first terms of a segment that begins with task `index`."""
        row = self._rows[index]
        gap_ns = self._task_gap_ns(index)
        if row.timed:
            exact = row.rate_hz is not None and row.extra_separation_ns == 0
            grid = (row.rate_hz, row.offset_ns) if exact and row.rate_hz is not None else None
            return row.name, gap_ns, grid, [self._response(index)]
        streams = self._bounds[index].streams
        if not streams:
            raise Unbounded(f"task {row.name}: {self._bounds[index].reason}")
        jitter_ns = max(stream.jitter_ns for stream in streams)
        terms = [Term(TermKind.RELEASE_JITTER, jitter_ns, row.name)] if jitter_ns else []
        return row.name, gap_ns, None, [*terms, self._response(index)]

    def _response(self, index: int) -> Term:
        """From an arrival of the task until its output is visible."""
        row, one = self._rows[index], self._bounds[index]
        if one.bound is None:
            raise Unbounded(f"task {row.name}: {one.reason}")
        self._refuse_losses(index)
        if not row.let:
            return Term(TermKind.RESPONSE, one.bound.value_ns, row.name)
        if one.bound.value_ns > row.deadline_ns:
            raise Unbounded(f"task {row.name} may not finish before it has to publish (LET)")
        return Term(TermKind.RESPONSE, row.deadline_ns, row.name)

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

    def _partners(self, index: int, terms: Sequence[Term]) -> list[Term]:
        """How long a message may wait for those that it is paired with."""
        streams = self._bounds[index].streams
        row = self._rows[index]
        if len(streams) != 1 or not streams[0].stamped:
            raise Unbounded(f"task {row.name}: how long its inputs wait for each other is not known")
        latest_ns = streams[0].worst_ns + streams[0].stamp_lag_ns
        waited_ns = latest_ns - sum(term.value_ns for term in terms)
        return [Term(TermKind.PARTNER, waited_ns, row.name)] if waited_ns > 0 else []

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
        )

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
