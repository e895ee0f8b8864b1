"""Bounds while listed jobs of one task need more than their worst case.

A job that needs E more than C is like a job of C and another of E, both with its key, at one instant. So the listed
jobs together are one more task beside the one that overruns, with a single job: it adds its demand once to every busy
period that it can delay. Where a method does not take that (levels have to differ, say), all jobs of the task are taken
to need C + E. The lesser of both bounds counts.

Source: Quinton, Hanke, Ernst 2012 (overload as rare activations beside the usual ones).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

from rt_sched import model
from rt_sched.analysis.loads.contention import factors_of
from rt_sched.analysis.loads.load import LoadTask, Stream
from rt_sched.analysis.loads.resolve import ModeLoad, never_preempts
from rt_sched.analysis.methods import Method
from rt_sched.analysis.result import Term, TermKind
from rt_sched.analysis.system.engine import TaskBound, mode_bounds
from rt_sched.analysis.theory.fixed_points import HORIZON_NS
from rt_sched.trace.setup import OverrunAction, Policy
from rt_sched.units import ceil_int

_ENFORCED = (OverrunAction.ABORT, OverrunAction.THROTTLE, OverrunAction.FAIL_OVER)


@dataclass(frozen=True, slots=True)
class Overrun:
    """`jobs` of task `index` execute up to `extra_ns` beyond its worst case, `total_ns` all together.

    `cut`: a budget ends them before they are done. `throttled`: they have to wait for more than one budget.
    """

    index: int
    task: str
    jobs: tuple[int, ...]
    extra_ns: int
    cut: bool
    throttled: bool

    @property
    def total_ns(self) -> int:
        """Of all listed jobs."""
        return self.extra_ns * len(self.jobs)


def overrun_demand_ns(mode: ModeLoad, scenario: model.FaultScenario) -> int:
    """What the jobs that overrun need in this mode: the demand holds at the frequency of the start of a run, and while
    nothing else slows the element down, as the execution times of the task do."""
    row = next(row for row in mode.setup.tasks if row.name == scenario.target)
    processor = mode.plan.processors[row.processor]
    place = processor.device, processor.pe
    demand_ns = ceil_int((scenario.demand_ns or 0) * factors_of(mode.system, mode.plan).get(place, Fraction(1)))
    compute_ns = max(0, demand_ns - row.memory_ns)
    return ceil_int(compute_ns * mode.slower.get(place, Fraction(1))) + demand_ns - compute_ns


def overrun_of(mode: ModeLoad, scenario: model.FaultScenario) -> Overrun | None:
    """The overrun that a scenario declares, at the frequency of the mode; None where its task does not exist there."""
    index = next(i for i, task in enumerate(mode.system.tasks) if task.name == scenario.target)
    if not mode.active[index]:
        return None
    row = mode.setup.tasks[index]
    demand_ns = overrun_demand_ns(mode, scenario)
    enforced = row.budget_ns is not None and row.overrun_action in _ENFORCED
    over_budget = row.budget_ns is not None and demand_ns > row.budget_ns
    task = next(task for load in mode.loads for task in load.tasks if task.index == index)
    return Overrun(
        index,
        row.name,
        scenario.jobs,
        0 if enforced else max(0, demand_ns - task.wcet_ns),
        cut=over_budget and row.overrun_action in (OverrunAction.ABORT, OverrunAction.FAIL_OVER),
        throttled=over_budget and row.overrun_action is OverrunAction.THROTTLE,
    )


def overrun_bounds(mode: ModeLoad, overrun: Overrun, methods: Sequence[Method]) -> dict[int, TaskBound]:
    """Bound of every task of the mode while the jobs overrun, by its index."""
    always = {
        index: _with_terms(one, partial(_parts_of_longer, overrun=overrun))
        for index, one in mode_bounds(_with_longer_jobs(mode, overrun), methods).items()
    }
    processor = mode.setup.processors[mode.setup.tasks[overrun.index].processor]
    # Parts of one job do not run side by side, and slices and entries belong to tasks that exist.
    if processor.cores > 1 or processor.policy in (Policy.TIME_SLICED, Policy.TABLE) or overrun.throttled:
        return always
    once = mode_bounds(with_extra_job(mode, overrun), methods)
    return {
        index: _lesser(_with_terms(once[index], partial(_extra_job, overrun=overrun)), one)
        for index, one in always.items()
    }


def with_extra_job(mode: ModeLoad, overrun: Overrun) -> ModeLoad:
    """The mode with one more task, whose only job needs what all listed jobs need beyond their worst case.

    It has the number after the last task.
    """
    if not overrun.extra_ns:
        return mode
    row = mode.setup.tasks[overrun.index]
    extra_row = replace(
        row,
        name=_name(overrun),
        demand_ns=overrun.total_ns,
        rate_hz=None,
        explicit_arrivals_ns=(),
        sections=(),
        let=False,
    )
    loads = tuple(
        replace(load, tasks=_beside(load.tasks, task, _extra_task(mode, overrun, task)))
        if (task := next((one for one in load.tasks if one.index == overrun.index), None)) is not None
        else load
        for load in mode.loads
    )
    return replace(
        mode,
        setup=replace(mode.setup, tasks=(*mode.setup.tasks, extra_row)),
        active=(*mode.active, True),
        loads=loads,
    )


def _name(overrun: Overrun) -> str:
    return f"overrun of {overrun.task}"


def _beside(tasks: Sequence[LoadTask], task: LoadTask, extra: LoadTask) -> tuple[LoadTask, ...]:
    place = tasks.index(task) + 1
    return (*tasks[:place], extra, *tasks[place:])


def _extra_task(mode: ModeLoad, overrun: Overrun, task: LoadTask) -> LoadTask:
    """The one job; a part of it that nobody preempts is as long as one whole job that overruns."""
    processor = mode.setup.processors[mode.setup.tasks[overrun.index].processor]
    grown_ns = task.region_ns + overrun.extra_ns
    # Without preemption EDF takes the whole job for the part that blocks.
    blocks_whole = never_preempts(processor) and processor.policy is Policy.EDF
    return replace(
        task,
        index=len(mode.system.tasks),
        name=_name(overrun),
        wcet_ns=max(overrun.total_ns, grown_ns if blocks_whole else 0),
        bcet_ns=1,
        streams=(Stream(HORIZON_NS),),
        overhead_ns=0,
        spin_ns=0,
        suspension_ns=0,
        suspensions=0,
        region_ns=grown_ns if _in_pieces(mode, overrun) else task.region_ns,
        last_region_ns=min(task.last_region_ns, overrun.total_ns),
        offset_ns=None,
        rate_hz=None,
        message_activated=False,
        low_wcet_ns=None,
        locks=False,
    )


def _in_pieces(mode: ModeLoad, overrun: Overrun) -> bool:
    """Whether jobs of the task have parts that nobody preempts; the last one grows with the job."""
    row = mode.setup.tasks[overrun.index]
    return never_preempts(mode.setup.processors[row.processor]) or row.preemption_points_ns is not None


def _with_longer_jobs(mode: ModeLoad, overrun: Overrun) -> ModeLoad:
    """The mode as if every job of the task needed what the listed ones may need."""

    piece_ns = overrun.extra_ns if _in_pieces(mode, overrun) else 0

    def longer(task: LoadTask) -> LoadTask:
        if task.index != overrun.index:
            return task
        return replace(
            task,
            wcet_ns=task.wcet_ns + overrun.extra_ns,
            region_ns=task.region_ns + piece_ns,
            last_region_ns=task.last_region_ns + piece_ns,
            throttled_beyond=task.throttled_beyond or overrun.throttled,
        )

    loads = tuple(replace(load, tasks=tuple(map(longer, load.tasks))) for load in mode.loads)
    return replace(mode, loads=loads)


def _lesser(one: TaskBound, other: TaskBound) -> TaskBound:
    if one.bound is None or (other.bound is not None and other.bound.value_ns < one.bound.value_ns):
        return other if other.bound is not None else one
    return one


def _with_terms(one: TaskBound, parts: Callable[[Term], tuple[Term, ...]]) -> TaskBound:
    """The bound with what the overrun adds as a term of its own."""
    if one.bound is None:
        return one
    terms = tuple(part for term in one.bound.terms for part in parts(term))
    return replace(one, bound=replace(one.bound, terms=terms, exact=False))


def _extra_job(term: Term, overrun: Overrun) -> tuple[Term, ...]:
    if term.by != _name(overrun) or term.kind is not TermKind.INTERFERENCE:
        return (term,)
    return (Term(TermKind.OVERRUN, term.value_ns, overrun.task, len(overrun.jobs), overrun.extra_ns),)


def _parts_of_longer(term: Term, overrun: Overrun) -> tuple[Term, ...]:
    counted = term.by == overrun.task and term.jobs is not None and term.each_ns is not None
    if not overrun.extra_ns or not counted or term.kind not in (TermKind.OWN_EXECUTION, TermKind.INTERFERENCE):
        return (term,)
    jobs, each_ns = term.jobs or 0, term.each_ns or 0
    extra_ns = jobs * overrun.extra_ns
    usual = replace(term, value_ns=term.value_ns - extra_ns, each_ns=each_ns - overrun.extra_ns)
    return usual, Term(TermKind.OVERRUN, extra_ns, overrun.task, jobs, overrun.extra_ns)
