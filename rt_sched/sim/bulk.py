"""Bulk simulation: runs of any length in tables of a fixed size, and statistics in place of a trace.

The machine runs until a table is full. Then what is finished is counted and makes room (`kernels.bulk`). Tables grow
only when what is not finished fills half of them, so memory does not grow with the length of a run; what it depends on
is the backlog of an overloaded system, and the reads that no chain has shown yet.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from rt_sched.kernels import codes
from rt_sched.kernels.bulk.drain import compact, fold
from rt_sched.kernels.bulk.tables import Bulk
from rt_sched.kernels.machine import advance
from rt_sched.kernels.tables import SAMPLE, Machine
from rt_sched.lowering.machine_checks import check_machine_input
from rt_sched.lowering.machine_input import LIMIT_NS, MachineInput, Samples
from rt_sched.sim.build import build_machine
from rt_sched.sim.bulk_tables import Questions, build_bulk
from rt_sched.sim.sample_feeds import SampleFeed
from rt_sched.sim.simulation import with_room

#: First rows of the growing tables: few enough to stay in a core's own cache.
ROWS = 8192
#: Rows of the table of samples.
SAMPLES = 2048

#: Tables of a machine that fill while it runs, named as their counters in the clock.
_GROWING = ("jobs", "slices", "drops", "transfers", "log")
#: State of a run in the tables of statistics; everything else there is given or adds up over runs.
_STATE = ("head", "tasks", "bits", "chains", "sources")


@dataclass(frozen=True, slots=True)
class Window:
    """What has happened since the last window, before it makes room. `ended`: whether it is the last one of a run.

    Rows of `bulk.rows` with `folded` 2 are those of jobs that are finished since then. Valid during the call only.
    """

    machine: Machine
    bulk: Bulk
    ended: bool


class BulkSimulation:
    """Runs of `given`, one after the other, counted together in `bulk`.

    `given`: its seed and samples do not count, every run brings its own. Raises ConfigError when numbers of `given` are
    out of range, ValueError for a chain that is none of its edges.
    """

    def __init__(self, given: MachineInput, questions: Questions, rows: int = ROWS, samples: int = SAMPLES) -> None:
        check_machine_input(given)
        bare = replace(given, samples=Samples())
        machine = build_machine(bare, np.zeros(0, np.int64), max(rows, 1))
        self._first = machine._replace(samples=np.zeros(max(samples, 1), SAMPLE))
        self._machine = self._first
        self.bulk = build_bulk(given, self._first, questions)
        self._first_state = {name: getattr(self.bulk, name).copy() for name in _STATE}

    def change(self, given: MachineInput) -> None:
        """The runs from now on are of `given`, which differs in numbers of its tasks only, such as offsets."""
        check_machine_input(given)
        bare = replace(given, samples=Samples())
        fresh = build_machine(bare, np.zeros(0, np.int64), 1)
        self._first = fresh._replace(samples=self._first.samples)

    def run(
        self,
        number: int,
        seed: int,
        feed: SampleFeed,
        *,
        see: Callable[[Window], None] | None = None,
        reached: Callable[[int], None] | None = None,
    ) -> None:
        """One run from 0 to the horizon. `number`: what the statistics call it.

        `see` is shown every window, `reached` is told the instant at which it ended; both may raise to stop the run.
        """
        self._begin(number, seed)
        samples, count = self._machine.samples, 0
        while True:
            samples, count, next_ns = self._fill(feed, samples, count)
            machine = self._machine._replace(samples=samples[:count])
            status = advance(*machine, np.int64(min(next_ns - 1, LIMIT_NS)), 0)
            ended = bool(status == codes.ENDED)
            self._make_room_for_reads(count)
            fold(machine, self.bulk, ended)
            if see is not None:
                see(Window(machine, self.bulk, ended))
            if reached is not None:
                reached(int(machine.clock[0]["now_ns"]))
            if ended:
                return
            waiting = count - int(machine.clock[0]["next_sample"])
            compact(machine, self.bulk)
            count = waiting + int(machine.clock[0]["next_sample"])
            self._grow()

    def _begin(self, number: int, seed: int) -> None:
        """The machine before its first instant; tables that have grown stay large, their contents do not matter."""
        small = {
            name: getattr(self._first, name).copy()
            for name in self._first._fields
            if name not in (*_GROWING, "inputs", "events", "samples")
        }
        self._machine = self._machine._replace(**small)
        clock = self._machine.clock
        clock["seed"] = np.uint64(seed)
        clock["record_events"] = 0
        for name, first in self._first_state.items():
            getattr(self.bulk, name)[:] = first
        self.bulk.arrived[:, 2] = 0
        self.bulk.head["run"] = number
        self.bulk.head["drains"] = 1

    def _fill(self, feed: SampleFeed, table: npt.NDArray[np.void], count: int) -> tuple[npt.NDArray[np.void], int, int]:
        """Further samples behind the first `count`, among them all of the next instant at which one arrives.

        Returns the table, how many samples it holds, and the arrival of the first one that it does not hold.
        """
        coming = int(self._machine.clock[0]["next_sample"])
        count, next_ns = feed.fill(table, count)
        while next_ns != codes.NEVER_NS and (2 * coming > len(table) or table[coming]["arrival_ns"] == next_ns):
            table = with_room(table, count, len(table))
            self.bulk = self.bulk._replace(samples=with_room(self.bulk.samples, coming, len(table) - coming))
            count, next_ns = feed.fill(table, count)
        return table, count, next_ns

    def _make_room_for_reads(self, samples: int) -> None:
        """Every job and sample of the window may be a read."""
        bulk = self.bulk
        if not len(bulk.sources):
            return
        needed = int(bulk.sources["count"].max()) + int(self._machine.clock[0]["jobs"]) + samples
        if needed > bulk.reads.shape[1]:
            larger = np.zeros((len(bulk.sources), 2 * needed), np.int64)
            larger[:, : bulk.reads.shape[1]] = bulk.reads
            self.bulk = bulk._replace(reads=larger)

    def _grow(self) -> None:
        """Larger tables where what is left and the next instant would fill more than half of them."""
        machine, clock = self._machine, self._machine.clock[0]
        used = {name: int(clock[name]) for name in _GROWING}
        room = {name: 2 * int(clock[f"{name}_needed"]) + used[name] for name in _GROWING}
        self._machine = machine._replace(
            inputs=with_room(machine.inputs, used["jobs"], room["jobs"]),
            **{name: with_room(getattr(machine, name), used[name], room[name]) for name in _GROWING},
        )
        bulk = self.bulk
        self.bulk = bulk._replace(
            rows=with_room(bulk.rows, used["jobs"], room["jobs"]),
            read_rank=with_room(bulk.read_rank, used["jobs"], room["jobs"]),
            read_ns=with_room(bulk.read_ns, used["jobs"], room["jobs"]),
            transfers=with_room(bulk.transfers, used["transfers"], room["transfers"]),
        )
