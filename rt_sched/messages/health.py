"""What monitors of sensors say: which of them may be trusted now."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from rt_sched.messages.e2e import E2EHeader


class TrustState(str, Enum):
    """Of a sensor. STARTING: too few good samples since its monitors began. DISTRUSTED: a monitor found something, and
    too few good samples have come since.
    """

    STARTING = "STARTING"
    TRUSTED = "TRUSTED"
    DISTRUSTED = "DISTRUSTED"


@dataclass(frozen=True, slots=True)
class SensorTrust:
    """`monitor`: which one took the trust away, None unless it is DISTRUSTED."""

    sensor: str
    state: TrustState
    monitor: str | None = None


@dataclass(frozen=True, slots=True)
class SensorHealth:
    """All sensors that are watched, and how each stands at `capture_time_ns`."""

    capture_time_ns: int
    sensors: tuple[SensorTrust, ...]
    header: E2EHeader | None = None
