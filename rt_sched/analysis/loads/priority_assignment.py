"""Priority orders for one core by Audsley's algorithm: it finds one that passes the response time test if any does."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rt_sched.analysis.batch import Status, fp_response_times
from rt_sched.analysis.loads.load import LoadTask, ProcessorLoad
from rt_sched.errors import AnalysisNotApplicable


def audsley(load: ProcessorLoad, fixed: Sequence[int] = ()) -> list[int] | None:
    """Positions of `load.tasks` from the most to the least urgent so that all deadlines are met; None if there is none.

    The positions in `fixed` stand first, in that order. From the lowest level up, each gets a task that meets its
    deadline there below all that are left; of several that with the longest deadline, then the one that stands last.
    Optimal for the test of `fp_response_times`: whether a task fits depends on which tasks stand above and below it,
    not on their order, and a task that fits keeps fitting when it moves up (Davis, Burns 2011).

    Assumes that arrivals do not depend on the order; of message-activated tasks they do, and then the result is only a
    proposal. Source: Audsley 1991; Audsley 2001.

    Raises AnalysisNotApplicable where the test does not depend on the sets alone: several cores, suspension, resources
    that block, several activating inputs.
    """
    _require(load)
    order: list[int] = []
    open_places = [place for place in range(len(load.tasks)) if place not in fixed]
    while open_places:
        fits = _fitting(load, [*fixed, *open_places], open_places, order)
        if not fits:
            return None
        lowest = max(fits, key=lambda place: (load.tasks[place].deadline_ns, place))
        order.insert(0, lowest)
        open_places.remove(lowest)
    for number in range(len(fixed) - 1, -1, -1):
        above, place = fixed[: number + 1], fixed[number]
        if not _fitting(load, above, [place], order):
            return None
        order.insert(0, place)
    return order


def _fitting(load: ProcessorLoad, present: Sequence[int], candidates: Sequence[int], lower: Sequence[int]) -> list[int]:
    """Those of `candidates` that meet their deadline below all others of `present` and above `lower`."""
    tasks = load.tasks
    rows = [[*(place for place in present if place != candidate), candidate] for candidate in candidates]
    longest_ns = max((tasks[place].region_ns for place in lower), default=1)

    def table(values: Sequence[int]) -> npt.NDArray[np.int64]:
        picked: npt.NDArray[np.int64] = np.array(values, np.int64)[np.array(rows)]
        return picked

    result = fp_response_times(
        table([task.cost_ns for task in tasks]),
        table([task.streams[0].period_ns for task in tasks]),
        table([task.deadline_ns for task in tasks]),
        table([_jitter_ns(task) for task in tasks]),
        np.full((len(rows), len(present)), longest_ns - 1),
        last_region_ns=table([task.last_region_ns for task in tasks]),
        release_jitter_ns=table([task.release_jitter_ns for task in tasks]),
    )
    met = (result.status[:, -1] == Status.OK) & result.schedulable[:, -1]
    return [candidate for candidate, fits in zip(candidates, met, strict=True) if fits]


def _jitter_ns(task: LoadTask) -> int:
    return task.streams[0].jitter_ns + task.release_jitter_ns


def _require(load: ProcessorLoad) -> None:
    if load.row.cores != 1:
        raise AnalysisNotApplicable(f"{load.row.cores} cores serve one queue; Audsley's order is for one core")
    for task in load.tasks:
        if task.suspensions:
            raise AnalysisNotApplicable(f"task {task.name} suspends itself; use deadline-monotonic priorities")
        if task.blocking is None or task.blocking.total_ns or task.spin_ns:
            raise AnalysisNotApplicable(f"task {task.name} shares resources; use deadline-monotonic priorities")
        if len(task.streams) != 1:
            raise AnalysisNotApplicable(f"task {task.name} has {len(task.streams)} activating inputs, not one")
