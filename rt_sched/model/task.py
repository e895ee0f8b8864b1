"""Tasks, their activation and the edges between them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any

from rt_sched.model.execution import Budget, ExecutionTime, Suspension
from rt_sched.model.platform import PEKind
from rt_sched.model.resource import CriticalSection

_LOG_ONLY = Budget()


class EdgeKind(str, Enum):
    """`latest`: a register, overwritten and never consumed. `queue`: bounded, each message bound to one job."""

    LATEST = "latest"
    QUEUE = "queue"


class Overflow(str, Enum):
    """What a full queue loses."""

    DROP_OLDEST = "drop_oldest"
    DROP_NEWEST = "drop_newest"


class Join(str, Enum):
    """When a message-activated job arrives: with its primary input, with any input, or when all are paired."""

    LATEST = "latest"
    ANY = "any"
    ALL = "all"


class DeadlineAction(str, Enum):
    """What happens to a job at its absolute deadline. `skip_next`: it goes on, the next job to arrive is suppressed."""

    CONTINUE = "continue"
    ABORT = "abort"
    SKIP_NEXT = "skip_next"


class Communication(str, Enum):
    """When a job reads its inputs and publishes its outputs.

    `implicit`: at first dispatch and at completion. `let` (logical execution time): at arrival and at the deadline.
    """

    IMPLICIT = "implicit"
    LET = "let"


class CriticalityLevel(str, Enum):
    """Mixed-criticality level: LO jobs are shed when a HI job exceeds the demand assumed in LO mode."""

    LO = "LO"
    HI = "HI"


class Criticality(str, Enum):
    """ISO 26262 integrity level."""

    QM = "QM"
    A = "A"
    B = "B"
    C = "C"
    D = "D"


@dataclass(frozen=True, slots=True)
class Edge:
    """How messages wait on their way into one input."""

    kind: EdgeKind
    depth: int = 1
    overflow: Overflow = Overflow.DROP_OLDEST


@dataclass(frozen=True, slots=True)
class Input:
    """One input port. `source`: a sensor or task; `port`: the producer's output port, None for a sensor.

    A job whose required `latest` input is empty is skipped and counted.
    `link`: what carries its messages, None when they are visible at once; `size_bytes`: size of each on the link.
    """

    name: str
    source: str
    port: str | None
    edge: Edge
    required: bool = True
    link: str | None = None
    size_bytes: int | None = None

    @property
    def origin(self) -> str:
        """Where its messages come from: "task.port", or the name of a sensor."""
        return self.source if self.port is None else f"{self.source}.{self.port}"


@dataclass(frozen=True, slots=True)
class Periodic:
    """Arrival k at offset + floor(k / rate) of the device's clock; the release follows within `jitter_ns`."""

    rate_hz: Fraction
    offset_ns: int = 0
    jitter_ns: int = 0


@dataclass(frozen=True, slots=True)
class Sporadic:
    """Arrivals at least `min_separation_ns` apart, the first at `offset_ns`; releases follow within `jitter_ns`.

    A simulation draws each distance between the least and `max_separation_ns`; without a largest one, jobs arrive as
    densely as they may, which is the worst case.
    """

    min_separation_ns: int
    max_separation_ns: int | None = None
    offset_ns: int = 0
    jitter_ns: int = 0


@dataclass(frozen=True, slots=True)
class OnMessage:
    """Activated by inputs. `primary`: the activating input when `join` is `latest`, else None.

    With `any` and `all` the inputs that have a queue edge activate; those with a `latest` edge are only read.

    `tolerance_ns`: largest difference of capture stamps that `all` pairs. The release follows within `jitter_ns`.
    """

    join: Join
    primary: str | None = None
    tolerance_ns: int = 0
    jitter_ns: int = 0


Activation = Periodic | Sporadic | OnMessage


@dataclass(frozen=True, slots=True)
class Variant:
    """A cheaper way to do a task's work, for when capacity is short.

    `execution`, `execution_by_kind`: as of the task. `parameters`: sorted (name, value) pairs that replace those of the
    task's stage. `every`: only one of this many arrivals makes a job.
    """

    name: str
    execution: ExecutionTime
    execution_by_kind: tuple[tuple[PEKind, ExecutionTime], ...] = ()
    parameters: tuple[tuple[str, Any], ...] = ()
    every: int = 1


@dataclass(frozen=True, slots=True)
class Task:
    """One stage bound to one processing element.

    `pe`: (device, processing element); `core`: fixed core or None for the planner's choice; `candidates`: further
    elements that a plan may move it to. `stage`: "module:Class"; `parameters`: sorted (name, value) pairs for its
    constructor. `execution`: on `pe`; `execution_by_kind`: on every kind of element that the file declares it for.
    `deadline_ns`: relative to arrival. `priority`: explicit rank, lower is more urgent, before all tasks without one.
    `separation_ns`: nominal distance of arrivals, from the period or from what activates the task.
    `budget_ns`: enforced or watched execution time; `budget` holds how. `miss_limit`: (m, k), at most m of any k
    consecutive jobs may miss their deadline. `level`: mixed-criticality level where it is not that of `criticality`.
    `preemption_points_ns`: executed times at which alone it may be preempted on an element with preemption `at_points`.
    `communication`: None where the chains through it decide. `start_latency_ns`: from the change to a mode that adds
    the task to its first arrival. `max_disparity_ns`: largest difference of the capture stamps that one job reads.
    `variants`: cheaper ways to do its work, the dearest first. `memory_bytes`: what it occupies on its device while it
    is there, running or ready to take over; None when not declared.
    """

    name: str
    stage: str
    parameters: tuple[tuple[str, Any], ...]
    pe: tuple[str, str]
    activation: Activation
    inputs: tuple[Input, ...]
    execution: ExecutionTime
    deadline_ns: int
    separation_ns: int
    core: int | None = None
    priority: int | None = None
    budget_ns: int | None = None
    deadline_action: DeadlineAction = DeadlineAction.CONTINUE
    criticality: Criticality = Criticality.QM
    candidates: tuple[tuple[str, str], ...] = ()
    execution_by_kind: tuple[tuple[PEKind, ExecutionTime], ...] = ()
    budget: Budget = _LOG_ONLY
    miss_limit: tuple[int, int] | None = None
    level: CriticalityLevel | None = None
    suspensions: tuple[Suspension, ...] = ()
    sections: tuple[CriticalSection, ...] = ()
    preemption_points_ns: tuple[int, ...] = ()
    communication: Communication | None = None
    start_latency_ns: int = 0
    max_disparity_ns: int | None = None
    variants: tuple[Variant, ...] = ()
    memory_bytes: int | None = None

    @property
    def is_high(self) -> bool:
        """Whether it is a HI task: by its own level, else by its integrity level, of which C and D are HI."""
        if self.level is not None:
            return self.level is CriticalityLevel.HI
        return self.criticality in (Criticality.C, Criticality.D)

    @property
    def is_timed(self) -> bool:
        """Whether the clock, not messages, makes its jobs arrive."""
        return not isinstance(self.activation, OnMessage)
