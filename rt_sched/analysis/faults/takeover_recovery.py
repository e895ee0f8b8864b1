"""How long after the switch to a takeover the first good output of every path comes that the loss had cut.

A path is followed from a sensor along what activates tasks and what timed tasks read, in order; what other tasks only
read beside that is not followed. What the loss does not touch is at
hand at the switch: its last output lies in a register, and the newest message of an activating input is kept. From
there each task adds its response, as bounded while the takeover comes into force:

    a task that processes a kept message      its response
    one that messages activate                what activates it + the way over the link + its response
    one that waits for its next message       the longest distance of its arrivals + their jitter + its response
    a timed one with an additional arrival    the instant of that, if all has come by then, + its response
    any other timed one                       what it reads + its longest distance + its response
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rt_sched import model
from rt_sched.analysis.chains.delays import Delays, Unbounded, sum_of
from rt_sched.analysis.faults.losses import edge_is_cut
from rt_sched.analysis.faults.takeover_crossing import Crossing, sampling_tasks
from rt_sched.analysis.result import Term, TermKind
from rt_sched.analysis.system.engine import outputs_of
from rt_sched.analysis.system.propagation import edge_streams, sensor_streams
from rt_sched.lowering.machine_input import Role
from rt_sched.trace.setup import EdgeRow


@dataclass(frozen=True, slots=True)
class Recovery:
    """From the switch until the first good output of `until` behind `origin`: the sum of `terms`; None: no bound.

    `origin`: the sensor whose path was cut, or the task that goes on without a lost view. `path`: the slowest way.
    `counted`: whether the limit on recovery applies to it.
    """

    origin: str
    until: str
    path: tuple[str, ...]
    terms: tuple[Term, ...] | None
    counted: bool
    reason: str = ""

    @property
    def value_ns(self) -> int | None:
        """From the switch to the output."""
        return None if self.terms is None else sum_of(self.terms)


@dataclass(frozen=True, slots=True)
class _Way:
    """The slowest way to the output of one task."""

    path: tuple[str, ...] = ()
    terms: tuple[Term, ...] = ()

    @property
    def value_ns(self) -> int:
        return sum_of(self.terms)


class Recoveries:
    """The paths of one takeover. `additional_ns`: instants of additional arrivals, by default those of the takeover."""

    def __init__(self, crossing: Crossing, additional_ns: Mapping[str, int] | None = None) -> None:
        self._one, self._mode = crossing, crossing.after
        self._rows = crossing.after.setup.tasks
        self._delays = Delays(crossing.after, crossing.steady)
        self._sensors = sensor_streams(crossing.across.system)
        self._outputs = outputs_of(crossing.across, crossing.bounds)
        self._additional_ns = dict(crossing.takeover.at_once if additional_ns is None else additional_ns)
        active = crossing.after.active
        self._restored = {index for index in crossing.lost_before.dead if active[index]}
        self._into: dict[int, list[EdgeRow]] = {}
        self._onward: dict[tuple[str, int], list[int]] = {}
        for edge in crossing.after.setup.edges:
            followed = edge.role is not Role.READ or self._rows[edge.target].timed
            if active[edge.target] and followed and not edge_is_cut(crossing.after, crossing.lost_after, edge):
                self._into.setdefault(edge.target, []).append(edge)
                origin = ("task", edge.task or 0) if edge.sensor is None else ("sensor", edge.sensor)
                self._onward.setdefault(origin, []).append(edge.target)

    def found(self) -> list[Recovery]:
        """One for each sensor whose path was cut and is restored, and for each task that goes on without lost views."""
        ends = self._ends()
        found = [
            self._from_sensor(number, sensor, ends)
            for number, sensor in enumerate(self._mode.setup.sensors)
            if sensor not in self._one.lost_after.sensors
        ]
        lost = self._one.lost_after.sensors
        names = dict.fromkeys((*self._additional_ns, *sampling_tasks(self._mode, lost))) if lost else {}
        found += [self._without_views(name, ends) for name in names]
        return [one for one in found if one is not None]

    def ready_ns(self, target: str) -> int | None:
        """From the switch until everything made of kept messages has reached timed task `target`; None: no bound."""
        index = next(i for i, row in enumerate(self._rows) if row.name == target)
        longest_ns = 0
        for number, sensor in enumerate(self._mode.setup.sensors):
            if sensor in self._one.lost_after.sensors:
                continue
            reached = self._reached(("sensor", number), stop=index)
            if not reached & self._restored or not self._is_counted(number):
                continue
            try:
                ways = self._ways(reached - {index}, kept_only=True)
                feeding = [(edge, ways[edge.task]) for edge in self._into.get(index, ()) if edge.task in ways]
                longest_ns = max([longest_ns, *(sum_of((*w.terms, *self._transfer(edge))) for edge, w in feeding)])
            except Unbounded:
                return None
        return longest_ns

    def _ends(self) -> set[int]:
        """Where paths end: at the arbiter, without a safety concept at what nothing reads."""
        safety, active = self._mode.system.safety, self._mode.active
        if safety is not None:
            return {i for i, row in enumerate(self._rows) if row.name == safety.arbiter and active[i]}
        read = {edge.task for edges in self._into.values() for edge in edges}
        return {i for i in range(len(self._rows)) if active[i] and i not in read}

    def _from_sensor(self, number: int, sensor: str, ends: set[int]) -> Recovery | None:
        """None where the loss had not cut any path of the sensor."""
        reached = self._reached(("sensor", number))
        if not reached & self._restored:
            return None
        reached &= self._leading_to(ends & reached)
        if not reached & self._restored:
            return None
        return self._recovery(sensor, reached, ends, counted=self._is_counted(number))

    def _without_views(self, name: str, ends: set[int]) -> Recovery | None:
        index = next((i for i, row in enumerate(self._rows) if row.name == name and self._mode.active[i]), None)
        if index is None:
            return None
        reached = self._reached(("task", index)) | {index}
        reached &= self._leading_to(ends & reached)
        if index not in reached:
            return None
        kinds = {one.name: one.kind for one in self._mode.system.sensors}
        counted = any(kinds[sensor] is model.SensorKind.CAMERA for sensor in self._one.lost_after.sensors)
        return self._recovery(name, reached, ends, counted=counted, first=index)

    def _recovery(
        self, origin: str, reached: set[int], ends: set[int], *, counted: bool, first: int | None = None
    ) -> Recovery:
        last = sorted(ends & reached)
        until = ", ".join(self._rows[index].name for index in last)
        try:
            ways = self._ways(reached, first=first)
        except Unbounded as none:
            return Recovery(origin, until, (origin,), None, counted, str(none))
        slowest = max((ways.get(index, _Way()) for index in last), key=lambda way: way.value_ns)
        path = slowest.path if slowest.path[:1] == (origin,) else (origin, *slowest.path)
        return Recovery(origin, until, path, slowest.terms, counted)

    def _is_counted(self, number: int) -> bool:
        """Whether the limit applies to what begins at a sensor: not where a whole new sweep, or sample, has to come."""
        kinds = {one.name: one.kind for one in self._mode.system.sensors}
        if kinds[self._mode.setup.sensors[number]] is model.SensorKind.CAMERA:
            return True
        heads = {target for target, edges in self._into.items() if any(edge.sensor == number for edge in edges)}
        return not heads & self._restored

    def _reached(self, origin: tuple[str, int], stop: int | None = None) -> set[int]:
        """Tasks that anything of the origin reaches; `stop`: one from which it is not followed on."""
        reached: set[int] = set()
        open_tasks = list(self._onward.get(origin, ()))
        while open_tasks:
            index = open_tasks.pop()
            if index not in reached:
                reached.add(index)
                open_tasks += self._onward.get(("task", index), ()) if index != stop else ()
        return reached

    def _leading_to(self, ends: set[int]) -> set[int]:
        leading = set(ends)
        while True:
            more = {edge.task for index in leading for edge in self._into.get(index, ()) if edge.task is not None}
            if more <= leading:
                return leading
            leading |= more

    def _ways(self, reached: set[int], *, kept_only: bool = False, first: int | None = None) -> dict[int, _Way]:
        """The slowest way to each task that something restored delays; the others have their outputs at hand.

        `first`: a task from which everything begins anew. `kept_only`: only ways of what is made of kept messages.
        """
        ways: dict[int, _Way] = {}
        for index in self._in_order(reached):
            feeding = [edge for edge in self._into.get(index, ()) if edge.task in ways]
            if not feeding and index not in self._restored and index != first:
                continue
            if kept_only and not feeding and self._rows[index].name not in self._one.takeover.redone:
                continue
            name = self._rows[index].name
            behind = [
                _Way(ways[edge.task or 0].path, (*ways[edge.task or 0].terms, *self._transfer(edge)))
                for edge in feeding
            ]
            before = max(behind, key=lambda way: way.value_ns, default=_Way())
            ways[index] = _Way((*before.path, name), (*before.terms, *self._own(index, before)))
        return ways

    def _own(self, index: int, before: _Way) -> tuple[Term, ...]:
        """What a task adds, behind what feeds it."""
        row, response = self._rows[index], self._response(index)
        if row.timed:
            at_ns = self._additional_ns.get(row.name)
            if at_ns is None or before.value_ns > at_ns:
                return Term(TermKind.SAMPLING, self._delays.gap_ns(index), row.name), response
            waited_ns = at_ns - before.value_ns
            return (Term(TermKind.SAMPLING, waited_ns, row.name), response) if waited_ns else (response,)
        if before.path or row.name in self._one.takeover.redone:
            return (response,)
        jitter_ns, _ = self._delays.arrival_delays(index)
        return Term(TermKind.SAMPLING, self._delays.gap_ns(index) + jitter_ns, row.name), response

    def _response(self, index: int) -> Term:
        one, row = self._one.bounds.get(index), self._rows[index]
        if one is None or one.bound is None:
            raise Unbounded(f"task {row.name}: {'it does not exist' if one is None else one.reason}")
        if not row.let:
            return Term(TermKind.RESPONSE, one.bound.value_ns, row.name)
        if one.bound.value_ns > row.deadline_ns:
            raise Unbounded(f"task {row.name} may not finish before it has to publish (LET)")
        return Term(TermKind.RESPONSE, row.deadline_ns, row.name)

    def _transfer(self, edge: EdgeRow) -> list[Term]:
        """How much later than published a message is visible, with those that kept messages add to its link."""
        if edge.link is None:
            return []
        mode = self._one.across
        number = next(
            n for n, one in enumerate(mode.setup.edges) if (one.target, one.input) == (edge.target, edge.input)
        )
        before, after = self._outputs[edge.task or 0], edge_streams(mode, number, self._sensors, self._outputs)
        if isinstance(before, str) or isinstance(after, str):
            raise Unbounded(after if isinstance(after, str) else str(before))
        longest_ns = max(late.worst_ns - early.worst_ns for early, late in zip(before, after, strict=True))
        return [Term(TermKind.TRANSFER, longest_ns, mode.setup.links[edge.link].name)]

    def _in_order(self, tasks: set[int]) -> Sequence[int]:
        """Each task after those that feed it; raises Unbounded for a circle."""
        done: list[int] = []
        left = set(tasks)
        while left:
            free = [i for i in left if not any(e.task in left and e.task != i for e in self._into.get(i, ()))]
            # Where a timed task reads what follows from itself, it does not wait for that.
            free = free or [i for i in left if self._rows[i].timed][:1]
            if not free:
                raise Unbounded(f"the way leads in a circle through {self._rows[min(left)].name}")
            done += sorted(free)
            left -= set(free)
        return done
