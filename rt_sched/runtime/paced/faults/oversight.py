"""Whether the workers of a device go on: alive supervision, and stops that are not those of budgets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rt_sched.runtime.paced.clock import PacedClock
from rt_sched.runtime.paced.faults.alerts import AlertKind, Alerts
from rt_sched.runtime.paced.jobs.journal import NONE, Journal
from rt_sched.trace.records import JobStatus

#: How soon after the end of a limit it is looked again whether a task that is silent goes on.
_LOOK_AGAIN_NS = 20_000_000
#: So many jobs that did not complete are looked past.
_JOBS_BACK = 64


@dataclass(frozen=True, slots=True)
class Watched:
    """A task. `alive_ns`: longest time between two ends of its jobs in health, None where it has no rate.

    `patience_ns`: how long a worker of it may stand still.
    """

    journal: Journal
    alive_ns: int | None
    patience_ns: int


class Oversight:
    """Of the tasks of one supervisor, by their index, in run time; the supervisor calls it.

    `until_ns`: nothing is missed from then on, as the recording is over.
    """

    def __init__(self, watched: Mapping[int, Watched], alerts: Alerts, clock: PacedClock, until_ns: int) -> None:
        self._watched, self._alerts, self._clock, self._until_ns = watched, alerts, clock, until_ns
        self._due_ns = {task: one.alive_ns for task, one in watched.items() if one.alive_ns is not None}
        self._silent: set[int] = set()
        self._stopped: dict[int, tuple[int, int]] = {}

    @property
    def wait_ns(self) -> int | None:
        """Host time until there is something to look after; None for nothing."""
        if not self._clock.begun or self._clock.paused:
            return None
        stops = [since_ns + self._watched[task].patience_ns for task, since_ns in self._stopped.values()]
        next_ns = min([*stops, *self._due_ns.values()], default=None)
        return None if next_ns is None else int(max(0, next_ns - self._clock.now_ns()) / self._clock.rate)

    def stopped(self, task: int, pid: int) -> None:
        """A worker stands still, for no reason of its own."""
        now_ns = self._clock.now_ns() if self._clock.begun else 0
        self._stopped[pid] = task, now_ns
        self._alerts.add(task, AlertKind.STOPPED, now_ns, pid)

    def goes_on(self, pid: int) -> None:
        """A worker does not stand still any more, or has ended."""
        self._stopped.pop(pid, None)

    def overdue(self) -> list[int]:
        """Workers that have stood still for longer than they may."""
        now_ns = self._clock.now_ns()
        return [
            pid
            for pid, (task, since_ns) in self._stopped.items()
            if now_ns - since_ns > self._watched[task].patience_ns
        ]

    def look(self) -> None:
        """Alerts for every task none of whose jobs has ended for too long; one each time it falls silent."""
        if not self._clock.begun:
            return
        now_ns = self._clock.now_ns()
        for task, due_ns in self._due_ns.items():
            alive_ns = self._watched[task].alive_ns or 0
            if now_ns <= due_ns or now_ns > self._until_ns:
                continue
            last_ns = max(last_end_ns(self._watched[task].journal), 0)
            if last_ns + alive_ns >= now_ns:
                self._silent.discard(task)
                self._due_ns[task] = last_ns + alive_ns
                continue
            if task not in self._silent:
                self._silent.add(task)
                self._alerts.add(task, AlertKind.SILENT, now_ns)
            self._due_ns[task] = now_ns + _LOOK_AGAIN_NS


def last_end_ns(journal: Journal) -> int:
    """When the last job completed, as far as that is written; NONE where none has."""
    count = journal.count
    for row in journal.rows[max(count - _JOBS_BACK, 0) : count][::-1]:
        if row["status"] == JobStatus.COMPLETED or row["finish_ns"] != NONE:
            return int(row["finish_ns"])
    return NONE
