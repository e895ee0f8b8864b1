"""The checked arrays of a batch of task sets, and their loads."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from rt_sched.errors import AnalysisNotApplicable
from rt_sched.kernels.rta import common

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

#: Loads nearer to 1 than this are summed up exactly.
_NEAR = 1e-9


class Sets:
    """The checked arrays of a batch; rows that `skip` marks hold numbers that no kernel may see."""

    def __init__(
        self,
        wcet_ns: npt.ArrayLike,
        period_ns: npt.ArrayLike,
        deadline_ns: npt.ArrayLike | None,
        jitter_ns: npt.ArrayLike | None,
        blocking_ns: npt.ArrayLike | None,
        last_region_ns: npt.ArrayLike | None = None,
    ) -> None:
        self.wcet_ns = _table("wcet_ns", wcet_ns)
        self.count, self.tasks = shape = self.wcet_ns.shape
        self.period_ns = _table("period_ns", period_ns, shape)
        self.deadline_ns = self.period_ns if deadline_ns is None else _table("deadline_ns", deadline_ns, shape)
        none = np.zeros((1, self.tasks), np.int64)
        self.jitter_ns = none if jitter_ns is None else _table("jitter_ns", jitter_ns, shape)
        self.blocked = blocking_ns is not None
        self.blocking_ns = none if blocking_ns is None else _table("blocking_ns", blocking_ns, shape)
        self.last_region_ns = None if last_region_ns is None else _table("last_region_ns", last_region_ns, shape)
        self._clear_padding()
        self.skip: Bools = np.zeros(self.count, np.bool_)
        regions = () if self.last_region_ns is None else ((self.last_region_ns, 1),)
        for table, least in (
            (self.wcet_ns, 0),
            (self.period_ns, 1),
            *(() if deadline_ns is None else ((self.deadline_ns, 1),)),
            *(() if jitter_ns is None else ((self.jitter_ns, 0),)),
            *(() if blocking_ns is None else ((self.blocking_ns, 0),)),
            *regions,
        ):
            if table.size and (table.min() < least or table.max() > common.LIMIT_NS):
                self.skip |= ((table < least) | (table > common.LIMIT_NS)).any(axis=1)
        if self.last_region_ns is not None:
            self.skip |= (self.last_region_ns > np.maximum(self.wcet_ns, 1)).any(axis=1)

    def _clear_padding(self) -> None:
        padding = self.wcet_ns == 0
        if not padding.any():
            return
        own_deadlines = self.deadline_ns is not self.period_ns
        self.period_ns = np.where(padding, 1, self.period_ns)
        self.deadline_ns = np.where(padding, 1, self.deadline_ns) if own_deadlines else self.period_ns
        self.jitter_ns = np.where(padding, 0, self.jitter_ns)
        self.blocking_ns = np.where(padding, 0, self.blocking_ns)
        if self.last_region_ns is not None:
            self.last_region_ns = np.where(padding, 1, self.last_region_ns)

    def by_deadline(self, preemptive: bool) -> Int64s:
        """int64[n_sets, n_tasks] tasks by relative deadline; no column when nothing can block."""
        if preemptive and not self.blocked:
            return np.zeros((1, 0), np.int64)
        return np.argsort(self.deadline_ns, axis=1, kind="stable")

    def earliest_arrivals(self, release_jitter_ns: npt.ArrayLike | None) -> Int64s:
        """Earliest arrival, from the begin of a busy period, of a job that is released within it."""
        if release_jitter_ns is None:
            return -self.jitter_ns
        mine = _table("release_jitter_ns", release_jitter_ns, (self.count, self.tasks))
        mine = np.where(self.wcet_ns == 0, 0, mine)
        self.skip |= ((mine < 0) | (mine > self.jitter_ns)).any(axis=1)
        return -mine

    def new_results(self) -> tuple[Int64s, npt.NDArray[np.int8]]:
        """Responses and status as they are for skipped rows."""
        response = np.full((self.count, self.tasks), -1, np.int64)
        return response, np.full((self.count, self.tasks), common.OUT_OF_RANGE, np.int8)


class Load:
    """Sums of wcet / period, compared with 1 exactly."""

    def __init__(self, wcet_ns: Int64s, period_ns: Int64s) -> None:
        self._wcet_ns, self._period_ns = wcet_ns, period_ns
        with np.errstate(divide="ignore", invalid="ignore"):
            self._shares = wcet_ns / period_ns

    def beside_one(self, last: npt.NDArray[np.intp]) -> tuple[Bools, Bools]:
        """Whether tasks 0 ... last[i] need more than the processor has, and whether just what it has.

        Both bool[n_sets, len(last)].
        """
        sums = np.cumsum(self._shares, axis=1)
        if not np.array_equal(last, np.arange(sums.shape[1])):
            sums = sums[:, last]
        above: Bools = sums > 1.0
        near = np.flatnonzero(np.abs(np.subtract(sums, 1.0, out=sums), out=sums) < _NEAR)
        full = np.zeros(sums.shape, np.bool_)
        for place in near:
            row, column = divmod(int(place), sums.shape[1])
            exact = self._exact(row, int(last[column]) + 1)
            above[row, column], full[row, column] = exact > 1, exact == 1
        return above, full

    def set_above_one(self) -> Bools:
        """bool[n_sets]: whether all tasks of a set need more than the processor has."""
        sums = self._shares.sum(axis=1)
        above: Bools = sums > 1.0
        for row in np.flatnonzero(np.abs(sums - 1.0) < _NEAR):
            above[row] = self._exact(int(row), self._shares.shape[1]) > 1
        return above

    def _exact(self, row: int, count: int) -> Fraction:
        pairs = zip(self._wcet_ns[row, :count].tolist(), self._period_ns[row, :count].tolist(), strict=True)
        return sum((Fraction(wcet, period) for wcet, period in pairs if wcet > 0 and period > 0), Fraction(0))


def _table(name: str, values: npt.ArrayLike, shape: tuple[int, int] | None = None) -> Int64s:
    """`values` as int64[n_sets, n_tasks]."""
    try:
        table = np.asarray(values)
    except ValueError as error:
        raise AnalysisNotApplicable(f"{name} has rows of different length; fill them with tasks of wcet 0") from error
    if np.ma.is_masked(values):
        raise AnalysisNotApplicable(f"{name} has masked values; fill them, as with tasks of wcet 0")
    if table.ndim == 1:
        table = table[None, :]
    if table.size == 0 and table.dtype == np.float64:
        table = table.astype(np.int64)
    if table.dtype.kind not in "iu" or table.dtype == np.uint64:
        raise AnalysisNotApplicable(f"{name} has the type {table.dtype}; times are int64 nanoseconds")
    if table.ndim != 2 or (shape is not None and table.shape != shape):
        wanted = "[n_sets, n_tasks]" if shape is None else f"{list(shape)}, as wcet_ns has"
        raise AnalysisNotApplicable(f"{name} has the shape {list(table.shape)}; it needs {wanted}")
    # Read-only arrays have a type of their own, for which kernels would be compiled again.
    return np.require(table, np.int64, ("C", "W"))


def group_ends(levels: npt.ArrayLike | None, tasks: int) -> npt.NDArray[np.intp]:
    """Index after the last task of each task's priority level."""
    if levels is None:
        return np.arange(1, tasks + 1)
    level = np.asarray(levels)
    if level.shape != (tasks,) or level.dtype.kind not in "iu" or (level[1:] < level[:-1]).any():
        raise AnalysisNotApplicable(f"levels must be {tasks} integers that do not descend, one a column")
    return np.searchsorted(level, level, side="right")
