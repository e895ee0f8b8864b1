"""What monitors of sensors look at, and what they may take for granted about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True, eq=False)
class Delivery:
    """One message of a sensor as it reaches its device.

    `capture_ns`: its stamp, None where it has none. `message`: what it holds, None where it cannot be decoded for the
    reason `problem`.
    """

    arrival_ns: int
    capture_ns: int | None
    message: Any
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Pace:
    """How a sensor delivers in health.

    `gap_ns`: largest distance of two captures. `latency_ns`, `jitter_ns`: from capture to arrival, and by how much that
    may differ. `timeout_ns`: the length of the timer that notices its silence.
    """

    gap_ns: int
    latency_ns: int
    jitter_ns: int
    timeout_ns: int

    def within_ns(self, messages: int) -> int:
        """Within what time so many messages have arrived, counted from any instant."""
        return messages * self.gap_ns + 2 * self.jitter_ns


class Monitor(Protocol):
    """Sees the deliveries of one sensor in order of arrival.

    `worst_case_ns`: from the first instant at which every further message is wrong in the way that it looks for, as
    messages arrive, until it says so.
    """

    name: str
    worst_case_ns: int

    def see(self, delivery: Delivery) -> str | None:
        """What is wrong, as the end of a sentence; None while all is well."""
