"""Response times under first-in first-out on one core."""

from __future__ import annotations

from collections.abc import Sequence

from rt_sched.analysis.loads.load import ProcessorLoad
from rt_sched.analysis.methods.method import (
    BOUNDED_BLOCKING,
    FEW_TASKS,
    NO_SUSPENSION,
    ONE_BUDGET,
    ONE_CORE,
    Found,
    Method,
    refusal_by,
)
from rt_sched.analysis.methods.rows import Row, arrival_term, interference, own_terms, rows_of, worse
from rt_sched.analysis.result import Bound
from rt_sched.analysis.theory.fifo import fifo_worst_cases
from rt_sched.analysis.theory.fixed_points import Timing
from rt_sched.model import Policy

NAME = "fifo_response_time"
SOURCE = "George, Rivierre, Spuri 1996; George, Minet 1997"


def _respond(load: ProcessorLoad) -> list[Found]:
    rows = rows_of(load)
    if load.load > 1:
        return [Found(None, "the processor is asked for more than it has", unbounded=True) for _ in load.tasks]
    timings = [Timing(row.task.cost_ns, row.stream.period_ns, row.task.deadline_ns, row.jitter_ns) for row in rows]
    worst = fifo_worst_cases(timings, [row.stream.jitter_ns for row in rows])
    ends_ns = _ends_ns(rows, timings)
    found: dict[int, Found] = {}
    for row, (release_ns, done_ns) in zip(rows, worst, strict=True):
        one = Found(_bound(rows, row, release_ns, done_ns), ends_ns=ends_ns.get(row.place))
        found[row.place] = worse(found.get(row.place), one)
    return [found[place] for place in range(len(load.tasks))]


def _ends_ns(rows: Sequence[Row], timings: Sequence[Timing]) -> dict[int, tuple[int, int]]:
    """Ends from the earliest arrivals on, by place: as if those were the arrivals, and all jitter came after them."""
    if not any(row.stream.jitter_ns for row in rows):
        return {}
    return {
        row.place: (row.task.bcet_ns, done_ns - release_ns + row.jitter_ns)
        for row, (release_ns, done_ns) in zip(rows, fifo_worst_cases(timings), strict=True)
        if len(row.task.streams) == 1
    }


def _bound(rows: list[Row], mine: Row, release_ns: int, done_ns: int) -> Bound:
    """The job released `release_ns` after the begin of a busy period ends when all released up to then is done."""
    own_jobs = (release_ns + mine.stream.jitter_ns) // mine.stream.period_ns + 1
    counted = [(row.task, row.jobs_within(release_ns + 1)) for row in rows if row is not mine]
    same = sum(jobs for other, jobs in counted if other is mine.task)
    terms = (
        *own_terms(mine.task, own_jobs + same),
        *interference([(other, jobs) for other, jobs in counted if other is not mine.task]),
        *arrival_term(release_ns - mine.task.release_jitter_ns),
    )
    value_ns = done_ns - release_ns + mine.task.release_jitter_ns
    return Bound(value_ns, terms, NAME, SOURCE, False, own_jobs - 1, release_ns + 1)


FIFO_RESPONSE_TIME = Method(
    NAME,
    SOURCE,
    (Policy.FIFO,),
    refusal_by(NAME, (FEW_TASKS, ONE_CORE, NO_SUSPENSION, BOUNDED_BLOCKING, ONE_BUDGET)),
    _respond,
)
