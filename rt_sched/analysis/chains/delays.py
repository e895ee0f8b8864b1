"""What a mode delays its messages by: responses, links and queues, and why none of that may be known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from rt_sched import model
from rt_sched.analysis.loads.resolve import ModeLoad
from rt_sched.analysis.result import Term, TermKind
from rt_sched.analysis.system.engine import TaskBound, outputs_of
from rt_sched.analysis.system.propagation import Streams, edge_streams, sensor_gap_ns, sensor_streams
from rt_sched.errors import RtSchedError
from rt_sched.lowering.machine_input import Role
from rt_sched.trace.setup import EdgeKind, EdgeRow, OverrunAction, TaskRow
from rt_sched.units import NS_PER_S, ceil_int


class Unbounded(RtSchedError):
    """No bound on a chain exists, or none is known; the message says which part is to blame."""


def sum_of(terms: Sequence[Term]) -> int:
    """Their values together."""
    return sum(term.value_ns for term in terms)


class Delays:
    """One mode with its bounds, from which every delay follows."""

    def __init__(self, mode: ModeLoad, bounds: Mapping[int, TaskBound]) -> None:
        self._mode, self._bounds = mode, bounds
        self._rows = mode.setup.tasks
        self._task_of = {row.name: index for index, row in enumerate(self._rows)}
        self._sensors = sensor_streams(mode.system)
        self._outputs: dict[int, Streams] = outputs_of(mode, bounds)
        self._load_of = {task.index: load for load in mode.loads for task in load.tasks}

    def edge(self, source: str, target: str) -> tuple[int, EdgeRow]:
        """The first edge between the two, as a trace would follow it."""
        for number, edge in self._mode.into.get(self._task_of[target], ()):
            if source in (
                None if edge.sensor is None else self._mode.setup.sensors[edge.sensor],
                None if edge.task is None else self._rows[edge.task].name,
            ):
                return number, edge
        raise Unbounded(f"{target} does not read {source}")

    def clock(self, device: str) -> model.DeviceClock:
        """The clock of a device."""
        return next(one.clock for one in self._mode.system.devices if one.name == device)

    def may_stay_away(self, index: int) -> bool:
        """Whether a task has no largest distance of arrivals."""
        activation = self._mode.system.tasks[index].activation
        return isinstance(activation, model.Sporadic) and activation.max_separation_ns is None

    def gap_ns(self, index: int) -> int:
        """Largest distance of two arrivals of a task, those of its grid where messages activate it."""
        row = self._rows[index]
        if row.timed:
            if self.may_stay_away(index):
                raise Unbounded(f"task {row.name} has no largest separation: it may never read")
            return ceil_int(NS_PER_S / (row.rate_hz or Fraction(1))) + row.extra_separation_ns
        activating = [edge for _, edge in self._mode.into.get(index, ()) if edge.role is not Role.READ]
        present = [edge for edge in activating if edge.task is None or self._mode.active[edge.task]]
        if not present:
            raise Unbounded(f"task {row.name} is never activated in this mode")
        gaps = [self._source_gap_ns(edge) for edge in present]
        return max(gaps) if any(edge.role is Role.PAIRED for edge in present) else min(gaps)

    def _source_gap_ns(self, edge: EdgeRow) -> int:
        """Largest distance of two messages on their grid, none of which is lost."""
        if edge.task is None:
            return sensor_gap_ns(self._mode.system.sensors[edge.sensor or 0])
        self.response(edge.task)
        return self.gap_ns(edge.task)

    def arrival_delays(self, index: int) -> tuple[int, int]:
        """Jitter of the arrivals of a message-activated task, and the least delay behind the instants of its grid."""
        streams = self._bounds[index].streams
        if not streams:
            raise Unbounded(f"task {self._rows[index].name}: {self._bounds[index].reason}")
        return max(stream.jitter_ns for stream in streams), min(stream.best_ns for stream in streams)

    def response(self, index: int, taken: int | None = None) -> Term:
        """From any arrival of the task until its output is visible; `taken`: an edge that the job has a message of."""
        found = self.completion(index)
        self._refuse_skips(index, taken)
        return found

    def completion(self, index: int) -> Term:
        """From an arrival of the task until its output is visible, if the job has all the inputs that it needs."""
        row, one = self._rows[index], self._bounds[index]
        if one.bound is None:
            raise Unbounded(f"task {row.name}: {one.reason}")
        self._refuse_losses(index)
        if not row.let:
            return Term(TermKind.RESPONSE, one.bound.value_ns, row.name)
        if one.bound.value_ns > row.deadline_ns:
            raise Unbounded(f"task {row.name} may not finish before it has to publish (LET)")
        return Term(TermKind.RESPONSE, row.deadline_ns, row.name)

    def least_response_ns(self, index: int) -> int:
        """The least time from the read of a job until its output is visible."""
        row = self._rows[index]
        return row.deadline_ns if row.let else self._bounds[index].task.bcet_ns

    def _refuse_skips(self, index: int, taken: int | None) -> None:
        """Raise where jobs are skipped because a queue that they take a message from is empty."""
        for number, edge in self._mode.into.get(index, ()):
            takes = edge.role is Role.READ and edge.kind is EdgeKind.QUEUE
            if takes and edge.required and number != taken:
                raise Unbounded(f"task {self._rows[index].name} skips jobs while its queue {edge.input} is empty")

    def _refuse_losses(self, index: int) -> None:
        """Raise where jobs of the task may end without an output."""
        load = self._load_of[index]
        task = self._bounds[index].task
        if load.switches_mode and not task.high:
            raise Unbounded(f"task {task.name} is shed when a HI task exceeds C_LO, so outputs may be missing")
        if _may_be_cut(self._rows[index]):
            raise Unbounded(f"task {task.name} may need more than its budget, which ends its jobs without an output")
        row = self._rows[index]
        bound = self._bounds[index].bound
        if row.deadline_action.name != "CONTINUE" and bound is not None and bound.value_ns > row.deadline_ns:
            raise Unbounded(f"task {task.name} may miss its deadline, which ends jobs without an output")

    def transfer(self, number: int) -> list[Term]:
        """Time on the link of an edge."""
        edge = self._mode.setup.edges[number]
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

    def least_transfer_ns(self, number: int) -> int:
        """The least time of a message on the link of an edge."""
        edge = self._mode.setup.edges[number]
        if edge.link is None:
            return 0
        link = self._mode.setup.links[edge.link]
        return ceil_int(Fraction(edge.size_bytes * NS_PER_S) / link.bytes_per_s) + link.latency_ns

    def queued(self, number: int, since_ns: int, messages_gap_ns: int) -> list[Term]:
        """How long a message waits in a queue of which every arrival of the reader takes the oldest; messages are up to
        `messages_gap_ns` apart and become visible up to `since_ns` later.

        Of those before it, at most as many as the queue is deep less one are still there; fewer where messages come no
        denser than the reader's jobs. What a reader that begins late finds has waited for up to a gap of messages each.
        """
        edge = self._mode.setup.edges[number]
        gap_ns, row = self.gap_ns(edge.target), self._rows[edge.target]
        device = self._mode.plan.processors[row.processor].device
        error_ns = self.clock(device).sync_error_ns
        turns, begins_ns, more = edge.depth, row.offset_ns + error_ns, []
        if row.timed and begins_ns <= gap_ns and not self._mode.system.modes:
            streams = edge_streams(self._mode, number, self._sensors, self._outputs)
            if not isinstance(streams, str) and len(streams) == 1 and gap_ns <= streams[0].period_ns:
                turns = min(turns, 1 - (-streams[0].jitter_ns // streams[0].period_ns))
        else:
            jitter_ns = 0 if row.timed else self.arrival_delays(edge.target)[0]
            more = [Term(TermKind.SAMPLING, since_ns + jitter_ns, row.name)]
            gap_ns = max(gap_ns, messages_gap_ns)
        return [Term(TermKind.SAMPLING, turns * gap_ns, row.name, turns, gap_ns), *more]


def _may_be_cut(row: TaskRow) -> bool:
    """Whether a job may need more than a budget that ends it, or suppresses the one after it."""
    cutting = (OverrunAction.ABORT, OverrunAction.FAIL_OVER, OverrunAction.SKIP_NEXT)
    longest_ns = row.demand_ns if isinstance(row.demand_ns, int) else row.demand_ns[-1]
    return row.budget_ns is not None and row.overrun_action in cutting and longest_ns > row.budget_ns
