"""How densely messages come to a link, leave it, and wake up who reads them: from clock and sensors on, step by step.

A message is published between the arrival of its job and that job's deadline, as long as deadlines are met.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from rt_sched.model import Sensor, System
from rt_sched.trace.setup import EdgeRow, Role, Setup
from rt_sched.units import NS_PER_MS, NS_PER_S, ceil_int, floor_int

#: How late samples and links may be at most where reservations have to be known before theirs.
MOST_LATE_NS = 100 * NS_PER_MS
#: When a link whose messages wait ever longer is given up.
_MOST_ROUNDS = 50
_LONGEST_NS = 10 * NS_PER_S


@dataclass(frozen=True, slots=True)
class Flow:
    """At most ceil((length + jitter_ns) / period_ns) messages in a half-open interval."""

    period_ns: int
    jitter_ns: int

    def later(self, jitter_ns: int) -> Flow:
        """What follows each after up to `jitter_ns`."""
        return Flow(self.period_ns, self.jitter_ns + jitter_ns)


@dataclass(frozen=True, slots=True)
class Density:
    """Of the messages of one edge over a link: as they are published, as they begin to count, and as they are due."""

    published: tuple[Flow, ...]
    counting: tuple[Flow, ...]
    due: tuple[Flow, ...]


def densities(system: System, setup: Setup, late_ns: Mapping[int, int], published_late_ns: int) -> dict[int, Density]:
    """By edge, of those over links. `late_ns`: by link, how late it may deliver; `published_late_ns`: samples."""
    return _settled(system, setup, late_ns, published_late_ns).over_links()


def waking_flows(system: System, setup: Setup, task: int) -> list[tuple[str, Flow]]:
    """Messages that wake up the worker of `task` and need not set off a job: those that do not count yet, and those
    that wait for their partners; by the names of inputs.

    As long as samples and links are no later than `MOST_LATE_NS`.
    """
    edges = [edge for edge in setup.edges if edge.target == task and edge.role is not Role.READ]
    if not any(edge.role is Role.PAIRED or _is_dated(setup, edge) for edge in edges):
        return []
    late_ns = {edge.link: MOST_LATE_NS for edge in setup.edges if edge.link is not None}
    flows = _settled(system, setup, late_ns, MOST_LATE_NS)
    found = []
    for edge in edges:
        if edge.role is Role.PAIRED or _is_dated(setup, edge):
            found += [(edge.input, flow) for flow in flows.waking(edge)]
    return found


def sensor_flow(sensor: Sensor) -> Flow:
    """Messages of a sensor, as it declares them."""
    rate_hz = sensor.rate_hz * (1 + sensor.drift_ppm / Fraction(10**6))
    return Flow(max(1, floor_int(NS_PER_S / rate_hz)), 2 * (sensor.jitter_ns + sensor.capture_jitter_ns))


def _settled(system: System, setup: Setup, late_ns: Mapping[int, int], published_late_ns: int) -> _Flows:
    """With what messages wait for links, which depends on how densely they come."""
    waits_ns = dict.fromkeys(late_ns, 0)
    for _ in range(_MOST_ROUNDS):
        flows = _Flows(system, setup, late_ns, published_late_ns, waits_ns)
        longer = {link: _longest_wait_ns(setup, link, flows.over_links()) for link in late_ns}
        if longer == waits_ns:
            break
        waits_ns = longer
    return flows


def _is_dated(setup: Setup, edge: EdgeRow) -> bool:
    """Whether what is handed on along an edge counts later."""
    return edge.task is not None and edge.link is None and setup.tasks[edge.task].let


class _Flows:
    """`waits_ns`: by link, how long a message may wait for it and be on it."""

    def __init__(
        self,
        system: System,
        setup: Setup,
        late_ns: Mapping[int, int],
        published_late_ns: int,
        waits_ns: Mapping[int, int],
    ) -> None:
        self._setup, self._late_ns, self._waits_ns = setup, late_ns, waits_ns
        self._periods_ns = [max(1, task.separation_ns) for task in system.tasks]
        self._sensors = [sensor_flow(one).later(published_late_ns) for one in system.sensors]
        self._arrivals: dict[int, tuple[Flow, ...]] = {}

    def over_links(self) -> dict[int, Density]:
        found = {}
        for number, edge in enumerate(self._setup.edges):
            if edge.link is not None:
                published = self._published(edge)
                counting = self._counting(edge) if self._by_let(edge) else published
                due = tuple(one.later(self._waits_ns[edge.link]) for one in counting)
                found[number] = Density(published, counting, due)
        return found

    def _published(self, edge: EdgeRow) -> tuple[Flow, ...]:
        if edge.task is None:
            return (self._sensors[edge.sensor or 0],)
        deadline_ns = self._setup.tasks[edge.task].deadline_ns
        return tuple(one.later(deadline_ns) for one in self._arrivals_of(edge.task))

    def waking(self, edge: EdgeRow) -> tuple[Flow, ...]:
        """As whoever reads them is woken."""
        return self._visible(edge) if edge.link is not None else self._published(edge)

    def _by_let(self, edge: EdgeRow) -> bool:
        return edge.task is not None and self._setup.tasks[edge.task].let

    def _counting(self, edge: EdgeRow) -> tuple[Flow, ...]:
        """With LET messages count from the deadline on, neither sooner nor later."""
        if edge.task is not None and self._by_let(edge):
            return self._arrivals_of(edge.task)
        return self._published(edge)

    def _arrivals_of(self, task: int) -> tuple[Flow, ...]:
        """Of its jobs: what the clock says, or one for each message that may activate or complete it."""
        if task not in self._arrivals:
            row = self._setup.tasks[task]
            edges = [one for one in self._setup.edges if one.target == task and one.role is not Role.READ]
            timed = (Flow(self._periods_ns[task], row.jitter_ns),)
            self._arrivals[task] = timed if row.timed else tuple(flow for one in edges for flow in self._visible(one))
        return self._arrivals[task]

    def _visible(self, edge: EdgeRow) -> tuple[Flow, ...]:
        if edge.link is None:
            return self._counting(edge)
        delay_ns = self._waits_ns[edge.link] + self._late_ns[edge.link]
        return tuple(one.later(delay_ns) for one in self._counting(edge))


def _longest_wait_ns(setup: Setup, link: int, found: Mapping[int, Density]) -> int:
    """The longest interval in which the link is never free, which no message outlasts; a limit where there is none."""
    flows: Sequence[tuple[int, Flow]] = [
        (ceil_int(setup.edges[number].size_bytes * NS_PER_S / setup.links[link].bytes_per_s), flow)
        for number, density in found.items()
        if setup.edges[number].link == link
        for flow in density.counting
    ]
    busy_ns, before_ns = sum(sending_ns for sending_ns, _ in flows), -1
    while before_ns < busy_ns < _LONGEST_NS:
        before_ns = busy_ns
        busy_ns = sum(sending_ns * -(-(busy_ns + flow.jitter_ns) // flow.period_ns) for sending_ns, flow in flows)
    return min(busy_ns, _LONGEST_NS)
