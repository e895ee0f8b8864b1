"""Parts of time: of which kind they are, who caused them, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum


class PartKind(str, Enum):
    """What a job or a frame did, or waited for.

    Of a frame on its way to a job: `sensor`, from capture to arrival; `newer_frame`, until the capture of the frame
    that was used in its place; `link_queue`, behind other messages; `link`, transmission and latency; `partner`, until
    the messages that it is paired with were there; `sampling`, in a register or queue until the reader's next job;
    `publishing`, a finished job's output under LET until its deadline.

    Of a job: `release_jitter`; `earlier_job` of the same task; `core`, others had it; `window`, outside of its time
    slices or table entries; `lock`, without the core; `suspension`; `budget`, used up and not yet paid again; and on
    its core `execution`, `switch` costs and `spin` for a lock.

    `unexplained`: the trace breaks the rules of its own setup.
    """

    SENSOR = "sensor"
    NEWER_FRAME = "newer_frame"
    LINK_QUEUE = "link_queue"
    LINK = "link"
    PARTNER = "partner"
    SAMPLING = "sampling"
    PUBLISHING = "publishing"
    RELEASE_JITTER = "release_jitter"
    EARLIER_JOB = "earlier_job"
    CORE = "core"
    WINDOW = "window"
    LOCK = "lock"
    SUSPENSION = "suspension"
    BUDGET = "budget"
    EXECUTION = "execution"
    SWITCH = "switch"
    SPIN = "spin"
    UNEXPLAINED = "unexplained"


class Reason(str, Enum):
    """Why another job had what this one waited for.

    `higher_priority`, `earlier_deadline`, `earlier_release`: by the policy of the processor; `came_first`: among
    equals; `lock_held`: it may not be preempted, or has a better key, while it holds a lock; `non_preemptive`: it is
    less urgent, but had begun; `budget`: this job's budget was used up, which put it behind; `ceiling`: it holds a lock
    below whose ceiling no job starts; `slice`, `entry`: the time is its own; `owner`: it has the lock; `before`: it is
    earlier in the same order; `newer`: it is the newer data; `partner`: it came last of what is paired.
    """

    HIGHER_PRIORITY = "higher_priority"
    EARLIER_DEADLINE = "earlier_deadline"
    EARLIER_RELEASE = "earlier_release"
    CAME_FIRST = "came_first"
    LOCK_HELD = "lock_held"
    NON_PREEMPTIVE = "non_preemptive"
    BUDGET = "budget"
    CEILING = "ceiling"
    SLICE = "slice"
    ENTRY = "entry"
    OWNER = "owner"
    BEFORE = "before"
    NEWER = "newer"
    PARTNER = "partner"


@dataclass(frozen=True, slots=True)
class Cause:
    """Who was behind a part: `message` is that of a job (its row) or of a sample; `resources`: locks that it held."""

    message: int
    reason: Reason
    resources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """Time [start_ns, end_ns) of one kind. `causes`: one for every core that others had, at most one elsewhere.

    `resource`: the lock or link it is about. `frequency_khz`: of the core, where it changes during the run.
    """

    kind: PartKind
    start_ns: int
    end_ns: int
    causes: tuple[Cause, ...] = ()
    resource: str | None = None
    frequency_khz: int | None = None

    @property
    def length_ns(self) -> int:
        """How long it lasted."""
        return self.end_ns - self.start_ns

    def cut(self, start_ns: int, end_ns: int) -> Part:
        """What of it lies in [start_ns, end_ns); empty or reversed where that is nothing."""
        return replace(self, start_ns=max(self.start_ns, start_ns), end_ns=min(self.end_ns, end_ns))


def following(parts: Iterable[Part], start_ns: int) -> Iterator[Part]:
    """What of each part lies at or after an instant and after the parts before it."""
    for part in parts:
        piece = part.cut(start_ns, part.end_ns)
        if piece.length_ns > 0:
            yield piece
            start_ns = piece.end_ns


def merged(parts: Iterable[Part]) -> Iterator[Part]:
    """Parts that follow each other and differ in nothing else become one; empty ones are left out."""
    last: Part | None = None
    for part in parts:
        if part.length_ns <= 0:
            continue
        if last is not None and replace(part, start_ns=last.start_ns, end_ns=last.end_ns) == last:
            last = replace(last, end_ns=part.end_ns)
            continue
        if last is not None:
            yield last
        last = part
    if last is not None:
        yield last
