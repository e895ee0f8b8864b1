"""What critical sections of a paced run took, in memory that outlives whoever held them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rt_sched.runtime.paced.shared import shared_array

#: Stands for no task.
NOBODY = -1
#: Sections that were longer than declared, long waits and dead owners that are told one by one; all are counted.
_MOST = 64

_TAKEN = np.dtype(
    [(name, np.int64) for name in ("entered", "held_max_ns", "executed_max_ns", "wait_max_ns", "longer", "long_waits")]
)
_LONGER = np.dtype([(name, np.int64) for name in ("job", "time_ns", "executed_ns")])
_WAIT = np.dtype([(name, np.int64) for name in ("job", "time_ns")])
_DEATH = np.dtype([(name, np.int64) for name in ("owner", "pid", "found_by", "time_ns")])


@dataclass(frozen=True, slots=True)
class Longer:
    """A section in which job `job` executed `executed_ns`, more than declared, from `time_ns` of the run on."""

    job: int
    time_ns: int
    executed_ns: int


@dataclass(frozen=True, slots=True)
class LongWait:
    """At `time_ns` a job of `task` had waited for longer than it can and still meet its deadline."""

    task: int
    resource: int
    job: int
    time_ns: int


@dataclass(frozen=True, slots=True)
class Abandoned:
    """`task`, in the process `pid`, died in its section. `found_by`: the task that got the resource next, at `time_ns`;
    None: nobody asked any more. `task` is None where a fault held it.
    """

    resource: int
    task: int | None
    pid: int
    found_by: int | None
    time_ns: int | None


@dataclass(frozen=True, slots=True)
class Taken:
    """What the sections of one task on one resource took, in run time.

    `held_max_ns`: from lock to unlock, with all preemption; `executed_max_ns`: of that the CPU time; `wait_max_ns`:
    from request to lock. `longer`: sections that executed longer than declared, `first_longer` the first of them;
    `long_waits`: how many waits were told as such.
    """

    task: int
    resource: int
    entered: int
    held_max_ns: int
    executed_max_ns: int
    wait_max_ns: int
    longer: int
    first_longer: tuple[Longer, ...]
    long_waits: int


@dataclass(frozen=True, slots=True)
class SectionsRecord:
    """Of a whole run. `mechanisms`: by resource, how it was locked."""

    taken: tuple[Taken, ...] = ()
    long_waits: tuple[LongWait, ...] = ()
    abandoned: tuple[Abandoned, ...] = ()
    mechanisms: tuple[str, ...] = ()


class Records:
    """One place for each task and resource, which the worker of the task alone writes; deaths by resource, which only
    whoever holds it writes."""

    def __init__(self, tasks: int, resources: int) -> None:
        shape = tasks, resources
        self._taken = shared_array(_TAKEN, tasks * resources).reshape(shape)
        self._longer = shared_array(_LONGER, tasks * resources * _MOST).reshape(*shape, _MOST)
        self._waits = shared_array(_WAIT, tasks * resources * _MOST).reshape(*shape, _MOST)
        self._deaths = shared_array(_DEATH, resources * _MOST).reshape(resources, _MOST)
        self._dead = shared_array(np.int64, resources)

    def waited(self, task: int, resource: int, wait_ns: int) -> None:
        """A job has got the resource, so long after it asked."""
        row = self._taken[task, resource]
        row["wait_max_ns"] = max(int(row["wait_max_ns"]), wait_ns)

    def waits_long(self, task: int, resource: int, job: int, time_ns: int) -> None:
        """A job waits for longer than it can and still meet its deadline."""
        row = self._taken[task, resource]
        if row["long_waits"] < _MOST:
            self._waits[task, resource, int(row["long_waits"])] = job, time_ns
        row["long_waits"] += 1

    def left(
        self, task: int, resource: int, job: int, since_ns: int, held_ns: int, executed_ns: int, declared_ns: int
    ) -> None:
        """A job has left a section."""
        row = self._taken[task, resource]
        row["entered"] += 1
        row["held_max_ns"] = max(int(row["held_max_ns"]), held_ns)
        row["executed_max_ns"] = max(int(row["executed_max_ns"]), executed_ns)
        if executed_ns > declared_ns:
            if row["longer"] < _MOST:
                self._longer[task, resource, int(row["longer"])] = job, since_ns, executed_ns
            row["longer"] += 1

    def died(self, resource: int, owner: int, pid: int, found_by: int, time_ns: int) -> None:
        """Whoever holds the resource now has it from a dead owner."""
        count = int(self._dead[resource])
        if count < _MOST:
            self._deaths[resource, count] = owner, pid, found_by, time_ns
        self._dead[resource] = count + 1

    def taken(self) -> tuple[Taken, ...]:
        """Of every task and resource of which a section was asked for."""
        return tuple(
            Taken(
                task,
                resource,
                int(row["entered"]),
                int(row["held_max_ns"]),
                int(row["executed_max_ns"]),
                int(row["wait_max_ns"]),
                int(row["longer"]),
                tuple(Longer(*one) for one in _first(self._longer[task, resource], int(row["longer"]))),
                int(row["long_waits"]),
            )
            for task, rows in enumerate(self._taken)
            for resource, row in enumerate(rows)
            if row["entered"] or row["wait_max_ns"] or row["long_waits"]
        )

    def long_waits(self) -> tuple[LongWait, ...]:
        """In order of time."""
        found = [
            LongWait(task, resource, *one)
            for task, rows in enumerate(self._taken)
            for resource, row in enumerate(rows)
            for one in _first(self._waits[task, resource], int(row["long_waits"]))
        ]
        return tuple(sorted(found, key=lambda one: (one.time_ns, one.task)))

    def deaths(self) -> tuple[Abandoned, ...]:
        """Resource by resource."""
        return tuple(
            Abandoned(resource, None if owner == NOBODY else owner, pid, found_by, time_ns)
            for resource, rows in enumerate(self._deaths)
            for owner, pid, found_by, time_ns in _first(rows, int(self._dead[resource]))
        )


def _first(rows: np.ndarray, count: int) -> Sequence[tuple[int, ...]]:
    found: list[tuple[int, ...]] = rows[: min(count, _MOST)].tolist()
    return found
