"""A sensor that sends too often, or too seldom without ever being silent for long enough to be called lost."""

from __future__ import annotations

from collections import deque

from rt_sched.units import format_ns
from safety.monitors.delivery import Delivery, Pace

#: Distances that the mean is taken over.
DISTANCES = 5
#: By how much the mean may differ from the nominal period, as a share of it: num / den.
TOLERANCE = (1, 5)


class Rate:
    """The mean distance of the last arrivals, held against the nominal `period_ns`.

    Messages that come at a wrong rate from an instant on are noticed after `DISTANCES` of theirs; where these are
    longer than the timer for silence, that notices first.
    """

    name = "rate"

    def __init__(self, pace: Pace, period_ns: int) -> None:
        self.worst_case_ns = (DISTANCES + 1) * pace.timeout_ns
        slack_ns = period_ns * TOLERANCE[0] // TOLERANCE[1]
        # Jitter moves only the ends of the window.
        self._shortest_ns = DISTANCES * (period_ns - slack_ns) - 2 * pace.jitter_ns
        self._longest_ns = DISTANCES * (pace.gap_ns + slack_ns) + 2 * pace.jitter_ns
        self._arrivals_ns: deque[int] = deque(maxlen=DISTANCES + 1)

    def see(self, delivery: Delivery) -> str | None:
        """A mean that is off."""
        self._arrivals_ns.append(delivery.arrival_ns)
        if len(self._arrivals_ns) <= DISTANCES:
            return None
        over_ns = self._arrivals_ns[-1] - self._arrivals_ns[0]
        if self._shortest_ns <= over_ns <= self._longest_ns:
            return None
        return f"messages come every {format_ns(over_ns // DISTANCES)}"
