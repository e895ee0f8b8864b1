"""The tables beside a machine in bulk simulation, from what is asked about its tasks and chains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from rt_sched.kernels import codes
from rt_sched.kernels.bulk import tables
from rt_sched.kernels.bulk.histogram import BINS, shift_for
from rt_sched.kernels.bulk.tables import Bulk
from rt_sched.kernels.tables import Machine
from rt_sched.lowering.machine_input import MachineInput, edge_slots

#: Quantities of a chain, in the order of its distributions.
QUANTITIES = ("reaction", "latency", "data_age")

Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ChainQuestion:
    """A chain to measure. `path`: a sensor or timed task, then tasks that read each other.

    `usual_ns`: about how long it takes; times far from it are told apart less well. `until_ns`: outputs after that do
    not count. `bounds_ns`: of reaction, latency and data age, None where there is none.
    """

    name: str
    path: tuple[str, ...]
    usual_ns: int
    until_ns: int | None = None
    bounds_ns: tuple[int | None, int | None, int | None] = (None, None, None)


@dataclass(frozen=True, slots=True)
class Questions:
    """What is asked of a run. `bounds_ns`: of the response of every task, in order; empty for none.

    `bounds_until_ns`: what happens from then on is not compared with bounds; None for the whole run.
    """

    chains: tuple[ChainQuestion, ...] = ()
    bounds_ns: tuple[int | None, ...] = ()
    bounds_until_ns: int | None = None


def build_bulk(given: MachineInput, machine: Machine, questions: Questions) -> Bulk:
    """Tables for `machine`, which was built from `given`. Raises ValueError for a path that is none of its edges."""
    paths = _Paths(given, questions.chains)
    jobs, samples = len(machine.jobs), len(machine.samples)
    head = np.zeros(1, tables.HEAD)
    head["first_chain_spread"] = len(given.tasks)
    head["bounds_until_ns"] = _or_never(questions.bounds_until_ns)
    tasks = paths.task_table()
    tasks["removed_ns"] = codes.NONE
    bits = 0
    for row, task in zip(tasks, given.tasks, strict=True):
        row["m"], row["k"] = task.weakly_hard or (0, 0)
        row["first_bit"] = bits
        bits += int(row["k"])
    spreads = _spreads(given, questions)
    return Bulk(
        head=head,
        tasks=tasks,
        tallies=np.zeros(len(given.tasks), tables.TASK_TALLY),
        spreads=spreads,
        bins=np.zeros((len(spreads), BINS), np.int64),
        bits=np.zeros(bits, np.int64),
        nodes=paths.node_table(),
        ends=np.array(paths.ends, np.int64),
        chains=paths.chain_table(questions.chains),
        chain_tallies=np.zeros(len(questions.chains), tables.CHAIN_TALLY),
        sources=paths.source_table(),
        reads=np.zeros((len(paths.sources), 1), np.int64),
        rows=np.zeros(jobs, tables.ROW),
        read_rank=np.zeros((jobs, paths.columns), np.int64),
        read_ns=np.zeros((jobs, paths.columns), np.int64),
        samples=np.zeros(samples, tables.SAMPLE_ROW),
        transfers=np.zeros(len(machine.transfers), np.int64),
        busy_ns=np.zeros(len(machine.cores), np.int64),
        drops=np.zeros(len(given.edges), np.int64),
        source_of=paths.source_of_sensors(),
        arrived=np.zeros((len(given.sensors), 3), np.int64),
        streams=np.zeros(0, tables.STREAM),
    )


def _or_never(time_ns: int | None) -> int:
    return int(codes.NEVER_NS) if time_ns is None else time_ns


def _spreads(given: MachineInput, questions: Questions) -> npt.NDArray[np.void]:
    bounds = questions.bounds_ns or (None,) * len(given.tasks)
    rows = [(task.deadline_ns, bound) for task, bound in zip(given.tasks, bounds, strict=True)]
    rows += [(chain.usual_ns, bound) for chain in questions.chains for bound in chain.bounds_ns]
    table = np.zeros(len(rows), tables.SPREAD)
    for row, (usual_ns, bound_ns) in zip(table, rows, strict=True):
        row["shift"], row["bound_ns"] = shift_for(usual_ns), _or_never(bound_ns)
    table["min_ns"], table["max_ns"], table["run"] = codes.NEVER_NS, codes.NONE, codes.NONE
    return table


class _Paths:
    """Chains as a tree of their beginnings: those that begin alike share nodes."""

    def __init__(self, given: MachineInput, chains: Sequence[ChainQuestion]) -> None:
        self._given = given
        self._task_of = {task.name: index for index, task in enumerate(given.tasks)}
        self._slots: dict[tuple[str, str], int] = {}
        for edge, slot in zip(given.edges, edge_slots(given.edges), strict=True):
            name = given.sensors[edge.sensor] if edge.sensor is not None else given.tasks[edge.task or 0].name
            self._slots.setdefault((name, given.tasks[edge.target].name), slot)
        for chain in chains:
            self._check(chain.path)
        self.sources = list(dict.fromkeys(chain.path[0] for chain in chains))
        prefixes = {chain.path[:length] for chain in chains for length in range(2, len(chain.path) + 1)}
        #: Nodes of one task stand together.
        self._nodes = sorted(prefixes, key=lambda path: (self._task_of[path[-1]], len(path), path))
        self._node_of = {path: number for number, path in enumerate(self._nodes)}
        self._ends_of: list[list[int]] = [[] for _ in given.tasks]
        for number, chain in enumerate(chains):
            self._ends_of[self._task_of[chain.path[-1]]].append(number)
        self.ends = [number for numbers in self._ends_of for number in numbers]

    @property
    def columns(self) -> int:
        """Most nodes that one task has, at least 1."""
        last = [path[-1] for path in self._nodes]
        return max((last.count(name) for name in set(last)), default=1)

    def _check(self, path: Sequence[str]) -> None:
        shown = " -> ".join(path)
        if len(path) < 2:
            raise ValueError(f"a chain needs a sensor or a timed task and at least one task more, not {list(path)}")
        timed = {task.name for task in self._given.tasks if task.timed}
        if path[0] not in timed and path[0] not in self._given.sensors:
            raise ValueError(f"chain {shown}: {path[0]!r} is neither a sensor nor a timed task")
        for source, target in pairwise(path):
            if (source, target) not in self._slots:
                raise ValueError(f"chain {shown}: no edge leads from {source!r} to {target!r}")

    def task_table(self) -> npt.NDArray[np.void]:
        table = np.zeros(len(self._given.tasks), tables.TASK)
        table["source"] = codes.NONE
        node = end = 0
        for row, task, ends in zip(table, self._given.tasks, self._ends_of, strict=True):
            mine = sum(path[-1] == task.name for path in self._nodes[node:])
            row["first_node"], row["last_node"] = node, node + mine
            row["first_end"], row["last_end"] = end, end + len(ends)
            node, end = node + mine, end + len(ends)
            if task.name in self.sources:
                row["source"] = self.sources.index(task.name)
        return table

    def node_table(self) -> npt.NDArray[np.void]:
        table = np.zeros(len(self._nodes), tables.NODE)
        for row, path in zip(table, self._nodes, strict=True):
            row["slot"] = self._slots[path[-2], path[-1]]
            row["parent"] = self._node_of.get(path[:-1], codes.NONE)
            row["source"] = self.sources.index(path[0])
            row["by_sensor"] = path[0] in self._given.sensors
        return table

    def chain_table(self, chains: Sequence[ChainQuestion]) -> npt.NDArray[np.void]:
        table = np.zeros(len(chains), tables.CHAIN)
        for row, chain in zip(table, chains, strict=True):
            row["node"], row["source"] = self._node_of[chain.path], self.sources.index(chain.path[0])
            row["until_ns"] = _or_never(chain.until_ns)
            row["reflected"] = codes.NONE
        return table

    def source_table(self) -> npt.NDArray[np.void]:
        table = np.zeros(len(self.sources), tables.SOURCE)
        for row, name in zip(table, self.sources, strict=True):
            row["sensor"] = self._given.sensors.index(name) if name in self._given.sensors else codes.NONE
        return table

    def source_of_sensors(self) -> Int64s:
        known = [self.sources.index(name) if name in self.sources else codes.NONE for name in self._given.sensors]
        return np.array(known, np.int64)
