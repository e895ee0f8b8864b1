"""Jobs that a worker does before the run, by the same code as later, on an example; nobody reads the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rt_sched.model import Task
from rt_sched.ports import Stage
from rt_sched.runtime.paced.clock import PacedClock
from rt_sched.runtime.paced.devices.ownership import alone
from rt_sched.runtime.paced.jobs.codec import Encoded, decoded
from rt_sched.runtime.paced.jobs.dated import Sight
from rt_sched.runtime.paced.jobs.inbox import Arrival, Head, Inbox
from rt_sched.runtime.paced.jobs.journal import Journal
from rt_sched.runtime.paced.jobs.rehearsal import Example
from rt_sched.runtime.paced.jobs.spool import Spool
from rt_sched.runtime.paced.jobs.worker import Post, Worker
from rt_sched.runtime.paced.seats.turns import Turns
from rt_sched.runtime.stage_graph import NoData, Outputs
from rt_sched.trace.setup import EdgeRow, Policy, Role, TaskRow


def practise(task: Task, row: TaskRow, edges: tuple[EdgeRow, ...], stage: Stage, example: Example, times: int) -> None:
    """Does the job of `example` so many times, from the encoded inputs to the journal."""
    practise_all(task, row, edges, stage, [example] * times)


def practise_all(
    task: Task,
    row: TaskRow,
    edges: tuple[EdgeRow, ...],
    stage: Stage,
    examples: Sequence[Example],
    before_each: Callable[[], None] | None = None,
) -> list[int]:
    """Does the jobs of `examples`, one after the other, each after a call of `before_each`; the CPU time of each in ns,
    without that of the call."""
    desks = [_Desk() for _ in edges]
    clock, spool, journal = PacedClock(), Spool(), Journal(len(edges), len(examples))
    post = Post(
        task=task,
        row=row,
        edges=edges,
        clock=clock,
        arrivals=_NoArrivals(),
        inbox=Inbox(edges, desks, row.tolerance_ns),
        sight=Sight(clock),
        journal=journal,
        turns=Turns(Policy.FIXED_PRIORITY, 0, 0),
        publish=_written,
        keep=spool.keep,
        tenure=alone(),
    )
    worker = Worker(post, stage, ())
    for example in examples:
        for slot, desk in enumerate(desks):
            desk.lay(example.read.get(slot), task.inputs[slot].port, example.job.arrival_ns)
        bound = {
            slot: letter
            for slot, edge in enumerate(edges)
            if edge.role is not Role.READ and (letter := desks[slot].take()) is not None
        }
        if before_each is not None:
            before_each()
        worker.do(Arrival(example.job.arrival_ns, bound))
    spool.close()
    return [int(executed_ns) for executed_ns in journal.read()["executed_ns"]]


class _NoArrivals:
    def wait(self) -> Arrival | None:
        return None

    def take_over(self, switch_ns: int, *, redo: bool) -> None:
        """There is nothing to go on with."""


class _Letter:
    def __init__(self, data: bytearray, capture_ns: int) -> None:
        self._data = memoryview(data)
        self.head = Head(0, capture_ns, 0)

    def value(self) -> Any:
        return decoded(self._data, copy=True)

    def release(self) -> None:
        """Nobody waits for its place."""


class _Desk:
    """An inlet on which one message lies, again and again, until another is laid there."""

    def __init__(self) -> None:
        self._data: bytearray | None = None
        self._capture_ns = 0

    def lay(self, result: Outputs | NoData | None, port: str | None, capture_ns: int) -> None:
        """Puts a message there, or takes it away."""
        self._data, self._capture_ns = None, capture_ns
        if result is not None:
            value = result if isinstance(result, NoData) else Outputs({port: result.ports[port]}, result.digest)
            encoded = Encoded(value)
            self._data = bytearray(encoded.size)
            encoded.write(memoryview(self._data))

    def newest(self) -> _Letter | None:
        return None if self._data is None else _Letter(self._data, self._capture_ns)

    def oldest(self) -> Head | None:
        return None

    def take(self) -> _Letter | None:
        return self.newest()

    def due_ns(self) -> int | None:
        return None


def _written(
    parcels: Mapping[str, Encoded], _number: int, _capture_ns: int, finished_ns: Callable[[], int | None]
) -> None:
    for parcel in parcels.values():
        parcel.to_bytes()
    finished_ns()
