"""Response times under fixed priorities on one core where offsets are known, with release jitter and blocking."""

from __future__ import annotations

from fractions import Fraction

from rt_sched.analysis.loads.load import Phase, ProcessorLoad
from rt_sched.analysis.methods.method import (
    BOUNDED_BLOCKING,
    NO_SUSPENSION,
    ONE_BUDGET,
    ONE_CORE,
    Found,
    Method,
    Need,
    refusal_by,
)
from rt_sched.analysis.methods.rows import (
    Row,
    arrival_term,
    interference,
    lock_terms,
    longest_lower_regions_ns,
    own_terms,
    region_term,
    rows_of,
    worse,
)
from rt_sched.analysis.result import Bound
from rt_sched.analysis.theory.fixed_points import NotConverged
from rt_sched.analysis.theory.transactions import FINEST, OffsetCase, OffsetTask, offset_worst_case
from rt_sched.model import Policy
from rt_sched.units import NS_PER_S

NAME = "offset_response_time"
SOURCE = "Palencia, Gonzalez Harbour 1998 (static and dynamic offsets, jitter); Tindell 1994 (most work of any phase)"

#: More rows than this take too long: each is looked at in every phase of its transaction.
_MOST_ROWS = 64
_INSTEAD = "fp_response_time"


def _phase(row: Row) -> Phase | None:
    """Where the arrivals of a stream lie: as the system knows, else as the task itself says."""
    task = row.task
    if row.stream.phase is not None or task.offset_ns is None or task.rate_hz is None:
        return row.stream.phase
    return Phase("", task.offset_ns, task.rate_hz)


def _origins(load: ProcessorLoad) -> list[str]:
    return [phase.origin for row in rows_of(load) if (phase := _phase(row)) is not None]


OFFSETS = Need(
    lambda load: (
        None if len(known := _origins(load)) > len(set(known)) else "no two tasks have known offsets towards each other"
    ),
    _INSTEAD,
    purpose=True,
)
_FEW_ROWS = Need(
    lambda load: (
        None
        if sum(len(task.streams) for task in load.tasks) <= _MOST_ROWS
        else f"there are more than {_MOST_ROWS} sources of jobs; each is looked at in many phases"
    ),
    _INSTEAD,
)


def _respond(load: ProcessorLoad) -> list[Found]:
    rows = rows_of(load)
    regions = longest_lower_regions_ns(load)
    tasks = [_offset_task(row, regions[row.place]) for row in rows]
    found: dict[int, Found] = {}
    for number, row in enumerate(rows):
        try:
            case = offset_worst_case(tasks, number)
        except NotConverged as error:
            one = Found(None, str(error))
        else:
            one = Found(None, "the processor has no time to spare")
            if case is not None:
                one = Found(_bound(load, rows, number, case, regions[row.place]))
        found[row.place] = worse(found.get(row.place), one)
    return [found[place] for place in range(len(load.tasks))]


def _offset_task(row: Row, region_ns: int) -> OffsetTask:
    task = row.task
    period_ns, offset_ns = Fraction(row.stream.period_ns), None
    phase = _phase(row)
    if phase is not None:
        exact_ns = period_ns if phase.rate_hz is None else NS_PER_S / phase.rate_hz
        if exact_ns.denominator <= FINEST:
            period_ns, offset_ns = exact_ns, phase.offset_ns
    locks_ns = 0 if task.blocking is None else task.blocking.total_ns
    return OffsetTask(
        period_ns,
        task.cost_ns,
        task.level,
        row.jitter_ns,
        offset_ns,
        task.release_jitter_ns,
        locks_ns + region_ns,
        task.last_region_ns,
        "" if phase is None else phase.origin,
        phase is None or phase.rate_hz is not None,
    )


def _bound(load: ProcessorLoad, rows: list[Row], number: int, case: OffsetCase, region_ns: int) -> Bound:
    task = rows[number].task
    counted = [(row.task, jobs) for row, jobs in zip(rows, case.jobs, strict=True)]
    same = sum(jobs for other, jobs in counted if other is task)
    terms = (
        *own_terms(task, case.job + 1 + same),
        *interference([(other, jobs) for other, jobs in counted if other is not task]),
        *lock_terms(task),
        *region_term((other for other in load.tasks if other.level > task.level), region_ns),
        *arrival_term(case.arrival_ns),
    )
    return Bound(case.response_ns, terms, NAME, SOURCE, False, case.job, case.window_ns)


OFFSET_RESPONSE_TIME = Method(
    NAME,
    SOURCE,
    (Policy.FIXED_PRIORITY,),
    refusal_by(NAME, (OFFSETS, _FEW_ROWS, ONE_CORE, NO_SUSPENSION, BOUNDED_BLOCKING, ONE_BUDGET)),
    _respond,
)
