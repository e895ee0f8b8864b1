"""What belongs together in a trace: the pieces of each job, and the arrows between producers and consumers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from rt_sched.trace.records import Trace, sample_of


class Pieces:
    """How slices and jobs belong together: rows of the slice table, grouped by job and ordered by start.

    `rows`: slices longer than nothing; `first`, `last`: per job its first and last slice, -1 for none; `position`
    and `count`: per slice its place among those of its job; `processor_of_task`: where a task ran, -1 for nowhere.
    """

    def __init__(self, trace: Trace) -> None:
        slices, jobs = trace.slices, len(trace.jobs)
        order = np.lexsort((slices.start_ns, slices.job))
        order = order[slices.end_ns[order] > slices.start_ns[order]]
        job = slices.job[order]
        starts = np.searchsorted(job, np.arange(jobs))
        ends = np.searchsorted(job, np.arange(jobs), side="right")
        ran = ends > starts
        self.rows = order
        self.first = np.full(jobs, -1, dtype=np.int64)
        self.last = np.full(jobs, -1, dtype=np.int64)
        self.first[ran] = order[starts[ran]]
        self.last[ran] = order[ends[ran] - 1]
        self.position = np.zeros(len(slices), dtype=np.int64)
        self.count = np.zeros(len(slices), dtype=np.int64)
        self.position[order] = np.arange(len(order)) - starts[job]
        self.count[order] = (ends - starts)[job]
        self.processor_of_task = np.full(len(trace.task_names), -1, dtype=np.int64)
        self.processor_of_task[trace.jobs.task[job]] = slices.processor[order]


class Flows:
    """Numbers of the arrows that leave and reach each slice (row of the slice table) and leave each sample.

    `numbers`: where they come from.
    """

    def __init__(
        self, trace: Trace, pieces: Pieces, chains: Mapping[str, Sequence[str]], numbers: Iterator[int]
    ) -> None:
        self.out_of_piece: dict[int, list[int]] = {}
        self.into_piece: dict[int, list[int]] = {}
        self.out_of_sample: dict[int, list[int]] = {}
        self._numbers = numbers
        self._link_pieces(trace, pieces)
        used = {link for path in chains.values() for link in itertools.pairwise(path)}
        for edge in trace.edges:
            if (edge.source, edge.target) in used:
                self._link_messages(trace, pieces, trace.task_names.index(edge.target), edge.slot)

    def _link_pieces(self, trace: Trace, pieces: Pieces) -> None:
        jobs = trace.slices.job[pieces.rows]
        for before, after in zip(
            pieces.rows[:-1][jobs[1:] == jobs[:-1]].tolist(),
            pieces.rows[1:][jobs[1:] == jobs[:-1]].tolist(),
            strict=True,
        ):
            self._arrow(self.out_of_piece.setdefault(before, []), after)

    def _link_messages(self, trace: Trace, pieces: Pieces, task: int, slot: int) -> None:
        consumers = np.flatnonzero((trace.jobs.task == task) & (pieces.first >= 0))
        messages = trace.jobs.inputs[consumers, slot]
        for consumer, message in zip(pieces.first[consumers].tolist(), messages.tolist(), strict=True):
            if message >= 0 and pieces.last[message] >= 0:
                self._arrow(self.out_of_piece.setdefault(int(pieces.last[message]), []), consumer)
            elif sample_of(message) >= 0:
                self._arrow(self.out_of_sample.setdefault(sample_of(message), []), consumer)

    def _arrow(self, out: list[int], to_piece: int) -> None:
        number = next(self._numbers)
        out.append(number)
        self.into_piece.setdefault(to_piece, []).append(number)
