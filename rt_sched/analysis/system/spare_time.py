"""What the tasks of a processor leave to everything else that runs there, in every window of some length."""

from __future__ import annotations

from collections.abc import Mapping

from rt_sched.analysis.loads.load import ProcessorLoad
from rt_sched.analysis.loads.resolve import ModeLoad
from rt_sched.analysis.system.engine import TaskBound
from rt_sched.analysis.system.propagation import as_arrivals


def spare_times_ns(
    mode: ModeLoad, bounds: Mapping[int, TaskBound], window_ns: int, among: range | None = None
) -> dict[str, int | None]:
    """By processor, the least time within any `window_ns` in which no task of it executes; None for no bound.

    `among`: the tasks that count, by their indices; None for all. Assumes one core. Source: the workload of a task in a
    window, Bertogna, Cirinei 2007.
    """
    return {load.processor.name: _spare_ns(load, bounds, window_ns, among) for load in mode.loads}


def _spare_ns(load: ProcessorLoad, bounds: Mapping[int, TaskBound], window_ns: int, among: range | None) -> int | None:
    busy_ns = 0
    for task in load.tasks:
        if among is not None and task.index not in among:
            continue
        one = bounds[task.index]
        if one.bound is None or load.row.cores != 1:
            return None
        for stream in as_arrivals(one.streams):
            latest_ns = one.bound.value_ns + stream.jitter_ns
            busy_ns += workload_ns(one.task.cost_ns, stream.period_ns, latest_ns, window_ns)
    return max(0, window_ns - busy_ns)


def workload_ns(cost_ns: int, period_ns: int, latest_ns: int, window_ns: int) -> int:
    """The most that jobs of a task execute in a window: each at most `cost_ns`, between a point of a grid and
    `latest_ns` after it, where points are at least `period_ns` apart.

    The worst is a first job that executes as late as it may, at the begin of the window, and all later ones at once.
    """
    span_ns = max(0, window_ns + latest_ns - cost_ns)
    whole = span_ns // period_ns
    return min(window_ns, whole * cost_ns + min(cost_ns, span_ns - whole * period_ns))
