"""What the scheduling machine is given: processors, tasks, edges, samples and faults by index, checked for range.

Everything that `sim.Simulation` needs and nothing about where it came from.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from fractions import Fraction
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from rt_sched.errors import ConfigError, Problem
from rt_sched.kernels import tables

#: Largest time that the machine takes, so that sums of two stay in range: 2**60 ns, about 36 years.
LIMIT_NS = 2**60
#: Largest numerator of a rate in Hz.
LIMIT_RATE = 2**60
#: Most places that the queues of one machine have together.
LIMIT_PLACES = 2**24


class Policy(IntEnum):
    """Order of a ready queue."""

    FIXED_PRIORITY = tables.FIXED_PRIORITY
    EDF = tables.EDF
    FIFO = tables.FIFO


class EdgeKind(IntEnum):
    """Register or queue."""

    LATEST = tables.LATEST
    QUEUE = tables.QUEUE


class Overflow(IntEnum):
    """What a full queue loses."""

    DROP_OLDEST = tables.DROP_OLDEST
    DROP_NEWEST = tables.DROP_NEWEST


class Role(IntEnum):
    """What a message on an edge does: it is only read, activates a job by itself, or waits for its partners."""

    READ = tables.READ
    EACH = tables.EACH
    PAIRED = tables.PAIRED


class DeadlineAction(IntEnum):
    """What happens to a job at its absolute deadline."""

    CONTINUE = tables.CONTINUE
    ABORT = tables.ABORT


class FaultTarget(IntEnum):
    """What a fault takes away for good."""

    PROCESSOR = tables.PROCESSOR_LOSS
    SENSOR = tables.SENSOR_LOSS


@dataclass(frozen=True, slots=True)
class ProcessorRow:
    """One core, GPU or DLA with a ready queue of its own. `fifo` is non-preemptive whatever `preemptive` says."""

    name: str
    policy: Policy
    preemptive: bool


@dataclass(frozen=True, slots=True)
class TaskRow:
    """One task on one processor.

    `deadline_ns`: relative. `level`: lower is more urgent. `rate_hz`: exact rate of a timed task, None when messages
    activate it. `demand_ns`: execution time, either one value or 33 ascending quantiles at steps of 1/32.
    `explicit_demands_ns`: demands of the first jobs, which take precedence. `tolerance_ns`: largest difference of
    capture stamps between paired inputs.
    """

    name: str
    processor: int
    deadline_ns: int
    demand_ns: int | tuple[int, ...]
    level: int = 0
    rate_hz: Fraction | None = None
    offset_ns: int = 0
    budget_ns: int | None = None
    deadline_action: DeadlineAction = DeadlineAction.CONTINUE
    tolerance_ns: int = 0
    explicit_demands_ns: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class EdgeRow:
    """One edge into its own input slot of a task; slots of a task are numbered in the order of its edges.

    Exactly one of `sensor` and `task` is the index of its source.
    """

    target: int
    input: str
    kind: EdgeKind
    role: Role
    sensor: int | None = None
    task: int | None = None
    depth: int = 1
    overflow: Overflow = Overflow.DROP_OLDEST
    required: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """Sensor messages: arrival at the device, sensor index, capture stamp; int64[n] each, in any order.

    Samples of one sensor that arrive together keep their order.
    """

    arrival_ns: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    sensor: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    capture_ns: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))


@dataclass(frozen=True, slots=True)
class FaultRow:
    """Loss of a processor or sensor at an instant."""

    time_ns: int
    kind: FaultTarget
    target: int


@dataclass(frozen=True, slots=True, eq=False)
class MachineInput:
    """One simulation from 0 to `horizon_ns`; jobs and deadlines at the horizon itself are judged, none start there."""

    processors: tuple[ProcessorRow, ...]
    sensors: tuple[str, ...]
    tasks: tuple[TaskRow, ...]
    edges: tuple[EdgeRow, ...]
    horizon_ns: int
    seed: int = 0
    samples: Samples = field(default_factory=Samples)
    faults: tuple[FaultRow, ...] = ()


def check_machine_input(given: MachineInput) -> None:
    """Raise ConfigError with every number that is out of range and every index that leads nowhere."""
    problems = _Problems()
    problems.within("horizon_ns", given.horizon_ns, 1, LIMIT_NS)
    problems.within("seed", given.seed, 0, 2**64 - 1)
    activated = {edge.target for edge in given.edges if edge.role != Role.READ}
    for number, task in enumerate(given.tasks):
        path = f"tasks[{number}] ({task.name})"
        _check_task(problems, path, task, len(given.processors))
        if task.rate_hz is not None and number in activated:
            problems.say(f"{path}.rate_hz", "a timed task has an activating input; give it inputs that are only read")
    for number, edge in enumerate(given.edges):
        _check_edge(problems, f"edges[{number}] ({edge.input})", edge, given)
    problems.within("edges: places of all queues together", sum(e.depth for e in given.edges), 0, LIMIT_PLACES)
    for number, fault in enumerate(given.faults):
        problems.within(f"faults[{number}].time_ns", fault.time_ns, 0, LIMIT_NS)
        there = given.processors if fault.kind == FaultTarget.PROCESSOR else given.sensors
        problems.index(f"faults[{number}].target", fault.target, len(there))
    _check_samples(problems, given)
    if problems.found:
        raise ConfigError(problems.found)


class _Problems:
    """Collects what is wrong with a machine's input."""

    def __init__(self) -> None:
        self.found: list[Problem] = []

    def say(self, path: str, message: str) -> None:
        self.found.append(Problem("machine input", 0, 0, path, message))

    def within(self, path: str, value: int, least: int, most: int) -> None:
        if not least <= value <= most:
            self.say(path, f"{value} is outside {least} ... {most}")

    def index(self, path: str, value: int, count: int) -> None:
        if not 0 <= value < count:
            self.say(path, f"{value} is not one of the {count} that exist (counted from 0)")


