"""Commands and the arbiter's decision about them: the messages that primary and backup path share."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from rt_sched.messages.e2e import E2EHeader, E2EState


class ArbiterState(str, Enum):
    """Where the safety path stands. MINIMAL_RISK is latched."""

    STARTING = "STARTING"
    NOMINAL = "NOMINAL"
    DEGRADED = "DEGRADED"
    BACKUP = "BACKUP"
    MINIMAL_RISK = "MINIMAL_RISK"


@dataclass(frozen=True, slots=True)
class SensorView:
    """The capture time of the freshest data of one sensor inside a result."""

    sensor: str
    capture_time_ns: int


@dataclass(frozen=True, slots=True)
class Command:
    """A longitudinal command.

    `capture_time_ns`: capture stamp of the oldest data the command rests on that was required for it.
    `acceleration_m_s2`: requested, negative when braking. `time_to_collision_ns`: None when nothing is closing in.
    `valid`: False when the path had no data to decide on.
    """

    capture_time_ns: int
    source: str
    counter: int
    acceleration_m_s2: float
    emergency: bool
    time_to_collision_ns: int | None
    valid: bool
    views: tuple[SensorView, ...] = ()
    header: E2EHeader | None = None


@dataclass(frozen=True, slots=True)
class ReleaseRequest:
    """A person's word that the vehicle may leave MINIMAL_RISK. `capture_time_ns`: when it was given."""

    capture_time_ns: int
    source: str
    header: E2EHeader | None = None


@dataclass(frozen=True, slots=True)
class InputCheck:
    """What the receiver's E2E check found at one input."""

    input: str
    state: E2EState


@dataclass(frozen=True, slots=True)
class ArbiterDecision:
    """The command that goes to the actuators, which path it came from, and why.

    `checks`: the E2E state of each input that was looked at.
    """

    capture_time_ns: int
    decided_at_ns: int
    state: ArbiterState
    selected: str
    command: Command
    reason: str
    stale_sensors: tuple[str, ...] = ()
    checks: tuple[InputCheck, ...] = ()
    header: E2EHeader | None = None
