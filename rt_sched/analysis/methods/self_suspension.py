"""Response times of tasks that suspend themselves on one core: jobs counted one by one, or waits counted as work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from rt_sched.analysis.loads.load import LoadTask, ProcessorLoad
from rt_sched.analysis.methods.edf import EDF_RESPONSE_TIME
from rt_sched.analysis.methods.fifo import FIFO_RESPONSE_TIME
from rt_sched.analysis.methods.fixed_priority import FP_RESPONSE_TIME
from rt_sched.analysis.methods.method import (
    BOUNDED_BLOCKING,
    ONE_BUDGET,
    ONE_CORE,
    Found,
    Method,
    Need,
    first_task,
    plain_method,
    refusal_by,
)
from rt_sched.analysis.methods.rows import interference, own_terms
from rt_sched.analysis.result import Bound, Term, TermKind
from rt_sched.analysis.theory.suspension import SuspendedCase, suspending_worst_cases
from rt_sched.model import Policy

_COUNTED = "self_suspension"
_COUNTED_SOURCE = "Chen, Nelissen, Huang 2016"
_OBLIVIOUS = "suspension_oblivious"
_OBLIVIOUS_SOURCE = "Chen et al. 2019 (suspension counted as execution on one processor)"

SUSPENDS = Need(
    lambda load: None if any(task.suspensions for task in load.tasks) else "no task suspends itself",
    plain_method,
    purpose=True,
)
_ONE_STREAM = Need(
    lambda load: first_task(
        load, lambda t: len(t.streams) > 1, lambda t: f"several independent inputs activate task {t.name}"
    ),
    _OBLIVIOUS,
)
_DISTINCT = Need(
    lambda load: "tasks share a level" if len({t.level for t in load.tasks}) < len(load.tasks) else None, _OBLIVIOUS
)


def blocked_each_time_ns(load: ProcessorLoad, task: LoadTask) -> int:
    """The most that less urgent jobs delay a job of the task each time that it becomes ready."""
    regions_ns = [
        other.region_ns
        for other in load.tasks
        if other is not task and (load.policy is not Policy.FIXED_PRIORITY or other.level > task.level)
    ]
    locks_ns = 0 if task.blocking is None else task.blocking.total_ns
    return locks_ns + max(regions_ns, default=1) - 1


def _respond(load: ProcessorLoad) -> list[Found]:
    blocked_ns = [(1 + task.suspensions) * blocked_each_time_ns(load, task) for task in load.tasks]
    timings = [replace(t.timing(), blocking_ns=ns) for t, ns in zip(load.tasks, blocked_ns, strict=True)]
    cases = suspending_worst_cases(timings, [t.suspension_ns for t in load.tasks], late_ns=load.row.switch_ns)
    found = []
    for task, case, ns in zip(load.tasks, cases, blocked_ns, strict=True):
        if case is None:
            found.append(
                Found(None, f"jobs of {task.name}, or of a more urgent task, may not end before the next ones")
            )
        else:
            found.append(Found(_bound(load, task, case, ns)))
    return found


def _bound(load: ProcessorLoad, task: LoadTask, case: SuspendedCase, blocked_ns: int) -> Bound:
    terms = [
        *own_terms(task, 1),
        *interference(list(zip(load.tasks, case.jobs, strict=False))),
        *_some(TermKind.BLOCKING, blocked_ns, "less urgent jobs, each time that it becomes ready"),
        *_some(TermKind.SUSPENSION, task.suspension_ns, task.name),
        *_some(TermKind.RELEASE_JITTER, task.release_jitter_ns, None),
    ]
    spare_ns = case.window_ns + task.release_jitter_ns - sum(term.value_ns for term in terms)
    terms += _some(TermKind.ROUNDING, spare_ns, None)
    return Bound(
        case.window_ns + task.release_jitter_ns, tuple(terms), _COUNTED, _COUNTED_SOURCE, False, 0, case.window_ns
    )


def _some(kind: TermKind, value_ns: int, by: str | None) -> list[Term]:
    return [Term(kind, value_ns, by)] if value_ns else []


def oblivious(load: ProcessorLoad) -> ProcessorLoad:
    """The load with every wait, and the blocking after it, as execution of the job that waits.

    A job that may wait can lose its core before its end even where nobody is preempted.
    """
    tasks = tuple(
        replace(task, wcet_ns=task.wcet_ns + _waits_ns(load, task), suspensions=0, suspension_ns=0, last_region_ns=1)
        for task in load.tasks
    )
    return replace(load, row=replace(load.row, preemptive=load.policy is not Policy.FIFO), tasks=tasks)


def _waits_ns(load: ProcessorLoad, task: LoadTask) -> int:
    return task.suspension_ns + task.suspensions * blocked_each_time_ns(load, task)


_BY_POLICY = {
    Policy.FIXED_PRIORITY: FP_RESPONSE_TIME,
    Policy.EDF: EDF_RESPONSE_TIME,
    Policy.FIFO: FIFO_RESPONSE_TIME,
}


def _respond_oblivious(load: ProcessorLoad) -> list[Found]:
    return [
        one if one.bound is None else Found(_with_waits(one.bound, task, _waits_ns(load, task)))
        for task, one in zip(load.tasks, _BY_POLICY[load.policy].find(oblivious(load)), strict=True)
    ]


def _with_waits(bound: Bound, task: LoadTask, waits_ns: int) -> Bound:
    """The bound as this method's, with the waits of the task itself as terms of their own."""
    terms: list[Term] = []
    for term in bound.terms:
        if term.kind is TermKind.OWN_EXECUTION and term.jobs is not None and waits_ns:
            jobs = term.jobs
            blocked_ns = waits_ns - task.suspension_ns
            terms.append(replace(term, value_ns=jobs * task.wcet_ns, each_ns=task.wcet_ns))
            terms.append(Term(TermKind.SUSPENSION, jobs * task.suspension_ns, task.name, jobs, task.suspension_ns))
            if blocked_ns:
                terms.append(
                    Term(TermKind.BLOCKING, jobs * blocked_ns, "less urgent jobs after waits", jobs, blocked_ns)
                )
        else:
            terms.append(term)
    return replace(bound, terms=tuple(terms), method=_OBLIVIOUS, source=_OBLIVIOUS_SOURCE, exact=False)


def _not_for_certain(found: Callable[[ProcessorLoad], list[Found]]) -> Callable[[ProcessorLoad], list[Found]]:
    """Waits are no work, so too much of them proves nothing."""
    return lambda load: [replace(one, unbounded=False) for one in found(load)]


_COMMON: Sequence[Need] = (SUSPENDS, ONE_CORE, BOUNDED_BLOCKING, ONE_BUDGET)

SELF_SUSPENSION = Method(
    _COUNTED,
    _COUNTED_SOURCE,
    (Policy.FIXED_PRIORITY,),
    refusal_by(_COUNTED, (*_COMMON, _DISTINCT, _ONE_STREAM)),
    _respond,
)
SUSPENSION_OBLIVIOUS = Method(
    _OBLIVIOUS,
    _OBLIVIOUS_SOURCE,
    (Policy.FIXED_PRIORITY, Policy.EDF, Policy.FIFO),
    refusal_by(_OBLIVIOUS, _COMMON),
    _not_for_certain(_respond_oblivious),
)
