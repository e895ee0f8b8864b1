"""Response times on one core where arrival curves say how jobs arrive: fixed priorities, EDF and FIFO."""

from __future__ import annotations

from collections.abc import Callable

from rt_sched.analysis.loads.load import LoadTask, ProcessorLoad
from rt_sched.analysis.methods.method import (
    BOUNDED_BLOCKING,
    FEW_TASKS,
    NO_SUSPENSION,
    ONE_BUDGET,
    ONE_CORE,
    WHOLE_OR_FREE,
    Found,
    Method,
    Need,
    plain_method,
    refusal_by,
)
from rt_sched.analysis.methods.rows import (
    Row,
    arrival_term,
    attained,
    interference,
    lock_terms,
    own_terms,
    region_term,
    rows_of,
    worse,
)
from rt_sched.analysis.result import Bound, Term
from rt_sched.analysis.theory.curves import Curves, CurveTask, Worst, arrivals_within, is_subadditive, sporadic_curve
from rt_sched.analysis.theory.fixed_points import NotConverged
from rt_sched.model import Policy


def curve_task(row: Row) -> CurveTask:
    """One stream of a task as a source of jobs; a period is a curve of one step."""
    task = row.task
    return CurveTask(
        row.stream.curve or sporadic_curve(row.stream.period_ns),
        task.cost_ns,
        task.deadline_ns,
        task.level,
        row.jitter_ns,
        task.release_jitter_ns,
        task.last_region_ns,
    )


def _respond(
    load: ProcessorLoad, worst_of: Callable[[Curves, int], Worst | None], bound_of: Callable[[int, Worst], Bound]
) -> list[Found]:
    found: dict[int, Found] = {}
    rows = rows_of(load)
    try:
        curves = Curves([curve_task(row) for row in rows])
        for place, row in enumerate(rows):
            worst = worst_of(curves, place)
            if worst is None:
                one = Found(None, "the processor is asked for more than it has", unbounded=True)
            else:
                one = Found(bound_of(place, worst))
            found[row.place] = worse(found.get(row.place), one)
    except NotConverged as error:
        for row in rows:
            found.setdefault(row.place, Found(None, str(error)))
    return [found[place] for place in range(len(load.tasks))]


def _fixed_priority(load: ProcessorLoad) -> list[Found]:
    rows = rows_of(load)
    sources = [curve_task(row) for row in rows]
    exact = (
        attained(load)
        and len({task.level for task in load.tasks}) == len(load.tasks)
        and all(row.stream.curve is None or is_subadditive(row.stream.curve) for row in rows)
    )

    def region_ns(level: int) -> int:
        return max((task.region_ns for task in load.tasks if task.level > level), default=1) - 1

    def worst_of(curves: Curves, place: int) -> Worst | None:
        task = rows[place].task
        return curves.fixed_priority(place, _locks_ns(task) + region_ns(task.level))

    def bound_of(place: int, worst: Worst) -> Bound:
        mine = rows[place]
        counted = [
            (row.task, source.jobs_within(worst.window_ns))
            for row, source in zip(rows, sources, strict=True)
            if row.task.level <= mine.task.level and row is not mine
        ]
        lower = [other for other in load.tasks if other.level > mine.task.level]
        terms = (
            *_work_terms(mine.task, worst.job + 1, counted),
            *lock_terms(mine.task),
            *region_term(lower, region_ns(mine.task.level)),
            *arrival_term(worst.arrival_ns),
        )
        return _bound(FP_CURVES, worst, terms, exact)

    return _respond(load, worst_of, bound_of)


