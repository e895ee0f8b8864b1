"""Responses where several cores share one queue, under preemptive fixed priorities or EDF."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rt_sched.analysis.loads.load import LoadTask, ProcessorLoad
from rt_sched.analysis.methods.method import (
    BOUNDED_BLOCKING,
    NO_SUSPENSION,
    ONE_BUDGET,
    Found,
    Method,
    Need,
    first_task,
    plain_method,
    refusal_by,
)
from rt_sched.analysis.result import Bound, Term, TermKind
from rt_sched.analysis.theory.fixed_points import Timing
from rt_sched.analysis.theory.global_tests import global_edf_response_times, global_fp_response_times
from rt_sched.model import Policy

_PARTITION = "placing every task on one core"

SEVERAL_CORES = Need(
    lambda load: None if load.row.cores > 1 else "one core serves the queue", plain_method, purpose=True
)
_FREELY_PREEMPTIVE = Need(
    lambda load: (
        None
        if load.row.preemptive and all(task.region_ns <= max(1, load.row.switch_ns) for task in load.tasks)
        else "jobs cannot be preempted at any instant"
    ),
    _PARTITION,
)
#: A core in the middle of a switch cannot be taken, so a job preempts another one instead of the least urgent, whose
#: further switches no other core shares.
_FREE_SWITCHES = Need(
    lambda load: "switches and migrations take time" if load.row.switch_ns or load.row.migration_ns else None,
    _PARTITION,
)
_ONE_STREAM = Need(
    lambda load: first_task(
        load, lambda t: len(t.streams) > 1, lambda t: f"several independent inputs activate task {t.name}"
    ),
    _PARTITION,
)
_DISTINCT = Need(
    lambda load: "tasks share a level" if len({t.level for t in load.tasks}) < len(load.tasks) else None, _PARTITION
)
_ENDS_BEFORE_NEXT = Need(
    lambda load: first_task(
        load,
        lambda t: t.deadline_ns + _jitter_ns(t) > t.streams[0].period_ns,
        lambda t: f"the deadline of task {t.name}, with its jitter, exceeds its period",
    ),
    _PARTITION,
)


def _jitter_ns(task: LoadTask) -> int:
    return task.streams[0].jitter_ns + task.release_jitter_ns


def _timings(load: ProcessorLoad, deadlines_ns: Sequence[int]) -> list[Timing]:
    return [
        Timing(task.cost_ns, task.streams[0].period_ns, deadline_ns, _jitter_ns(task))
        for task, deadline_ns in zip(load.tasks, deadlines_ns, strict=True)
    ]


def _respond_fp(load: ProcessorLoad) -> list[Found]:
    limits_ns = [task.streams[0].period_ns - _jitter_ns(task) for task in load.tasks]
    place = next((i for i, limit_ns in enumerate(limits_ns) if limit_ns < 1), len(limits_ns))
    possible = ProcessorLoad(load.processor, load.row, load.tasks[:place])
    windows = global_fp_response_times(_timings(possible, limits_ns[:place]), load.row.cores) if place else []
    why = "jobs of {}, or of a more urgent task, may not end before the next ones arrive"
    padded = [*windows, *[None] * (len(load.tasks) - place)]
    return [
        Found(None, why.format(task.name)) if window is None else Found(_bound(load, task, window, FP_NAME, FP_SOURCE))
        for task, window in zip(load.tasks, padded, strict=True)
    ]


def _respond_edf(load: ProcessorLoad) -> list[Found]:
    windows = global_edf_response_times(
        _timings(load, [task.deadline_ns for task in load.tasks]),
        load.row.cores,
        [task.release_jitter_ns for task in load.tasks],
    )
    late = [task.name for task, window in zip(load.tasks, windows, strict=True) if window is None]
    if late:
        return [Found(None, f"no bound within the deadline of {late[0]}, on which the others rest") for _ in load.tasks]
    return [
        Found(_bound(load, task, window, EDF_NAME, EDF_SOURCE))
        for task, window in zip(load.tasks, windows, strict=True)
        if window is not None
    ]


def _bound(load: ProcessorLoad, task: LoadTask, window_ns: int, name: str, source: str) -> Bound:
    """The others' share of all cores in one term: they delay together, and which of them do is not known."""
    parts = (
        (TermKind.OWN_EXECUTION, task.wcet_ns, task.name),
        (TermKind.INTERFERENCE, window_ns - task.wcet_ns, f"others, on {load.row.cores} cores"),
        (TermKind.RELEASE_JITTER, task.release_jitter_ns, None),
    )
    terms = tuple(Term(kind, value_ns, by) for kind, value_ns, by in parts if value_ns)
    return Bound(window_ns + task.release_jitter_ns, terms, name, source, False, 0, window_ns)


FP_NAME = "global_fp"
FP_SOURCE = "Guan, Stigge, Yi, Yu 2009, after Bertogna, Cirinei 2007"
EDF_NAME = "global_edf"
EDF_SOURCE = "Bertogna, Cirinei 2007; Bertogna, Cirinei, Lipari 2009"


def _method(
    name: str,
    source: str,
    policy: Policy,
    more: Sequence[Need],
    respond: Callable[[ProcessorLoad], list[Found]],
) -> Method:
    needs = (
        SEVERAL_CORES,
        _FREELY_PREEMPTIVE,
        _FREE_SWITCHES,
        NO_SUSPENSION_HERE,
        BOUNDED_BLOCKING,
        ONE_BUDGET,
        _ONE_STREAM,
        *more,
    )
    return Method(name, source, (policy,), refusal_by(name, needs), respond)


#: As on one core, but nothing else applies here.
NO_SUSPENSION_HERE = Need(NO_SUSPENSION.holds, _PARTITION)
GLOBAL_FP = _method(FP_NAME, FP_SOURCE, Policy.FIXED_PRIORITY, (_DISTINCT,), _respond_fp)
GLOBAL_EDF = _method(EDF_NAME, EDF_SOURCE, Policy.EDF, (_ENDS_BEFORE_NEXT,), _respond_edf)
