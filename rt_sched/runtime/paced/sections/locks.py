"""The resources of a paced run as mutexes between its processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from enum import Enum

import numpy as np

from rt_sched.runtime.host.mutex import MUTEX_BYTES, Acquired, Protocol, SharedMutex
from rt_sched.runtime.host.scheduling import SchedulingClass
from rt_sched.runtime.paced.seats.tier import Seat
from rt_sched.runtime.paced.sections.order import locking_order
from rt_sched.runtime.paced.sections.records import NOBODY, Abandoned, Records, SectionsRecord
from rt_sched.runtime.paced.shared import shared_array
from rt_sched.trace.setup import Protocol as Declared
from rt_sched.trace.setup import Setup, TaskRow

_OWNER = np.dtype([("task", np.int64), ("pid", np.int64)])


class Mechanism(Enum):
    """How a resource is locked here: a mutex with inheritance, one whose owner raises itself, or a plain one."""

    INHERITANCE = "inheritance"
    CEILING = "ceiling"
    PLAIN = "plain"


class Locks:
    """One robust mutex for each resource of `setup`; made before forks.

    `rows`, `seats`: of the tasks, then of those that stand by. A ceiling is the priority of the most urgent user.
    """

    def __init__(self, setup: Setup, rows: Sequence[TaskRow], seats: Sequence[Seat]) -> None:
        self.names = tuple(resource.name for resource in setup.resources)
        self.order = locking_order(rows)
        users = [
            [seat for row, seat in zip(rows, seats, strict=True) if any(one.resource == index for one in row.sections)]
            for index in range(len(self.names))
        ]
        self.mechanisms = tuple(
            _mechanism(resource.protocol, mine) for resource, mine in zip(setup.resources, users, strict=True)
        )
        self.ceilings = tuple(
            max(seat.scheduling.priority for seat in mine) if mechanism is Mechanism.CEILING else None
            for mechanism, mine in zip(self.mechanisms, users, strict=True)
        )
        self.records = Records(len(setup.tasks), len(self.names))
        self._owners = shared_array(_OWNER, len(self.names))
        self._owners["task"] = NOBODY
        self._mutexes = [
            SharedMutex.create(
                shared_array(np.uint8, MUTEX_BYTES),
                protocol=Protocol.NONE if mechanism is Mechanism.PLAIN else Protocol.INHERIT,
            )
            for mechanism in self.mechanisms
        ]
        for mutex in self._mutexes:  # a host without timeouts says so now, and not to the first job that waits
            mutex.acquire(0)
            mutex.release()

    def acquire(
        self,
        resource: int,
        task: int,
        now_ns: Callable[[], int],
        patience_ns: int | None = None,
        waits_long: Callable[[], None] | None = None,
    ) -> bool:
        """The calling thread gets the resource, for a job of `task` or NOBODY; whether its last owner died in it.

        `waits_long` is called once, where it has waited for `patience_ns` of the host.
        """
        mutex = self._mutexes[resource]
        how = mutex.try_acquire() or mutex.acquire(patience_ns)
        if how is None:
            if waits_long is not None:
                waits_long()
            how = mutex.acquire()
        owner = self._owners[resource]
        is_abandoned = how is Acquired.OWNER_DIED
        if is_abandoned:
            self.records.died(resource, int(owner["task"]), int(owner["pid"]), task, now_ns())
        owner["task"], owner["pid"] = task, os.getpid()
        return is_abandoned

    def release(self, resource: int) -> None:
        """By the thread that holds it."""
        self._owners[resource]["pid"] = 0
        self._mutexes[resource].release()

    def record(self, lost: Collection[int]) -> SectionsRecord:
        """Of the run, once it is over. `lost`: processes that ended before; nobody may have asked after them."""
        left = [
            Abandoned(resource, int(owner["task"]), int(owner["pid"]), None, None)
            for resource, owner in enumerate(self._owners)
            if int(owner["pid"]) in lost and int(owner["task"]) != NOBODY
        ]
        records = self.records
        return SectionsRecord(
            records.taken(),
            records.long_waits(),
            (*records.deaths(), *left),
            tuple(mechanism.value for mechanism in self.mechanisms),
        )


def _mechanism(protocol: Declared, users: Sequence[Seat]) -> Mechanism:
    """Where nothing has a class of the kernel, or one job at a time is on the processor, there is nothing to raise."""
    real_time = [seat for seat in users if seat.scheduling.scheduling_class.is_real_time]
    if protocol is Declared.NONE or not real_time:
        return Mechanism.PLAIN
    if protocol is Declared.PRIORITY_INHERITANCE:
        return Mechanism.INHERITANCE
    raises = all(seat.scheduling.scheduling_class is SchedulingClass.FIFO and not seat.lane for seat in users)
    return Mechanism.CEILING if raises else Mechanism.PLAIN