def _edf(load: ProcessorLoad) -> list[Found]:
    rows = rows_of(load)
    sources = [curve_task(row) for row in rows]
    blocks_ns = [max(0, (load.row.switch_ns if load.row.preemptive else row.task.cost_ns) - 1) for row in rows]

    def worst_of(curves: Curves, place: int) -> Worst | None:
        return curves.edf(place, blocks_ns)

    def bound_of(place: int, worst: Worst) -> Bound:
        mine = rows[place]
        due_ns = worst.arrival_ns + mine.task.deadline_ns
        counted = []
        for row, source in zip(rows, sources, strict=True):
            if row is not mine:
                room_ns = due_ns - row.task.deadline_ns
                window_ns = min(worst.window_ns, room_ns + 1) + source.jitter_ns
                counted.append((row.task, arrivals_within(source.curve, window_ns)))
        later = [
            (block_ns, row.task)
            for block_ns, row in zip(blocks_ns, rows, strict=True)
            if row.task.deadline_ns > due_ns and block_ns
        ]
        block_ns = max((block_ns for block_ns, _ in later), default=0)
        terms = (
            *_work_terms(mine.task, worst.job + 1, counted),
            *region_term([task for _, task in later], block_ns),
            *arrival_term(worst.arrival_ns),
        )
        return _bound(EDF_CURVES, worst, terms, exact=False)

    return _respond(load, worst_of, bound_of)


def _fifo(load: ProcessorLoad) -> list[Found]:
    rows = rows_of(load)
    sources = [curve_task(row) for row in rows]

    def worst_of(curves: Curves, place: int) -> Worst | None:
        return curves.fifo(place)

    def bound_of(place: int, worst: Worst) -> Bound:
        mine = rows[place]
        counted = [
            (row.task, source.jobs_within(worst.window_ns))
            for row, source in zip(rows, sources, strict=True)
            if row is not mine
        ]
        terms = (*_work_terms(mine.task, worst.job + 1, counted), *arrival_term(worst.arrival_ns))
        return _bound(FIFO_CURVES, worst, terms, exact=False)

    return _respond(load, worst_of, bound_of)


def _work_terms(task: LoadTask, own_jobs: int, counted: list[tuple[LoadTask, int]]) -> list[Term]:
    same = sum(jobs for other, jobs in counted if other is task)
    others = [(other, jobs) for other, jobs in counted if other is not task]
    return [*own_terms(task, own_jobs + same), *interference(others)]


def _locks_ns(task: LoadTask) -> int:
    return 0 if task.blocking is None else task.blocking.total_ns


def _bound(method: Method, worst: Worst, terms: tuple[Term, ...], exact: bool) -> Bound:
    return Bound(worst.response_ns, terms, method.name, method.source, exact, worst.job, worst.window_ns)


_SOME_CURVE = Need(
    lambda load: (
        None
        if any(stream.curve is not None for task in load.tasks for stream in task.streams)
        else "no arrivals are given by a curve"
    ),
    plain_method,
    purpose=True,
)


#: Sections would block for a time that depends on the deadline.
_NO_SECTIONS = Need(
    lambda load: next((f"task {task.name} is blocked by sections" for task in load.tasks if _locks_ns(task)), None),
    "periods or separations in place of curves",
)
_NEEDS = (_SOME_CURVE, FEW_TASKS, ONE_CORE, NO_SUSPENSION, BOUNDED_BLOCKING, ONE_BUDGET)

FP_CURVES = Method(
    "fp_curve_response_time",
    "Bozhko, Brandenburg 2020 (arrival curves, preemptive or not)",
    (Policy.FIXED_PRIORITY,),
    refusal_by("fp_curve_response_time", _NEEDS, curves=True),
    _fixed_priority,
)
EDF_CURVES = Method(
    "edf_curve_response_time",
    "Spuri 1996; George, Rivierre, Spuri 1996; Bozhko, Brandenburg 2020 (arrival curves)",
    (Policy.EDF,),
    refusal_by(
        "edf_curve_response_time",
        (*_NEEDS, WHOLE_OR_FREE, _NO_SECTIONS),
        curves=True,
    ),
    _edf,
)
FIFO_CURVES = Method(
    "fifo_curve_response_time",
    "George, Minet 1997 (arrival curves in place of periods)",
    (Policy.FIFO,),
    refusal_by("fifo_curve_response_time", _NEEDS, curves=True),
    _fifo,
)
