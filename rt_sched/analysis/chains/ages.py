"""Ages of capture stamps: of a message when it becomes visible, and of what an input holds when a job reads it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rt_sched.analysis.chains.delays import Delays, Unbounded, sum_of
from rt_sched.analysis.loads.resolve import ModeLoad
from rt_sched.analysis.result import Term, TermKind
from rt_sched.analysis.system.propagation import sensor_gap_ns
from rt_sched.lowering.machine_input import Role
from rt_sched.trace.setup import EdgeKind, EdgeRow


@dataclass(frozen=True, slots=True)
class Age:
    """How old a stamp is at least, and at most: the sum of `terms`. `sensor`: the one that made all these stamps.

    `gap_ns`, while messages wait in a register: by how much the newest one may be older than `terms` say, because the
    next one comes that much later. `devices`: whose clocks made the stamp.
    """

    least_ns: int
    terms: tuple[Term, ...]
    gap_ns: int
    sensor: int | None
    devices: frozenset[str]

    @property
    def most_ns(self) -> int:
        """Sum of `terms`."""
        return sum_of(self.terms)

    def later(self, least_ns: int, terms: tuple[Term, ...]) -> Age:
        """The age after `least_ns` to the sum of `terms`."""
        return replace(self, least_ns=self.least_ns + least_ns, terms=(*self.terms, *terms))


class Ages:
    """Ages in one mode. A stamp is that of the activating message, of paired ones the oldest; that of a timed job is
    the oldest of what it read, or its arrival when it read nothing.
    """

    def __init__(self, mode: ModeLoad, delays: Delays) -> None:
        self._mode, self._delays = mode, delays
        self._rows, self._edges = mode.setup.tasks, mode.setup.edges
        self._known: dict[int, tuple[Age, ...]] = {}
        self._open: set[int] = set()

    def inputs_of(self, index: int) -> list[tuple[int, EdgeRow]]:
        """Number and row of every edge into a task that can bring something in this mode."""
        return [
            (number, edge)
            for number, edge in self._mode.into.get(index, ())
            if edge.task is None or self._mode.active[edge.task]
        ]

    def visible(self, number: int) -> tuple[Age, ...]:
        """Ages of the messages of an edge when they become visible, by where they come from. Raises Unbounded."""
        edge = self._edges[number]
        found = self._of_sensor(edge.sensor) if edge.sensor is not None else self._of_task(edge.task or 0)
        terms = tuple(self._delays.transfer(number))
        least_ns = self._delays.least_transfer_ns(number)
        return tuple(age.later(least_ns, terms) for age in found)

    def when_read(self, number: int) -> tuple[Age, ...]:
        """Ages of what a job finds on an edge when it reads. Raises Unbounded."""
        edge = self._edges[number]
        if edge.role is Role.READ and edge.kind is EdgeKind.LATEST:
            return tuple(self.waiting(age, edge) for age in self.visible(number))
        late = self._begin_after_arrival(edge.target)
        if edge.role is Role.READ:
            return tuple(
                age.later(0, (*self._delays.queued(number, age.most_ns, age.gap_ns), *late))
                for age in self.visible(number)
            )
        if edge.role is Role.PAIRED:
            oldest = self._paired(edge.target)
            return tuple(replace(oldest, least_ns=age.least_ns).later(0, late) for age in self.visible(number))
        bound = [age.later(0, late) for age in self.visible(number)]
        others = [e for n, e in self.inputs_of(edge.target) if n != number and e.role is Role.EACH]
        if not others:
            return tuple(bound)
        held = [self.waiting(age, edge) for age in self.visible(number)]
        return tuple(max(pair, key=lambda age: age.most_ns) for pair in zip(bound, held, strict=True))

    def waiting(self, age: Age, edge: EdgeRow) -> Age:
        """The newest message in a register."""
        return age.later(0, (Term(TermKind.SAMPLING, age.gap_ns, self._rows[edge.target].name),))

    def _begin_after_arrival(self, index: int) -> tuple[Term, ...]:
        """How long a job may wait until it reads; what it then still executes is part of its response."""
        row = self._rows[index]
        if row.let:
            return ()
        late_ns = self._delays.completion(index).value_ns - self._delays.least_response_ns(index)
        return (Term(TermKind.START_DELAY, late_ns, row.name),) if late_ns else ()

    def _of_sensor(self, index: int) -> tuple[Age, ...]:
        sensor = self._mode.system.sensors[index]
        least_ns = max(0, sensor.latency_ns - sensor.jitter_ns)
        terms = (Term(TermKind.SENSOR, sensor.latency_ns + sensor.jitter_ns, sensor.name),)
        return (Age(least_ns, terms, sensor_gap_ns(sensor), index, frozenset(sensor.attached_to[:1])),)

    def _of_task(self, index: int) -> tuple[Age, ...]:
        """When the output of a task is published."""
        if index not in self._known:
            if index in self._open:
                raise Unbounded(f"task {self._rows[index].name} reads what follows from its own output")
            self._open.add(index)
            response, least_ns = self._delays.response(index), self._delays.least_response_ns(index)
            found = self._at_arrival(index)
            self._known[index] = tuple(age.later(least_ns, (response,)) for age in found)
            self._open.discard(index)
        return self._known[index]

    def _at_arrival(self, index: int) -> tuple[Age, ...]:
        """Of the stamp of a task's output, when the job arrives; the least age when it reads."""
        if self._rows[index].timed:
            return (self._oldest_read(index),)
        edges = self.inputs_of(index)
        if any(edge.role is Role.PAIRED for _, edge in edges):
            return (self._paired(index),)
        return tuple(age for number, edge in edges if edge.role is Role.EACH for age in self.visible(number))

    def _oldest_read(self, index: int) -> Age:
        """The oldest stamp that a timed job reads; its own arrival where it may have read nothing."""
        row = self._rows[index]
        device = self._mode.plan.processors[row.processor].device
        ages, needed_ns = [], []
        for number, edge in self.inputs_of(index):
            visible = self.visible(number)
            for age in visible:
                queued = edge.kind is EdgeKind.QUEUE
                waited = self._delays.queued(number, age.most_ns, age.gap_ns) if queued else ()
                ages.append(age.later(0, tuple(waited)) if queued else self.waiting(age, edge))
            if edge.required:
                needed_ns.append(min((age.least_ns for age in visible), default=0))
        least_ns = max(needed_ns, default=0)
        own = Age(0, (), 0, None, frozenset((device,)))
        oldest = max(ages, key=lambda age: age.most_ns, default=own)
        devices = frozenset(name for age in (*ages, own) for name in age.devices)
        return Age(least_ns, oldest.terms, self._delays.gap_ns(index), None, devices)

    def _paired(self, index: int) -> Age:
        """The oldest of the paired stamps when the last of them is visible."""
        row = self._rows[index]
        inputs = [self.visible(number) for number, edge in self.inputs_of(index) if edge.role is Role.PAIRED]
        every = [age for ages in inputs for age in ages]
        if not every:
            raise Unbounded(f"task {row.name} is never activated in this mode")
        last = max(every, key=lambda age: age.most_ns)
        least_ns = max(min(age.least_ns for age in ages) for ages in inputs)
        partner = Term(TermKind.PARTNER, row.tolerance_ns, row.name)
        devices = frozenset(name for age in every for name in age.devices)
        gap_ns = max(age.gap_ns for age in every)
        return Age(least_ns, (*last.terms, partner), gap_ns, None, devices)
