"""What a monitor notes: a value that is not what the bounds assume."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rt_sched.trace.records import Int64s


@dataclass(frozen=True, slots=True)
class Deviation:
    """`who` (task, sensor, link, edge, processor) had `value` where `limit` was assumed; `number`: of the job, sample
    or slice. In nanoseconds, unless the monitor counts.
    """

    who: str
    number: int
    time_ns: int
    value: int
    limit: int


#: How many values were looked at, and those that deviate.
Looked = Iterator[tuple[int, list[Deviation]]]


def compared(
    who: str, numbers: Int64s, times_ns: Int64s, values: Int64s, limit: int, *, least: bool = False
) -> tuple[int, list[Deviation]]:
    """Values held against their limit, which they may not exceed, or with `least` not fall below."""
    wrong = np.flatnonzero(values < limit if least else values > limit)
    found = [Deviation(who, int(numbers[i]), int(times_ns[i]), int(values[i]), limit) for i in wrong]
    return len(values), found
