"""What supervisors notice of the tasks in their charge, besides ends: stops, and jobs that stay away."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from rt_sched.runtime.paced.shared import shared_array

_ROW = np.dtype([("time_ns", np.int64), ("kind", np.int64), ("pid", np.int64)])
#: Alerts of one task that are told one by one; further ones are dropped.
_MOST = 256


class AlertKind(IntEnum):
    """STOPPED: its worker stands still, and not for its budget. SILENT: no job of it has ended within its limit."""

    STOPPED = 1
    SILENT = 2


@dataclass(frozen=True, slots=True)
class Alert:
    """`time_ns`: run time at which the supervisor noticed it. `pid`: of the worker, 0 where it is not about one."""

    task: int
    kind: AlertKind
    time_ns: int
    pid: int


class Alerts:
    """In shared memory; of each task only its supervisor writes."""

    def __init__(self, tasks: int) -> None:
        self._rows = shared_array(_ROW, tasks * _MOST).reshape(tasks, _MOST)
        self._count = shared_array(np.int64, tasks)

    def add(self, task: int, kind: AlertKind, time_ns: int, pid: int = 0) -> None:
        """Notes one."""
        count = int(self._count[task])
        if count < _MOST:
            self._rows[task, count] = (time_ns, kind, pid)
            self._count[task] = count + 1

    def read(self) -> tuple[Alert, ...]:
        """All of them, in order of time."""
        found = [
            Alert(task, AlertKind(int(row["kind"])), int(row["time_ns"]), int(row["pid"]))
            for task, rows in enumerate(self._rows)
            for row in rows[: int(self._count[task])]
        ]
        return tuple(sorted(found, key=lambda one: (one.time_ns, one.task)))
