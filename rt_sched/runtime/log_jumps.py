"""A log clock that was set while it recorded: which stretch of log time is the recording.

Recorders that start before their clock is synchronised log the first messages near the year 1970, or decades ahead.
No drive pauses for an hour, so a longer pause in log time is taken for such a jump.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import numpy.typing as npt

from rt_sched.errors import DataError
from rt_sched.units import NS_PER_S

Int64 = npt.NDArray[np.int64]

#: A longer pause in log time is a jump of the clock.
JUMP_NS = 3600 * NS_PER_S

#: The stretch that is replayed holds at least this share of the messages, in percent; else no stretch is clearly meant.
CLEAR_SHARE_PERCENT = 75

_DAY_S = 24 * 3600
_MOST_NAMED = 6


@dataclass(frozen=True, slots=True)
class Logged:
    """The readable messages of one topic: log times and running numbers in the recording, both int64[n]."""

    topic: str
    log_ns: Int64
    index: Int64


@dataclass(frozen=True, slots=True)
class LogWindow:
    """Log times of the messages to replay, both ends included. `note`: what lies outside, None where nothing does."""

    first_ns: int
    last_ns: int
    note: str | None = None


def replayed_window(path: str, topics: Sequence[Logged]) -> LogWindow:
    """The stretch of log time that nearly all messages lie in. Raises DataError when there is none; needs a message."""
    log_ns = np.concatenate([topic.log_ns for topic in topics])
    index = np.concatenate([topic.index for topic in topics])
    of_topic = np.repeat(np.arange(len(topics)), [len(topic.log_ns) for topic in topics])
    ordered = np.sort(log_ns)
    before_jump = np.flatnonzero(np.diff(ordered) > JUMP_NS)
    if not len(before_jump):
        return LogWindow(int(ordered[0]), int(ordered[-1]))
    starts = np.concatenate([[0], before_jump + 1])
    ends = np.concatenate([before_jump, [len(ordered) - 1]])
    sizes = ends - starts + 1
    largest = int(np.argmax(sizes))
    first_ns, last_ns = int(ordered[starts[largest]]), int(ordered[ends[largest]])
    in_file = np.argsort(index)
    stretch = np.searchsorted(ordered[starts], log_ns[in_file], side="right")
    at = int(np.flatnonzero(np.diff(stretch))[0])
    a, b = int(in_file[at]), int(in_file[at + 1])
    step_ns = int(log_ns[b]) - int(log_ns[a])
    jump = (
        f"log time jumps {'forward' if step_ns > 0 else 'back'} by {_long_time(abs(step_ns))} between messages "
        f"{int(index[a])} ({topics[of_topic[a]].topic}) and {int(index[b])} ({topics[of_topic[b]].topic})"
    )
    if 100 * int(sizes[largest]) < CLEAR_SHARE_PERCENT * len(ordered):
        parts = [
            f"{int(size)} from {_date(int(ordered[start]))} to {_date(int(ordered[end]))}"
            for start, end, size in zip(starts, ends, sizes, strict=True)
        ]
        raise DataError(
            f"{path}: {jump}, and no part outweighs the rest (messages: {_listed(parts)}); cut the recording where "
            "the clock was set and replay one part"
        )
    outside = (log_ns < first_ns) | (log_ns > last_ns)
    counts = np.bincount(of_topic[outside], minlength=len(topics))
    named = _listed([f"{int(count)} of {topic.topic}" for topic, count in zip(topics, counts, strict=True) if count])
    return LogWindow(
        first_ns,
        last_ns,
        f"{jump}; replayed is the part from {_date(first_ns)} to {_date(last_ns)}, quarantined are {named}",
    )


def _long_time(duration_ns: int) -> str:
    """Hours or more, for a person to read."""
    seconds = duration_ns / NS_PER_S
    for unit, size in (("years", 365.25 * _DAY_S), ("days", 2 * _DAY_S)):
        if seconds >= size:
            return f"{seconds / (_DAY_S if unit == 'days' else size):.1f} {unit}"
    return f"{seconds / 3600:.1f} hours"


def _date(time_ns: int) -> str:
    since_1970 = timedelta(microseconds=time_ns // 1000)
    return (datetime(1970, 1, 1, tzinfo=UTC) + since_1970).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


def _listed(items: Sequence[str]) -> str:
    more = [f"{len(items) - _MOST_NAMED} more"] if len(items) > _MOST_NAMED else []
    return ", ".join([*items[:_MOST_NAMED], *more])
