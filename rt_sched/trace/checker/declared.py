"""How tasks were declared over a run, and when things were lost: what takeovers and faults make of the setup."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rt_sched.trace.setup import FaultTarget, Setup, TaskRow

Int64s = npt.NDArray[np.int64]

#: After every instant of a trace.
NEVER_NS = 2**62


@dataclass(frozen=True, slots=True)
class Term:
    """[begin_ns, end_ns): when a task was declared by `row`; `moved`: it began there without a past."""

    row: TaskRow
    begin_ns: int
    end_ns: int
    moved: bool


def terms_of(setup: Setup, task: int) -> list[Term]:
    """The terms of a task, in order; the first one begins with the run."""
    changes = sorted((one for one in setup.task_changes if one.task == task), key=lambda one: one.time_ns)
    begins = [-1, *(change.time_ns for change in changes), NEVER_NS]
    rows = [setup.tasks[task], *(change.row for change in changes)]
    moved = [True, *(change.moved for change in changes)]
    return [Term(row, begins[place], begins[place + 1], moved[place]) for place, row in enumerate(rows)]


def row_at(setup: Setup, task: int, time_ns: int) -> TaskRow:
    """The row that declares a task from an instant on."""
    return next(term.row for term in terms_of(setup, task) if term.begin_ns <= time_ns < term.end_ns)


class Routes:
    """Which link carries the messages of an edge, from when on; `any`: whether one ever does."""

    def __init__(self, setup: Setup, edge: int) -> None:
        changes = sorted((one for one in setup.route_changes if one.edge == edge), key=lambda one: one.time_ns)
        self._times_ns = [change.time_ns for change in changes]
        self._links = [setup.edges[edge].link, *(change.link for change in changes)]
        self.any = any(link is not None for link in self._links)

    def link_at(self, time_ns: int) -> int | None:
        """The link of what is published at an instant, None for none."""
        return self._links[bisect_right(self._times_ns, time_ns)]

    def links_at(self, time_ns: Int64s) -> Int64s:
        """The same for many instants, -1 for none."""
        links = np.array([-1 if link is None else link for link in self._links], np.int64)
        return np.asarray(links[np.searchsorted(self._times_ns, time_ns, side="right")], np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Outages:
    """When a processor, sensor or link was lost: [begin, end), ascending and apart."""

    begin_ns: Int64s
    end_ns: Int64s

    def covers(self, time_ns: Int64s) -> npt.NDArray[np.bool_]:
        """Whether each instant lies in an outage."""
        place = np.searchsorted(self.begin_ns, time_ns, side="right") - 1
        inside = np.zeros(len(time_ns), np.bool_)
        some = place >= 0
        inside[some] = time_ns[some] < self.end_ns[place[some]]
        return inside

    def next_ns(self, time_ns: Int64s) -> Int64s:
        """The first loss after each instant, NEVER_NS for none."""
        begins = np.concatenate([self.begin_ns, [NEVER_NS]])
        return np.asarray(begins[np.searchsorted(self.begin_ns, time_ns, side="right")], np.int64)


def outages_of(setup: Setup, kind: FaultTarget, target: int, horizon_ns: int) -> Outages:
    """The outages of one thing that begin in the run."""
    spans = sorted(
        (fault.time_ns, NEVER_NS if fault.until_ns is None else fault.until_ns)
        for fault in setup.faults
        if fault.kind == kind and fault.target == target and fault.time_ns <= horizon_ns
    )
    return Outages(np.array([one[0] for one in spans], np.int64), np.array([one[1] for one in spans], np.int64))
