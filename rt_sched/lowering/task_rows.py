"""One task of the system as a row of the scheduling machine: arrivals in true time, demands at the first frequency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from fractions import Fraction

import numpy as np

from rt_sched import model
from rt_sched.kernels.draw import demand_ns as drawn_demand_ns
from rt_sched.kernels.tables import QUANTILES
from rt_sched.lowering.machine_input import (
    DeadlineAction,
    OverrunAction,
    SectionRow,
    SuspensionRow,
    TaskRow,
)
from rt_sched.units import NS_PER_S, ceil_int, floor_int

_ACTIONS = {action: DeadlineAction[action.name] for action in model.DeadlineAction}
_OVERRUNS = {action: OverrunAction[action.name] for action in model.OverrunAction}
_MILLION = 10**6


class Execution(str, Enum):
    """Where demands come from: the same bound for every job, drawn evenly between the bounds or from the profile.

    `adversarial`: one of the bounds, each as often as the other (one draw in 32 lies between them), so that scheduling
    anomalies are met in which less work here makes work there end later.
    """

    PROFILE = "profile"
    WCET = "wcet"
    BCET = "bcet"
    UNIFORM = "uniform"
    ADVERSARIAL = "adversarial"


def task_row(
    task: model.Task,
    placement: model.Placement,
    element: model.ProcessingElement,
    clock: model.DeviceClock,
    *,
    execution: Execution,
    let: bool,
    active: bool,
    resource_of: Mapping[str, int],
    variant: model.Variant | None = None,
) -> TaskRow:
    """The row of `task` as placed on `element`, driven by `clock`.

    `let`: whether it communicates by LET. `active`: whether it exists in the mode in which the run begins. `variant`:
    what replaces its demand and leaves out some of its arrivals; offsets inside its jobs, its budget and its C_LO stay.
    """
    times = execution_time_on(task, element)
    needed = times if variant is None else execution_time_on(variant, element)
    scale = _Scale(times, element.frequency_hz)
    speed = 1 + clock.drift_ppm / _MILLION
    arrivals = _arrivals(task, clock, speed)
    misses = task.miss_limit
    return TaskRow(
        name=task.name,
        processor=placement.processor,
        deadline_ns=max(1, floor_int(task.deadline_ns / speed)) if let else task.deadline_ns,
        demand_ns=_demand(needed, execution, _Scale(needed, element.frequency_hz)),
        level=placement.level,
        rate_hz=arrivals.rate_hz,
        offset_ns=arrivals.offset_ns,
        budget_ns=task.budget_ns,
        deadline_action=_ACTIONS[task.deadline_action],
        tolerance_ns=task.activation.tolerance_ns if isinstance(task.activation, model.OnMessage) else 0,
        overrun_action=_OVERRUNS[task.budget.action],
        budget_granularity_ns=task.budget.granularity_ns,
        degraded_demand_ns=task.budget.degraded_ns,
        separation_ns=arrivals.separation_ns,
        extra_separation_ns=arrivals.extra_ns,
        jitter_ns=task.activation.jitter_ns,
        memory_ns=needed.memory_ns,
        sections=tuple(
            SectionRow(resource_of[one.resource], scale.offset(one.start_ns), scale.offset(one.end_ns))
            for one in task.sections
        ),
        suspensions=tuple(
            SuspensionRow(scale.offset(one.after_ns), one.min_ns, one.max_ns) for one in task.suspensions
        ),
        preemption_points_ns=tuple(map(scale.offset, task.preemption_points_ns)) if element.points_only else None,
        let=let,
        high_criticality=task.is_high,
        low_budget_ns=None if times.wcet_lo_ns is None else scale.offset(times.wcet_lo_ns),
        active=active,
        start_latency_ns=task.start_latency_ns,
        weakly_hard=None if misses is None else (misses[1] - misses[0], misses[1]),
        every=1 if variant is None else variant.every,
    )


def execution_time_on(task: model.Task | model.Variant, element: model.ProcessingElement) -> model.ExecutionTime:
    """The declared execution time of a task, or of a variant of one, on an element of this kind."""
    return dict(task.execution_by_kind).get(element.kind, task.execution)


def longest_demand_ns(task: model.Task, element: model.ProcessingElement) -> int:
    """The worst case of `task` on an element at its first frequency."""
    times = execution_time_on(task, element)
    return _Scale(times, element.frequency_hz).demand(times.wcet_ns)


class _Arrivals:
    """Arrivals in true time of a task that a device's clock drives, or nothing for one that messages drive."""

    def __init__(
        self, rate_hz: Fraction | None = None, offset_ns: int = 0, separation_ns: int | None = None, extra_ns: int = 0
    ) -> None:
        self.rate_hz = rate_hz
        self.offset_ns = offset_ns
        self.separation_ns = separation_ns
        self.extra_ns = extra_ns


