"""A sensor that goes on sending what it sent before, under new stamps."""

from __future__ import annotations

import zlib

from rt_sched.messages.sensor import EncodedImage, PointCloud
from safety.monitors.delivery import Delivery, Pace

#: Noise makes every picture and sweep another one, so that so many equal ones in a row are a frozen sensor.
REPEATS = 2


class Frozen:
    """Pictures or sweeps with the content of the one before, bit by bit."""

    name = "frozen"

    def __init__(self, pace: Pace) -> None:
        self.worst_case_ns = pace.within_ns(REPEATS + 1)
        self._last: tuple[int, int] | None = None
        self._repeats = 0

    def see(self, delivery: Delivery) -> str | None:
        """The repeat that makes it certain, and those after it."""
        content = _digest(delivery.message)
        if content is None:
            return None
        self._repeats = self._repeats + 1 if content == self._last else 0
        self._last = content
        return f"it is the same as the {self._repeats} before it" if self._repeats >= REPEATS else None


def _digest(message: object) -> tuple[int, int] | None:
    """Length and CRC-32 of the content; None for what this monitor does not look at."""
    if isinstance(message, EncodedImage):
        return len(message.data), zlib.crc32(message.data)
    if isinstance(message, PointCloud):
        points = message.xyz_m
        return points.nbytes, zlib.crc32(points.tobytes())
    return None
