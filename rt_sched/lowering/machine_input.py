"""What the scheduling machine is given: processors, tasks, edges, samples and planned changes by index.

Everything that `sim.Simulation` needs and nothing about where it came from. The rows are those of `trace.setup`,
because every trace carries them; `lowering.machine_checks` says which values they may have.

A device clock that drifts or starts late is lowered into exact rates, offsets and deadlines of true time; the machine
knows only that.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from rt_sched.trace.setup import (
    DeadlineAction,
    EdgeKind,
    EdgeRow,
    ExtraArrivalRow,
    FaultRow,
    FaultTarget,
    FrequencyChangeRow,
    LinkRow,
    ModeChangeRow,
    Overflow,
    OverrunAction,
    Policy,
    ProcessorRow,
    Protocol,
    ResourceRow,
    Role,
    RouteChangeRow,
    SectionRow,
    Setup,
    SuspensionRow,
    TableEntry,
    TaskChangeRow,
    TaskRow,
    TimeSlice,
)

__all__ = [
    "LIMIT_FREQUENCY_KHZ",
    "LIMIT_NS",
    "LIMIT_PLACES",
    "LIMIT_RATE",
    "DeadlineAction",
    "EdgeKind",
    "EdgeRow",
    "ExtraArrivalRow",
    "FaultRow",
    "FaultTarget",
    "FrequencyChangeRow",
    "LinkRow",
    "MachineInput",
    "ModeChangeRow",
    "Overflow",
    "OverrunAction",
    "Policy",
    "ProcessorRow",
    "Protocol",
    "ResourceRow",
    "Role",
    "RouteChangeRow",
    "Samples",
    "SectionRow",
    "Setup",
    "SuspensionRow",
    "TableEntry",
    "TaskChangeRow",
    "TaskRow",
    "TimeSlice",
    "edge_slots",
]

#: Largest time that the machine takes, so that sums of a few stay in range: 2**60 ns, about 36 years.
LIMIT_NS = 2**60
#: Largest numerator of a rate in Hz.
LIMIT_RATE = 2**60
#: Most places that the queues of one machine have together.
LIMIT_PLACES = 2**24
#: Largest frequency, so that a remainder below it times another frequency stays in range.
LIMIT_FREQUENCY_KHZ = 2**31 - 1


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """Sensor messages: arrival at the device, sensor index, capture stamp; int64[n] each, in any order.

    Samples of one sensor that arrive together keep their order.
    """

    arrival_ns: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    sensor: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    capture_ns: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))


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
    resources: tuple[ResourceRow, ...] = ()
    links: tuple[LinkRow, ...] = ()
    mode_changes: tuple[ModeChangeRow, ...] = ()
    frequency_changes: tuple[FrequencyChangeRow, ...] = ()
    task_changes: tuple[TaskChangeRow, ...] = ()
    extra_arrivals: tuple[ExtraArrivalRow, ...] = ()
    route_changes: tuple[RouteChangeRow, ...] = ()

    @property
    def setup(self) -> Setup:
        """The declared part, as a trace carries it."""
        return Setup(
            self.processors,
            self.sensors,
            self.tasks,
            self.edges,
            self.resources,
            self.links,
            self.faults,
            self.mode_changes,
            self.frequency_changes,
            self.task_changes,
            self.extra_arrivals,
            self.route_changes,
        )


def edge_slots(edges: tuple[EdgeRow, ...]) -> tuple[int, ...]:
    """Input slot of each edge at its target: edges into one task count from 0, in their order."""
    used: dict[int, int] = {}
    slots = []
    for edge in edges:
        slots.append(used.get(edge.target, 0))
        used[edge.target] = slots[-1] + 1
    return tuple(slots)
