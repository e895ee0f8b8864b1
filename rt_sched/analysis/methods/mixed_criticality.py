"""Responses under adaptive mixed criticality on one preemptive core: AMC-rtb and AMC-max."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rt_sched.analysis.loads.load import LoadTask, ProcessorLoad
from rt_sched.analysis.methods.method import (
    BOUNDED_BLOCKING,
    NO_SUSPENSION,
    ONE_BUDGET,
    ONE_CORE,
    Found,
    Method,
    Need,
    first_task,
    refusal_by,
)
from rt_sched.analysis.methods.self_suspension import blocked_each_time_ns
from rt_sched.analysis.result import Bound, Term, TermKind
from rt_sched.analysis.theory.mixed_criticality import AmcResponse, DualTiming, amc_max, amc_rtb, late_jobs
from rt_sched.model import Policy

_PLAIN = "fp_response_time"

SWITCHES = Need(
    lambda load: None if load.switches_mode else "no HI task may exceed a C_LO while there are LO tasks here",
    _PLAIN,
    purpose=True,
)
PREEMPTIVE = Need(lambda load: None if load.row.preemptive else "jobs are not preempted", _PLAIN)
_NO_JITTER = Need(
    lambda load: first_task(
        load,
        lambda t: len(t.streams) > 1 or t.release_jitter_ns > 0 or any(s.jitter_ns for s in t.streams),
        lambda t: f"releases of task {t.name} jitter",
    ),
    _PLAIN,
)
#: The switch ends a LO job only when that has released its locks, so one may end in HI mode.
_LOW_WITHOUT_LOCKS = Need(
    lambda load: first_task(
        load,
        lambda t: t.locks and not t.high,
        lambda t: f"LO task {t.name} holds resources, and goes on until it frees them",
    ),
    _PLAIN,
)
_CONSTRAINED = Need(
    lambda load: first_task(
        load,
        lambda t: any(t.deadline_ns > stream.period_ns for stream in t.streams),
        lambda t: f"the deadline of task {t.name} exceeds its period",
    ),
    _PLAIN,
)
_DISTINCT = Need(
    lambda load: "tasks share a level" if len({t.level for t in load.tasks}) < len(load.tasks) else None, _PLAIN
)


def _respond(
    load: ProcessorLoad, name: str, source: str, analyse: Callable[[Sequence[DualTiming]], list[AmcResponse]]
) -> list[Found]:
    duals = [_dual(load, task) for task in load.tasks]
    found = []
    for own, one in enumerate(analyse(duals)):
        if one.worst_ns is None or one.low_ns is None:
            found.append(Found(None, "a recurrence exceeds the deadline, and bounds nothing beyond it"))
        else:
            found.append(Found(_bound(load, duals, own, one, one.worst_ns, one.low_ns, name, source)))
    return found


def _dual(load: ProcessorLoad, task: LoadTask) -> DualTiming:
    low_ns = task.wcet_ns if task.low_wcet_ns is None else min(task.low_wcet_ns, task.wcet_ns)
    more_ns = task.overhead_ns + task.spin_ns
    return DualTiming(
        (low_ns if task.high else task.wcet_ns) + more_ns,
        task.streams[0].period_ns,
        task.deadline_ns,
        task.cost_ns if task.high else None,
        blocked_each_time_ns(load, task),
    )


def _bound(
    load: ProcessorLoad,
    duals: Sequence[DualTiming],
    own: int,
    one: AmcResponse,
    window_ns: int,
    low_ns: int,
    name: str,
    source: str,
) -> Bound:
    """The largest of the three responses, and what it counts of every more urgent task."""
    mine, task = duals[own], load.tasks[own]
    in_low = low_ns == window_ns
    in_high = not in_low and one.high_ns == window_ns
    execution_ns = (mine.wcet_lo_ns if in_low else mine.highest_ns) - task.overhead_ns - task.spin_ns
    terms = [Term(TermKind.OWN_EXECUTION, execution_ns, task.name, 1, execution_ns)]
    terms += [
        Term(kind, value_ns, by)
        for kind, value_ns, by in (
            (TermKind.OVERHEAD, task.overhead_ns, task.name),
            (TermKind.SPIN, task.spin_ns, task.name),
            (TermKind.BLOCKING, mine.blocking_ns, "a less urgent job"),
        )
        if value_ns
    ]
    for other, dual in zip(load.tasks[:own], duals[:own], strict=True):
        jobs = -(-window_ns // dual.period_ns)
        late = 0
        if dual.high and not in_low:
            late = jobs if in_high or one.switch_at_ns is None else late_jobs(dual, window_ns, one.switch_at_ns)[1]
        elif not in_low:
            if in_high:
                jobs = 0
            elif one.switch_at_ns is None:
                jobs = -(-low_ns // dual.period_ns)
            else:
                jobs = one.switch_at_ns // dual.period_ns + 1
        counts = ((jobs - late, dual.wcet_lo_ns), (late, dual.highest_ns))
        terms += [Term(TermKind.INTERFERENCE, n * each, other.name, n, each) for n, each in counts if n]
    spare_ns = window_ns - sum(term.value_ns for term in terms)
    if spare_ns:
        terms.append(Term(TermKind.ROUNDING, spare_ns))
    return Bound(window_ns, tuple(terms), name, source, False, 0, window_ns)


def _method(name: str, source: str, analyse: Callable[[Sequence[DualTiming]], list[AmcResponse]]) -> Method:
    needs = (
        SWITCHES,
        ONE_CORE,
        PREEMPTIVE,
        NO_SUSPENSION,
        BOUNDED_BLOCKING,
        ONE_BUDGET,
        _LOW_WITHOUT_LOCKS,
        _NO_JITTER,
        _CONSTRAINED,
        _DISTINCT,
    )
    return Method(
        name,
        source,
        (Policy.FIXED_PRIORITY,),
        refusal_by(name, needs),
        lambda load: _respond(load, name, source, analyse),
    )


AMC_RTB = _method("amc_rtb", "Baruah, Burns, Davis 2011, AMC-rtb", amc_rtb)
AMC_MAX = _method("amc_max", "Baruah, Burns, Davis 2011, AMC-max", amc_max)
