"""Records of a run as columns: jobs, execution slices, dropped messages, sensor samples, transfers, special events.

Times are int64 nanoseconds since the start of the run. A message is named by one integer: the output of job j (its row
in the job table) is j, sample i (its row in the sample table) is -2 - i (`message_of_sample`, `sample_of`), and -1 is
no message. -1 also stands for a time that never came.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass, field, fields
from enum import IntEnum
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from rt_sched.trace.setup import Setup

Int64s = npt.NDArray[np.int64]
Int32s = npt.NDArray[np.int32]
Int8s = npt.NDArray[np.int8]
Bools = npt.NDArray[np.bool_]


#: Message id of sample 0.
_FIRST_SAMPLE = -2

#: One message or sample, or a column of them.
_Rows = TypeVar("_Rows", int, Int64s)


def sample_of(message: _Rows) -> _Rows:
    """Row of the sample that a message id stands for; below 0 when it is the output of a job, or no message."""
    return _FIRST_SAMPLE - message


def message_of_sample(row: _Rows) -> _Rows:
    """Message id of a row of the sample table."""
    return _FIRST_SAMPLE - row


class JobStatus(IntEnum):
    """How a job ended.

    UNFINISHED: the run ended first. SKIPPED: a required input was empty. LOST: its processor was lost. SUPPRESSED: not
    admitted at its arrival, because a job before it said so (`skip_next`), its processor was in HI mode, or its task
    does only some of its jobs (`every`).
    """

    COMPLETED = 0
    UNFINISHED = 1
    ABORTED = 2
    SKIPPED = 3
    LOST = 4
    SUPPRESSED = 5


class DropReason(IntEnum):
    """Why a message left an edge unread: a full queue lost its oldest or the new one, or it found no partner.

    INACTIVE: it was in, or came to, an activating queue of a task that the present mode does not have.
    """

    FULL_OLDEST = 0
    FULL_NEWEST = 1
    UNMATCHED = 2
    INACTIVE = 3


class SliceKind(IntEnum):
    """What a core did: EXECUTE the job, a SWITCH or migration cost before it, or SPIN for a lock on its behalf."""

    EXECUTE = 0
    SWITCH = 1
    SPIN = 2


class EventKind(IntEnum):
    """Events that no other table tells; the column `value` holds what is said in brackets.

    SKIP and ABORT: a job ends so, LINK_LOST [link], TASK_REMOVED, TASK_ADDED: its arrivals begin now, FREQUENCY of a
    processor [kHz], RESCALE of a job [its new demand], SEPARATION: an arrival came too early [distance from the one
    before], SUPPRESS [`every` of a task that leaves this job out, else -1], SUSPEND [its length], WAKE, REQUEST: a job
    must wait for a lock, under msrp spinning [resource], LOCK: it has it now [resource], UNLOCK [resource], OWNER_DEAD:
    freed because its owner was lost or ended [resource], OVERRUN: the budget is used up with work left, ENFORCE: the
    overrun action happens [OverrunAction], THROTTLE: no budget until REPLENISH [the server deadline under edf, else the
    number of the arrival that pays], HIGH and LOW: criticality mode of a processor, LET_PUBLISH, LET_UNFINISHED:
    nothing to publish, SLICE of a time_sliced processor [index] and ENTRY of a table processor [index; job -1: empty]
    begin, LINK_RETURNED [link], TASK_MOVED and TASK_VARIED: a task is declared anew, in another place or only with
    another demand [index of the change in the setup].

    The processor of an event is that of its job, else that on which its task is from that instant on.
    """

    OVERRUN = 6
    SKIP = 8
    ABORT = 9
    LINK_LOST = 14
    TASK_REMOVED = 15
    TASK_ADDED = 16
    FREQUENCY = 17
    RESCALE = 18
    SEPARATION = 20
    SUPPRESS = 21
    SUSPEND = 22
    WAKE = 23
    REQUEST = 24
    LOCK = 25
    UNLOCK = 26
    OWNER_DEAD = 27
    ENFORCE = 28
    THROTTLE = 29
    REPLENISH = 30
    HIGH = 31
    LOW = 32
    LET_PUBLISH = 33
    LET_UNFINISHED = 34
    SLICE = 35
    ENTRY = 36
    LINK_RETURNED = 39
    TASK_MOVED = 40
    TASK_VARIED = 41


class SampleStatus(IntEnum):
    """Whether a sample reached its edges. WAITING: due at or after the horizon. LOST: its sensor was lost."""

    WAITING = 0
    DELIVERED = 1
    LOST = 2


def _check_lengths(table: Any) -> None:
    """Raise ValueError unless all columns of a table have the same number of rows."""
    lengths = {column.name: len(getattr(table, column.name)) for column in fields(table)}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"{type(table).__name__}: columns of different length: {lengths}")


@dataclass(frozen=True, slots=True, eq=False)
class JobTable:
    """One row per job, in order of arrival; `number` counts the jobs of a task from 0.

    `deadline_ns` is absolute. `demand_ns` is the execution time it needs in total: at the frequencies it met so far,
    with the work left counted at the present one. `finish_ns` is set for completed jobs only. `capture_ns`: stamp of
    the data that the output stands for. `missed`: not finished by its deadline. `overrun`: had work left when its
    budget was used up. `inputs` int64[n, max slots]: message read on each input slot, -1 for none.
    """

    task: Int32s
    number: Int64s
    arrival_ns: Int64s
    release_ns: Int64s
    start_ns: Int64s
    finish_ns: Int64s
    deadline_ns: Int64s
    demand_ns: Int64s
    executed_ns: Int64s
    capture_ns: Int64s
    status: Int8s
    missed: Bools
    overrun: Bools
    inputs: Int64s

    def __post_init__(self) -> None:
        _check_lengths(self)

    def __len__(self) -> int:
        return len(self.task)


@dataclass(frozen=True, slots=True, eq=False)
class SliceTable:
    """What a core did for a job without interruption, half-open [start, end), in order of end.

    `processor` is the core, counted over all processors; `kind` is a SliceKind, EXECUTE throughout when left out.
    """

    processor: Int32s
    job: Int64s
    start_ns: Int64s
    end_ns: Int64s
    kind: Int8s = field(default_factory=lambda: np.zeros(0, np.int8))

    def __post_init__(self) -> None:
        if not len(self.kind):
            object.__setattr__(self, "kind", np.zeros(len(self.job), np.int8))
        _check_lengths(self)

    def __len__(self) -> int:
        return len(self.job)


@dataclass(frozen=True, slots=True, eq=False)
class DropTable:
    """Messages that left an edge without a reader, in order of time; `reason` is a DropReason."""

    time_ns: Int64s
    edge: Int32s
    message: Int64s
    reason: Int8s

    def __post_init__(self) -> None:
        _check_lengths(self)

    def __len__(self) -> int:
        return len(self.message)


@dataclass(frozen=True, slots=True, eq=False)
class SampleTable:
    """Sensor samples in order of arrival; `number` counts those of a sensor from 0; `status` is a SampleStatus."""

    sensor: Int32s
    number: Int64s
    arrival_ns: Int64s
    capture_ns: Int64s
    status: Int8s

    def __post_init__(self) -> None:
        _check_lengths(self)

    def __len__(self) -> int:
        return len(self.sensor)


@dataclass(frozen=True, slots=True, eq=False)
class TransferTable:
    """Messages on links, in order of publication; the link is that of the edge.

    [start_ns, end_ns): time on the link. `delivered_ns`: when it became visible, -1 if it did not or not yet.
    """

    edge: Int32s = field(default_factory=lambda: np.zeros(0, np.int32))
    message: Int64s = field(default_factory=lambda: np.zeros(0, np.int64))
    queued_ns: Int64s = field(default_factory=lambda: np.zeros(0, np.int64))
    start_ns: Int64s = field(default_factory=lambda: np.zeros(0, np.int64))
    end_ns: Int64s = field(default_factory=lambda: np.zeros(0, np.int64))
    delivered_ns: Int64s = field(default_factory=lambda: np.zeros(0, np.int64))

    def __post_init__(self) -> None:
        _check_lengths(self)

    def __len__(self) -> int:
        return len(self.message)


@dataclass(frozen=True, slots=True, eq=False)
class EventTable:
    """What no other table tells, in the order in which it happened; `kind` is an EventKind, which explains `value`.

    `processor` (the row of the setup), `task` and `job` are -1 where they do not apply.
    """

    time_ns: Int64s = field(default_factory=lambda: np.zeros(0, np.int64))
    kind: Int8s = field(default_factory=lambda: np.zeros(0, np.int8))
    processor: Int32s = field(default_factory=lambda: np.zeros(0, np.int32))
    task: Int32s = field(default_factory=lambda: np.zeros(0, np.int32))
    job: Int64s = field(default_factory=lambda: np.zeros(0, np.int64))
    value: Int64s = field(default_factory=lambda: np.zeros(0, np.int64))

    def __post_init__(self) -> None:
        _check_lengths(self)

    def __len__(self) -> int:
        return len(self.kind)


@dataclass(frozen=True, slots=True)
class EdgeName:
    """An edge in words: the sensor or task it starts at, the task it ends at, and the input there.

    `slot`: column of `JobTable.inputs` that belongs to it, for jobs of the target.
    """

    source: str
    target: str
    input: str
    slot: int


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """Everything a run did, with the names behind the indices.

    `processor_names` are the names of cores, in the numbering of `SliceTable.processor`. `setup`: the rules of the run,
    None when they are not known.
    """

    task_names: tuple[str, ...]
    processor_names: tuple[str, ...]
    sensor_names: tuple[str, ...]
    edges: tuple[EdgeName, ...]
    jobs: JobTable
    slices: SliceTable
    drops: DropTable
    samples: SampleTable
    horizon_ns: int
    seed: int
    transfers: TransferTable = field(default_factory=TransferTable)
    events: EventTable = field(default_factory=EventTable)
    setup: Setup | None = None


#: Columns of the job table that make up the schedule, in the order in which they are hashed.
_SCHEDULE_COLUMNS = (
    "task",
    "number",
    "arrival_ns",
    "release_ns",
    "start_ns",
    "finish_ns",
    "deadline_ns",
    "demand_ns",
    "executed_ns",
    "capture_ns",
    "status",
    "missed",
    "overrun",
)


def schedule_sha256(trace: Trace) -> str:
    """Hash over names, horizon and all job records: equal on every machine for equal schedules.

    Every number enters as a little-endian int64, column by column; names as length and UTF-8 bytes.
    """
    digest = hashlib.sha256(b"rt-sched schedule 1\0")
    digest.update(struct.pack("<qqq", trace.horizon_ns, len(trace.jobs), trace.jobs.inputs.shape[1]))
    for names in (trace.task_names, trace.processor_names, trace.sensor_names):
        digest.update(struct.pack("<q", len(names)))
        for name in names:
            encoded = name.encode("utf-8")
            digest.update(struct.pack("<q", len(encoded)) + encoded)
    for column in (*(getattr(trace.jobs, name) for name in _SCHEDULE_COLUMNS), trace.jobs.inputs):
        digest.update(np.ascontiguousarray(column).astype("<i8").tobytes())
    return digest.hexdigest()
