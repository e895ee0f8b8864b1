"""Frequency (semantics 15): how demands and offsets inside a job move when the frequency changes."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict

import numpy as np

from rt_sched.trace.checker.demands import declared_demands
from rt_sched.trace.checker.history import History
from rt_sched.trace.records import Int64s, JobStatus

_LOST = int(JobStatus.LOST)

#: One change a job lived through: its executed time, the frequency before and after in kHz.
Step = tuple[int, int, int]


class Rescalings:
    """What every job on a processor with changing frequency lived through."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._changes: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
        self._steps: dict[int, list[Step]] = {}
        present = [processor.frequency_khz for processor in history.setup.processors]
        for change in sorted(history.setup.frequency_changes, key=lambda one: one.time_ns):
            if change.time_ns > history.trace.horizon_ns:
                continue
            row, khz = change.processor, change.frequency_khz
            if khz != present[row]:
                self._changes[row].append((change.time_ns, present[row], khz))
            present[row] = khz

    def steps(self, job: int) -> list[Step]:
        """The changes that a job lived through, in order; those before it executed count as one from the first."""
        steps = self._steps.get(job)
        if steps is None:
            steps = self._steps[job] = self._find_steps(job)
        return steps

    def _find_steps(self, job: int) -> list[Step]:
        history = self._history
        row = int(history.row[job])
        changes = self._changes.get(row)
        if not changes:
            return []
        arrival_ns, end_ns = int(history.trace.jobs.arrival_ns[job]), int(history.end_ns[job])
        lost = history.trace.jobs.status[job] == _LOST
        first = bisect_left(changes, (arrival_ns + 1,))
        found: list[Step] = []
        declared_khz = history.setup.processors[row].frequency_khz
        present_khz = changes[first - 1][2] if first else declared_khz
        for place in range(first, len(changes)):
            time_ns, old_khz, new_khz = changes[place]
            if time_ns > end_ns or (time_ns == end_ns and lost):
                break
            executed_ns = history.executed_at(job, time_ns)
            if executed_ns == 0:
                present_khz = new_khz
            else:
                found.append((executed_ns, old_khz, new_khz))
        if present_khz != declared_khz:
            found.insert(0, (0, declared_khz, present_khz))
        return found

    @property
    def none(self) -> bool:
        """Whether no frequency ever changed."""
        return not self._changes

    def final_demands(self, declared_ns: Int64s) -> Int64s:
        """Demands after all changes that each job lived through."""
        if not self._changes:
            return declared_ns
        history = self._history
        final = declared_ns.copy()
        for row in self._changes:
            for job in np.flatnonzero(history.row == row).tolist():
                final[job] = self.moved(job, int(declared_ns[job]), int(declared_ns[job]))
        return final

    def moved(self, job: int, offset_ns: int, declared_ns: int) -> int:
        """Where an offset of a job of this declared demand lies in executed time after all changes."""
        steps = self.steps(job)
        if not steps:
            return offset_ns
        demand_ns = declared_ns
        memory_ns = self._history.task_row(job).memory_ns
        for executed_ns, old_khz, new_khz in steps:
            memory_from_ns = max(demand_ns - memory_ns, executed_ns)
            offset_ns = _moved(offset_ns, executed_ns, memory_from_ns, old_khz, new_khz)
            demand_ns = _moved(demand_ns, executed_ns, memory_from_ns, old_khz, new_khz)
        return offset_ns


def _moved(offset_ns: int, executed_ns: int, memory_from_ns: int, old_khz: int, new_khz: int) -> int:
    if offset_ns <= executed_ns:
        return offset_ns
    compute_ns = min(offset_ns, memory_from_ns) - executed_ns
    memory_ns = offset_ns - executed_ns - compute_ns
    return executed_ns - (-compute_ns * old_khz // new_khz) + memory_ns


class Offsets:
    """Offsets inside jobs, in executed time as it came to be: sections, suspensions, preemption points."""

    def __init__(self, history: History) -> None:
        self._rescalings = Rescalings(history)
        self._declared = None if self._rescalings.none else declared_demands(history)

    def unmoved(self, job: int) -> bool:
        """Whether every offset of a job lies where it was declared."""
        return self._declared is None or not self._rescalings.steps(job)

    def of(self, job: int, offset_ns: int) -> int:
        """Where a declared offset of a job lies."""
        if self._declared is None:
            return offset_ns
        return self._rescalings.moved(job, offset_ns, int(self._declared[job]))
