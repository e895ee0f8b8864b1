"""Response times under fixed priorities on one core, whatever may be preempted."""

from __future__ import annotations

from collections.abc import Sequence

from rt_sched.analysis.batch import BatchResult, Status, fp_response_times
from rt_sched.analysis.loads.load import ProcessorLoad
from rt_sched.analysis.methods.method import (
    BOUNDED_BLOCKING,
    NO_SUSPENSION,
    ONE_BUDGET,
    ONE_CORE,
    Found,
    Method,
    refusal_by,
)
from rt_sched.analysis.methods.rows import (
    Row,
    RowTable,
    arrival_term,
    attained,
    lock_terms,
    longest_lower_regions_ns,
    own_terms,
    region_term,
    rows_of,
    why_none,
    worse,
)
from rt_sched.analysis.result import Bound
from rt_sched.model import Policy

NAME = "fp_response_time"
SOURCE = (
    "Lehoczky 1990; Tindell, Burns, Wellings 1994 (jitter, arbitrary deadlines); Davis, Burns, Bril, Lukkien 2007 "
    "(non-preemptive); Bril, Lukkien, Verhaegh 2009 (last region)"
)


def _respond(load: ProcessorLoad) -> list[Found]:
    rows = rows_of(load)
    regions = longest_lower_regions_ns(load)
    result = _response_times(rows, regions, [row.task.release_jitter_ns for row in rows])
    ends_ns: dict[int, tuple[int, int]] = {}
    if any(row.stream.jitter_ns for row in rows):
        # As if the grid were the arrivals, and all jitter came after them.
        ends = _response_times(rows, regions, [row.jitter_ns for row in rows])
        ends_ns = {
            row.place: (row.task.bcet_ns, int(ends.response_ns[0, column]))
            for column, row in enumerate(rows)
            if len(row.task.streams) == 1 and Status(int(ends.status[0, column])) is Status.OK
        }
    table = RowTable(rows)
    exact = attained(load) and len({task.level for task in load.tasks}) == len(load.tasks)
    found: dict[int, Found] = {}
    for column, row in enumerate(rows):
        status = Status(int(result.status[0, column]))
        if status is Status.OK:
            job, window_ns = int(result.worst_job[0, column]), int(result.worst_window_ns[0, column])
            bound = _bound(load, table, row, job, window_ns, regions[row.place], exact)
            one = Found(bound, ends_ns=ends_ns.get(row.place))
        else:
            one = why_none(status)
        found[row.place] = worse(found.get(row.place), one)
    return [found[place] for place in range(len(load.tasks))]


def _response_times(rows: Sequence[Row], regions: Sequence[int], release_jitter_ns: Sequence[int]) -> BatchResult:
    """Responses of all rows; `release_jitter_ns`: the part of the jitter that they contain."""
    return fp_response_times(
        [[row.task.cost_ns for row in rows]],
        [[row.stream.period_ns for row in rows]],
        [[row.task.deadline_ns for row in rows]],
        [[row.jitter_ns for row in rows]],
        [[_blocked_ns(row) + regions[row.place] for row in rows]],
        levels=[row.task.level for row in rows],
        last_region_ns=[[row.task.last_region_ns for row in rows]],
        release_jitter_ns=[release_jitter_ns],
        details=True,
    )


def _blocked_ns(row: Row) -> int:
    return 0 if row.task.blocking is None else row.task.blocking.total_ns


def _bound(
    load: ProcessorLoad, table: RowTable, mine: Row, job: int, window_ns: int, region_ns: int, exact: bool
) -> Bound:
    """The bound and its terms for job `job` of the busy period, whose last region begins 1 ns before `window_ns`."""
    task = mine.task
    arrival_ns = max(job * mine.stream.period_ns - mine.jitter_ns, -task.release_jitter_ns)
    same, delays = table.up_to_level(mine, window_ns)
    terms = (
        *own_terms(task, job + 1 + same),
        *delays,
        *lock_terms(task),
        *region_term((other for other in load.tasks if other.level > task.level), region_ns),
        *arrival_term(arrival_ns),
    )
    return Bound(sum(term.value_ns for term in terms), terms, NAME, SOURCE, exact, job, window_ns)


FP_RESPONSE_TIME = Method(
    NAME,
    SOURCE,
    (Policy.FIXED_PRIORITY,),
    refusal_by(NAME, (ONE_CORE, NO_SUSPENSION, BOUNDED_BLOCKING, ONE_BUDGET)),
    _respond,
)
