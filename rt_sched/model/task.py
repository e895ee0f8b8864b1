"""Tasks, their activation and the edges between them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any


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
    """What happens to a job at its absolute deadline."""

    CONTINUE = "continue"
    ABORT = "abort"


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
    """

    name: str
    source: str
    port: str | None
    edge: Edge
    required: bool = True


@dataclass(frozen=True, slots=True)
class Periodic:
    """Arrival k at offset + floor(k / rate)."""

    rate_hz: Fraction
    offset_ns: int = 0


@dataclass(frozen=True, slots=True)
class OnMessage:
    """Activated by inputs. `primary`: the activating input when `join` is `latest`, else None.

    With `any` and `all` the inputs that have a queue edge activate; those with a `latest` edge are only read.

    `tolerance_ns`: largest difference of capture stamps that `all` pairs.
    """

    join: Join
    primary: str | None = None
    tolerance_ns: int = 0


@dataclass(frozen=True, slots=True)
class ExecutionTime:
    """Modelled execution time on the declared PE: bcet <= every demand <= wcet.

    `profile_ns`: quantiles at equal steps of probability from 0 to 1, first = bcet, last <= wcet.
    `origin`: where the figures come from, for reports.
    """

    bcet_ns: int
    wcet_ns: int
    profile_ns: tuple[int, ...]
    origin: str = "declared"


@dataclass(frozen=True, slots=True)
class Task:
    """One stage bound to one processing element.

    `pe`: (device, processing element); `core`: fixed core or None for the planner's choice.
    `stage`: "module:Class"; `parameters`: sorted (name, value) pairs for its constructor.
    `deadline_ns`: relative to arrival. `priority`: explicit rank, lower is more urgent, before all tasks without one.
    `separation_ns`: nominal distance of arrivals, from the period or from what activates the task.
    """

    name: str
    stage: str
    parameters: tuple[tuple[str, Any], ...]
    pe: tuple[str, str]
    activation: Periodic | OnMessage
    inputs: tuple[Input, ...]
    execution: ExecutionTime
    deadline_ns: int
    separation_ns: int
    core: int | None = None
    priority: int | None = None
    budget_ns: int | None = None
    deadline_action: DeadlineAction = DeadlineAction.CONTINUE
    criticality: Criticality = Criticality.QM
