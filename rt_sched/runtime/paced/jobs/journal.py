"""What a worker did, job by job, in memory that outlives it: of a job that is killed stays what was known."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from rt_sched.runtime.paced.shared import shared_array
from rt_sched.trace.records import JobStatus

#: Stands in a time that never came, and for no message.
NONE = -1
_NO_INPUTS: Mapping[int, int] = {}


def _row(slots: int) -> np.dtype[np.void]:
    times = (
        "arrival_ns",
        "release_ns",
        "start_ns",
        "finish_ns",
        "deadline_ns",
        "executed_ns",
        "capture_ns",
        "waited_ns",
    )
    numbers = [(name, np.int64) for name in (*times, "status", "overrun", "pid", "extra", "degraded", "waits")]
    return np.dtype([*numbers, ("inputs", np.int64, (max(slots, 1),))])


class Journal:
    """The jobs of one task by their numbers; written by one process at a time, read by any.

    `slots`: inputs of the task. A row is begun with the arrival, filled while the job goes on, and counts from the
    moment at which `count` says so. `inputs`: per slot the number of the job, or the row of the sample, that was read.
    `extra`: whether the job came beside those that its activation asks for. `degraded`: whether it was to do
    less, after an overrun. `executed_ns`, `waited_ns`: of the host's time, the second what it waited of its own accord,
    in so many `waits`; measured where waits are declared.
    """

    def __init__(self, slots: int, capacity: int) -> None:
        self.rows: npt.NDArray[np.void] = shared_array(_row(slots), capacity)
        self._count = shared_array(np.int64, 1)

    @property
    def count(self) -> int:
        """Jobs that have arrived."""
        return int(self._count[0])

    @property
    def full(self) -> bool:
        """Whether there is no room for another job."""
        return self.count >= len(self.rows)

    def begin(self, arrival_ns: int, release_ns: int, deadline_ns: int, pid: int, *, is_extra: bool = False) -> int:
        """The number of a new job."""
        number = self.count
        row = self.rows[number]
        row["arrival_ns"], row["release_ns"], row["deadline_ns"], row["pid"] = arrival_ns, release_ns, deadline_ns, pid
        row["start_ns"] = row["finish_ns"] = row["capture_ns"] = NONE
        row["inputs"] = NONE
        row["extra"], row["degraded"] = is_extra, False
        row["status"] = JobStatus.UNFINISHED
        self._count[0] = number + 1
        return number

    def suppress(self, arrival_ns: int, deadline_ns: int, pid: int) -> None:
        """A job that arrived and will not be served."""
        self.note(JobStatus.SUPPRESSED, arrival_ns, deadline_ns, pid)

    def note(
        self, status: JobStatus, arrival_ns: int, deadline_ns: int, pid: int, inputs: Mapping[int, int] = _NO_INPUTS
    ) -> None:
        """A job that arrived and ended so at once; `inputs`: what was bound to it, by slot."""
        row = self.rows[self.begin(arrival_ns, arrival_ns, deadline_ns, pid)]
        for slot, number in inputs.items():
            row["inputs"][slot] = number
        row["status"] = status

    def close_open(self, pid: int, status: JobStatus) -> None:
        """The job that a process had begun when it was lost ends with `status`; it may have none.

        One that has its finish has begun to publish, and others may read what it published: it is completed.
        """
        last = self.count - 1
        if last >= 0 and self.rows[last]["pid"] == pid and self.rows[last]["status"] == JobStatus.UNFINISHED:
            self.rows[last]["status"] = status if self.rows[last]["finish_ns"] == NONE else JobStatus.COMPLETED

    def read(self) -> npt.NDArray[np.void]:
        """A copy of all rows."""
        return self.rows[: self.count].copy()
