"""Response times under EDF on one core, preemptive or not."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from rt_sched.analysis.batch import Status, edf_response_times
from rt_sched.analysis.loads.load import LoadTask, ProcessorLoad
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
from rt_sched.analysis.methods.rows import (
    Row,
    arrival_term,
    interference,
    lock_terms,
    own_terms,
    rows_of,
    why_none,
    worse,
)
from rt_sched.analysis.result import Bound, Term, TermKind
from rt_sched.analysis.theory.fixed_points import NotConverged, least_fixed_point
from rt_sched.model import Policy

NAME = "edf_response_time"
#: More rows than this take too long to be looked at once more, each in a set of its own.
_MOST_ENDS = 16
SOURCE = "Spuri 1996 (preemptive, jitter); George, Rivierre, Spuri 1996 (non-preemptive); Baruah 2006 (blocking)"


def _respond(load: ProcessorLoad) -> list[Found]:
    rows = rows_of(load)
    preemptive = load.row.preemptive
    blocked = [blocked_ns(load, row.task) for row in rows]
    result = edf_response_times(
        [[row.task.cost_ns for row in rows]],
        [[row.stream.period_ns for row in rows]],
        [[row.task.deadline_ns for row in rows]],
        [[row.jitter_ns for row in rows]],
        [blocked] if any(blocked) else None,
        preemptive,
        release_jitter_ns=[[row.task.release_jitter_ns for row in rows]],
        details=True,
    )
    ends_ns = _ends_ns(rows, blocked, preemptive)
    found: dict[int, Found] = {}
    for column, row in enumerate(rows):
        status = Status(int(result.status[0, column]))
        if status is Status.OK:
            value_ns = int(result.response_ns[0, column])
            bound = _bound(load, rows, row, int(result.worst_arrival_ns[0, column]), value_ns)
            one = Found(bound, ends_ns=ends_ns.get(row.place))
        else:
            one = why_none(status)
        found[row.place] = worse(found.get(row.place), one)
    return [found[place] for place in range(len(load.tasks))]


def _ends_ns(rows: Sequence[Row], blocked: Sequence[int], preemptive: bool) -> dict[int, tuple[int, int]]:
    """Ends from the earliest arrivals on, by place: as if those were the arrivals, and all jitter came after them.

    The deadline of a job counts from its own arrival, and so is up to the jitter of that later than from the earliest
    one; of all others the earliest deadlines count, which go first. So every task is looked at with its latest deadline
    in a set of its own.
    """
    late = [place for place, row in enumerate(rows) if row.stream.jitter_ns and len(row.task.streams) == 1]
    if not late or len(rows) > _MOST_ENDS:
        return {}

    def each(values: Sequence[int], own: Sequence[int] | None = None) -> list[list[int]]:
        sets = [list(values) for _ in late]
        if own is not None:
            for one, place in zip(sets, late, strict=True):
                one[place] = own[place]
        return sets

    result = edf_response_times(
        each([row.task.cost_ns for row in rows]),
        each([row.stream.period_ns for row in rows]),
        each([r.task.deadline_ns for r in rows], [r.task.deadline_ns + r.stream.jitter_ns for r in rows]),
        each([row.jitter_ns for row in rows]),
        each(blocked) if any(blocked) else None,
        preemptive,
        release_jitter_ns=each([row.task.release_jitter_ns for row in rows], [row.jitter_ns for row in rows]),
    )
    return {
        rows[place].place: (rows[place].task.bcet_ns, int(result.response_ns[number, place]))
        for number, place in enumerate(late)
        if Status(int(result.status[number, place])) is Status.OK
    }


def blocked_ns(load: ProcessorLoad, task: LoadTask) -> int:
    """By sections of jobs with later deadlines, and by a part of one, at least its switch, which nobody preempts.

    With jitter a job may be nearer to its deadline, when it is released, than its relative deadline says. Raises
    NotConverged when jobs that may start in the middle of a section leave it no end.
    """
    return sum(term.value_ns for term in _held_up(load, task))


def _held_up(load: ProcessorLoad, task: LoadTask) -> list[Term]:
    """The terms of `blocked_ns`."""
    terms = lock_terms(task)
    if task.blocking is not None and task.blocking.interrupted and task.blocking.total_ns:
        more_ns = _interrupted_ns(load, task, task.blocking.total_ns) - task.blocking.total_ns
        terms += [Term(TermKind.BLOCKING, more_ns, "jobs that the ceiling lets start meanwhile")] if more_ns else []
    if not load.row.preemptive:
        return terms
    regions = [
        other
        for other in load.tasks
        if other is not task and other.deadline_ns > task.deadline_ns - task.release_jitter_ns
    ]
    longest = max(regions, key=lambda other: other.region_ns, default=None)
    if longest is not None and longest.region_ns >= max(load.row.switch_ns, 2):
        terms.append(Term(TermKind.NON_PREEMPTIVE_REGION, longest.region_ns - 1, longest.name))
    elif load.row.switch_ns > 1:
        terms.append(Term(TermKind.NON_PREEMPTIVE_REGION, load.row.switch_ns - 1, "a switch to another job"))
    return terms


def _interrupted_ns(load: ProcessorLoad, task: LoadTask, section_ns: int) -> int:
    """A section of `section_ns` with all jobs in between that its ceiling lets start.

    They have a shorter relative deadline than the blocked one; with jitter that of any blocked one counts.
    """
    jitters = any(other.release_jitter_ns for other in load.tasks)
    limit_ns = max(other.deadline_ns for other in load.tasks) if jitters else task.deadline_ns
    rows = [row for row in rows_of(load) if row.task.deadline_ns < limit_ns]
    if sum((Fraction(row.task.cost_ns, row.stream.period_ns) for row in rows), Fraction(0)) >= 1:
        raise NotConverged(f"the jobs that may start while a section blocks {task.name} leave it no time")
    return least_fixed_point(
        lambda length_ns: section_ns + sum(row.jobs_within(length_ns) * row.task.cost_ns for row in rows), section_ns
    )


def _bound(load: ProcessorLoad, rows: Sequence[Row], mine: Row, arrival_ns: int, value_ns: int) -> Bound:
    """The bound and its terms for the job that arrives `arrival_ns` after the begin of a busy period.

    Counted is the work of others that is released before the job's last region begins and due by its deadline.
    """
    task = mine.task
    absolute_ns = arrival_ns + task.deadline_ns
    own_jobs = (arrival_ns + mine.jitter_ns) // mine.stream.period_ns + 1
    rest_ns = 0 if load.row.preemptive else task.cost_ns - 1
    window_ns = value_ns + arrival_ns - rest_ns
    counted = []
    for row in rows:
        due_ns = row.task.deadline_ns - row.jitter_ns
        if row is not mine and due_ns <= absolute_ns:
            jobs = min(row.jobs_within(window_ns), (absolute_ns - due_ns) // row.stream.period_ns + 1)
            counted.append((row.task, jobs))
    same = sum(jobs for other, jobs in counted if other is task)
    terms = [
        *own_terms(task, own_jobs + same),
        *interference([(other, jobs) for other, jobs in counted if other is not task]),
        *arrival_term(arrival_ns),
    ]
    blocked_ns = value_ns - sum(term.value_ns for term in terms)
    terms += _blocking_terms(load, task, absolute_ns, blocked_ns)
    return Bound(value_ns, tuple(terms), NAME, SOURCE, exact=False, job=own_jobs - 1, window_ns=window_ns)


def _blocking_terms(load: ProcessorLoad, task: LoadTask, absolute_ns: int, blocked_ns: int) -> list[Term]:
    """Who a blocking of `blocked_ns` is due to: a job with a later deadline that had started, or its section."""
    if blocked_ns == 0:
        return []
    if not load.row.preemptive:
        for other in load.tasks:
            if other.deadline_ns > absolute_ns and other.cost_ns - 1 == blocked_ns:
                return [Term(TermKind.NON_PREEMPTIVE_REGION, blocked_ns, other.name)]
    terms = _held_up(load, task)
    if sum(term.value_ns for term in terms) == blocked_ns:
        return terms
    return [Term(TermKind.BLOCKING, blocked_ns, "jobs with later deadlines")]


EDF_RESPONSE_TIME = Method(
    NAME,
    SOURCE,
    (Policy.EDF,),
    refusal_by(NAME, (FEW_TASKS, ONE_CORE, NO_SUSPENSION, BOUNDED_BLOCKING, ONE_BUDGET)),
    _respond,
)