def _check_task(problems: _Problems, path: str, task: TaskRow, processors: int) -> None:
    problems.index(f"{path}.processor", task.processor, processors)
    problems.within(f"{path}.deadline_ns", task.deadline_ns, 1, LIMIT_NS)
    problems.within(f"{path}.level", task.level, 0, LIMIT_NS)
    problems.within(f"{path}.offset_ns", task.offset_ns, 0, LIMIT_NS)
    problems.within(f"{path}.tolerance_ns", task.tolerance_ns, 0, LIMIT_NS)
    if task.budget_ns is not None:
        problems.within(f"{path}.budget_ns", task.budget_ns, 1, LIMIT_NS)
    quantiles = (task.demand_ns,) if isinstance(task.demand_ns, int) else task.demand_ns
    if len(quantiles) not in (1, tables.QUANTILES):
        problems.say(f"{path}.demand_ns", f"{len(quantiles)} quantiles; give one value or {tables.QUANTILES}")
    if any(later < earlier for earlier, later in pairwise(quantiles)):
        problems.say(f"{path}.demand_ns", "quantiles must not descend")
    for value in (*quantiles, *task.explicit_demands_ns):
        problems.within(f"{path}.demand_ns", value, 1, LIMIT_NS)
    if task.rate_hz is None:
        return
    if task.rate_hz <= 0:
        problems.say(f"{path}.rate_hz", f"{task.rate_hz} Hz is not positive")
    else:
        problems.within(f"{path}.rate_hz numerator", task.rate_hz.numerator, 1, LIMIT_RATE)
        problems.within(f"{path} period in ns", int(10**9 / task.rate_hz), 1, LIMIT_NS)


def _check_edge(problems: _Problems, path: str, edge: EdgeRow, given: MachineInput) -> None:
    problems.index(f"{path}.target", edge.target, len(given.tasks))
    problems.within(f"{path}.depth", edge.depth, 1, LIMIT_PLACES)
    if (edge.sensor is None) == (edge.task is None):
        problems.say(path, "an edge starts at either a sensor or a task")
    if edge.sensor is not None:
        problems.index(f"{path}.sensor", edge.sensor, len(given.sensors))
    if edge.task is not None:
        problems.index(f"{path}.task", edge.task, len(given.tasks))
    if edge.role == Role.PAIRED and edge.kind != EdgeKind.QUEUE:
        problems.say(path, "paired inputs wait for each other and need a queue")


def _check_samples(problems: _Problems, given: MachineInput) -> None:
    samples = given.samples
    if not len(samples.arrival_ns) == len(samples.sensor) == len(samples.capture_ns):
        problems.say("samples", "arrival_ns, sensor and capture_ns differ in length")
    elif len(samples.arrival_ns):
        problems.within("samples.arrival_ns", int(samples.arrival_ns.min()), 0, LIMIT_NS)
        problems.within("samples.arrival_ns", int(samples.arrival_ns.max()), 0, LIMIT_NS)
        problems.within("samples.capture_ns", int(samples.capture_ns.min()), -LIMIT_NS, LIMIT_NS)
        problems.within("samples.capture_ns", int(samples.capture_ns.max()), -LIMIT_NS, LIMIT_NS)
        problems.index("samples.sensor", int(samples.sensor.min()), len(given.sensors))
        problems.index("samples.sensor", int(samples.sensor.max()), len(given.sensors))


def edge_slots(edges: tuple[EdgeRow, ...]) -> tuple[int, ...]:
    """Input slot of each edge at its target: edges into one task count from 0, in their order."""
    used: dict[int, int] = {}
    slots = []
    for edge in edges:
        slots.append(used.get(edge.target, 0))
        used[edge.target] = slots[-1] + 1
    return tuple(slots)
