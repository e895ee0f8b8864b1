"""Waiting for a descriptor, whatever its number: select(2) takes none above 1023."""

from __future__ import annotations

import math
import select
from typing import Any


def comes(descriptor: Any, limit_s: float) -> bool:
    """Whether there is something to read, or an end, within the time, to the millisecond above."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(max(0, math.ceil(limit_s * 1000))))
