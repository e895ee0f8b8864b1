"""Messages that do not hold what their type promises: short, damaged, or nearly empty."""

from __future__ import annotations

from collections import deque

import numpy as np

from rt_sched.messages.sensor import PointCloud
from safety.monitors.delivery import Delivery, Pace

#: Sweeps whose median is the usual number of points, and how many there must be.
USUAL_OVER, USUAL_LEAST = 10, 3
#: A sweep with less than this share of the usual points is a short one: num / den.
SHORT = (1, 4)


class Payload:
    """What cannot be decoded, and sweeps that are short of points."""

    name = "payload"

    def __init__(self, pace: Pace) -> None:
        self.worst_case_ns = pace.within_ns(1)
        self._points: deque[int] = deque(maxlen=USUAL_OVER)

    def see(self, delivery: Delivery) -> str | None:
        """Why the message is of no use."""
        if delivery.message is None:
            return delivery.problem or "it holds nothing"
        if not isinstance(delivery.message, PointCloud):
            return None
        points = len(delivery.message.xyz_m)
        if points == 0:
            return "the sweep has no points"
        usual = int(np.median(self._points)) if len(self._points) >= USUAL_LEAST else 0
        if points * SHORT[1] < usual * SHORT[0]:
            return f"the sweep has {points} points, where {usual} are usual"
        self._points.append(points)
        return None
