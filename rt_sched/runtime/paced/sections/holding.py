"""How the jobs of one worker hold resources: where their stage says so, or all the time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import replace

from rt_sched.errors import DeploymentError
from rt_sched.ports.sections import check_declared
from rt_sched.runtime.host.scheduling import set_scheduling
from rt_sched.runtime.paced.clock import PacedClock
from rt_sched.runtime.paced.seats.tier import Seat
from rt_sched.runtime.paced.sections.locks import Locks
from rt_sched.runtime.paced.sections.order import nested
from rt_sched.trace.setup import TaskRow
from rt_sched.units import NS_PER_MS

#: What a job may wait at least before that is told as long.
_LEAST_PATIENCE_NS = NS_PER_MS


class Holding:
    """Of the worker that serves task `task`, declared by `row`, in the class of `seat`."""

    def __init__(self, locks: Locks, task: int, row: TaskRow, seat: Seat, clock: PacedClock) -> None:
        self._locks, self._task, self._row, self._seat, self._clock = locks, task, row, seat, clock
        self._nested = nested(row)
        self._declared_ns: dict[int, int] = {}
        for one in row.sections:
            self._declared_ns[one.resource] = max(self._declared_ns.get(one.resource, 0), one.end_ns - one.start_ns)
        demand_ns = row.demand_ns if isinstance(row.demand_ns, int) else row.demand_ns[-1]
        self._patience_ns = clock.host_span_ns(max(row.deadline_ns - demand_ns, _LEAST_PATIENCE_NS))
        self._held: dict[int, bool] = {}
        self._is_whole = False
        self._job = 0
        self._enforce: Callable[[int], None] | None = None

    def begin(self, job: int, enforce: Callable[[int], None] | None) -> None:
        """The job of this number begins. `enforce`: lets it exceed its budget by so much CPU time of the host."""
        self._job, self._enforce = job, enforce

    @contextmanager
    def whole_job(self) -> Iterator[None]:
        """All resources of the task are held meanwhile, in the order that all such jobs keep."""
        with ExitStack() as stack:
            for resource in self._locks.order:
                if resource in self._declared_ns:
                    stack.enter_context(self._entered(resource))
            self._is_whole = True
            try:
                yield
            finally:
                self._is_whole = False

    def hold(self, resource: str) -> AbstractContextManager[bool]:
        """See `rt_sched.ports.sections.Sections`."""
        names = self._locks.names
        check_declared(self._row.name, resource, [names[one] for one in self._declared_ns])
        index = names.index(resource)
        if self._is_whole:
            return nullcontext(self._held[index])
        for outer in self._held:
            if (outer, index) not in self._nested:
                raise DeploymentError(
                    f"the stage of task {self._row.name} enters a section of {resource!r} inside one of "
                    f"{names[outer]!r}, where the task declares none; nest the sections in the system file likewise"
                )
        return self._entered(index)

    @contextmanager
    def _entered(self, resource: int) -> Iterator[bool]:
        locks, records, clock = self._locks, self._locks.records, self._clock
        if not self._held:
            self._let_exceed(max(self._declared_ns.values()))
        asked_ns = clock.now_ns()
        self._raise(resource)
        is_abandoned = locks.acquire(resource, self._task, clock.now_ns, self._patience_ns, self._tell_wait(resource))
        self._held[resource] = is_abandoned
        since_ns, used_ns = clock.now_ns(), time.thread_time_ns()
        records.waited(self._task, resource, since_ns - asked_ns)
        try:
            yield is_abandoned
        finally:
            executed_ns = clock.run_span_ns(time.thread_time_ns() - used_ns)
            held_ns = clock.now_ns() - since_ns
            del self._held[resource]
            locks.release(resource)
            self._raise(None)
            declared_ns = self._declared_ns[resource]
            records.left(self._task, resource, self._job, since_ns, held_ns, executed_ns, declared_ns)
            if not self._held:
                self._let_exceed(0)

    def _raise(self, asked: int | None) -> None:
        """To the highest ceiling of what is held or asked for; to its own priority without any."""
        ceilings = self._locks.ceilings
        if not any(ceilings[one] for one in self._declared_ns):
            return
        own = self._seat.scheduling
        wanted = [ceilings[one] or 0 for one in (*self._held, *(() if asked is None else (asked,)))]
        set_scheduling(replace(own, priority=max(own.priority, *wanted, 0)))

    def _let_exceed(self, run_ns: int) -> None:
        """A budget that is used up inside a section is enforced when this is left, or should have been."""
        if self._enforce is not None:
            self._enforce(self._clock.host_span_ns(run_ns) if run_ns else 0)

    def _tell_wait(self, resource: int) -> Callable[[], None]:
        return lambda: self._locks.records.waits_long(self._task, resource, self._job, self._clock.now_ns())