def _arrivals(task: model.Task, clock: model.DeviceClock, speed: Fraction) -> _Arrivals:
    activation = task.activation
    if isinstance(activation, model.OnMessage):
        throttled = task.budget.action is model.OverrunAction.THROTTLE
        return _Arrivals(separation_ns=task.separation_ns if throttled else None)
    offset_ns = clock.offset_ns + ceil_int(activation.offset_ns / speed)
    if isinstance(activation, model.Periodic):
        rate_hz = activation.rate_hz * speed
        return _Arrivals(rate_hz, offset_ns, max(1, floor_int(NS_PER_S / rate_hz)))
    rate_hz = Fraction(NS_PER_S, activation.min_separation_ns) * speed
    extra_ns = (activation.max_separation_ns or activation.min_separation_ns) - activation.min_separation_ns
    return _Arrivals(rate_hz, offset_ns, max(1, floor_int(NS_PER_S / rate_hz)), floor_int(extra_ns / speed))


class _Scale:
    """From execution times at the frequency for which they are declared to those at the element's first one.

    Memory-bound work comes last and keeps its length; compute work is rounded up.
    """

    def __init__(self, times: model.ExecutionTime, frequency_hz: int | None) -> None:
        declared_hz = times.frequency_hz
        same = declared_hz is None or frequency_hz is None
        self._ratio = Fraction(1) if same else Fraction(declared_hz or 1, frequency_hz or 1)
        self._memory_ns = times.memory_ns
        self._longest_compute_ns = times.wcet_ns - times.memory_ns

    def demand(self, demand_ns: int) -> int:
        """The demand of a whole job."""
        memory_ns = min(self._memory_ns, demand_ns)
        return ceil_int((demand_ns - memory_ns) * self._ratio) + memory_ns

    def offset(self, offset_ns: int) -> int:
        """A place inside the longest job."""
        compute_ns = min(offset_ns, self._longest_compute_ns)
        return ceil_int(compute_ns * self._ratio) + offset_ns - compute_ns


def _demand(times: model.ExecutionTime, execution: Execution, scale: _Scale) -> int | tuple[int, ...]:
    if execution is Execution.WCET:
        return scale.demand(times.wcet_ns)
    if execution is Execution.BCET:
        return scale.demand(times.bcet_ns)
    if execution is Execution.ADVERSARIAL:
        half = (QUANTILES - 1) // 2
        return (scale.demand(times.bcet_ns),) * (half + 1) + (scale.demand(times.wcet_ns),) * half
    bounds_ns = (times.bcet_ns, times.wcet_ns)
    profile_ns = bounds_ns if execution is Execution.UNIFORM else times.profile_ns or bounds_ns
    return resample_quantiles(tuple(map(scale.demand, profile_ns)))


def resample_quantiles(profile_ns: Sequence[int]) -> tuple[int, ...]:
    """A profile of any number of quantiles at equal steps as the machine's 33, interpolated and rounded down."""
    steps = len(profile_ns) - 1
    quantiles = []
    for point in range(QUANTILES):
        index, part = divmod(point * steps, QUANTILES - 1)
        following = profile_ns[min(index + 1, steps)]
        quantiles.append(profile_ns[index] + (following - profile_ns[index]) * part // (QUANTILES - 1))
    return tuple(quantiles)


def demands_with_overruns(row: TaskRow, index: int, seed: int, jobs: Sequence[int], demand_ns: int) -> tuple[int, ...]:
    """Demands of the first jobs of task `index`: `demand_ns` for `jobs`, for the others what they draw anyway."""
    if isinstance(row.demand_ns, int):
        usual = [row.demand_ns] * (max(jobs) + 1)
    else:
        quantiles = np.array(row.demand_ns, np.int64)
        usual = [int(drawn_demand_ns(quantiles, np.uint64(seed), index, job)) for job in range(max(jobs) + 1)]
    return tuple(demand_ns if job in jobs else usual[job] for job in range(max(jobs) + 1))
