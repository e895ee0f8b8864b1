"""How long jobs execute, where they wait inside, and what watches over it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True, slots=True)
class ExecutionTime:
    """Modelled execution time on the declared PE: bcet <= every demand <= wcet.

    `profile_ns`: quantiles at equal steps of probability from 0 to 1, first = bcet, last <= wcet.
    `origin`: where the figures come from, for reports. `memory_ns`: the part of every demand that waits for memory and
    does not change with the frequency. `frequency_hz`: at which the figures hold; None: at the element's first one.
    `wcet_lo_ns`: C_LO, what a HI task is assumed to need in LO mode.
    """

    bcet_ns: int
    wcet_ns: int
    profile_ns: tuple[int, ...]
    origin: str = "declared"
    memory_ns: int = 0
    frequency_hz: int | None = None
    wcet_lo_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Suspension:
    """After `after_ns` of executed time a job waits between `min_ns` and `max_ns` for something outside its PE.

    `on`: the element (device, name) that serves it, for at most `service_ns` once its turn has come; None where that is
    not said. The wait with the queue before it is what `max_ns` promises.
    """

    after_ns: int
    min_ns: int
    max_ns: int
    on: tuple[str, str] | None = None
    service_ns: int | None = None


class OverrunAction(str, Enum):
    """What happens to a job with work left when its budget is used up.

    `log`: it is recorded. `abort`: the job ends, nothing is published. `throttle`: it waits for the next budget.
    `skip_next`: it goes on, the next job to arrive is suppressed. `degrade`: it goes on, the next job does less work.
    `fail_over`: the job ends and the standby takes over.
    """

    LOG = "log"
    ABORT = "abort"
    THROTTLE = "throttle"
    SKIP_NEXT = "skip_next"
    DEGRADE = "degrade"
    FAIL_OVER = "fail_over"


@dataclass(frozen=True, slots=True)
class Budget:
    """How a budget is enforced: with which granularity, by which action, with which demand of a degraded next job."""

    granularity_ns: int = 1
    action: OverrunAction = OverrunAction.LOG
    degraded_ns: int | None = None
