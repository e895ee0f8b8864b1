"""System and Plan -> what each processor carries in one mode, as the scheduling machine would see it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise

import numpy as np

from rt_sched import model
from rt_sched.analysis.loads.contention import stretched
from rt_sched.analysis.loads.frequencies import at_frequencies_of, times_slower
from rt_sched.analysis.loads.load import Blocking, LoadTask, ProcessorLoad, Stream
from rt_sched.analysis.loads.locking import LockTerms, at_a_stretch, lock_terms
from rt_sched.lowering import lower
from rt_sched.lowering.clocks import with_exact_clocks
from rt_sched.lowering.task_rows import Execution
from rt_sched.trace.records import SampleTable
from rt_sched.trace.setup import DeadlineAction, EdgeRow, OverrunAction, Policy, ProcessorRow, Setup, TaskRow

#: The name of the one mode of a system that declares none.
NOMINAL = "nominal"
#: Device and name of an element.
Place = tuple[str, str]
_ENFORCED = (OverrunAction.ABORT, OverrunAction.THROTTLE, OverrunAction.FAIL_OVER)


@dataclass(frozen=True, slots=True)
class ModeLoad:
    """One mode: its loads, with arrivals for timed tasks only; `setup`: the rows that the machine would run.

    `active[i]`: whether the system's task i exists in this mode. `into`: number and row of the edges into every task
    that has any, as `setup` has them. `slower`: how many times longer compute work takes on an element (device, name)
    than at the start of a run; 1 where none is given.
    """

    name: str
    system: model.System
    plan: model.Plan
    setup: Setup
    active: tuple[bool, ...]
    loads: tuple[ProcessorLoad, ...]
    slower: Mapping[Place, Fraction] = field(default_factory=dict)
    into: Mapping[int, tuple[tuple[int, EdgeRow], ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        into: dict[int, list[tuple[int, EdgeRow]]] = {}
        for number, edge in enumerate(self.setup.edges):
            into.setdefault(edge.target, []).append((number, edge))
        object.__setattr__(self, "into", {target: tuple(edges) for target, edges in into.items()})


def mode_loads(system: model.System, plan: model.Plan) -> tuple[ModeLoad, ...]:
    """Every mode of the system; `plan` has passed `check_plan`."""
    if not system.modes:
        return (_mode_load(NOMINAL, system, plan, frozenset(task.name for task in system.tasks)),)
    declared = _with_declared_frequencies(system, plan)
    return tuple(
        _mode_load(mode.name, _at_frequencies(declared, mode.frequencies), plan, frozenset(mode.tasks), system)
        for mode in system.modes
    )


def at_frequency(mode: ModeLoad, device: str, pe: str, frequency_hz: int) -> ModeLoad:
    """The mode with one processing element at another frequency."""
    declared = _with_declared_frequencies(mode.system, mode.plan)
    system = _at_frequencies(declared, (model.Frequency(device, pe, frequency_hz),))
    present = frozenset(task.name for task, here in zip(mode.system.tasks, mode.active, strict=True) if here)
    changed = times_slower(mode.system, system).get((device, pe), Fraction(1))
    slower = {**mode.slower, (device, pe): mode.slower.get((device, pe), Fraction(1)) * changed}
    return replace(_mode_load(mode.name, system, mode.plan, present), slower=slower)


def _with_declared_frequencies(system: model.System, plan: model.Plan) -> model.System:
    """Execution times that do not say at which frequency they hold say that of the start of a run."""
    start_hz = {
        (device.name, pe.name): pe.frequency_hz for device in system.devices for pe in device.processing_elements
    }

    def declared(times: model.ExecutionTime, frequency_hz: int | None) -> model.ExecutionTime:
        return times if times.frequency_hz is not None else replace(times, frequency_hz=frequency_hz)

    tasks = []
    for task, placement in zip(system.tasks, plan.placements, strict=True):
        processor = plan.processors[placement.processor]
        frequency_hz = start_hz[processor.device, processor.pe]
        by_kind = tuple((kind, declared(times, frequency_hz)) for kind, times in task.execution_by_kind)
        execution = declared(task.execution, frequency_hz)
        tasks.append(replace(task, execution=execution, execution_by_kind=by_kind))
    return replace(system, tasks=tuple(tasks))


def _at_frequencies(system: model.System, frequencies: Sequence[model.Frequency]) -> model.System:
    wanted = {(one.device, one.pe): one.frequency_hz for one in frequencies}
    devices = tuple(
        replace(
            device,
            processing_elements=tuple(
                replace(pe, frequency_hz=wanted.get((device.name, pe.name), pe.frequency_hz))
                for pe in device.processing_elements
            ),
        )
        for device in system.devices
    )
    return replace(system, devices=devices)


def _mode_load(
    name: str, system: model.System, plan: model.Plan, present: frozenset[str], start: model.System | None = None
) -> ModeLoad:
    """`start`: the system with the frequencies of the start of a run, from which its demands are moved."""
    setup, shortest = setups_of(system, plan)
    if start is not None:
        longest, best = setups_of(start, plan)
        setup, shortest = at_frequencies_of(longest, setup), at_frequencies_of(best, shortest)
    load = loads_of(name, system, plan, setup, shortest, tuple(task.name in present for task in system.tasks))
    return load if start is None else replace(load, slower=times_slower(start, system))


def setups_of(system: model.System, plan: model.Plan) -> tuple[Setup, Setup]:
    """What the machine would run when all jobs need their worst case, contention included, and their best.

    No clock is off.
    """
    system = with_exact_clocks(system)
    none = np.zeros(0, np.int64)
    samples = SampleTable(none.astype(np.int32), none, none, none, none.astype(np.int8))
    longest = lower(system, plan, samples, horizon_ns=1, execution=Execution.WCET).setup
    longest = stretched(system, plan, longest)
    return longest, lower(system, plan, samples, horizon_ns=1, execution=Execution.BCET).setup


def loads_of(
    name: str, system: model.System, plan: model.Plan, setup: Setup, shortest: Setup, active: tuple[bool, ...]
) -> ModeLoad:
    """The loads of the tasks that are `active`; `setup`, `shortest`: their rows with worst and best demands."""
    executed = {index: _longest_executed_ns(row) for index, row in enumerate(setup.tasks) if active[index]}
    locks = lock_terms(setup, active, executed)
    loads = []
    placed: dict[int, list[int]] = {}
    for index, task in enumerate(setup.tasks):
        if active[index]:
            placed.setdefault(task.processor, []).append(index)
    one_clock = all(device.clock == model.DeviceClock() for device in system.devices)
    for number, row in enumerate(setup.processors):
        phase_is_known = _phase_is_known(system, plan, number)
        tasks = sorted(
            (
                _with_locks(
                    load_task(
                        index, setup.tasks[index], row, shortest.tasks[index], system.tasks[index], phase_is_known
                    ),
                    row,
                    locks[index],
                )
                for index in placed.get(number, ())
            ),
            key=lambda task: (task.level, task.index),
        )
        loads.append(ProcessorLoad(plan.processors[number], row, tuple(tasks), one_clock=one_clock))
    return ModeLoad(name, system, plan, setup, active, tuple(loads))


def _phase_is_known(system: model.System, plan: model.Plan, number: int) -> bool:
    """Whether tasks of a processor exist from the start on, and their clock runs with its table or slices, if any."""
    processor = plan.processors[number]
    cyclic = processor.policy in (model.Policy.TABLE, model.Policy.TIME_SLICED)
    errors = {device.name: device.clock.sync_error_ns for device in system.devices}
    return not system.modes and not (cyclic and errors[processor.device])


def load_task(
    index: int, row: TaskRow, processor: ProcessorRow, best: TaskRow, task: model.Task, fixed_offsets: bool
) -> LoadTask:
    """`fixed_offsets`: whether arrivals are known instants; after a change of mode tasks arrive relative to that."""
    executed_ns = _longest_executed_ns(row)
    region_ns, last_ns = regions_ns(row, processor, executed_ns)
    periodic = isinstance(task.activation, model.Periodic)
    return LoadTask(
        index=index,
        name=row.name,
        level=row.level,
        wcet_ns=executed_ns,
        bcet_ns=min(_demand_ns(best), executed_ns, row.degraded_demand_ns or executed_ns),
        deadline_ns=row.deadline_ns,
        streams=(Stream(row.separation_ns or 1),) if row.timed else (),
        release_jitter_ns=row.jitter_ns,
        overhead_ns=_overhead_ns(row, processor),
        offset_ns=row.offset_ns if periodic and fixed_offsets else None,
        region_ns=region_ns,
        last_region_ns=last_ns,
        suspension_ns=sum(one.max_ns for one in row.suspensions),
        suspensions=len(row.suspensions),
        high=row.high_criticality,
        low_wcet_ns=row.low_budget_ns,
        enforced=row.budget_ns is not None and row.overrun_action in _ENFORCED,
        throttled_beyond=_throttled_beyond(row, processor),
        message_activated=not row.timed,
        rate_hz=row.rate_hz,
        free=isinstance(task.activation, model.Sporadic),
        locks=bool(row.sections),
        sheds=row.deadline_action is not DeadlineAction.CONTINUE
        or (row.budget_ns is not None and row.overrun_action is not OverrunAction.LOG)
        or any(given.required for given in task.inputs),
    )


def _throttled_beyond(row: TaskRow, processor: ProcessorRow) -> bool:
    """Whether a job may have to wait for more budget; under EDF also when it arrives too soon after the one before."""
    if row.budget_ns is None or row.overrun_action is not OverrunAction.THROTTLE:
        return False
    return _demand_ns(row) > row.budget_ns or (processor.policy is Policy.EDF and not row.timed)


def _with_locks(task: LoadTask, processor: ProcessorRow, locks: LockTerms) -> LoadTask:
    region_ns, last_ns = regions_with_spin_ns(task.region_ns, task.last_region_ns, processor, locks.spin_ns)
    blocking = locks.blocking
    if never_preempts(processor) and blocking is not None:
        # Whole jobs of others block here, and their sections lie inside of them.
        blocking = Blocking()
    return replace(
        task,
        blocking=blocking,
        unblockable=locks.reason,
        spin_ns=locks.spin_ns,
        region_ns=region_ns,
        last_region_ns=last_ns,
    )


def regions_with_spin_ns(region_ns: int, last_ns: int, processor: ProcessorRow, spin_ns: int) -> tuple[int, int]:
    """Longest and last part of a job that nobody preempts, with the busy waiting that may lie in it."""
    if never_preempts(processor):
        return region_ns + spin_ns, last_ns + spin_ns
    return region_ns + spin_ns if region_ns > max(1, processor.switch_ns) else region_ns, last_ns


def never_preempts(processor: ProcessorRow) -> bool:
    """Whether a job that has started keeps its core until it ends or waits; slices and table entries may end first."""
    if processor.policy in (Policy.TIME_SLICED, Policy.TABLE):
        return False
    return not processor.preemptive or processor.policy is Policy.FIFO


def _demand_ns(row: TaskRow) -> int:
    return row.demand_ns if isinstance(row.demand_ns, int) else row.demand_ns[-1]


def _longest_executed_ns(row: TaskRow) -> int:
    """What a job may execute: where the budget is enforced that budget, rounded up, and the longest time for which it
    holds a lock, since it is not stopped there; else C.
    """
    if row.budget_ns is None or row.overrun_action not in _ENFORCED:
        return _demand_ns(row)
    grain_ns = row.budget_granularity_ns
    budget_ns = -(-row.budget_ns // grain_ns) * grain_ns
    held_ns = (at_a_stretch(one, row.sections)[-1].end_ns - one.start_ns for one in row.sections)
    return budget_ns + max(held_ns, default=0)


def regions_ns(row: TaskRow, processor: ProcessorRow, executed_ns: int) -> tuple[int, int]:
    """Longest and last part of a job that nobody preempts; a start or resume and its switch belong to it.

    A point inside a section may let nobody in, and then the job goes on to the next one.
    """
    if never_preempts(processor):
        whole_ns = executed_ns + processor.switch_ns
        return whole_ns, whole_ns
    if row.preemption_points_ns is None:
        return max(1, processor.switch_ns), 1
    inside = [point for point in row.preemption_points_ns if 0 < point < executed_ns]
    open_ns = [point for point in inside if not any(one.start_ns <= point <= one.end_ns for one in row.sections)]
    parts = [end - start for start, end in pairwise([0, *open_ns, executed_ns])]
    return max(parts) + processor.switch_ns, executed_ns - max(inside, default=0)


def _overhead_ns(row: TaskRow, processor: ProcessorRow) -> int:
    """Switches of one job: its start, and the resume of the job that it preempts; as much again for every wait.

    Without preemption each part of a job starts once, and so it does where only slices or entries end it, whose begin
    pays for the resume. On several cores a resume may migrate.
    """
    waits = len(row.suspensions)
    if never_preempts(processor) or not processor.preemptive or processor.policy is Policy.TABLE:
        return processor.switch_ns * (1 + waits)
    waits += len(row.sections)
    migration_ns = processor.migration_ns if processor.cores > 1 else 0
    return (2 * processor.switch_ns + migration_ns) * (1 + waits)
