"""When the jobs of a cycle arrive: how long after clocks and sensors, or after the entries of tables before them.

A job of a task that messages activate arrives with the last of its activating inputs. Behind each stands a root: the
arrivals of a clock or sensor, or the entries of a task in a table; and the least and largest time from there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from rt_sched import model
from rt_sched.analysis.loads.resolve import ModeLoad, setups_of
from rt_sched.analysis.system.engine import TaskBound, outputs_of
from rt_sched.analysis.system.propagation import edge_streams, sensor_streams
from rt_sched.errors import AnalysisNotApplicable
from rt_sched.lowering import Role
from rt_sched.trace.setup import EdgeRow
from rt_sched.units import NS_PER_S


@dataclass(frozen=True, slots=True)
class Root:
    """Instant k of a root lies at `offset_ns` + floor(k / `rate_hz`), or at the start of job k of table task `task`;
    what is behind it comes `best_ns` to `worst_ns` later.
    """

    task: int | None
    rate_hz: Fraction
    offset_ns: int = 0
    best_ns: int = 0
    worst_ns: int = 0

    def later(self, least_ns: int, most_ns: int) -> Root:
        """What comes `least_ns` to `most_ns` after that."""
        return replace(self, best_ns=self.best_ns + least_ns, worst_ns=self.worst_ns + most_ns)

    def instant_ns(self, number: int) -> int:
        """Instant `number` of a clock or sensor."""
        return self.offset_ns + int(number * NS_PER_S / self.rate_hz)


class Arrivals:
    """The roots of every task of a mode. `table`: the tasks that tables start. `bounds`: responses of all others."""

    def __init__(self, mode: ModeLoad, table: frozenset[int], bounds: Mapping[int, TaskBound]) -> None:
        self._mode, self._table, self._bounds = mode, table, bounds
        self.longest, self.shortest = setups_of(mode.system, mode.plan)
        self._sensors = sensor_streams(mode.system)
        self._outputs = outputs_of(mode, bounds)
        self._known: dict[int, tuple[Root, ...]] = {}
        self._asked: set[int] = set()

    @property
    def sensors(self) -> tuple[str, ...]:
        """The sensors that stand behind what was asked for so far."""
        return tuple(one.name for index, one in enumerate(self._mode.system.sensors) if index in self._asked)

    def entry_ns(self, task: int) -> int:
        """What the entry of a job has room for: the switch and the worst case."""
        return self._switch_ns(task) + _demand_ns(self.longest.tasks[task].demand_ns)

    def of(self, task: int) -> tuple[Root, ...]:
        """The roots of a task's arrivals; a job arrives with the last of them. Raises AnalysisNotApplicable."""
        if task not in self._known:
            self._known[task] = self._find(task)
        return self._known[task]

    def outputs(self, task: int) -> tuple[Root, ...]:
        """When the messages of a task become visible."""
        row = self.longest.tasks[task]
        if row.let:
            return tuple(root.later(row.deadline_ns, row.deadline_ns) for root in self.of(task))
        shortest_ns = _demand_ns(self.shortest.tasks[task].demand_ns)
        if task in self._table:
            rate_hz = self.of(task)[0].rate_hz
            return (Root(task, rate_hz, 0, self._switch_ns(task) + shortest_ns, self.entry_ns(task)),)
        bound = self._bounds[task].bound
        if bound is None:
            raise AnalysisNotApplicable(f"{row.name} feeds a table, but its response has no bound")
        return tuple(root.later(shortest_ns, bound.value_ns) for root in self.of(task))

    def behind(self, number: int) -> tuple[Root, ...]:
        """When the messages of edge `number` become visible at its task, the link included."""
        edge = self.longest.edges[number]
        roots: tuple[Root, ...]
        roots = (self._sensor(edge.sensor),) if edge.sensor is not None else self.outputs(edge.task or 0)
        return roots if edge.link is None else self._over_link(number, edge, roots)

    def _find(self, task: int) -> tuple[Root, ...]:
        name, activation = self._mode.system.tasks[task].name, self._mode.system.tasks[task].activation
        if isinstance(activation, model.Sporadic):
            raise AnalysisNotApplicable(f"{name} is sporadic, so no table knows when it arrives")
        if isinstance(activation, model.Periodic):
            return (Root(None, activation.rate_hz, activation.offset_ns),)
        if activation.join is model.Join.ANY:
            raise AnalysisNotApplicable(f"{name} is activated by any of its inputs, so no table knows by which")
        mine = [number for number, edge in enumerate(self.longest.edges) if edge.target == task]
        roots = tuple(
            root for number in mine if self.longest.edges[number].role is not Role.READ for root in self.behind(number)
        )
        if len({root.rate_hz for root in roots}) > 1:
            raise AnalysisNotApplicable(f"{name} joins inputs of different rates")
        return tuple(dict.fromkeys(roots))

    def _sensor(self, index: int) -> Root:
        sensor = self._mode.system.sensors[index]
        if sensor.drift_ppm:
            raise AnalysisNotApplicable(f"sensor {sensor.name} drifts against the cycle of a table")
        self._asked.add(index)
        spread_ns = sensor.jitter_ns + sensor.capture_jitter_ns
        best_ns = max(0, sensor.latency_ns - sensor.jitter_ns) - sensor.capture_jitter_ns
        return Root(None, sensor.rate_hz, sensor.offset_ns, best_ns, sensor.latency_ns + spread_ns)

    def _over_link(self, number: int, edge: EdgeRow, roots: tuple[Root, ...]) -> tuple[Root, ...]:
        """By how much its link delays an edge, as the analysis bounds it."""
        sent = (self._sensors[edge.sensor],) if edge.sensor is not None else self._outputs.get(edge.task or 0, ())
        seen = edge_streams(self._mode, number, self._sensors, self._outputs)
        if isinstance(sent, str) or isinstance(seen, str) or not sent or not seen:
            link = self.longest.links[edge.link or 0].name
            raise AnalysisNotApplicable(f"link {link} feeds a table, but its delay has no bound")
        least_ns = min(after.best_ns - before.best_ns for before, after in zip(sent, seen, strict=True))
        most_ns = max(after.worst_ns - before.worst_ns for before, after in zip(sent, seen, strict=True))
        return tuple(root.later(least_ns, most_ns) for root in roots)

    def _switch_ns(self, task: int) -> int:
        return self.longest.processors[self.longest.tasks[task].processor].switch_ns


def _demand_ns(demand: int | tuple[int, ...]) -> int:
    return demand if isinstance(demand, int) else demand[-1]
