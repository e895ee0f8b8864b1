"""Capture stamps that cannot be true: repeated, earlier than the one before, ahead of the clock, or too old."""

from __future__ import annotations

from rt_sched.units import format_ns
from safety.monitors.delivery import Delivery, Pace


class StampOrder:
    """Stamps must grow. A stamp that repeats is a message that comes twice."""

    name = "stamp_order"

    def __init__(self, pace: Pace) -> None:
        self.worst_case_ns = pace.timeout_ns
        self._newest_ns: int | None = None

    def see(self, delivery: Delivery) -> str | None:
        """A stamp that is no later than the newest one so far."""
        stamp_ns, newest_ns = delivery.capture_ns, self._newest_ns
        if stamp_ns is None:
            return "it has no stamp"
        self._newest_ns = stamp_ns if newest_ns is None else max(newest_ns, stamp_ns)
        if newest_ns is None or stamp_ns > newest_ns:
            return None
        if stamp_ns == newest_ns:
            return "its stamp is that of the message before it"
        return f"its stamp steps back by {format_ns(newest_ns - stamp_ns)}"


class StampAge:
    """The time from stamp to arrival must be the sensor's, give or take its jitter and `tolerance_ns`."""

    name = "stamp_age"

    def __init__(self, pace: Pace, tolerance_ns: int) -> None:
        self.worst_case_ns = pace.timeout_ns
        self._least_ns = pace.latency_ns - pace.jitter_ns - tolerance_ns
        self._most_ns = pace.latency_ns + pace.jitter_ns + tolerance_ns

    def see(self, delivery: Delivery) -> str | None:
        """A stamp from the future, or a message that was too long on its way."""
        if delivery.capture_ns is None:
            return None
        age_ns = delivery.arrival_ns - delivery.capture_ns
        if age_ns < 0:
            return f"its stamp is {format_ns(-age_ns)} ahead of the clock"
        if age_ns < self._least_ns:
            return f"it arrives {format_ns(age_ns)} after its stamp, sooner than it can"
        if age_ns > self._most_ns:
            return f"it arrives {format_ns(age_ns)} after its stamp"
        return None
