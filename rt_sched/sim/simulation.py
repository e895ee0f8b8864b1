"""The scheduling machine with its tables: stepped or in bulk, growing as needed, read out as a Trace."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from rt_sched.kernels import codes
from rt_sched.kernels.machine import advance
from rt_sched.lowering.machine_checks import check_machine_input
from rt_sched.lowering.machine_input import LIMIT_NS, MachineInput
from rt_sched.sim.build import build_machine, sample_order
from rt_sched.sim.traces import trace_of
from rt_sched.trace.records import Trace

Scalar = TypeVar("Scalar", bound=np.generic)

_ALWAYS_NS = np.int64(LIMIT_NS)


class Simulation:
    """One run in virtual time, from 0 to the horizon of `given`.

    Raises ConfigError when numbers of `given` are out of range. `rows`: first size of the growing tables.
    """

    def __init__(self, given: MachineInput, rows: int = 1024) -> None:
        check_machine_input(given)
        self._given = given
        self._order = sample_order(given)
        self._machine = build_machine(given, self._order, max(rows, 1))
        self._clock = self._machine.clock[0]

    @property
    def now_ns(self) -> int:
        """The instant that was processed last."""
        return int(self._clock["now_ns"])

    @property
    def ended(self) -> bool:
        """Whether the horizon is behind."""
        return bool(self._clock["ended"])

    @property
    def sample_order(self) -> npt.NDArray[np.int64]:
        """int64[n]: row i of the trace's sample table is sample `sample_order[i]` of the machine input."""
        return self._order

    @property
    def jobs(self) -> npt.NDArray[np.void]:
        """Records (`kernels.tables.JOB`) of all jobs so far; valid until the simulation goes on."""
        return self._machine.jobs[: int(self._clock["jobs"])]

    @property
    def inputs(self) -> npt.NDArray[np.int64]:
        """int64[n jobs, max slots]: messages read by all jobs so far; valid until the simulation goes on."""
        return self._machine.inputs[: int(self._clock["jobs"])]

    @property
    def horizon_ns(self) -> int:
        """Where the run ends."""
        return self._given.horizon_ns

    def held_messages(self) -> npt.NDArray[np.int64]:
        """Ids of the messages that later jobs may read: in registers and queues, on links, waiting for LET instants."""
        machine = self._machine
        queued = [
            machine.rings[edge["first_place"] + (edge["head"] + position) % edge["depth"]]
            for edge in machine.edges
            for position in range(edge["count"])
        ]
        sent: list[int] = []
        for lane in machine.lanes[machine.lanes["lost"] == 0]:
            transfer = int(lane["next"])
            while transfer != codes.NONE:
                sent.append(int(machine.transfers[transfer]["message"]))
                transfer = int(machine.transfers[transfer]["next"])
        unpublished: list[int] = []
        for job in machine.tasks["let_job"].tolist():
            while job != codes.NONE:
                if machine.jobs[job]["status"] == codes.COMPLETED:
                    unpublished.append(job)
                job = int(machine.jobs[job]["next_job"])
        held = np.unique(np.array([*machine.edges["register"], *queued, *sent, *unpublished], np.int64))
        return np.delete(held, held == codes.NONE)

    def step(self, instants: int = 1) -> npt.NDArray[np.void] | None:
        """Process the next instants at which anything happens, `instants` of them at most.

        Returns their events in order (`kernels.tables.EVENT`, whose `time_ns` tells the instant), valid until the next
        call; None at the end. An instant may have no events. Many instants in one call are cheaper: every call gives
        the interpreter's lock back and has to get it again.
        """
        self._clock["events"] = 0
        if self._advance(_ALWAYS_NS, instants, record=True) == codes.ENDED and self._clock["events"] == 0:
            return None
        return self._machine.events[: self._clock["events"]]

    def run(self, until_ns: int | None = None) -> None:
        """Process every instant up to and including `until_ns`, or to the end."""
        self._clock["events"] = 0
        self._advance(_ALWAYS_NS if until_ns is None else np.int64(max(min(until_ns, LIMIT_NS), -1)), 0, record=False)

    def _advance(self, until_ns: np.int64, most: int, *, record: bool) -> int:
        """Call the kernel, with larger tables whenever it asks for them; returns its status.

        Stops early, with codes.FULL, where events are at hand and there is no room for those of one more instant.
        """
        self._clock["record_events"] = record
        status = advance(*self._machine, until_ns, most)
        while status == codes.FULL and self._clock["events"] == 0:
            self._grow()
            status = advance(*self._machine, until_ns, most)
        return int(status)

    def _grow(self) -> None:
        machine, clock = self._machine, self._clock
        self._machine = machine._replace(
            jobs=with_room(machine.jobs, clock["jobs"], clock["jobs_needed"]),
            inputs=with_room(machine.inputs, clock["jobs"], clock["jobs_needed"]),
            slices=with_room(machine.slices, clock["slices"], clock["slices_needed"]),
            drops=with_room(machine.drops, clock["drops"], clock["drops_needed"]),
            transfers=with_room(machine.transfers, clock["transfers"], clock["transfers_needed"]),
            log=with_room(machine.log, clock["log"], clock["log_needed"]),
            events=with_room(machine.events, 0, clock["events_needed"]),
        )

    def trace(self) -> Trace:
        """What happened so far, copied. Execution slices of jobs that still run are not in it before the end."""
        return trace_of(self._given, self._machine)


def with_room(table: npt.NDArray[Scalar], used: int, needed: int) -> npt.NDArray[Scalar]:
    """A copy of `table` with its `used` rows and room for `needed` more; `table` itself when it has that room."""
    if used + needed <= len(table):
        return table
    larger = np.zeros((max(2 * len(table), int(used + needed)), *table.shape[1:]), table.dtype)
    larger[:used] = table[:used]
    return larger
