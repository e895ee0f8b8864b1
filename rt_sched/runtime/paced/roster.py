"""Who serves which task: kept in shared memory, so that the launcher sees what supervisors and workers do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from rt_sched.runtime.paced.shared import shared_array
from rt_sched.transport.bell import Bell

#: Stands for the time of a loss that was noticed before the run had begun.
BEFORE_NS = -1
#: Stands for the time at which a task is served again, while it is not.
NEVER_NS = np.iinfo(np.int64).max
_TEXT_BYTES = 4096


class State(IntEnum):
    """Of a place: nobody yet, starting, ready, in its class and waiting for the begin, serving, ended well or badly."""

    EMPTY = 0
    STARTING = 1
    READY = 2
    SEATED = 3
    SERVING = 4
    ENDED = 5
    FAILED = 6


_PLACE = np.dtype(
    [
        ("state", np.int32),
        ("turn", np.int32),
        ("pid", np.int64),
        ("spare_state", np.int32),
        ("spare_turn", np.int32),
        ("spare_pid", np.int64),
        ("stopped", np.int64),
        ("is_defect", np.int64),
        ("called", np.int64),
        ("notes", f"S{_TEXT_BYTES}"),
    ]
)
_LOSS = np.dtype([(name, np.int64) for name in ("pid", "noticed_ns", "by_budget", "back_ns", "with_device")])
_STANDBY = np.dtype([("state", np.int64), ("pid", np.int64)])
#: Losses of one task that are told one by one; all are counted.
_MOST_LOSSES = 1024


@dataclass(frozen=True, slots=True)
class WorkerLoss:
    """A worker that ended before the run did.

    `noticed_ns`: run time, `BEFORE_NS` before it began. `by_budget`: its supervisor ended it. `back_ns`: when another
    one stood ready for the task's jobs, None where the run ended, or that one did, before. `with_device`: its device
    was lost with all its processes.
    """

    task: int
    pid: int
    noticed_ns: int
    by_budget: bool
    back_ns: int | None
    with_device: bool


class Roster:
    """One place per task, and one per standby.

    `returning`: by task, the process that waits where the task is nominally until that is its place again.
    """

    def __init__(self, tasks: int, standbys: int = 0) -> None:
        self.places = shared_array(_PLACE, tasks)
        self.standbys = shared_array(_STANDBY, standbys)
        self.returning = shared_array(_STANDBY, tasks)
        self._losses = shared_array(_LOSS, tasks * _MOST_LOSSES).reshape(tasks, _MOST_LOSSES)
        self._lost = shared_array(np.int64, tasks)

    def waiting(self, task: int, owner: int) -> np.void:
        """The place of the process that waits to serve the task as `owner`, a standby where that is not negative."""
        found: np.void = self.returning[task] if owner < 0 else self.standbys[owner]
        return found

    def spare_call(self, task: int) -> Bell:
        """On which the spare of a task waits until it is needed."""
        return Bell(self.places["spare_turn"][task : task + 1].ctypes.data)

    def calls_answered(self, task: int) -> int:
        """How many spares of the task have been called; the next one waits for one more."""
        return int(self.places["called"][task])

    def call_spare(self, task: int) -> None:
        """The spare of the task serves it from now on."""
        self.places["called"][task] += 1
        self.spare_call(task).ring()

    def fail(self, task: int, text: str, *, is_defect: bool) -> None:
        """The worker cannot go on, for this reason; a defect is not the fault of the input or the machine."""
        self.places["notes"][task] = text.encode("utf-8", "replace")[: _TEXT_BYTES - 1]
        self.places["is_defect"][task] = is_defect
        self.places["state"][task] = State.FAILED

    def stopped(self, task: int) -> None:
        """Its worker has used up the budget of a job, and will be ended for it."""
        self.places["stopped"][task] = 1

    def reason(self, task: int) -> str:
        """Why it failed."""
        return bytes(self.places["notes"][task]).decode("utf-8", "replace")

    def lose(self, task: int, pid: int, noticed_ns: int, *, with_device: bool = False) -> bool:
        """Notes the loss of a worker; only the supervisor of the task does, or whoever noticed that this one is lost.

        Whether it was for its budget.
        """
        by_budget = bool(self.places["stopped"][task])
        self.places["stopped"][task] = 0
        count = int(self._lost[task])
        if count < _MOST_LOSSES:
            self._losses[task, count] = (pid, noticed_ns, by_budget, NEVER_NS, with_device)
        self._lost[task] = count + 1
        return by_budget

    def back(self, task: int, now_ns: int) -> None:
        """The task is served again after its latest loss, if there was one; only its worker says so."""
        latest = int(self._lost[task]) - 1
        if 0 <= latest < _MOST_LOSSES and self._losses[task, latest]["back_ns"] == NEVER_NS:
            self._losses[task, latest]["back_ns"] = now_ns

    def losses(self) -> list[WorkerLoss]:
        """All that were noted, task by task."""
        return [
            WorkerLoss(
                task,
                int(row["pid"]),
                int(row["noticed_ns"]),
                bool(row["by_budget"]),
                None if row["back_ns"] == NEVER_NS else int(row["back_ns"]),
                bool(row["with_device"]),
            )
            for task in range(len(self.places))
            for row in self._losses[task, : min(int(self._lost[task]), _MOST_LOSSES)]
        ]
