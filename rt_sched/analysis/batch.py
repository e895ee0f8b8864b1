"""Many task sets at once: response times and schedulability on one preemptive or non-preemptive processor.

Every function takes `int64[n_sets, n_tasks]` arrays of nanoseconds, one set a row (a one-dimensional array is one set),
and works on all cores. Model: sporadic or periodic tasks, independent but for the given blocking, that never suspend;
a job arrives at least `period_ns` after the one before, is released at most `jitter_ns` later, and needs at most
`wcet_ns`. Switches take no time: add them to the wcet. Responses count from the arrival, so they contain the jitter,
and it is the response with the jitter that is compared with the deadline.

A task with `wcet_ns` 0 is no task; use it to fill rows of different length.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from rt_sched.analysis.theory.sets import Bools, Int64s, Load, Sets, group_ends
from rt_sched.errors import AnalysisNotApplicable
from rt_sched.kernels.compiling.kernel import Kernel
from rt_sched.kernels.compiling.patience import Patience
from rt_sched.kernels.rta import common, edf_demand, edf_response, fixed_priority

#: Tasks looked at, per set, before its windows count as not converging; about a quarter of a second.
MOST_STEPS = 2**28
#: What Python may look at instead, and for how many tasks: about 20 ms.
_FEW_STEPS, _FEW_TASKS = 2**13, 64
_PATIENCE = Patience()
#: Fewer sets than this are not worth a second thread.
_ROWS_PER_THREAD = 64


class Status(IntEnum):
    """What became of a bound: found; none exists; none within the limits; a number outside of [0, 2**60] ns.

    NOT_CONVERGED says nothing about schedulability. OUT_OF_RANGE also marks a period or deadline of 0, and holds for
    the whole set.
    """

    OK = int(common.OK)
    UNBOUNDED = int(common.UNBOUNDED)
    NOT_CONVERGED = int(common.NOT_CONVERGED)
    OUT_OF_RANGE = int(common.OUT_OF_RANGE)


def _no_details() -> Int64s:
    return np.zeros((0, 0), np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class BatchResult:
    """Bounds of a batch.

    `response_ns` int64[n_sets, n_tasks]: bound on the response, -1 where there is none; no columns for a test that
    yields no responses. `status`: `Status` codes, int8, per task or, for such a test, per set. `schedulable`: whether
    the bound proves all deadlines met, bool, shaped like `status`; False is a proof of the contrary only as the
    function says. `violation_ns` int64[n_sets]: an interval in which more work falls due than fits, -1 for none; only
    from `edf_schedulable`. With `details`, int64[n_sets, n_tasks], else empty: `worst_job`, the number of the worst job
    in its busy period; `worst_window_ns`, from the begin of that to 1 ns after the begin of its last region; under EDF
    instead `worst_arrival_ns`, its arrival.
    """

    response_ns: Int64s
    status: npt.NDArray[np.int8]
    schedulable: Bools
    violation_ns: Int64s | None = None
    worst_job: Int64s = field(default_factory=_no_details)
    worst_window_ns: Int64s = field(default_factory=_no_details)
    worst_arrival_ns: Int64s = field(default_factory=_no_details)


def fp_response_times(
    wcet_ns: npt.ArrayLike,
    period_ns: npt.ArrayLike,
    deadline_ns: npt.ArrayLike | None = None,
    jitter_ns: npt.ArrayLike | None = None,
    blocking_ns: npt.ArrayLike | None = None,
    preemptive: bool = True,
    *,
    classic: bool = False,
    levels: npt.ArrayLike | None = None,
    last_region_ns: npt.ArrayLike | None = None,
    release_jitter_ns: npt.ArrayLike | None = None,
    details: bool = False,
) -> BatchResult:
    """Worst-case response times under fixed priorities; columns in priority order, the highest first.

    Deadlines may exceed periods; every job of the busy period is looked at, and the blocking is part of that period.
    `blocking_ns`: longest time for which tasks of lower priority delay a job, for instance by locks; by default 0, and
    at least the longest wcet of lower priority less 1 ns when not `preemptive` (`classic`: without that 1 ns, as
    published). `levels`: priority levels, not descending; equal ones delay each other in full. `last_region_ns`: length
    of the final part of each job that is not preempted, for limited preemption at fixed points, at least 1; the
    blocking by earlier parts of lower tasks is then up to the caller. `release_jitter_ns`: the part of the jitter
    by which releases follow arrivals, when the rest is that of the arrivals themselves, as of tasks that messages
    activate; responses count from the arrival, so they contain this part only.

    Exact for distinct priorities, `preemptive` or not, without the given blocking: some legal run attains each value.
    Sufficient otherwise. `deadline_ns` (default: the period) only decides `schedulable`.

    Source: Lehoczky 1990 and Tindell, Burns, Wellings 1994 (preemptive, arbitrary deadlines, jitter); Davis, Burns,
    Bril, Lukkien 2007 (non-preemptive); Bril, Lukkien, Verhaegh 2009 (last region).

    Raises AnalysisNotApplicable when shapes or types do not fit.
    """
    sets = Sets(wcet_ns, period_ns, deadline_ns, jitter_ns, blocking_ns, last_region_ns)
    wcet = sets.wcet_ns
    blocking, region = sets.blocking_ns, sets.last_region_ns
    if region is None:
        region = np.ones((1, sets.tasks), np.int64) if preemptive else wcet
    elif not preemptive:
        raise AnalysisNotApplicable("last_region_ns is for preemptive tasks; without preemption it is the wcet")
    floor = sets.earliest_arrivals(release_jitter_ns)
    group_end = group_ends(levels, sets.tasks)
    if not preemptive:
        lower = np.zeros((sets.count, sets.tasks + 1), np.int64)
        lower[:, :-1] = np.maximum.accumulate(wcet[:, ::-1], axis=1)[:, ::-1]
        lower = lower[:, group_end]
        blocking = np.maximum(blocking, lower if classic else np.maximum(lower - 1, 0))
    above, full = Load(wcet, sets.period_ns).beside_one(group_end - 1)
    overloaded = above.astype(np.int8)
    late = np.maximum.accumulate(sets.jitter_ns, axis=1)[:, group_end - 1] > 0
    # At a load of 1 whatever delays the work once is never made up for, and no busy period ends.
    overloaded[full & (late | (blocking > 0))] = fixed_priority.ENDLESS
    response, status = sets.new_results()
    jobs, windows = (np.zeros((sets.count if details else 0, sets.tasks), np.int64) for _ in range(2))

    def run(respond: Callable[..., Any], most_steps: np.int64, first: int, last: int) -> None:
        scratch = np.zeros((5, sets.tasks), np.int64)
        respond(
            wcet,
            sets.period_ns,
            sets.jitter_ns,
            floor,
            blocking,
            region,
            group_end[None, :],
            overloaded,
            sets.skip,
            most_steps,
            scratch[:3],
            np.int64(first),
            np.int64(last),
            response,
            status,
            jobs if details else scratch[3:4],
            windows if details else scratch[4:],
        )

    _carry_out(fixed_priority.respond, run, sets, status)
    met = (status == Status.OK) & (response <= sets.deadline_ns)
    if details:
        return BatchResult(response, status, met, worst_job=jobs, worst_window_ns=windows)
    return BatchResult(response, status, met)


def edf_schedulable(
    wcet_ns: npt.ArrayLike,
    period_ns: npt.ArrayLike,
    deadline_ns: npt.ArrayLike | None = None,
    jitter_ns: npt.ArrayLike | None = None,
    blocking_ns: npt.ArrayLike | None = None,
    preemptive: bool = True,
) -> BatchResult:
    """Whether EDF meets all deadlines: the processor demand test. Columns in any order.

    `schedulable` and `status` per set. Without given blocking the test is exact for sporadic tasks (and for periodic
    ones whose offsets are not known), preemptive or not, so False with status OK or UNBOUNDED is a proof: more work
    falls due within `violation_ns` than fits, or the load exceeds 1. `blocking_ns[i]`: longest time for which a job
    with a later deadline holds up work that is due D_i after the begin of a busy period, D_i up to the next longer
    relative deadline (Baruah 2006; under SRP the longest section of a task with a longer relative deadline on a
    resource that some task with at most D_i uses). Not `preemptive`: a job may have started 1 ns before.

    Source: Baruah, Mok, Rosier 1990; QPA, Zhang, Burns 2009; Jeffay, Stanat, Martel 1991 (non-preemptive); Spuri 1996
    (jitter). Limits: the lesser of L_a and the synchronous busy period.

    Raises AnalysisNotApplicable when shapes or types do not fit.
    """
    sets = Sets(wcet_ns, period_ns, deadline_ns, jitter_ns, blocking_ns)
    tables = _edf_tables(sets, preemptive)
    violation = np.full(sets.count, -1, np.int64)
    status = np.where(sets.skip, Status.OUT_OF_RANGE, Status.OK).astype(np.int8)

    def run(demand_test: Callable[..., Any], most_steps: np.int64, first: int, last: int) -> None:
        scratch = np.zeros((4, sets.tasks + 1), np.int64)
        demand_test(*tables, most_steps, scratch, np.int64(first), np.int64(last), violation, status)

    _carry_out(edf_demand.demand_test, run, sets, status)
    schedulable = (status == Status.OK) & (violation < 0)
    return BatchResult(np.zeros((sets.count, 0), np.int64), status, schedulable, violation)


def edf_response_times(
    wcet_ns: npt.ArrayLike,
    period_ns: npt.ArrayLike,
    deadline_ns: npt.ArrayLike | None = None,
    jitter_ns: npt.ArrayLike | None = None,
    blocking_ns: npt.ArrayLike | None = None,
    preemptive: bool = True,
    *,
    release_jitter_ns: npt.ArrayLike | None = None,
    details: bool = False,
) -> BatchResult:
    """Worst-case response times under EDF. Columns in any order; arguments as for `edf_schedulable`.

    The worst case of a task is in general not a synchronous release: every arrival within the longest busy period that
    aligns the job's deadline with one of another task is tried, with the blocking of its own deadline. Deadlines may
    exceed periods and may be missed. Exact without given blocking when equal deadlines are broken against the task
    (1 ns more than a run in which they are not), sufficient otherwise. `release_jitter_ns`: as for
    `fp_response_times`; deadlines then count from the arrival as it was.

    Source: Spuri 1996 (preemptive, jitter); George, Rivierre, Spuri 1996 (non-preemptive); arrivals are skipped as in
    Guan, Yi 2014.

    Raises AnalysisNotApplicable when shapes or types do not fit.
    """
    sets = Sets(wcet_ns, period_ns, deadline_ns, jitter_ns, blocking_ns)
    tables = _edf_tables(sets, preemptive)
    floor = sets.earliest_arrivals(release_jitter_ns)
    response, status = sets.new_results()
    arrivals = np.zeros((sets.count if details else 0, sets.tasks), np.int64)

    def run(respond: Callable[..., Any], most_steps: np.int64, first: int, last: int) -> None:
        scratch = np.zeros((6, sets.tasks + 1), np.int64)
        respond(
            *tables,
            most_steps,
            floor,
            scratch[:5],
            np.int64(first),
            np.int64(last),
            response,
            status,
            arrivals if details else scratch[5:],
        )

    _carry_out(edf_response.respond, run, sets, status)
    met = (status == Status.OK) & (response <= sets.deadline_ns)
    return BatchResult(response, status, met, worst_arrival_ns=arrivals if details else _no_details())


def _edf_tables(sets: Sets, preemptive: bool) -> tuple[Any, ...]:
    """What both kernels under EDF take first."""
    return (
        sets.wcet_ns,
        sets.period_ns,
        sets.deadline_ns,
        sets.jitter_ns,
        sets.blocking_ns,
        np.ones((1, sets.tasks), np.int64) if preemptive else sets.wcet_ns,
        sets.by_deadline(preemptive),
        Load(sets.wcet_ns, sets.period_ns).set_above_one(),
        sets.skip,
    )


def warm_up() -> None:
    """Compile the kernels of all functions of this module into their cache, or load them from there."""
    _PATIENCE.end()
    for preemptive in (True, False):
        fp_response_times([[1]], [[2]], preemptive=preemptive)
        edf_schedulable([[1]], [[2]], preemptive=preemptive)
        edf_response_times([[1]], [[2]], preemptive=preemptive)


def _carry_out(
    kernel: Kernel,
    run: Callable[[Callable[..., Any], np.int64, int, int], None],
    sets: Sets,
    status: npt.NDArray[np.int8],
) -> None:
    """Calls `run(function, most_steps, first, last)` for all rows.

    Of few sets a process begins with an attempt by Python, which is over before numba would be loaded.
    """
    if _PATIENCE.lasts and sets.count * sets.tasks <= _FEW_TASKS:
        with _PATIENCE.tried():
            run(kernel.interpreted, np.int64(_FEW_STEPS), 0, sets.count)
        if not (status == Status.NOT_CONVERGED).any():
            return
    most_steps = np.int64(MOST_STEPS + 64 * sets.tasks * sets.tasks)
    _in_threads(lambda first, last: run(kernel, most_steps, first, last), sets.count)


def _in_threads(run: Callable[[int, int], Any], rows: int) -> None:
    """Call `run(first, last)` for consecutive parts of all rows, on as many cores as this process may use."""
    workers = min(len(os.sched_getaffinity(0)), -(-rows // _ROWS_PER_THREAD))
    if workers <= 1:
        run(0, rows)
        return
    parts = min(8 * workers, -(-rows // _ROWS_PER_THREAD))
    bounds = [rows * part // parts for part in range(parts + 1)]
    with ThreadPoolExecutor(workers) as pool:
        for _ in pool.map(run, bounds[:-1], bounds[1:]):
            pass
